"""The splits of throws: draws, held-out sets and folds over whole throws.

Observations of one throw are correlated. A throw therefore lies on one side of every split, and so do throws that
share a group, such as one recording in several axes. Equal seeds give equal splits.
"""

import numpy as np
from numpy.typing import NDArray

Seed = int | list[int] | np.random.Generator


def drawn(numbers: NDArray[np.int64] | int, n_drawn: int | None, seed: Seed) -> NDArray[np.int64]:
    """Return `n_drawn` of these numbers, or of 0 to n - 1, in ascending order; None: all of them."""
    return np.sort(np.random.default_rng(seed).permutation(numbers)[:n_drawn])


def held_out_groups(group: NDArray[np.int64], share: float, seed: Seed, n_kept: int = 0) -> NDArray[np.int64]:
    """Return a share of the groups that observations (n,) belong to, in the order in which they were drawn.

    There is at least one, and at least `n_kept` others are kept.
    """
    groups = np.unique(group)
    number = min(max(1, round(share * len(groups))), len(groups) - n_kept)
    return np.random.default_rng(seed).permutation(groups)[:number]


def held_out(group: NDArray[np.int64], share: float, seed: Seed, n_kept: int = 0) -> NDArray[np.bool_]:
    """Return which observations (n,) are held out: all those of `held_out_groups`."""
    return np.isin(group, held_out_groups(group, share, seed, n_kept))


def folds(n: int, n_folds: int, seed: Seed, n_drawn: int | None = None) -> list[NDArray[np.int64]]:
    """Return the members of each fold, in the order in which they were drawn; n_drawn: of all n, at most."""
    order = np.random.default_rng(seed).permutation(n)[:n_drawn]
    return [order[k::n_folds] for k in range(n_folds)]


def fold_of(group: NDArray[np.int64], n_folds: int, seed: Seed) -> NDArray[np.int64]:
    """Return the fold, 0 to n_folds - 1, of each observation (n,) from its group (n,)."""
    groups, place = np.unique(group, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(groups)) % n_folds)[place]
