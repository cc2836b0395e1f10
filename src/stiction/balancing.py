"""From friction to impulses in the system itself, V1 from impulses, and the guards for the whole system."""

import numpy as np

from stiction.compiled import compiled
from stiction.contact import friction_wrench
from stiction.coupled import balance
from stiction.spatial import apply, copy

_SLACK = 1e-12  # relative rounding slack of the guards


@compiled
def balanced(contacts, L_b, share, V_free, static, p_f, softness):
    """`balance` in the system itself: where L was stiffened, what that has added is taken back.

    Feet that press against each other through the robot may be held by many impulses. Of these the one nearest to the
    friction p_f is taken, so that what a law has agreed to stays.
    """
    if share == 0.0:
        return balance(contacts, L_b, V_free, static, p_f, softness)
    n = len(static)
    p = np.zeros(6 * n)
    for i in range(n):
        if static[i]:
            copy(friction_wrench(contacts.record[i].centre, p_f[i], 1.0), p[6 * i : 6 * i + 6])
    V = np.empty(6 * n)
    for _ in range(2):
        for i in range(n):
            back = apply(contacts.record[i].inverse_inertia, p[6 * i : 6 * i + 6])
            for k in range(6):
                V[6 * i + k] = V_free[6 * i + k] - share * back[k]
        p = balance(contacts, L_b, V, static, p_f, softness)
    return p


@compiled
def ask_at(contacts, V_free, L, p):
    """Write V1 = V_free + (L - M_b^-1) p of every link into its record: the twist it would have without its p."""
    V = apply(L, p)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        own = apply(c.inverse_inertia, p[6 * i : 6 * i + 6])
        for k in range(6):
            c.velocity[k] = V_free[6 * i + k] + V[6 * i + k] - own[k]


@compiled
def work_guard(contacts, L, L_b, share, V_free, static, p_f, softness, p):
    """The guards of Algorithm 1 for the whole system: no friction without normal impulse, no energy from contact.

    Impulses p (6 n,) with friction scaled down until both hold, and whether nothing had to be scaled.
    """
    n = len(static)
    free = True
    for i in range(n):
        for k in range(5):
            if not static[i] and not p[6 * i + 2] > 0.0 and p_f[i, k] != 0.0:
                p_f[i, k] = 0.0
                free = False
    if not free:
        p = balanced(contacts, L_b, share, V_free, static, p_f, softness)
    if _gains_nothing(L, V_free, p):
        return p, free
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        trial = balanced(contacts, L_b, share, V_free, static, middle * p_f, softness)
        if _gains_nothing(L, V_free, trial):
            low = middle
        else:
            high = middle
    return balanced(contacts, L_b, share, V_free, static, low * p_f, softness), False


@compiled
def _gains_nothing(L, V, p):
    """Whether p leaves the system's kinetic energy as it is or lowers it: p . (V + L p / 2) <= 0."""
    change = apply(L, p)
    gain = scale = 0.0
    for k in range(len(p)):
        gain += p[k] * (V[k] + 0.5 * change[k])
        scale += abs(p[k] * V[k])
    return gain <= _SLACK * scale
