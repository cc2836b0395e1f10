"""Links of a multibody system that have a contact law: what an engine needs to call Algorithm 2.

Each step, an engine tells `touch` where the links are, and if any touches, `solve` the twists they would have without
contact and their inverse inertia inside the system; it gets the contact impulses.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stiction import checks
from stiction.articulated import TOLERANCE, Solution, solve_modes
from stiction.compiled import announce_compilation, compiled
from stiction.contact import Law, classify, friction, rough_friction
from stiction.coupled import add_normal, normal_impulses, stiffened
from stiction.hull import Hull
from stiction.patch import RECORD, TOUCH, Contacts, contact_point, detect
from stiction.powell import solve_powell
from stiction.stepping import CORRECTION, CORRECTION_SPEED, SETTLED_DEPTH, inverse_inertia

METHODS = ("modes", "powell")


class Links:
    """The links with a law, numbered as they are given.

    laws: one a link; links that share a law must share the object to be solved in compiled code
    method: "modes", mode by mode, or "powell", the paper's
    tolerance: of the friction impulse, relative, for "modes"
    """

    def __init__(self, laws: Sequence[Law], *, method: str = "modes", tolerance: float = TOLERANCE) -> None:
        self.method = checks.choice("method", method, METHODS)
        self.tolerance = checks.positive("tolerance", tolerance)
        for law in laws:
            if hasattr(law, "respond"):
                raise checks.InputError(
                    f"A {type(law).__name__} answers with whole impulses, without modes; Algorithm 2 needs a law with "
                    "classify and friction."
                )
        # Links of one law stand together, so that one call asks for all of them.
        different = list(dict.fromkeys(laws))
        self._groups = [(law, np.array([k for k, own in enumerate(laws) if own is law])) for law in different]
        hulls = [law.body.hull for law in different]
        vertices = np.concatenate([hull.vertices for hull in hulls])
        starts = np.cumsum([0, *(len(hull.vertices) for hull in hulls)])
        loops = np.concatenate([hull.loops + np.int32(start) for hull, start in zip(hulls, starts)])
        loop_starts = np.cumsum([0, *(len(hull.loops) for hull in hulls)])
        record = np.zeros(len(laws), dtype=RECORD).view(np.recarray)
        touching = np.zeros((len(laws), max(len(hull.vertices) for hull in hulls)), dtype=np.int32)
        headings = np.concatenate([hull.headings for hull in hulls])
        self._all = Contacts(record, touching, vertices, loops, headings)
        self._hulls = [
            (hull, numbers, np.int64(starts[g]), np.int64(loop_starts[g]))
            for g, (hull, (_law, numbers)) in enumerate(zip(hulls, self._groups))
        ]
        only = getattr(different[0], "compiled", None) if len(different) == 1 else None
        self._law = only if only is not None else _Together(self._groups)
        self.contacts = self._all  # of the last `touch`: one record a touching link, whose `index` is the link's number
        announce_compilation()

    def touch(self, position: NDArray[np.float64], rotation: NDArray[np.float64]) -> NDArray[np.int64]:
        """Numbers of the links that touch the ground z = 0, in the order in which `solve` wants them.

        position: of the links' centres of mass [m], (n, 3); rotation: body to world, (n, 3, 3)
        """
        n = 0
        for hull, numbers, first_vertex, first_loop in self._hulls:
            n = find_patches(hull, self._all, n, numbers, position, rotation, first_vertex, first_loop)
        self.contacts = self._all._replace(record=cast(np.recarray, self._all.record[:n]))
        return self.contacts.record["index"]

    def solve(self, V_free: NDArray[np.float64], L: NDArray[np.float64]) -> Solution:
        """Contact impulses of the n links that touch.

        V_free: twists after a step without contact, (6 n,), L: their inverse inertia in the system, (6 n, 6 n)
        """
        if self.method == "powell":
            return solve_powell(self._law, self.contacts, V_free, L)
        how = solve_modes if isinstance(self._law, tuple) else cast(Any, solve_modes).py_func
        return how(self._law, self.contacts, V_free, L, self.tolerance)

    def lift(self, L: NDArray[np.float64], timestep: float) -> NDArray[np.float64]:
        """Impulses (6 n,) that move poses, not velocities, of what has sunk in: see stepping.set_depth_correction."""
        return correction(self.contacts, L, self._law.softness, timestep)

    def points(self, row: int) -> NDArray[np.float64]:
        """Contact points (k, 3) of the patch in that row of `contacts`, relative to the link's centre of mass."""
        return np.array([contact_point(self.contacts, row, k) for k in range(self.contacts.record[row]["count"])])


class _Together:
    """Several laws as one, for links of different bodies; runs in the interpreter."""

    def __init__(self, groups: Sequence[tuple[Law, NDArray[np.int64]]]) -> None:
        self._groups = groups
        self.softness = max(law.softness for law, _numbers in groups)
        mu, is_round = rough_friction(groups[0][0])
        self.guess_friction, self.cone = tuple(mu.tolist()), "round" if is_round else "box"

    def classify(self, contacts: Contacts) -> NDArray[np.int64]:
        """Mode of each contact, shape (n,)."""
        parts = [classify(law, part) for law, part, _rows in self._parts(contacts)]
        return np.concatenate(parts)

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction of the contacts numbered `dynamic`, shape (k, 5)."""
        p_f = np.zeros((len(contacts.record), 5))
        for law, part, rows in self._parts(contacts):
            mine = dynamic[(dynamic >= rows.start) & (dynamic < rows.stop)]
            p_f[mine] = friction(law, part, mine - rows.start)
        return p_f[dynamic]

    def outside(self, contacts: Contacts) -> NDArray[np.bool_]:
        """Whether each contact lies outside of what its law was trained on, shape (n,)."""
        parts = [
            np.asarray(law.outside(part)) if hasattr(law, "outside") else np.zeros(len(part.record), bool)  # type: ignore
            for law, part, _rows in self._parts(contacts)
        ]
        return np.concatenate(parts)

    def _parts(self, contacts: Contacts):
        """Each law with its own contacts, a view, and their rows."""
        start = 0
        for law, numbers in self._groups:
            stop = start + int(np.isin(contacts.record["index"][start:], numbers).sum())
            if stop > start:
                rows = slice(start, stop)
                yield law, contacts._replace(record=cast(np.recarray, contacts.record[rows])), rows
            start = stop


@compiled
def find_patches(hull: Hull, contacts, n, numbers, position, rotation, first_vertex, first_loop):
    """Fill records n, n + 1, ... with the links of one hull that touch; the number of records filled by then."""
    own = Contacts(contacts.record, contacts.touching, hull.vertices, hull.loops, hull.headings)
    n = np.int64(n)
    for m in range(len(numbers)):
        i = numbers[m]
        c = contacts.record[n]
        c.index = i
        c.height = position[i, 2]
        c.diameter = hull.diameter
        c.rounding = hull.rounding
        c.touch = TOUCH
        for r in range(3):
            for k in range(3):
                c.rotation[r, k] = rotation[i, r, k]
        if detect(hull, own, n):
            inverse_inertia(hull, c.rotation, c.inverse_inertia)
            if c.face >= 0:  # from the hull's own lists to those of all hulls
                c.first += first_loop
                c.loop += first_loop
            else:
                for k in range(c.count):
                    contacts.touching[i, k] += first_vertex
            n += 1
    return n


@compiled
def correction(contacts, L, softness, timestep):
    """Impulses (6 n,) after which sunk vertices rise by 1 % of their depth a step, at most 1 mm/s; no friction."""
    n = len(contacts.record)
    deepest = 0.0
    for i in range(n):
        deepest = max(deepest, contacts.record[i].depth)
    p = np.zeros(6 * n)
    if deepest >= SETTLED_DEPTH:
        L_b, _share = stiffened(contacts, L)
        free = np.zeros(n, dtype=np.bool_)
        still = np.zeros(6 * n)
        add_normal(p, normal_impulses(contacts, L_b, still, free, softness, CORRECTION / timestep, CORRECTION_SPEED))
    return p
