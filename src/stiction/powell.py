"""Algorithm 2 by the paper's own method, Powell's hybrid: slower, an option, and a check of `articulated`."""

import numpy as np
from scipy.optimize import root

from stiction.articulated import Solution
from stiction.balancing import ask_at, balanced
from stiction.compiled import compiled
from stiction.contact import contact_impulse, outside
from stiction.coupled import new_held, stiffened
from stiction.holding import pressed_links
from stiction.state import Mode

POWELL_TOLERANCE = 0.005  # the paper's


def solve_powell(law, contacts, V_free, L):
    """The same equation by the paper's method, Powell's hybrid, on the whole unknown p and to 0.5 %.

    MINPACK's own verdict is not relied upon: solved says that the residual is small.
    """
    n = len(contacts.record)
    modes = np.zeros(n, dtype=np.int64)
    static = pressed_links(contacts, V_free)
    if not static.any():
        return Solution(np.zeros((n, 6)), np.full(n, int(Mode.DETACH)), np.zeros(n, dtype=np.bool_), 0, True)
    L_b, share = stiffened(contacts, L)
    guess = np.zeros(6 * n)
    balanced(contacts, L_b, share, V_free, static, np.zeros((n, 5)), 0.0, new_held(n), guess)
    count = 0

    def handle(p):
        nonlocal count
        count += 1
        ask_at(contacts, V_free, L, p)
        impulse, modes[:] = _handler(law, contacts)
        return impulse.reshape(-1)

    unit = np.ones((n, 6))
    unit[:, 3:] = 0.1 * contacts.record["diameter"][:, None]  # torques as forces on an arm
    unit = unit.reshape(-1)
    # Networks answer in single precision: smaller differences than these tell nothing of a slope.
    how = {"xtol": POWELL_TOLERANCE, "eps": 1e-4}
    found = root(lambda x: handle(unit * x) / unit - x, guess / unit, method="hybr", options=how)
    p = handle(unit * found.x)
    solved = np.linalg.norm(p / unit - found.x) <= POWELL_TOLERANCE * np.linalg.norm(p / unit)
    beyond = np.array([outside_of(law, contacts, i) for i in range(n)], dtype=np.bool_)
    return Solution(p.reshape(n, 6), modes.copy(), beyond, count, bool(solved))


@compiled
def compiled_handler(law, contacts):
    """Algorithm 1 for a compiled law."""
    return contact_impulse(law, contacts)


@compiled
def compiled_outside(law, contacts, i):
    """`contact.outside` for a compiled law."""
    return outside(law, contacts, i)


def _handler(law, contacts):
    return compiled_handler(law, contacts) if isinstance(law, tuple) else contact_impulse(law, contacts)


def outside_of(law, contacts, i) -> bool:
    """`contact.outside` for any law."""
    return bool(compiled_outside(law, contacts, i) if isinstance(law, tuple) else outside(law, contacts, i))
