"""What a recorded step was: the contact impulse and the mode, recovered from the motion as the paper does it."""

import numpy as np

from stiction.bodies.state import Mode
from stiction.compiled import compiled, lean
from stiction.patch import contact_point
from stiction.spatial import apply, sandwich

DETACH_IMPULSE = 1e-8  # [N s]; a contact with less was detaching
STILL_SPEED = 1e-5  # [m/s]; a patch vertex slower than this after the step has stopped ...
STILL_SHARE = 2e-4  # ... or than this share of the patch's greatest speed before it: solvers are a little soft


@lean
def observed_mode(contacts, i, after, p):
    """Mode of contact `i` from its twist `after` the step (6,) and its impulse p (6,)."""
    if np.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2) < DETACH_IMPULSE:
        return np.int64(Mode.DETACH)
    fastest_before = fastest_after = 0.0
    for k in range(contacts.record[i].count):
        fastest_before = max(fastest_before, _speed(contacts, i, k, contacts.record[i].velocity))
        fastest_after = max(fastest_after, _speed(contacts, i, k, after))
    if fastest_after < STILL_SPEED + STILL_SHARE * fastest_before:
        return np.int64(Mode.STATIC)
    return np.int64(Mode.DYNAMIC)


@lean
def _speed(contacts, i, k, twist):
    """Speed of the k-th contact point [m/s]."""
    x, y, z = contact_point(contacts, i, k)
    vx = twist[0] + twist[4] * z - twist[5] * y
    vy = twist[1] + twist[5] * x - twist[3] * z
    vz = twist[2] + twist[3] * y - twist[4] * x
    return np.sqrt(vx * vx + vy * vy + vz * vz)


@compiled
def label_steps(hull, contacts, found, after, impulse, mode, kind):
    """Write what happened in the steps in contact, from the twists `after` each of them (steps, 6)."""
    inertia = np.empty((3, 3))
    for k in range(found):
        c = contacts.record[k]
        t = c.index
        change = after[t] - c.velocity
        sandwich(c.rotation, hull.inertia, inertia)
        torque = apply(inertia, change[3:])
        for m in range(3):
            impulse[t, m] = hull.mass * change[m]
            impulse[t, 3 + m] = torque[m]
        kind[t] = c.kind
        mode[t] = observed_mode(contacts, k, after[t], impulse[t])
