"""Other approximators than networks, by scikit-learn: boosted trees, Gaussian processes, support vector machines.

Their parameters are stored as plain arrays, so that a law runs without scikit-learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.svm import SVC, SVR

from stiction.laws.approximators import FARTHEST, LEAF, Approximator, KernelMachine, Trees

# Maximum numbers of examples: the cost of kernel machines grows with the square or the cube of theirs.
MAX_EXAMPLES = {"trees": 200_000, "gp": 1_500, "svm": 4_000}
_LENGTHS = (0.5, 30.0)  # bounds of a Gaussian process's length scale: longer ones are beyond single precision
_NEVER = -1e6  # score of a class that does not occur
_CLASSES = 3
_OFF: Any = False  # the type hints of scikit-learn lack it


@dataclass(frozen=True)
class Standard:
    """Standardised inputs z, clipped as a law does it, with what standardised them."""

    z: NDArray[np.float64]
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]


def fit_classifier(name: str, x, label, seed: int) -> Approximator:
    """An approximator with three scores; label: 0, 1, 2, shape (n,)."""
    rows = _some(len(x), MAX_EXAMPLES[name], seed, label)
    inputs, label = standard(x, rows), label[rows]
    present = np.unique(label)
    if len(present) == 1:
        bias = np.full(_CLASSES, _NEVER)
        bias[present[0]] = 0.0
        return _machine(inputs, np.zeros((1, _CLASSES)), np.zeros(1, dtype=np.intp), bias, np.ones(_CLASSES))
    return {"trees": _tree_scores, "gp": _gp_scores, "svm": _svm_scores}[name](inputs, label, present, seed)


def fit_regressor(name: str, x, y, seed: int) -> Approximator:
    """An approximator of y (n, k)."""
    rows = _some(len(x), MAX_EXAMPLES[name], seed)
    unit = y[rows].std(axis=0) + 1e-12
    return {"trees": _tree_values, "gp": _gp_values, "svm": _svm_values}[name](
        standard(x, rows), y[rows] / unit, unit, seed
    )


def standard(x, rows) -> Standard:
    """Standardise the chosen rows of x (n, k)."""
    mean, scale = x[rows].mean(axis=0), x[rows].std(axis=0) + 1e-6
    z = np.clip((x[rows] - mean) / scale, -FARTHEST, FARTHEST)
    return Standard(z, mean.astype(np.float32), scale.astype(np.float32))


def _some(n: int, most: int, seed: int, label=None) -> NDArray[np.intp]:
    """At most `most` rows; rare classes of labelled ones come first, up to an equal share."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    if label is None or n <= most:
        return np.sort(order[:most])
    rank = np.empty(n, dtype=np.intp)
    for value in np.unique(label):
        mine = order[label[order] == value]
        rank[mine] = np.arange(len(mine))
    return np.sort(order[np.argsort(rank[order], kind="stable")[:most]])


# Gradient-boosted trees


def _tree_values(inputs: Standard, y, unit, seed: int) -> Trees:
    models: list[Any] = [
        HistGradientBoostingRegressor(max_iter=200, early_stopping=_OFF, random_state=seed).fit(inputs.z, y[:, k])
        for k in range(y.shape[1])
    ]
    trees = [(k, nodes) for k, model in enumerate(models) for (nodes,) in _nodes(model)]
    bias = [float(_baseline(model, next(model.staged_predict(inputs.z[:1])), inputs.z[0])[0]) for model in models]
    return _trees(inputs, np.array(bias) * unit, trees, unit)


def _tree_scores(inputs: Standard, label, present, seed: int) -> Trees:
    # Boosting divides by the curvature of its loss in a leaf, which is next to zero for a class with a few examples
    # among thousands: without regularisation, such an example gives its leaf a score of 1e5, which stays.
    model: Any = HistGradientBoostingClassifier(
        max_iter=150, early_stopping=_OFF, l2_regularization=1.0, random_state=seed
    ).fit(inputs.z, label)
    bias = np.full(_CLASSES, _NEVER)
    baseline = _baseline(model, next(model.staged_decision_function(inputs.z[:1])), inputs.z[0])
    # For two classes there is one score, that of the second against the first.
    outputs = present if len(present) > 2 else present[1:]
    bias[present] = 0.0
    bias[outputs] = baseline
    trees = [(outputs[k], nodes) for step in _nodes(model) for k, nodes in enumerate(step)]
    return _trees(inputs, bias, trees, np.ones(_CLASSES))


def _nodes(model: Any) -> list[list[NDArray]]:
    """The nodes of each tree, by step and output.

    scikit-learn has no public access to the trees of its histogram-based boosting. This is the only private attribute
    in use; the tests compare the results with those of `predict`.
    """
    return [[tree.nodes for tree in step] for step in model._predictors]


def _baseline(model: Any, first: NDArray, z: NDArray) -> NDArray[np.float64]:
    """Scores (outputs,) before the first tree, from those after it, `first`, at the inputs z (n,)."""
    leaves = []
    for nodes in _nodes(model)[0]:
        node = 0
        while not nodes["is_leaf"][node]:
            goes_left = z[nodes["feature_idx"][node]] <= nodes["num_threshold"][node]
            node = int(nodes["left" if goes_left else "right"][node])
        leaves.append(nodes["value"][node])
    return np.ravel(first) - leaves


def _trees(inputs: Standard, bias, trees: list[tuple[int, NDArray]], unit) -> Trees:
    """Renumber the nodes so that the two children of a node follow each other."""
    roots, output, feature, threshold, left = [], [], [], [], []
    for k, nodes in trees:
        first = len(feature)
        roots.append(first)
        output.append(k)
        order = [0]
        for node in order:  # it grows during the loop
            if nodes["is_leaf"][node]:
                feature.append(LEAF)
                threshold.append(nodes["value"][node] * unit[k])
                left.append(0)
            else:
                feature.append(int(nodes["feature_idx"][node]))
                threshold.append(nodes["num_threshold"][node])
                left.append(first + len(order))
                order += [int(nodes["left"][node]), int(nodes["right"][node])]
    whole = (np.array(part, dtype=np.int32) for part in (roots, output, feature, left))
    single = (np.array(part, dtype=np.float32) for part in (bias, threshold))
    (roots, output, feature, left), (bias, threshold) = whole, single
    return Trees(inputs.mean, inputs.scale, bias, roots, output, feature, threshold, left)


# Gaussian processes


def _gp_values(inputs: Standard, y, unit, seed: int) -> KernelMachine:
    middle = y.mean(axis=0)
    shape = ConstantKernel(1.0, (0.1, 100.0)) * RBF(5.0, _LENGTHS) + WhiteKernel(1e-3, (1e-4, 1.0))
    few = slice(0, None, max(1, len(y) // 400))  # enough for the length scale
    first = GaussianProcessRegressor(shape, random_state=seed).fit(inputs.z[few], (y - middle)[few])
    kernel: Any = first.kernel_
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(inputs.z, y - middle)  # type: ignore[arg-type]
    size, length = kernel.k1.k1.constant_value, kernel.k1.k2.length_scale
    weights = size * np.reshape(model.alpha_, (len(y), -1)) * unit
    gamma = np.full(y.shape[1], 0.5 / length**2)
    return _machine(inputs, weights, np.arange(len(y)), middle * unit, gamma)


def _gp_scores(inputs: Standard, label, present, seed: int) -> KernelMachine:
    """One against the rest, each by the mean of its latent function."""
    shape = ConstantKernel(10.0, (1.0, 1000.0)) * RBF(5.0, _LENGTHS)
    few = slice(0, None, max(1, len(label) // 400))
    weights, gamma, bias = np.zeros((len(label), _CLASSES)), np.ones(_CLASSES), np.full(_CLASSES, _NEVER)
    bias[present] = 0.0
    for k in present if len(present) > 2 else present[1:]:  # for two classes, one score is enough
        mine = label == k
        if len(np.unique(mine[few])) == 2:
            kernel: Any = GaussianProcessClassifier(shape, random_state=seed).fit(inputs.z[few], mine[few]).kernel_
        else:
            kernel = shape
        fixed: Any = GaussianProcessClassifier(kernel, optimizer=None)  # type: ignore[arg-type]
        model: Any = fixed.fit(inputs.z, mine).base_estimator_
        weights[:, k] = kernel.k1.constant_value * (model.y_train_ - model.pi_)
        gamma[k] = 0.5 / kernel.k2.length_scale**2
    return _machine(inputs, weights, np.arange(len(label)), bias, gamma)


# Support vector machines


def _svm_values(inputs: Standard, y, unit, seed: int) -> KernelMachine:
    def fit(k: int, gamma: Any):
        return SVR(C=100.0, gamma=gamma, epsilon=0.01).fit(inputs.z, y[:, k])

    return _support(inputs, y.shape[1], range(y.shape[1]), fit, unit, np.zeros(y.shape[1]))


def _svm_scores(inputs: Standard, label, present, seed: int) -> KernelMachine:
    """One against the rest."""

    def fit(k: int, gamma: Any):
        return SVC(C=100.0, gamma=gamma).fit(inputs.z, label == k)

    return _support(inputs, _CLASSES, present, fit, np.ones(_CLASSES), np.full(_CLASSES, _NEVER))


def _support(inputs: Standard, outputs: int, wanted, fit: Callable[[int, float], Any], unit, bias) -> KernelMachine:
    weights, gamma = np.zeros((len(inputs.z), outputs)), np.ones(outputs)
    scale = 1.0 / (inputs.z.shape[1] * (inputs.z.var() or 1.0))  # the value of gamma="scale"
    for k in wanted:
        model = fit(int(k), scale)
        weights[model.support_, k] = model.dual_coef_[0] * unit[k]
        gamma[k], bias[k] = scale, model.intercept_[0] * unit[k]
    used = np.flatnonzero((weights != 0).any(axis=1))
    return _machine(inputs, weights[used], used, bias, gamma)


def _machine(inputs: Standard, weights, rows, bias, gamma) -> KernelMachine:
    parts = (inputs.z[rows], weights, gamma, bias)
    return KernelMachine(inputs.mean, inputs.scale, *(np.ascontiguousarray(p, dtype=np.float32) for p in parts))
