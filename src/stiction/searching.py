"""What Algorithm 2 works with: made once, since to make so many arrays in every step takes longer than the rest."""

from typing import NamedTuple

import numpy as np

from stiction.coupled import Held, new_held
from stiction.laws.points import MOST_POINTS


class Rough(NamedTuple):
    """Points of all patches, and Coulomb's law for them: see `rough`.

    place: x, y and z of each, (3 m,); link: (m,)
    response: how all twists follow an impulse along z, x, y of each, (3 m, 6 n)
    own: 1 / how fast the point itself does, (3 m,); impulse: (3 m,); twist: with these impulses, (6 n,)
    """

    place: np.ndarray
    link: np.ndarray
    response: np.ndarray
    own: np.ndarray
    impulse: np.ndarray
    twist: np.ndarray


class Search(NamedTuple):
    """For n links. The solution is in p, (6 n,), mode and outside, (n,).

    pressed: something approaches; static: is held; ask: asks for R's friction; forced: has it, whatever C says; (n,)
    held, returned: how often a link was found static while it slid, and held again, (n,)
    p_f: friction that is tried, (n, 5); want: what the law wants there; best_f: of the least mismatch
    B: inverse Jacobian of the mismatch, (5 n, 5 n)
    x, F: of `broyden`, now, last time and where F was least, (5 n,); spare: room for three more
    L_b: L or a stiffened one, (6 n, 6 n); effective: see coupled.effective_friction, (n, 5, 5)
    """

    p: np.ndarray
    mode: np.ndarray
    outside: np.ndarray
    pressed: np.ndarray
    static: np.ndarray
    ask: np.ndarray
    forced: np.ndarray
    held: np.ndarray
    returned: np.ndarray
    p_f: np.ndarray
    want: np.ndarray
    best_f: np.ndarray
    B: np.ndarray
    x: np.ndarray
    F: np.ndarray
    last_x: np.ndarray
    last_F: np.ndarray
    best_x: np.ndarray
    best_F: np.ndarray
    spare: np.ndarray
    L_b: np.ndarray
    effective: np.ndarray
    held_links: Held
    rough: Rough


def new_search(n: int) -> Search:
    """Room for n links."""
    points = MOST_POINTS * n
    rough = Rough(
        np.zeros(3 * points),
        np.zeros(points, dtype=np.int64),
        np.zeros((3 * points, 6 * n)),
        np.zeros(3 * points),
        np.zeros(3 * points),
        np.zeros(6 * n),
    )
    return Search(
        p=np.zeros(6 * n),
        mode=np.zeros(n, dtype=np.int64),
        **{name: np.zeros(n, dtype=np.bool_) for name in ("outside", "pressed", "static", "ask", "forced")},
        **{name: np.zeros(n, dtype=np.int64) for name in ("held", "returned")},
        **{name: np.zeros((n, 5)) for name in ("p_f", "want", "best_f")},
        B=np.zeros((5 * n, 5 * n)),
        **{name: np.zeros(5 * n) for name in ("x", "F", "last_x", "last_F", "best_x", "best_F")},
        spare=np.zeros((3, 5 * n)),
        L_b=np.zeros((6 * n, 6 * n)),
        effective=np.zeros((n, 5, 5)),
        held_links=new_held(n),
        rough=rough,
    )
