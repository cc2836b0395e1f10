"""The impact law and the core's rebound, rounding and cuts at impacts: what they promise, for any parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from conftest import random_states
from contact_states import handled, lowest_separation, random_contacts, twist_after
from stiction import Body, InputError, Mode, State, load, rollout
from stiction.laws.impact import ImpactLaw, ImpactMaterial

CUBE = Body.box((0.1, 0.1, 0.1), 0.37, com=(0.001, -0.002, 0.006), rounding=0.002)
MATERIALS = st.builds(
    ImpactMaterial,
    restitution=st.floats(0, 1),
    restitution_fall=st.floats(-0.5, 1),
    restitution_threshold=st.floats(0, 0.2),
    friction=st.floats(0, 2),
    friction_loaded=st.floats(0, 2),
    friction_load=st.floats(0.1, 1e3),
    friction_rise=st.floats(-0.5, 1),
    spin=st.floats(0, 3),
    memory=st.integers(1, 8),
    lag=st.floats(0, 1),
)


def lowest_points(body: Body, run) -> np.ndarray:
    R = Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True).as_matrix()
    heights = (R[:, 2] @ body.vertices.T).min(axis=1).reshape(run.position.shape[:-1])
    return run.position[..., 2] + heights - body.rounding


def energy(body: Body, run, gravity: float) -> np.ndarray:
    """Kinetic and potential energy [J] of all states."""
    q = run.quaternion.reshape(-1, 4)
    R = Rotation.from_quat(q, scalar_first=True).as_matrix()
    spin = run.angular_velocity.reshape(-1, 3)
    arm = R @ body.com
    velocity = run.velocity.reshape(-1, 3) + np.cross(spin, arm)
    own = np.einsum("nji,nj->ni", R, spin)
    height = run.position.reshape(-1, 3)[:, 2] + arm[:, 2]
    total = 0.5 * body.mass * (velocity**2).sum(axis=1) + 0.5 * np.einsum("ni,ij,nj->n", own, body.inertia, own)
    return (total + body.mass * gravity * height).reshape(run.position.shape[:-1])


@settings(max_examples=60, deadline=None)
@given(material=MATERIALS, seed=st.integers(0, 10_000))
def test_no_parameters_can_break_physics(material, seed):
    """No approach after the impulse, no pull, no friction without load, no energy from contact."""
    contacts = random_contacts(CUBE, 60, np.random.default_rng(seed))
    p, _ = handled(ImpactLaw(CUBE, material), contacts)
    assert np.isfinite(p).all()
    for i in range(len(p)):
        c = contacts.record[i]
        after = twist_after(contacts, i, p[i])
        fastest = np.abs(c.velocity[:3]).sum() + c.diameter * np.abs(c.velocity[3:]).sum() + 1e-12
        assert lowest_separation(contacts, i, after) >= -1e-9 * fastest
        assert p[i, 2] >= 0 and (p[i, 2] > 0 or not p[i].any())
        assert 0.5 * p[i] @ (c.velocity + after) <= 1e-9 * np.abs(p[i] * c.velocity).sum()


@settings(max_examples=25, deadline=None)
@given(material=MATERIALS, seed=st.integers(0, 10_000), unequal=st.floats(0.6, 1.6))
def test_throws_stay_above_the_ground_and_never_gain_energy(material, seed, unequal):
    """Kinetic and potential energy together never rise, whatever bounces, rubs or tumbles."""
    body = CUBE.reshaped(scale=1.0, rounding=0.002, com=CUBE.com, inertia=CUBE.inertia * np.diag([1.0, unequal, 0.9]))
    start = random_states(np.random.default_rng(seed), 2)
    law = ImpactLaw(body, material, timestep=1 / 148, substeps=4)
    run = rollout(law, start, 150)
    assert lowest_points(body, run).min() > -0.1 * body.rounding
    total = energy(body, run, 9.81)
    # What has sunk is raised, at 1 mm/s at most.
    assert np.diff(total, axis=-1).max() < 1e-12 * total.max() + body.mass * 9.81 * 1e-3 / 148


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_a_corner_keeps_the_share_of_its_energy_that_restitution_says(restitution):
    """Of what an impact of one corner without friction can take, all but e^2 is gone."""
    contacts = random_contacts(CUBE, 200, np.random.default_rng(8))
    material = ImpactMaterial(restitution=restitution, restitution_threshold=0.0, friction=0.0, friction_loaded=0.0)
    p, _ = handled(ImpactLaw(CUBE, material), contacts)
    seen = 0
    for i in range(len(p)):
        c = contacts.record[i]
        approach = -lowest_separation(contacts, i, c.velocity)
        if c.count == 1 and approach > c.fall:
            after = twist_after(contacts, i, p[i])
            response = (lowest_separation(contacts, i, after) + approach) / p[i, 2]
            lost = 0.5 * approach**2 / response
            before = approach - c.fall  # what gravity adds within the step is stopped, and does not bounce
            kept = max(0.0, restitution * before - c.fall) / approach
            assert 0.5 * p[i] @ (c.velocity + after) == pytest.approx(-(1 - kept**2) * lost, rel=1e-9)
            seen += 1
    assert seen > 20


def test_a_flat_drop_bounces_with_its_restitution():
    body = Body.box((0.1, 0.1, 0.1), 0.37)
    law = ImpactLaw(body, ImpactMaterial(restitution=0.4, restitution_threshold=0.0), timestep=0.002, substeps=4)
    run = rollout(law, State((0, 0, 0.15), velocity=(0, 0, -1.0)), 80)
    down = run.velocity[:, 2].min()
    assert run.velocity[:, 2].max() == pytest.approx(0.4 * -down, rel=0.02)


def test_slow_approaches_do_not_bounce():
    body = Body.box((0.1, 0.1, 0.1), 0.37)
    law = ImpactLaw(body, ImpactMaterial(restitution=0.9, restitution_threshold=0.1), substeps=4)
    run = rollout(law, State((0, 0, 0.05005)), 100)
    assert run.velocity[:, 2].max() < 1e-9 and run.mode[-1] == Mode.STATIC


def test_rounded_edges_lie_lower_than_sharp_ones():
    """On a face both stand alike; on an edge the rounded box is lower by (sqrt(2) - 1) r."""
    on_edge = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0)
    for quaternion, lower in (((1.0, 0, 0, 0), 0.0), (on_edge, (2**0.5 - 1) * 0.004)):
        touch = []
        for rounding in (0.0, 0.004):
            body = Body.box((0.1, 0.1, 0.1), 0.37, rounding=rounding)
            run = rollout(ImpactLaw(body, timestep=0.002), State((0, 0, 0.08), quaternion), 100)
            touch.append(run.position[np.flatnonzero(run.kind)[0], 2])  # the state before the step of first contact
        assert touch[0] - touch[1] == pytest.approx(lower, abs=2e-3 * 0.4)


def test_steps_end_where_a_corner_arrives():
    """With steps of 20 ms, a cube that falls on its corner bounces where it would with steps of 0.1 ms."""
    body = Body.box((0.1, 0.1, 0.1), 0.37)
    start = State(
        (0, 0, 0.3),
        np.array([0.88, 0.33, 0.27, 0.20]) / np.linalg.norm((0.88, 0.33, 0.27, 0.20)),
        (0.5, 0.2, 0),
        (1, 2, 3),
    )
    law = ImpactLaw(body, ImpactMaterial(restitution=0.3), timestep=0.02)
    rough = rollout(law, start, 15, substeps=4)
    fine = rollout(law, start, 15, substeps=200)
    assert np.abs(rough.position - fine.position).max() < 0.01
    assert lowest_points(body, rough).min() > -1e-3


def test_a_sliding_face_is_slowed_by_its_friction():
    body = Body.box((0.1, 0.1, 0.02), 0.37)
    law = ImpactLaw(
        body, ImpactMaterial(friction=0.2, friction_loaded=0.2, friction_rise=0.0), timestep=0.002, substeps=2
    )
    run = rollout(law, State((0, 0, 0.01), velocity=(1.0, 0, 0)), 50)
    assert run.velocity[-1, 0] == pytest.approx(1.0 - 0.2 * 9.81 * 0.1, rel=1e-3)


def test_friction_with_memory_opposes_the_slip_as_it_changes():
    """An impact that reverses the slip on its own: friction along the slip before it would push the wrong way."""
    body = Body.box((0.1, 0.1, 0.1), 0.37)
    contacts = random_contacts(body, 400, np.random.default_rng(4))
    gained = {}
    for memory in (1, 8):
        p, _ = handled(ImpactLaw(body, ImpactMaterial(restitution=0.0, memory=memory)), contacts)
        after = [twist_after(contacts, i, p[i]) for i in range(len(p))]
        gained[memory] = np.array([p[i] @ (contacts.record[i].velocity + after[i]) for i in range(len(p))])
    different = np.abs(gained[8] - gained[1]) > 1e-6
    assert different.mean() > 0.1 and (gained[8] <= 1e-9).all()


@pytest.mark.parametrize("substeps", [1, 4, 8])
@pytest.mark.parametrize("tilt", [0.0, 8.0])
def test_a_body_at_rest_keeps_its_place(substeps, tilt):
    """On the flat and on a slope below its friction angle, whatever the steps are."""
    slope = np.radians(tilt)
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    law = ImpactLaw(
        CUBE, ImpactMaterial(restitution_threshold=0.0), timestep=1 / 148, substeps=substeps, gravity=gravity
    )
    run = rollout(law, State((0, 0, 0.051), velocity=(0.3, 0, 0)), 1200)
    assert run.mode[-1] == Mode.STATIC and np.array_equal(run.position[400], run.position[-1])


@pytest.mark.parametrize("height", [0.05, 0.055])
@pytest.mark.parametrize("share", [0.8, 0.95, 1.05, 1.4])
def test_the_angle_of_repose_is_that_of_friction(share, height):
    """Below it a body comes to rest, put down or dropped; above it the body slides, even from rest."""
    slope = np.arctan(0.6 * share)
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    law = ImpactLaw(CUBE, ImpactMaterial(friction=0.6, friction_loaded=0.6), timestep=1 / 148, gravity=gravity)
    run = rollout(law, State((0, 0, height)), 300)
    if share < 1:
        assert run.mode[-1] == Mode.STATIC and np.array_equal(run.position[200], run.position[-1])
    else:
        gained = 9.81 * (np.sin(slope) - 0.6 * np.cos(slope)) * 100 / 148
        assert run.velocity[-1, 0] - run.velocity[-101, 0] == pytest.approx(gained, rel=1e-3)


def test_the_shipped_cube_is_a_law_as_any_other():
    law = load("cube")
    assert isinstance(law, ImpactLaw) and any(law.spread)
    start = random_states(np.random.default_rng(7), 3)
    run, many = rollout(law, start, 300), rollout(law, start, 300, samples=4, seed=2)
    assert many.position.shape == (4, 3, 301, 3)
    assert (run.mode[:, -1] == Mode.STATIC).all()
    assert np.array_equal(rollout(law, start[1], 300).position, run.position[1])


def test_ground_and_gravity_are_the_laws_own():
    law = ImpactLaw(CUBE, ImpactMaterial(), ground=0.2, gravity=(0, 0, -5.0))
    run = rollout(law, State((0, 0, 0.5)), 400)
    assert run.velocity[10, 2] == pytest.approx(-5.0 * 10 * law.timestep)
    assert run.position[-1, 2] == pytest.approx(0.25, abs=1e-4)


def test_samples_are_seeded_and_differ_only_by_the_spread():
    start = random_states(np.random.default_rng(5), 2)
    law = ImpactLaw(CUBE, ImpactMaterial(), timestep=1 / 148, spread=(0.05, 0.15, 0.05))
    a, b = (rollout(law, start, 120, samples=5, seed=1).position for _ in range(2))
    assert a.shape == (5, 2, 121, 3) and np.array_equal(a, b)
    assert a[:, 0, -1].std(axis=0).max() > 1e-4
    same = rollout(law.with_spread((0, 0, 0)), start, 120, samples=2).position
    assert np.array_equal(same[0], same[1]) and np.array_equal(same[0], rollout(law, start, 120).position)


def test_threads_and_parts_of_a_batch_change_no_bit(monkeypatch):
    """Each body has its own factors and counts its own impacts, wherever it is simulated."""
    from stiction.simulation import rollout as rollouts

    law = ImpactLaw(CUBE, ImpactMaterial(), timestep=1 / 148, spread=(0.05, 0.15, 0.05))
    start = random_states(np.random.default_rng(9), 130)
    whole = rollout(law, start, 80, samples=2, seed=4, threads=1)
    assert np.array_equal(whole.position, rollout(law, start, 80, samples=2, seed=4, threads=3).position)
    monkeypatch.setattr(rollouts, "_BODIES_PER_UPDATE", 50)
    parts = rollout(law, start, 80, samples=2, seed=4, threads=1, progress=True)
    assert np.array_equal(whole.position, parts.position) and np.array_equal(whole.impulse, parts.impulse)


def test_states_between_those_that_are_kept_are_left_out():
    """Impulses add up over a kept step; its mode and kind are those of its last time step."""
    law = ImpactLaw(CUBE, ImpactMaterial(), timestep=1 / 148)
    start = random_states(np.random.default_rng(12), 3)
    full, kept = rollout(law, start, 240), rollout(law, start, 240, every=4)
    assert np.array_equal(kept.position, full.position[:, ::4]) and np.array_equal(kept.velocity, full.velocity[:, ::4])
    assert kept.impulse == pytest.approx(full.impulse.reshape(3, 60, 4, 6).sum(axis=2), rel=1e-12, abs=1e-15)
    assert np.array_equal(kept.mode, full.mode[:, 3::4]) and np.array_equal(kept.kind, full.kind[:, 3::4])
    assert (full.mode[:, -1] == Mode.STATIC).all()  # bodies at rest, whose steps repeat themselves, are among them


def test_an_empty_batch_has_no_motion():
    law = ImpactLaw(CUBE, spread=(0.1, 0.1, 0.1))
    start = random_states(np.random.default_rng(1), 2)[:0]
    assert rollout(law, start, 5).position.shape == (0, 6, 3)
    assert rollout(law, start, 5, samples=2).position.shape == (2, 0, 6, 3)


def test_a_law_without_uncertainty_gives_no_samples(box):
    from stiction import CoulombLaw

    with pytest.raises(InputError, match="has no known uncertainty"):
        rollout(CoulombLaw(box), State((0, 0, 1.0)), 10, samples=3)


def test_model_file_round_trip(tmp_path):
    law = ImpactLaw(
        CUBE, ImpactMaterial(friction=0.31), timestep=1 / 148, ground=0.001, spread=(0.1, 0.2, 0.0), info={"a": 1}
    )
    law.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    assert isinstance(again, ImpactLaw) and again.material == law.material and again.info == law.info
    start = random_states(np.random.default_rng(6), 2)
    assert np.array_equal(rollout(law, start, 100).position, rollout(again, start, 100).position)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({"restitution": 1.2}, "must be 0 to 1"),
        ({"friction": -0.1}, "not be negative"),
        ({"memory": 0}, "whole number"),
    ],
)
def test_impossible_materials_are_refused(numbers, sentence):
    with pytest.raises(InputError, match=sentence):
        ImpactMaterial(**numbers)
