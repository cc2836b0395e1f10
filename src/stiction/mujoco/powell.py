"""Algorithm 2 by the paper's own method, Powell's hybrid: slower, an option, and a check of the search by modes."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from stiction import _core

POWELL_TOLERANCE = 0.005  # the paper's


def solve_powell(links: _core.Links, V_free: NDArray[np.float64], L: NDArray[np.float64]) -> None:
    """Solve p = H(V1) by Powell's hybrid method on the whole unknown p, to 0.5 %; `links.solution` has the solution.

    MINPACK's own verdict is not relied upon: solved says that the residual is small.
    """
    guess = links.begin(V_free, L)
    if guess is None:  # nothing is pressed
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
    # Networks answer in single precision: smaller differences than these tell nothing of a slope.
    how = {"xtol": POWELL_TOLERANCE, "eps": 1e-4}
    found = root(lambda x: handle(unit * x) / unit - x, np.asarray(guess) / unit, method="hybr", options=how)
    p = handle(unit * found.x)
    solved = np.linalg.norm(p / unit - found.x) <= POWELL_TOLERANCE * np.linalg.norm(p / unit)
    links.accept(p, count, bool(solved))
