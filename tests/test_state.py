"""States and trajectories: shapes, broadcasting and what is refused."""

import numpy as np
import pytest

from stiction import CoulombLaw, InputError, State, rollout


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
