"""Metrics of whole motions: right on motions whose answer is known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from conftest import random_states
from contact_states import SETTING
from stiction import CoulombLaw, State, Trajectory, rollout
from stiction_studies.paper import metrics
from stiction_studies.study import bootstrap_interval


def resting(body, quaternion, count=3, steps=4, shift=(0.0, 0.0, 0.0)) -> Trajectory:
    """`count` bodies that stay where they are and touch from the second step on, pushed up by 2 N s."""
    position = np.tile(shift, (count, steps + 1, 1)).astype(float)
    still = np.zeros((count, steps + 1, 3))
    impulse = np.zeros((count, steps, 6))
    kind = np.zeros((count, steps), dtype=np.int8)
    impulse[:, 1:, 2], kind[:, 1:] = 2.0, 3
    turned = np.tile(quaternion, (count, steps + 1, 1)).astype(float)
    return Trajectory(position, turned, still, still.copy(), impulse, kind, kind, 0.002)


def quaternion(axis, degrees):
    return Rotation.from_rotvec(np.radians(degrees) * np.array(axis, dtype=float)).as_quat(scalar_first=True)


@pytest.mark.parametrize("degrees", [1e-7, 0.3, 90.0, 179.0])
def test_turn_angles_of_small_and_large_turns(degrees):
    a = Rotation.random(20, np.random.default_rng(0))
    b = a * Rotation.from_rotvec([0.0, np.radians(degrees), 0.0])
    pair = [r.as_quat(scalar_first=True) for r in (a, b)]
    np.testing.assert_allclose(metrics.turn_angles(pair[0], -pair[1]), degrees, rtol=1e-6)


def test_first_impulse_is_that_of_the_first_step_in_contact(box):
    run = resting(box, (1, 0, 0, 0))
    run.impulse[0, 0, 2] = 7.0  # no contact there
    np.testing.assert_array_equal(metrics.first_impulses(run), np.tile([0.0, 0.0, 2.0], (3, 1)))


def test_compare_measures_each_error_in_its_unit(box):
    truth = resting(box, (1, 0, 0, 0))
    run = resting(box, quaternion((0, 0, 1), 3.0))
    run.position[:, -1, 0] += 0.03
    run.position[:, -1, 2] += 0.04
    run.impulse[..., :2] += 0.1
    found = metrics.compare(box, truth, run, SETTING)
    wanted = {"distance": 0.03, "orientation": 3.0, "impulse": 0.1 * np.sqrt(2), "position": 0.05, "right_face": 1.0}
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)


def test_another_face_down_is_not_the_right_face(box):
    truth = resting(box, (1, 0, 0, 0))
    for degrees, right in ((50.0, 1.0), (56.0, 0.0), (180.0, 0.0)):
        run = resting(box, quaternion((1, 0, 0), degrees))
        # The box is 0.3 wide and 0.4 high: beyond 53 degrees, another face lies lower on average.
        assert metrics.compare(box, truth, run, SETTING)["right_face"].tolist() == [right] * 3, degrees


def test_every_side_of_the_rectangle_counts_as_a_face(rectangle):
    assert sorted(map(sorted, metrics.face_loops(rectangle))) == [[0, 1], [0, 2], [1, 3], [2, 3]]


def test_a_lost_throw_is_counted_and_not_averaged(box):
    truth = resting(box, (1, 0, 0, 0))
    run = resting(box, (1, 0, 0, 0))
    run.position[:, -1, 0] += 0.5
    run.position[1, 2:] = np.nan
    size = {"distance": 1.0, "orientation": 1.0, "impulse": 1.0, "position": 1.0}
    found = metrics.summarise(metrics.compare(box, truth, run, SETTING), size, seed=0)
    assert (found["throws"], found["lost"]) == (3, 1)
    assert found["position"]["mean"] == pytest.approx(0.5) and found["right_face"] == pytest.approx(2 / 3)
    run.position[:] = np.nan
    assert metrics.summarise(metrics.compare(box, truth, run, SETTING), size, seed=0) == {"throws": 3, "lost": 3}


def test_penetration_is_the_depth_of_the_deepest_vertex(box):
    run = resting(box, (1, 0, 0, 0), shift=(0, 0, 0.2))
    run.position[1, 2, 2] = 0.19
    np.testing.assert_allclose(metrics.penetrations(box, run), [0.0, 0.01, 0.0], atol=1e-15)


def test_energy_gained_is_the_work_of_contact(box):
    """The exact law gains nothing over whole throws; one upward push of p on a body at rest gains p^2 / 2m."""
    run = rollout(CoulombLaw(box, 0.5), random_states(np.random.default_rng(1), 4), 400)
    assert metrics.energy_gains(box, run, SETTING).max() < 1e-12
    pushed = resting(box, (1, 0, 0, 0))
    pushed.impulse[:] = 0.0
    pushed.impulse[:, 2, 2] = 3.0
    pushed.velocity[:, 3, 2] = 3.0 - 0.002 * 9.81
    gained = 0.5 * 3.0 * (3.0 - 2 * 0.002 * 9.81)
    np.testing.assert_allclose(metrics.energy_gains(box, pushed, SETTING), gained)


def test_bootstrap_is_seeded_and_covers_the_mean():
    values = np.random.default_rng(0).exponential(2.0, 400)
    low, high = bootstrap_interval(values, 3)
    assert (low, high) == bootstrap_interval(values, 3) != bootstrap_interval(values, 4)
    assert low < values.mean() < high and high - low == pytest.approx(2 * 1.96 * 2.0 / 20, rel=0.2)


def test_perturbed_moves_each_part_by_the_given_size(box, rectangle):
    start = random_states(np.random.default_rng(2), 5)
    moved = metrics.perturbed(box, start, 1e-3, seed=1)
    for part in ("position", "velocity", "angular_velocity"):
        size = np.linalg.norm(getattr(moved, part) - getattr(start, part), axis=1)
        np.testing.assert_allclose(size, 1e-3, rtol=1e-9, err_msg=part)
    np.testing.assert_allclose(np.radians(metrics.turn_angles(moved.quaternion, start.quaternion)), 1e-3, rtol=1e-6)
    flat = metrics.perturbed(rectangle, random_states(np.random.default_rng(2), 5, planar=True), 1e-3, seed=1)
    rollout(CoulombLaw(rectangle, 0.5), flat, 1)  # refuses a start out of its plane
    assert isinstance(flat, State)
