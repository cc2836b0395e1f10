"""stiction.gym: a Gymnasium environment with laws on its feet is still a proper one."""

import warnings
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")
pytest.importorskip("glfw")

from gymnasium.utils.env_checker import check_env

from stiction import CoulombLaw, InputError
from stiction.gym import LearnedFeet, ThreadVectorEnv
from stiction.mujoco import body_of


def hopper(others=None, **options):
    """Gymnasium's hopper with Coulomb's law on its foot, and other laws."""
    env = gymnasium.make("Hopper-v5", **options)
    foot = body_of(env.unwrapped.model, "foot")  # type: ignore[attr-defined]
    return LearnedFeet(env, laws={"foot": CoulombLaw(foot, 0.9, cone="round", softness=0.0), **(others or {})})


def test_passes_gymnasiums_checker():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every wrapper, and of infinite bounds of the hopper itself
        check_env(hopper(), skip_render_check=True)


def test_a_hopper_with_materials_on_the_rest_falls_on_them():
    env = hopper({"*": 0.5})
    env.unwrapped._terminate_when_unhealthy = False  # type: ignore[attr-defined]
    env.reset(seed=0)
    for _ in range(150):
        observation, *_ = env.step(np.ones(3, np.float32))
        assert np.isfinite(observation).all()
    assert env.contacts["foot"].steps > 20
    assert env.contacts["*"].steps > 5
    assert not sum(env.simulation.uncovered.values())


def test_foot_stands_by_its_law():
    env = hopper()
    env.reset(seed=0)
    for _ in range(40):
        observation, _reward, _over, _cut, _info = env.step(np.zeros(3, np.float32))
    assert np.isfinite(observation).all()
    assert env.contacts["foot"].steps > 20
    steps = env.contacts["foot"].steps
    first = env.reset(seed=0)[0]
    assert env.contacts["foot"].steps == 0 < steps
    assert np.array_equal(first, hopper().reset(seed=0)[0])


def test_same_seed_same_episode():
    runs = []
    for _ in range(2):
        env = hopper()
        env.reset(seed=3)
        rng = np.random.default_rng(0)
        runs.append([env.step(rng.uniform(-1, 1, 3).astype(np.float32))[0] for _ in range(30)])
    assert np.array_equal(runs[0], runs[1])


def test_refuses_other_environments():
    with pytest.raises(InputError, match="MujocoEnv, got CartPoleEnv"):
        LearnedFeet(gymnasium.make("CartPole-v1"), laws={})


def ant(**options):
    """Gymnasium's ant with a material on everything that meets the floor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # RK4 becomes Euler
        return LearnedFeet(gymnasium.make("Ant-v5", **options), laws={"geom:floor": 0.8})


def test_observations_hold_contact_forces():
    """The ant's weight is in the contact forces that it observes."""
    env = ant()
    env.reset(seed=0)
    for _ in range(100):
        observation = env.step(np.zeros(8, np.float32))[0]
    inner: Any = env.unwrapped
    weight = inner.model.body_mass.sum() * 9.81
    assert inner.data.cfrc_ext[1:, 5].sum() == pytest.approx(weight, rel=0.05)
    assert np.abs(observation[27:]).max() > 0.5


def test_threads_change_no_bit():
    """Vector environments, one after another and in threads, through several episodes."""
    runs = []
    for make in (gymnasium.vector.SyncVectorEnv, ThreadVectorEnv):
        envs = make([lambda: ant(max_episode_steps=20) for _ in range(3)])
        observations = [envs.reset(seed=5)[0]]
        rng = np.random.default_rng(0)
        for _ in range(50):
            observations.append(envs.step(rng.uniform(-1, 1, (3, 8)).astype(np.float32))[0])
        envs.close()
        runs.append(np.array(observations))
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0][-1, 0], runs[0][-1, 1])
