"""ALGORITHM 1 of the paper: the contact impulse of a rigid body, for any law, and the guards that keep it safe.

`contact_impulse` is the only place where the algorithm stands. For a law in compiled form numba compiles it, for a law
in plain Python the interpreter runs it; one contact is a batch of one.
"""

from typing import Protocol

import numpy as np

from stiction.basics.checks import InputError
from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.compiled import inlined, lean, lean_jitable, lean_overload
from stiction.lcp import lowest_separation, normal_impulse, write_twist_after
from stiction.patch import Contacts
from stiction.reference import fields_of
from stiction.spatial import clear, copy
from stiction.stopping import write_static_impulse

_SLACK = 1e-12  # relative rounding slack of the guards
_SCALE = 1e-3  # relative step at which a scale of friction is good enough
_AGREES = 1e-9  # relative difference at which two normal impulses are the same


class Law(Protocol):
    """What the data decides: the classifier C and the regressor R of the paper.

    A law may be plain Python. A law whose attribute `compiled` is a NamedTuple, for the type of which `classify` and
    `friction` of this module are overloaded (numba.extending.overload), runs at full speed: these write their answers
    into the records of the contacts.
    """

    body: Body
    timestep: float
    softness: float  # share of its own response by which a loaded contact yields; 0: rigid, exact

    def classify(self, contacts: Contacts) -> np.ndarray:
        """C(q, v1): Mode of each contact, shape (n,)."""
        ...

    def friction(self, contacts: Contacts, dynamic: np.ndarray) -> np.ndarray:
        """R(q, v1): friction impulse at the patch's centre of the contacts numbered `dynamic` (k,), shape (k, 3).

        (p_x, p_y [N s], m_z [N m s]). A law that knows the friction of single vertices may return shape (k, 5), with
        the torques (m_x, m_y) that it has about the centre because the vertices lie at unequal depths.
        """
        ...


class WholeLaw(Protocol):
    """A law that answers with whole impulses by itself, without Algorithm 1: the baseline of the paper."""

    body: Body
    timestep: float
    softness: float

    def respond(self, contacts: Contacts) -> tuple[np.ndarray, np.ndarray]:
        """Impulses (n, 6) about the centre of mass, and modes (n,), NONE where they are to be seen in the motion."""
        ...


def classify(law, contacts):
    """C of the law: the mode of each contact, into its record; overloaded for compiled laws."""
    mode = np.asarray(law.classify(contacts))
    if mode.shape != (len(contacts.record),) or not np.isin(mode, (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)).all():
        raise InputError(
            f"A law's classify must return {len(contacts.record)} modes, each STATIC, DYNAMIC or DETACH, "
            f"got {mode!r:.80}."
        )
    contacts.record["mode"] = mode


def friction(law, contacts):
    """R of the law: p_f (5,) of each contact whose mode is DYNAMIC, into its record; overloaded for compiled laws."""
    dynamic = np.flatnonzero(contacts.record["mode"] == Mode.DYNAMIC)
    if len(dynamic) == 0:
        return
    p_f = np.asarray(law.friction(contacts, dynamic), dtype=np.float64)
    if p_f.shape not in ((len(dynamic), 3), (len(dynamic), 5)):
        raise InputError(
            f"A law's friction must return shape ({len(dynamic)}, 3) or ({len(dynamic)}, 5), got {p_f.shape}."
        )
    if p_f.shape[1] == 3:
        p_f = np.pad(p_f, ((0, 0), (0, 2)))
        for k, i in enumerate(dynamic):
            add_tilt(contacts, i, p_f[k])
    contacts.record["p_f"][dynamic] = p_f


def friction_of(how, law, contacts, dynamic):
    """R of a compiled law, whose `friction` is `how`, for the contacts numbered `dynamic`, whatever their modes."""
    mode = contacts.record["mode"].copy()
    contacts.record["mode"] = Mode.DETACH
    contacts.record["mode"][dynamic] = Mode.DYNAMIC
    how(law, contacts)
    contacts.record["mode"] = mode
    return contacts.record["p_f"][dynamic]


@lean
def noted_friction(law, contacts):
    """R of a compiled law whose C has come upon the friction and left it in the first five numbers of the memo."""
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.DYNAMIC:
            copy(c.memo[:5], c.p_f)


def outside(law, contacts, i):
    """Whether contact `i`, as classified last, lies outside of the training range; overloaded for learned laws."""
    return bool(law.outside(contacts)[i]) if hasattr(law, "outside") else False


@lean_overload(outside)
def _outside(law, contacts, i):
    if "recipe" not in fields_of(law):
        return lambda law, contacts, i: False


def rough_friction(law):
    """mu_x and mu_y of a Coulomb law that is roughly this one, and if its cone is round; negative: none is known."""
    inputs = getattr(law, "inputs", None)
    if inputs is not None:
        return inputs.friction[0], inputs.friction[1], inputs.cone == "round"
    mu = getattr(law, "guess_friction", getattr(law, "friction_coefficients", (-1.0, -1.0)))
    return mu[0], mu[1], getattr(law, "cone", "round") == "round"


@lean_overload(rough_friction)
def _rough_friction(law):
    fields = fields_of(law)
    if "recipe" in fields:
        return lambda law: (law.recipe.friction[0], law.recipe.friction[1], law.recipe.round)
    if "friction" in fields and "round" in fields:
        return lambda law: (law.friction[0], law.friction[1], law.round)
    return lambda law: (-1.0, -1.0, True)


@lean_jitable
def contact_impulse(law, contacts):
    """Algorithm 1, p = H(q, v1, P), for each record: its impulse about the centre of mass and the mode it realises.

    Line 1, v1 = v + h M^-1 tau, is already in its velocity.
    """
    classify(law, contacts)  # line 2: c <- C(q, v1)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.DETACH and lowest_separation(contacts, i, c.velocity) < 0:
            c.mode = Mode.DYNAMIC  # guard: what still approaches does not detach
    friction(law, contacts)  # line 8: p_f <- R(q, v1)
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        if c.mode == Mode.STATIC:  # lines 3-6
            c.mode = stop_patch(contacts, i, law.softness)
        elif c.mode == Mode.DYNAMIC:  # lines 7-11
            c.mode = slide_patch(contacts, i, c.p_f, law.softness)
        else:  # lines 12-14
            clear(c.impulse)


def respond(law, contacts):
    """Impulse and mode of each contact, into its record: Algorithm 1, unless the law answers as a whole by itself."""
    if hasattr(law, "respond"):
        contacts.record["impulse"], contacts.record["mode"] = law.respond(contacts)
    else:
        contact_impulse(law, contacts)


@lean_overload(respond)
def _respond(law, contacts):
    if not fields_of(law) or not hasattr(law.instance_class, "ANSWERS_BY_ITSELF"):
        return lambda law, contacts: contact_impulse(law, contacts)


@lean
def stop_patch(contacts, i, softness):
    """Lines 3-6: the impulse that stops the patch, into the record; guard: if it would pull anywhere, keep only its
    friction. The mode back."""
    c = contacts.record[i]
    out = c.impulse
    write_static_impulse(contacts, i, out)
    write_friction_part(contacts, i, out, c.friction)
    _write_with_normal(contacts, i, c.friction, 1.0, softness, c.trial)
    close = _AGREES * abs(out[2])
    if (
        out[2] > 0
        and abs(c.trial[2] - out[2]) <= close
        and abs(c.trial[3] - out[3]) <= close * c.diameter
        and abs(c.trial[4] - out[4]) <= close * c.diameter
    ):
        return np.int64(Mode.STATIC)
    return slide_patch(contacts, i, c.friction, softness)


@inlined
def write_friction_part(contacts, i, p, p_f):
    """Write the friction p_f (5,) at the patch's centre of an impulse p (6,) that stops the patch."""
    centre = contacts.record[i].centre
    p_f[0], p_f[1] = p[0], p[1]
    p_f[2] = p[5] - (centre[0] * p[1] - centre[1] * p[0])
    p_f[3] = p_f[4] = 0.0
    add_tilt(contacts, i, p_f)


@lean
def slide_patch(contacts, i, p_f, softness):
    """Lines 9-11 for a given friction impulse p_f (5,), with two guards: the impulse into the record, its mode back.

    Without normal impulse there is no friction, and a contact never adds kinetic energy: friction is scaled down until
    both hold. The energy after the step is convex in the scale and at 0 not above the old one, so that one exists.
    """
    c = contacts.record[i]
    out = c.impulse
    p_z = _write_with_normal(contacts, i, p_f, 1.0, softness, out)
    above = _energy_gained(contacts, i, out) if p_z > 0 else np.inf
    if not above <= 0:
        p_z = _write_with_normal(contacts, i, p_f, 0.0, softness, out)
        below = _energy_gained(contacts, i, out)
        if c.rebound[0] > 0 and not below <= 0:  # vertices that bounce unequally can gain energy
            c.rebound[0] = 0.0
            p_z = _write_with_normal(contacts, i, p_f, 0.0, softness, out)
            below = _energy_gained(contacts, i, out)
        low, high = 0.0, 1.0
        for turn in range(1100):
            if p_z <= 0 or high - low <= _SCALE * high:
                break
            # Where the chord between a scale that holds and one that does not meets zero, a convex energy holds. Every
            # other time the middle is tried, which brings the upper end down.
            chord = below / (below - above) if turn % 2 == 0 and below < 0 and above < np.inf else 0.5
            middle = low + chord * (high - low)
            trial_z = _write_with_normal(contacts, i, p_f, middle, softness, c.trial)
            gained = _energy_gained(contacts, i, c.trial) if trial_z > 0 else np.inf
            if gained <= 0:
                copy(c.trial, out)
                p_z, below = trial_z, gained
                if middle - low <= _SCALE * middle:
                    break
                low = middle
            else:
                high, above = middle, gained
    if not p_z > 0:
        clear(out)
        return np.int64(Mode.DETACH)
    return np.int64(Mode.DYNAMIC)


@lean
def _write_with_normal(contacts, i, p_f, scale, softness, p):
    """Write p = T_f p_f + T_n p_n with p_f scaled into p (6,); p_z back. Friction that is no number counts as none."""
    c = contacts.record[i]
    write_friction_wrench(c.centre, p_f, scale, p)
    write_twist_after(contacts, i, p, c.twist)  # line 9: v2
    p_z, m_x, m_y = normal_impulse(contacts, i, c.twist, softness, 0.0, 0.0)  # line 10
    p[2] += p_z  # line 11: T_n puts (p_z, m_x, m_y) in their places
    p[3] += m_x
    p[4] += m_y
    return p_z


@inlined
def add_tilt(contacts, i, p_f):
    """Fill the torques (m_x, m_y) of p_f (5,) that its spin m_z has on a line whose ends lie at unequal depths."""
    a = contacts.record[i].axis
    flat = a[0] * a[0] + a[1] * a[1]
    if flat > 0:  # the forces that make the spin act across the line at its ends
        p_f[3] -= p_f[2] * a[2] * a[0] / flat
        p_f[4] -= p_f[2] * a[2] * a[1] / flat


@inlined
def write_friction_wrench(centre, p_f, scale, out):
    """Write T_f p_f into `out` (6,): the wrench about the centre of mass of the friction p_f (p_x, p_y, m_z, m_x, m_y)
    at `centre`."""
    x, y, z = centre
    out[0], out[1], out[2] = scale * p_f[0], scale * p_f[1], 0.0
    out[3] = scale * p_f[3] - z * out[1]
    out[4] = scale * p_f[4] + z * out[0]
    out[5] = scale * p_f[2] + x * out[1] - y * out[0]
    if not np.isfinite(p_f[0] + p_f[1] + p_f[2] + p_f[3] + p_f[4]):
        for k in range(6):
            out[k] = 0.0


@inlined
def _energy_gained(contacts, i, p):
    """Kinetic energy that the impulse adds, p . (v1 + M^-1 p / 2) [J], beyond what rounding explains; never above 0 for
    what a contact may do."""
    c = contacts.record[i]
    write_twist_after(contacts, i, p, c.twist)
    gain = scale = 0.0
    for k in range(6):
        gain += 0.5 * p[k] * (c.velocity[k] + c.twist[k])
        scale += abs(p[k] * c.velocity[k])
    return gain - _SLACK * scale
