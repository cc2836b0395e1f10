"""Coulomb friction at every touching vertex, solved exactly: the reference law, the oracle of the tests.

`cone="box"` is the law of DART's Dantzig solver: |f_x| <= mu_x n0 and |f_y| <= mu_y n0 with n0 the frictionless normal
impulse, world axes. `cone="round"` is the cone |(f_x / mu_x, f_y / mu_y)| <= n with the actual normal impulse n and
friction of greatest dissipation; an ellipse where mu_x and mu_y differ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stiction import contact
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.compiled import compiled, lean_overload
from stiction.contact import friction_of, noted_friction
from stiction.laws.cones import cone_impulses
from stiction.laws.dantzig import box_impulses
from stiction.lcp import twist_after
from stiction.patch import Contacts, contact_point
from stiction.reference import is_of
from stiction.spatial import apply, dot

DART_SOFTNESS = 1e-5  # DART's constraint force mixing: the share of its own response by which a contact yields
_LEAST_SOFTNESS = 1e-9  # of the inner problem, which needs a unique share of the load for each vertex
_STILL = 1e-7  # a vertex that keeps less than this share of the greatest speed has stopped, in a rigid contact
_SLOW = 0.1  # [m/s] below this speed, a body that comes to rest on a soft surface is held exactly


class CoulombTerms(NamedTuple):
    """The law in compiled form."""

    friction: np.ndarray  # (mu_x, mu_y)
    round: bool
    softness: float


class CoulombLaw:
    """Coulomb's law for one body on the ground.

    friction: coefficient, or (mu_x, mu_y) along the world axes
    cone: "box", as DART's Dantzig solver, or "round" (elliptic if mu_x and mu_y differ)
    softness: share of its own response by which a loaded vertex yields. The default is DART's, so that a throw follows
        DART step by step; only a body at rest on a surface is held exactly, where DART lets it creep. 0 is rigid.
    timestep: [s]
    """

    def __init__(
        self,
        body: Body,
        friction: ArrayLike = 0.5,
        *,
        cone: str = "box",
        softness: float = DART_SOFTNESS,
        timestep: float = 0.002,
    ) -> None:
        coefficients = checks.array("friction", np.atleast_1d(np.asarray(friction)), (None,))
        if coefficients.shape not in ((1,), (2,)):
            raise checks.InputError(f"friction must be one number or two (mu_x, mu_y), got shape {coefficients.shape}.")
        if np.any(coefficients < 0):
            raise checks.InputError(f"friction must not be negative, got {coefficients.tolist()}.")
        self.body = body
        self.friction_coefficients = np.broadcast_to(coefficients, 2).copy()
        self.cone = checks.choice("cone", cone, ("box", "round"))
        self.softness = checks.non_negative("softness", softness)
        self.timestep = checks.positive("timestep [s]", timestep)

    @property
    def compiled(self) -> CoulombTerms:
        """The law as compiled code sees it."""
        return CoulombTerms(self.friction_coefficients.copy(), self.cone == "round", self.softness)

    def classify(self, contacts: Contacts) -> np.ndarray:
        """Mode of each contact, shape (n,)."""
        coulomb_classify(self.compiled, contacts)
        return contacts.record["mode"].copy()

    def friction(self, contacts: Contacts, dynamic: np.ndarray) -> np.ndarray:
        """Friction impulse at the patch's centre (p_x, p_y, m_z, m_x, m_y) of the classified contacts, shape (k, 5)."""
        return friction_of(noted_friction, self.compiled, contacts, dynamic)

    def __repr__(self) -> str:
        mu = self.friction_coefficients.tolist()
        return f"CoulombLaw({self.body.shape}, friction={mu}, cone={self.cone!r}, softness={self.softness:g})"


@compiled
def coulomb_classify(law, contacts):
    """Solve each contact for its mode, and keep its friction for `noted_friction`."""
    for i in range(len(contacts.record)):
        c = contacts.record[i]
        J = vertex_rows(contacts, i)
        A, b = vertex_problem(contacts, i, J, max(law.softness, _LEAST_SOFTNESS), law.round)
        x = cone_impulses(A, b, law.friction) if law.round else box_impulses(A, b, law.friction)
        m = len(x) // 3
        _keep_friction(contacts, i, x)
        load = 0.0
        for k in range(m):
            load += x[k]
        if load <= 0:
            c.mode = Mode.DETACH
        elif _stops(contacts, i, J, x, law.softness):
            c.mode = Mode.STATIC
        else:
            c.mode = Mode.DYNAMIC


@lean_overload(contact.classify)
def _classify(law, contacts):
    if is_of(law, CoulombTerms):
        return lambda law, contacts: coulomb_classify(law, contacts)


@lean_overload(contact.friction)
def _friction(law, contacts):
    if is_of(law, CoulombTerms):
        return lambda law, contacts: noted_friction(law, contacts)


@compiled
def vertex_rows(contacts, i):
    """Rows (3 m, 6) from the twist to the velocities of the m contact points: all z, then x and y of each in turn."""
    m = contacts.record[i].count
    J = np.zeros((3 * m, 6))
    for k in range(m):
        x, y, z = contact_point(contacts, i, k)
        J[k, 2], J[k, 3], J[k, 4] = 1.0, y, -x
        J[m + 2 * k, 0], J[m + 2 * k, 4], J[m + 2 * k, 5] = 1.0, z, -y
        J[m + 2 * k + 1, 1], J[m + 2 * k + 1, 3], J[m + 2 * k + 1, 5] = 1.0, -z, x
    return J


@compiled
def vertex_problem(contacts, i, J, softness, even):
    """Response A = J M^-1 J^T, softened on its diagonal, and velocities b = J v1 of the contact points.

    even: soften x and y alike, so that turning the contact about the vertical only turns the solution
    """
    c = contacts.record[i]
    n = len(J)
    A, b = np.empty((n, n)), np.empty(n)
    for r in range(n):
        response = apply(c.inverse_inertia, J[r])
        b[r] = dot(J[r], c.velocity)
        for k in range(n):
            A[r, k] = dot(J[k], response)
    m = n // 3
    for r in range(n):
        own = A[r, r]
        if even and r >= m:
            pair = r + 1 if (r - m) % 2 == 0 else r - 1
            own = 0.5 * (dot(J[r], apply(c.inverse_inertia, J[r])) + dot(J[pair], apply(c.inverse_inertia, J[pair])))
        A[r, r] += softness * own
    return A, b


@compiled
def _keep_friction(contacts, i, impulses):
    """Sum the friction of the vertices' impulses (3 m,) at the patch's centre."""
    c = contacts.record[i]
    m = c.count
    for k in range(5):
        c.memo[k] = 0.0
    for k in range(m):
        x, y, z = contact_point(contacts, i, k)
        x, y, z = x - c.centre[0], y - c.centre[1], z - c.centre[2]
        fx, fy = impulses[m + 2 * k], impulses[m + 2 * k + 1]
        c.memo[0] += fx
        c.memo[1] += fy
        c.memo[2] += x * fy - y * fx
        c.memo[3] -= z * fy
        c.memo[4] += z * fx


@compiled
def _stops(contacts, i, J, x, softness):
    """Whether the impulses x leave all contact points at rest, but for the softness of the inner problem.

    A soft contact yields, and so does not stop; but a slow body that rests on a surface is held, as by a rigid one.
    """
    c = contacts.record[i]
    planar = c.inverse_inertia[1, 1] == 0.0
    if softness > 0 and c.kind < (Kind.LINE if planar else Kind.SURFACE):
        return False
    wrench = np.zeros(6)
    for r in range(len(J)):
        for k in range(6):
            wrench[k] += J[r, k] * x[r]
    after = twist_after(contacts, i, wrench)
    fast_before = fast_after = 0.0
    for r in range(len(J)):
        fast_before = max(fast_before, abs(dot(J[r], c.velocity)))
        fast_after = max(fast_after, abs(dot(J[r], after)))
    if softness > 0 and fast_before > _SLOW:
        return False
    return fast_after <= max(_STILL, 20 * softness) * fast_before
