"""Algorithm 2 for the links of any multibody system that have a contact law.

In each step, an engine gives `touch` the poses of the links, and if any touches, `solve` the twists that they would
have without contact and their inverse inertia inside the system; it gets the contact impulses.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from stiction import _core
from stiction.basics import checks
from stiction.laws.law import Law, as_law

Method = Literal["modes", "powell"]
TOLERANCE = 1e-3  # of the friction impulse, relative to the contact's impulses; a law's own error is not less


class Solution(NamedTuple):
    """Contact impulses of one step, and what it took to find them.

    impulse: (n, 6), each about its link's centre of mass
    mode: (n,) values of Mode
    outside: (n,), whether the law was evaluated outside of its training range
    evaluations: of the law (the paper's evaluations of G)
    solved: whether p = H(V1) holds; if not, the impulses are safe, but not those of the law
    """

    impulse: NDArray[np.float64]
    mode: NDArray[np.int64]
    outside: NDArray[np.bool_]
    evaluations: int
    solved: bool


class Links:
    """The links with a law, numbered as they are given.

    laws: one a link, each with its own body; links may share a law
    method: "modes", mode by mode, or "powell", the paper's
    tolerance: of the friction impulse, relative, for "modes"
    """

    def __init__(self, laws: Sequence[Law], *, method: Method = "modes", tolerance: float = TOLERANCE) -> None:
        self.method = checks.choice("method", method, get_args(Method))
        self.tolerance = checks.positive("tolerance", tolerance)
        # Links that share a law are evaluated together, so they share its native form as well.
        different = {id(law): as_law(law) for law in laws}
        for law in different.values():
            if law.whole:
                raise checks.InputError(
                    f"A {type(law).__name__} returns whole impulses, without modes; Algorithm 2 needs a law with "
                    "classify and friction."
                )
            if law.bounces and method != "modes":
                raise checks.InputError(
                    f'A {type(law).__name__} bounces, which the method {method!r} cannot solve: use "modes".'
                )
        native = {key: law.native for key, law in different.items()}
        each = [id(law) for law in laws]
        hulls = [different[key].body.hull for key in each]
        self.core = _core.Links([native[key] for key in each], hulls, different[each[0]].timestep)

    @property
    def contacts(self) -> _core.Contacts:
        """Of the last `touch`: one record a touching link, whose `index` is the link's number."""
        return self.core.contacts

    def touch(
        self,
        position: NDArray[np.float64],
        rotation: NDArray[np.float64],
        before: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64]:
        """Numbers of the links that touch the ground z = 0, in the order in which `solve` wants them.

        position: of the links' centres of mass [m], (n, 3); rotation: body to world, (n, 3, 3)
        before: their twists at the start of the step, (n, 6), for laws that bounce and materials whose friction depends
            on the speed
        """
        return self.core.touch(position, rotation, before)

    def solve(self, V_free: NDArray[np.float64], L: NDArray[np.float64]) -> Solution:
        """Contact impulses of the n links that touch.

        V_free: twists after a step without contact, (6 n,), L: their inverse inertia in the system, (6 n, 6 n)
        """
        if self.method == "powell":
            solve_powell(self.core, V_free, L)
            return Solution(*self.core.solution)
        return Solution(*self.core.solve(V_free, L, self.tolerance))

    def points(self, row: int) -> NDArray[np.float64]:
        """Contact points (k, 3) of the patch in that row of `contacts`, relative to the link's centre of mass."""
        return self.core.contacts.points(row)


def solve_powell(links: _core.Links, V_free: NDArray[np.float64], L: NDArray[np.float64]) -> None:
    """Solve p = H(V1) by the paper's method, Powell's hybrid (MINPACK hybr) on all of p; see `links.solution`.

    MINPACK's own verdict is unreliable: `solved` reports whether the residual is small.
    """
    tolerance = 0.005  # the paper's
    guess = links.begin(V_free, L)
    if guess is None:  # no link is pressed
        return
    count = 0

    def handle(p: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal count
        count += 1
        return links.ask(p)

    diameter = links.contacts.record["diameter"]
    unit = np.ones((len(diameter), 6))
    unit[:, 3:] = 0.1 * diameter[:, None]  # torques as forces on an arm
    unit = unit.reshape(-1)
    # Networks evaluate in single precision, so that smaller differences would not show a slope.
    settings = {"xtol": tolerance, "eps": 1e-4}
    found = root(lambda x: handle(unit * x) / unit - x, np.asarray(guess) / unit, method="hybr", options=settings)
    p = handle(unit * found.x)
    solved = np.linalg.norm(p / unit - found.x) <= tolerance * np.linalg.norm(p / unit)
    links.accept(p, count, bool(solved))
