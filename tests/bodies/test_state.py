"""States: shapes, broadcasting, how they are made and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import CoulombLaw, InputError, State, collect, rollout


def test_leading_axes_broadcast():
    state = State(np.zeros((4, 1, 3)), velocity=np.ones((5, 3)))
    assert state.batch_shape == (4, 5)
    assert state.quaternion.shape == (4, 5, 4)
    assert state[1, 2].velocity.tolist() == [1, 1, 1]


def test_nearly_unit_quaternions_are_normalised():
    state = State([0, 0, 1], [1 + 5e-7, 0, 0, 0])
    assert np.linalg.norm(state.quaternion) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (dict(position=[0, 0, np.nan]), r"position must be finite, got nan at index \(2,\)"),
        (dict(position=[0, 0, 1], velocity=[0, np.inf, 0]), "velocity must be finite, got inf"),
        (dict(position=[0, 0, 1], quaternion=[1, 0.1, 0, 0]), "must have length 1 within 1e-06, got length 1.00498"),
        (dict(position=[0, 0, 1], quaternion=[1, 0, 0]), r"must have shape \(..., 4\), got shape \(3,\)"),
        (dict(position=[0, 1]), r"position must have shape \(..., 3\), got shape \(2,\)"),
        (dict(position="above"), "position must be an array of numbers, got 'above'"),
        (dict(position=np.zeros((2, 3)), velocity=np.zeros((3, 3))), "must broadcast together"),
    ],
)
def test_impossible_states_are_refused(parts, sentence):
    with pytest.raises(InputError, match=sentence):
        State(**parts)


def test_trajectory_gives_states_and_parts_back(box):
    start = State(np.array([[0, 0, 0.5], [0, 0, 0.7]]))
    run = rollout(CoulombLaw(box, 0.5), start, 10)
    assert run.steps == 10 and run.time[-1] == pytest.approx(0.02)
    assert run.position.shape == (2, 11, 3) and run.impulse.shape == (2, 10, 6) and run.mode.shape == (2, 10)
    assert np.array_equal(run.state(0).position, start.position)
    assert np.array_equal(run[1].state().position, run.position[1, -1])
    assert run.states().batch_shape == (2, 11)


def test_angles_turn_about_the_axes_of_the_world():
    angles = np.random.default_rng(0).uniform(-180, 180, (40, 3))
    wanted = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    for state in (State.from_euler([0, 0, 1], angles), State.from_euler([0, 0, 1], np.radians(angles), degrees=False)):
        found = Rotation.from_quat(state.quaternion, scalar_first=True).as_matrix()
        assert state.batch_shape == (40,) and found == pytest.approx(wanted, abs=1e-12)
    moving = State.from_euler([0, 0, 1], [90, 0, 0], velocity=[1, 2, 3], angular_velocity=[4, 5, 6])
    assert moving.velocity.tolist() == [1, 2, 3] and moving.angular_velocity.tolist() == [4, 5, 6]
    with pytest.raises(InputError, match=r"angles \(about x, y, z\) must have shape \(..., 3\), got shape \(2,\)"):
        State.from_euler([0, 0, 1], [90, 0])


def test_random_states_are_the_throws_that_collect_draws(box):
    pytest.importorskip("pyarrow")
    asked = []

    class Watching:
        def throw(self, body, state, steps, *, timestep, gravity):
            asked.append(state)
            return rollout(CoulombLaw(body, 0.5), state, steps, timestep=timestep, gravity=gravity)

    ranges = {"height": (0.1, 0.2), "spin": (-1.0, 1.0)}
    collect(box, Watching(), throws=6, steps=20, seed=9, ranges=ranges, requeries=0, workers=1, progress=False)
    drawn = State.random(box, 6, seed=9, ranges=ranges)
    seen = np.concatenate([np.atleast_2d(state.position) for state in asked])
    assert any(np.array_equal(seen[k : k + 6], drawn.position) for k in range(len(seen) - 5))
    assert np.array_equal(State.random(box, seed=9, ranges=ranges).velocity, drawn.velocity[0])
    assert not np.array_equal(State.random(box, 6, seed=8, ranges=ranges).velocity, drawn.velocity)
    assert np.abs(drawn.angular_velocity).max() <= 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (dict(body="box", number=3), "body must be a stiction.Body, got str"),
        (dict(number=0), "number must be a whole number from 1 to 10000000, got 0"),
        (dict(number=3, seed=-1), "seed must be a whole number of at least 0, got -1"),
        (dict(number=3, ranges={"hight": (0, 1)}), "A range of throws must be one of 'height', .*, got 'hight'"),
        (dict(number=3, ranges={"height": (1, 0)}), "The range of height must have its lower limit first"),
        (dict(number=3, ranges=(0, 1)), r"The ranges of throws must be a dict by name, got \(0, 1\)"),
    ],
)
def test_impossible_draws_are_refused(box, given, sentence):
    with pytest.raises(InputError, match=sentence):
        State.random(**{"body": box, **given})
