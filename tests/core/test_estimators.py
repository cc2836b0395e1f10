"""What scikit-learn learned is taken over as plain arrays: the same answers, without scikit-learn."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from stiction.laws.approximators import KernelMachine, Trees, from_arrays
from stiction.training import estimators

NAMES = ("trees", "gp", "svm")


def outputs(approximator, x):
    return approximator.native(x)[:, : approximator.sizes[-1]]


@pytest.fixture(scope="module")
def wave():
    """A smooth function of five numbers, one of which does not matter and one of which is huge."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1200, 5)) * [1, 1, 1, 1, 1e3]
    y = np.stack([np.sin(x[:, 0]) + 0.3 * x[:, 1], 5 * x[:, 2] * x[:, 0]], axis=1)
    return x, y


@pytest.mark.parametrize("name", NAMES)
def test_a_regressor_learns_a_function(wave, name):
    x, y = wave
    approximator = estimators.fit_regressor(name, x[:800], y[:800], seed=0)
    error = outputs(approximator, x[800:]) - y[800:]
    assert (np.abs(error).mean(axis=0) < 0.25 * np.abs(y).mean(axis=0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [(0, 1), (1, 2), (0, 1, 2), (1,)])
@pytest.mark.parametrize("name", NAMES)
def test_a_classifier_knows_the_classes_that_occur(wave, name, classes):
    x, y = wave
    label = np.array(classes)[np.digitize(y[:, 0], np.linspace(-0.6, 0.6, len(classes) + 1)[1:-1])]
    approximator = estimators.fit_classifier(name, x[:800], label[:800], seed=0)
    found = outputs(approximator, x[800:]).argmax(axis=1)
    assert set(found) <= set(classes) and (found == label[800:]).mean() > 0.75


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_scikit_learn(wave, name, monkeypatch):
    """Watch the models that are trained on the way, and ask them themselves."""
    x, y = wave
    models = []
    for kind in ("HistGradientBoostingRegressor", "GaussianProcessRegressor", "SVR"):
        original = getattr(estimators, kind)
        monkeypatch.setattr(estimators, kind, lambda *a, o=original, **k: models.append(o(*a, **k)) or models[-1])
    approximator = estimators.fit_regressor(name, x[:600], y[:600], seed=0)
    z = estimators.standard(x[:600], np.arange(600))
    asked = np.clip((x[600:] - z.mean) / z.scale, -6, 6)
    unit = y[:600].std(axis=0) + 1e-12
    if name == "gp":
        wanted = models[-1].predict(asked) * unit + y[:600].mean(axis=0)
    else:
        wanted = np.stack([model.predict(asked) for model in models], axis=1) * unit
    got = outputs(approximator, x[600:])
    # Single precision; an input on the edge of a tree's threshold may go either way.
    assert np.quantile(np.abs(got - wanted), 0.99) < 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize("name", NAMES)
def test_arrays_give_the_approximator_back(wave, name):
    x, y = wave
    approximator = estimators.fit_regressor(name, x[:300], y[:300], seed=0)
    again = from_arrays(approximator.arrays())
    assert type(again) is type(approximator) and np.array_equal(outputs(again, x[:9]), outputs(approximator, x[:9]))


def test_rare_classes_are_kept():
    label = np.array([0] * 9000 + [1] * 40)
    rows = estimators._some(len(label), 500, 0, label)
    assert len(rows) == 500 and (label[rows] == 1).sum() == 40


@pytest.mark.parametrize("change", ["left", "feature", "roots", "output"])
def test_trees_that_lead_out_of_their_arrays_are_refused(wave, change):
    x, y = wave
    arrays = estimators.fit_regressor("trees", x[:300], y[:300], seed=0).arrays()
    altered = arrays[change].copy()
    altered[0] = {"left": 0, "feature": 99, "roots": 10**7, "output": 7}[change]
    with pytest.raises(ValueError, match="The trees are damaged"):
        Trees(**{**arrays, change: altered})


def test_kernel_machines_that_do_not_fit_are_refused(wave):
    x, y = wave
    arrays = estimators.fit_regressor("svm", x[:300], y[:300], seed=0).arrays()
    with pytest.raises(ValueError, match="must be float32 of shape"):
        KernelMachine(**{**arrays, "centres": arrays["centres"][:, :3]})


def test_one_example_of_a_third_class_does_not_spoil_the_others():
    """Boosting gave the leaf of such an example a score of 1e5, and with it took others of its leaf for its class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 6))
    label = np.where(x[:, 0] + 0.5 * x[:, 1] > 0, 1, 0)
    label[rng.choice(4000, 1)] = 2
    found = outputs(estimators.fit_classifier("trees", x[:4000], label[:4000], seed=0), x[4000:])
    assert np.abs(found).max() < 100 and (found.argmax(axis=1) == label[4000:]).mean() > 0.97
