"""Materials at MuJoCo's points against rollouts, Algorithm 2 and DART: the figures, and how they are measured."""

import numpy as np
import pytest

pytest.importorskip("dartpy")
pytest.importorskip("mujoco")
pytest.importorskip("rich")

from contact_states import SETTING
from stiction import Body, Material, State, load
from stiction.mujoco import Simulation
from stiction_studies.robots import cube_in_mujoco, parallel_quadrupeds, point_agreement, step_recorder
from stiction_studies.robots.point_agreement import ATTACHED, DART, MUJOCO, POINTS, ROLLOUT, UNPREDICTED
from stiction_studies.robots.step_recorder import NO_GAP

BOX = Body.box((0.2, 0.3, 0.4), mass=1.0)
SLIDING = State((0.0, 0.0, 0.2), (1.0, 0.0, 0.0, 0.0), (1.0, 0.5, 0.0), (0.0, 0.0, 2.0))


def attach(law, gap: float | None = None) -> Simulation:
    model = step_recorder.box_model(BOX, SETTING)
    return Simulation(model, laws={step_recorder.NAME: law}, gap=gap)


def slide(law, gap: float | None = None) -> step_recorder.Record:
    qpos, qvel = step_recorder.joints(BOX, SLIDING.reshape(1))
    return step_recorder.run(attach(law, gap), qpos[0], 100, qvel=qvel[0])


def check_safety(found) -> None:
    assert found["contact_steps"] > 100
    assert found["energy_gain_J"] <= 1e-12 and found["depth_m"] < 1e-3


def test_a_free_box_makes_the_steps_of_a_rollout():
    found = point_agreement.compare_box(4, seed=2)
    runs, one = found["runs"], found["one_step"]
    assert runs[ATTACHED][ROLLOUT]["mean"] < 1e-6
    assert one["steps"] > 1000 and one["percent_99"] < 1e-6
    for name in (POINTS, UNPREDICTED):
        for other in (ROLLOUT, DART):
            assert 0 < runs[name][other]["median"] < 0.05
    check_safety(found["safety"])


def test_the_chain_swings_as_with_algorithm_2():
    found = point_agreement.compare_chain(2, seed=0)
    runs, one = found["runs"], found["one_step"]
    assert runs[POINTS][DART]["greatest"] < 0.1
    assert runs[MUJOCO][DART]["median"] > 0.2
    assert one["steps"] > 500 and one["unsolved"] == 0 and one["percent_99"] < 1e-7
    check_safety(found["safety"])


def test_the_quadruped_stands_where_it_stands_with_algorithm_2():
    found = point_agreement.compare_quadruped(0.4, 0.2)
    ours, alone = found["runs"][POINTS], found["runs"][MUJOCO]
    assert ours["apart_after_standing_m"] < 2e-5 < alone["apart_after_standing_m"]
    assert ours["creep_before_m"] < 1e-7
    check_safety(found["safety"])


def test_single_steps_detect_another_friction():
    """What is zero for the same law is h g times the difference for another one."""
    record = slide(Material.coulomb(0.3), NO_GAP)
    assert record.touching.sum() > 90 and not record.unsolved.any()
    same = step_recorder.one_step(attach(Material.coulomb(0.3), NO_GAP), [record])
    assert same["steps"] == record.touching.sum() and same["percent_100"] < 1e-7
    other = step_recorder.one_step(attach(Material.coulomb(0.2), NO_GAP), [record])
    assert other["percent_90"] > 0.5 * 0.1 * 9.81 * 0.002


def test_a_record_is_the_motion():
    record = slide(Material.coulomb(0.3))
    moved = np.diff(record.qpos[:, :3], axis=0)
    assert record.qpos.shape == (101, 7) and record.control.shape == (100, 0)
    assert np.abs(moved - 0.002 * record.qvel[1:, :3]).max() < 1e-9
    assert 0.0 <= record.depth < 1e-5


def test_threads_give_the_same_bits_and_are_timed():
    found = parallel_quadrupeds.measure("quick", seed=1)
    assert found["same_bits"]
    assert all(1.0 < one < 1e4 for times in found["microseconds"].values() for one in times.values())
    rows = parallel_quadrupeds.table(found).rows
    assert [row[0] for row in rows] == [parallel_quadrupeds.STICTION, parallel_quadrupeds.MUJOCO]
    start, control = parallel_quadrupeds.draw(3, 20, seed=1)
    again, other = parallel_quadrupeds.draw(3, 20, seed=1), parallel_quadrupeds.draw(3, 20, seed=2)
    assert np.array_equal(start, again[0]) and np.array_equal(control, again[1])
    assert not np.array_equal(start, other[0]) and not np.array_equal(start[0], start[1])


def test_a_toss_of_the_cube_can_be_watched():
    found = cube_in_mujoco.compare(2, timesteps=(0.002,), seed=4)
    scene = cube_in_mujoco.scene(found)
    wanted, ours, alone = (
        scene.runs[name] for name in (cube_in_mujoco.WANTED, cube_in_mujoco.OURS, cube_in_mujoco.MUJOCO)
    )
    assert wanted.interval == pytest.approx(0.01) and wanted.position.shape == (76, 1, 3)
    width = np.ptp(scene.pieces[0].vertices, axis=0)[0]
    assert np.abs(ours.position - wanted.position).max() < 0.2 * width < np.abs(alone.position - ours.position).max()
    height = width / 2 + load("cube").body.rounding  # of its centre, where it lies on a ground at z = 0
    assert ours.position[-1, 0, 2] == pytest.approx(height, rel=0.05)
