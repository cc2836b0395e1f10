"""Folds over whole throws, and means over throws: what comes from one throw is alike, and must not judge itself."""

import numpy as np
from numpy.typing import NDArray

FOLDS = 4


def fold_of(throw: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The fold, 0 to 3, of each observation (n,) of these throws (n,)."""
    numbers, place = np.unique(throw, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(numbers))
    return (order % FOLDS)[place]


def clustered_mean(values: NDArray[np.float64], throw: NDArray[np.int64]) -> tuple[float, float]:
    """Mean of values (n,), and its standard error if those of one throw are alike."""
    mean = values.mean()
    _, number = np.unique(throw, return_inverse=True)
    sums = np.bincount(number, values - mean)
    return float(mean), float(np.sqrt((sums**2).sum() * len(sums) / max(len(sums) - 1, 1)) / len(values))
