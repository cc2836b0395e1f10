"""Scenes of contact: they are built, they stand, and the check of a step finds what is wrong with it."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("mujoco")

from stiction_studies.robots import contact_families, cost_growth, facet_impacts, pile_scenes, scene_bench, scene_runs
from stiction_studies.robots.contact_check import ContactCheck
from stiction_studies.robots.machine_scenes import belt
from stiction_studies.robots.scene_catalogue import FAMILIES, SCENES, scene


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_is_built_and_moves_the_same_way_twice(name):
    ends = []
    for _ in range(2):
        one = scene(name)
        assert one.name == name and one.steps > 200
        sim = one.simulation()
        drive = one.control(sim.model, sim.data)
        for t in range(5):
            drive(t)
            sim.step()
        ends.append(sim.data.qpos.copy())
    assert np.isfinite(ends[0]).all() and np.array_equal(*ends)


@pytest.mark.parametrize(
    ("name", "points"), [("jenga", 192), ("logs", 48), ("humanoid-stands", 16), ("stonehenge", 500)]
)
def test_structures_at_rest_touch_at_the_points_that_their_faces_share(name, points):
    sim = scene(name).simulation()  # whose model lists contacts a little before they touch
    sim.step()
    assert (sim.data.contact.dist < 1e-6).sum() == points


def test_a_standing_humanoid_fulfils_the_laws_of_contact_and_does_not_creep():
    one = dataclasses.replace(scene("humanoid-stands"), settled=0.1)
    course = scene_runs.followed(one, 100)
    found = scene_runs.safety(course)
    assert found["residual_max"] < 1e-12 and found["creep_m"] < 1e-14
    assert found["energy_J"] <= 0.0 and found["pull_Ns"] == 0.0 and found["excess_friction"] < 1e-12
    alone = scene_runs.alone(one, 100)
    assert alone.creep > 1e-12 and alone.depth > 1e-5


def test_the_check_finds_a_body_that_moves_where_friction_would_hold_it():
    one = pile_scenes.grid(1)
    sim = one.simulation()
    check = ContactCheck(sim, one.friction)
    for slip, residual in ((0.0, 0.0), (1e-3, 1e-3 / (9.81 * 0.002))):
        check.before()
        sim.step()
        sim.data.qvel[0] += slip  # [m/s] as a solver would that lets it creep
        check.after()
        assert check.found.residuals[-1] == pytest.approx(residual, abs=1e-9)


def test_the_belt_carries_its_box_after_the_slide_that_friction_allows():
    one = belt()
    course = scene_runs.followed(one, 500)
    assert one.outcome is not None
    assert one.outcome.measure(course.model, course.data) == pytest.approx(one.outcome.wanted, rel=0.05)
    assert course.violations is not None and course.violations.energy < 1e-12


def test_the_cost_of_separate_stacks_is_measured_at_every_size():
    found = cost_growth.measure("quick", seed=0)
    at_rest = [one["points"] for one in found if one["scene"] == "separate stacks of two boxes, at rest"]
    assert at_rest == [8, 32, 64] and all(one["stiction_us"] > 0 for one in found)
    assert len(cost_growth.table(found).rows) == len(found) == 12
    assert np.isfinite(list(cost_growth.exponents(found).values())).all()


def test_a_mesh_of_a_smooth_body_bounces_nearly_like_it():
    found = facet_impacts.measure("quick", seed=0)
    assert 0.0 < found["stiction"]["mean_m_s"] < 0.5


def test_figures_of_scenes_become_tables_and_goals(monkeypatch):
    monkeypatch.setitem(contact_families.SCALES, "quick", (40, 1))
    chosen = {"humanoids": {"humanoid-stands": SCENES["humanoid-stands"]}, "others": {"belt": SCENES["belt"]}}
    measured = contact_families.measure("quick", chosen)
    assert [table.title for table in contact_families.tables(measured.figures)] == [
        "Scenes: solved, and at what cost",
        "Scenes: what must not happen",
        "Scenes: motion that must occur",
    ]
    goals = {one.goal: one for one in contact_families.goals(measured.figures)}
    assert goals["no contact pulls [N s]"].met and goals["unsolved steps <= 0.1 %"].found.startswith("0 %")
    assert not any(goal.startswith("quadrupeds") for goal in goals)
    assert len(measured.rows) == 4 and len(measured.replays) == 2


def test_the_runner_prints_a_line_for_each_scene(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["scene_bench", "jenga", "tippe-top", "--steps", "3"])
    scene_bench.main()
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("scene") and [line.split()[0] for line in lines] == ["jenga", "tippe-top"]
    assert set(FAMILIES) >= {"quadrupeds", "humanoids", "hands and grippers", "heaps", "structures at rest"}
