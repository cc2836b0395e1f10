"""Links of a multibody system that have a contact law: what an engine needs to call Algorithm 2.

Each step, an engine tells `touch` where the links are, and if any touches, `solve` the twists they would have without
contact and their inverse inertia inside the system; it gets the contact impulses.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from stiction.articulated import TOLERANCE, Solution, solve_modes
from stiction.basics import checks
from stiction.compiled import announce_compilation
from stiction.contact import Law, classify, friction, rough_friction
from stiction.linkstep import find_at, solve
from stiction.packed import Packed
from stiction.patch import RECORD, WORK, Contacts, contact_point, first_contacts
from stiction.powell import solve_powell
from stiction.searching import Search, new_search

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
        self.room = Contacts(record, touching, vertices, loops, headings, np.empty(WORK))
        self.law = law = _together(self._groups)
        if method == "powell" or not isinstance(law, tuple):
            self.law = _Interpreted(law, method)
        self.count = 0  # of links that touch
        announce_compilation()
        self.position, self.rotation = np.zeros((len(laws), 3)), np.zeros((len(laws), 3, 3))
        self.groups: list[Packed] = []  # what `find_at` needs for the links of each law
        for g, (hull, (_law, numbers)) in enumerate(zip(hulls, self._groups)):
            where = self.position, self.rotation, np.int64(starts[g]), np.int64(loop_starts[g])
            self.groups.append(Packed((hull, self.room, numbers, *where)))
        self._find = self.groups[0].entry(find_at, types.int64)  # all are of one type
        self._searches: dict[int, Search] = {}

    @property
    def contacts(self) -> Contacts:
        """Of the last `touch`: one record a touching link, whose `index` is the link's number."""
        return first_contacts(self.room, self.count)

    def touch(self, position: NDArray[np.float64], rotation: NDArray[np.float64]) -> NDArray[np.int64]:
        """Numbers of the links that touch the ground z = 0, in the order in which `solve` wants them.

        position: of the links' centres of mass [m], (n, 3); rotation: body to world, (n, 3, 3)
        """
        self.position[:], self.rotation[:] = position, rotation
        self.count = 0
        for group in self.groups:
            self.count = self._find(group.address, group.kind, self.count)
        return self.contacts.record["index"]

    def search(self, n: int) -> Search:
        """What Algorithm 2 works with for n links; always the same."""
        if n not in self._searches:
            self._searches[n] = new_search(n)
        return self._searches[n]

    def solve(self, V_free: NDArray[np.float64], L: NDArray[np.float64]) -> Solution:
        """Contact impulses of the n links that touch.

        V_free: twists after a step without contact, (6 n,), L: their inverse inertia in the system, (6 n, 6 n)
        """
        how, search = solve_modes if isinstance(self.law, tuple) else solve, self.search(self.count)
        evaluations, solved = how(self.law, self.contacts, V_free, L, self.tolerance, search)
        p, mode, outside = search.p.reshape(-1, 6).copy(), search.mode.copy(), search.outside.copy()
        return Solution(p, mode, outside, evaluations, solved)

    def points(self, row: int) -> NDArray[np.float64]:
        """Contact points (k, 3) of the patch in that row of `contacts`, relative to the link's centre of mass."""
        contacts = self.contacts
        return np.array([contact_point(contacts, row, k) for k in range(contacts.record[row]["count"])])


class _Interpreted:
    """A law that the interpreter runs, with the method by which it is solved."""

    def __init__(self, law: Any, method: str) -> None:
        self.law, self.method, self.softness = law, method, law.softness

    def solve(
        self,
        contacts: Contacts,
        V_free: NDArray[np.float64],
        L: NDArray[np.float64],
        tolerance: float,
        search: Search,
    ) -> tuple[int, bool]:
        """Algorithm 2."""
        if self.method == "powell":
            return solve_powell(self.law, contacts, V_free, L, search)
        return cast(Any, solve_modes).py_func(self.law, contacts, V_free, L, tolerance, search)


def _together(groups: Sequence[tuple[Law, NDArray[np.int64]]]) -> Any:
    """The law of all links: in compiled form if it is one and has it."""
    only = getattr(groups[0][0], "compiled", None) if len(groups) == 1 else None
    return _Together(groups) if only is None else only


class _Together:
    """Several laws as one, for links of different bodies; runs in the interpreter."""

    def __init__(self, groups: Sequence[tuple[Law, NDArray[np.int64]]]) -> None:
        self._groups = groups
        self.softness = max(law.softness for law, _numbers in groups)
        mu_x, mu_y, is_round = rough_friction(groups[0][0])
        self.guess_friction, self.cone = (float(mu_x), float(mu_y)), "round" if is_round else "box"

    def classify(self, contacts: Contacts) -> NDArray[np.int64]:
        """Mode of each contact, shape (n,)."""
        for law, part, _rows in self._parts(contacts):
            classify(law, part)
        return contacts.record["mode"].copy()

    def friction(self, contacts: Contacts, dynamic: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friction of the contacts numbered `dynamic`, shape (k, 5)."""
        for law, part, _rows in self._parts(contacts):
            friction(law, part)
        return contacts.record["p_f"][dynamic]

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
