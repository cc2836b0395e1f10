"""Algorithm 2 by the paper's own method, Powell's hybrid: slower, an option, and a check of `articulated`."""

import numpy as np
from scipy.optimize import root

from stiction.balancing import ask_at, balanced
from stiction.compiled import compiled
from stiction.contact import contact_impulse, outside
from stiction.holding import begin

POWELL_TOLERANCE = 0.005  # the paper's


def solve_powell(law, contacts, V_free, L, search):
    """The same equation by the paper's method, Powell's hybrid, on the whole unknown p and to 0.5 %.

    MINPACK's own verdict is not relied upon: solved says that the residual is small.
    """
    n = len(contacts.record)
    share, pressed = begin(contacts, V_free, L, search)
    if not pressed:
        return 0, True
    balanced(contacts, V_free, share, search.p_f, 0.0, search)
    guess = search.p.copy()
    count = 0

    def handle(p):
        nonlocal count
        count += 1
        ask_at(contacts, V_free, L, p)
        _handler(law, contacts)
        return contacts.record["impulse"].reshape(-1).copy()

    unit = np.ones((n, 6))
    unit[:, 3:] = 0.1 * contacts.record["diameter"][:, None]  # torques as forces on an arm
    unit = unit.reshape(-1)
    # Networks answer in single precision: smaller differences than these tell nothing of a slope.
    how = {"xtol": POWELL_TOLERANCE, "eps": 1e-4}
    found = root(lambda x: handle(unit * x) / unit - x, guess / unit, method="hybr", options=how)
    p = handle(unit * found.x)
    solved = np.linalg.norm(p / unit - found.x) <= POWELL_TOLERANCE * np.linalg.norm(p / unit)
    search.p[:], search.mode[:] = p, contacts.record["mode"]
    search.outside[:] = [outside_of(law, contacts, i) for i in range(n)]
    return count, bool(solved)


@compiled
def compiled_handler(law, contacts):
    """Algorithm 1 for a compiled law."""
    contact_impulse(law, contacts)


@compiled
def compiled_outside(law, contacts, i):
    """`contact.outside` for a compiled law."""
    return outside(law, contacts, i)


def _handler(law, contacts):
    if isinstance(law, tuple):
        compiled_handler(law, contacts)
    else:
        contact_impulse(law, contacts)


def outside_of(law, contacts, i) -> bool:
    """`contact.outside` for any law."""
    return bool(compiled_outside(law, contacts, i) if isinstance(law, tuple) else outside(law, contacts, i))
