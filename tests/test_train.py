"""Training: a law learned from a few throws of a known law predicts that law."""

import numpy as np
import pytest

from conftest import random_states

pytest.importorskip("torch", reason="torch is not installed")

from stiction import CoulombLaw, InputError, Mode, State, rollout
from stiction.learn.examples import Instances, make_examples
from stiction.learn.fit import FitOptions, held_out
from stiction.learn.guess import fit_guess
from stiction.learn.train import train
from stiction.stepping import Setting

SETTING = Setting(0.002, np.array([0.0, 0.0, -9.81]))


def instances_of(run) -> Instances:
    """The contact instances of a batch of throws."""
    throw, step = np.nonzero(run.kind)
    before = run.states()[throw, step]
    twist = np.hstack([before.velocity, before.angular_velocity])
    mode, impulse = run.mode[throw, step], run.impulse[throw, step]
    return Instances(before.position, before.quaternion, twist, impulse, mode, throw.astype(np.int64))


@pytest.fixture(scope="module")
def thrown(box):
    return instances_of(rollout(CoulombLaw(box, 0.7), random_states(np.random.default_rng(1), 60), 500))


@pytest.mark.parametrize(
    ("friction", "cone", "fold"),
    [((0.7, 0.7), "box", "mirror-swap"), ((0.5, 1.0), "box", "mirror"), ((0.6, 0.6), "round", "heading")],
)
def test_the_guess_finds_the_law_behind_the_data(box, friction, cone, fold):
    law = CoulombLaw(box, friction, cone=cone)
    instances = instances_of(rollout(law, random_states(np.random.default_rng(2), 20), 400))
    recipe, error = fit_guess(box, instances, SETTING)
    assert recipe.friction == pytest.approx(friction, rel=0.05)
    assert recipe.round == (cone == "round") and error < 0.1
    assert ("none", "mirror", "mirror-swap", "heading")[recipe.fold] == fold


def test_a_law_learned_from_sixty_throws_predicts_new_ones(box, thrown):
    truth = CoulombLaw(box, 0.7)
    law = train(box, thrown, SETTING, FitOptions(steps=1500))
    start = random_states(np.random.default_rng(99), 30)
    wanted, got = rollout(truth, start, 500), rollout(law, start, 500)
    error = np.linalg.norm(got.position[:, -1] - wanted.position[:, -1], axis=1)
    travelled = np.linalg.norm(wanted.position[:, -1, :2] - wanted.position[:, 0, :2], axis=1).mean()
    print(f"final position error: median {np.median(error) / travelled:.2%}, mean {error.mean() / travelled:.2%}")
    assert np.median(error) < 0.01 * travelled
    resting = rollout(law, rollout(law, State([0, 0, 0.2]), 3000).state(), 3000)
    assert np.abs(resting.position - resting.position[0]).max() < 1e-12 and (resting.mode == Mode.STATIC).all()


def test_training_is_deterministic(box, thrown):
    a, b = (train(box, thrown, SETTING, FitOptions(steps=60)).packed[0] for _ in range(2))
    assert np.array_equal(a, b)


def test_statistical_law_learns_the_whole_impulse(box, thrown):
    law = train(box, thrown, SETTING, FitOptions(steps=800), law="statistical")
    examples = make_examples(box, thrown, SETTING, law.recipe)
    run = rollout(law, random_states(np.random.default_rng(5), 5), 300)
    assert np.isfinite(run.position).all() and all(len(e.mode) for e in examples.values())


def test_whole_throws_are_held_out():
    throw = np.repeat(np.arange(50), 20)
    held = held_out(throw, 0.1, seed=1)
    assert held.sum() == 100 and len(np.unique(throw[held])) == 5
    assert not set(throw[held]) & set(throw[~held])


def test_too_little_data_is_refused(box, thrown):
    with pytest.raises(InputError, match="needs at least 200 contact instances, got 20"):
        train(box, thrown[:20], SETTING)
    with pytest.raises(InputError, match="law must be one of 'augmented', 'statistical', got 'psychic'"):
        train(box, thrown, SETTING, law="psychic")
