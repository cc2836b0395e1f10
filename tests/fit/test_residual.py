"""What a law's parameters leave, as factors of friction and restitution: exact in use, learned only where it helps."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from test_impact import CUBE, energy, lowest_points

from conftest import random_states
from stiction import Body, InputError, Material, State, Stepper, load, rollout
from stiction.basics.splits import fold_of
from stiction.fit.gauss_newton import clustered_mean
from stiction.fit.residual import FOLDS, PARTS, Form, fit_residual
from stiction.fit.toss_objective import width_of
from stiction.laws.curves import Curve
from stiction.laws.impact import ImpactLaw, ImpactMaterial, Residual
from stiction.laws.modelfile import to_file
from stiction.recordings import read
from toss_files import BODY, LAW, record, write_npz

GRAIN = Residual(Material.directional(1.2, 1.0, 0.7))
PLATE = Body.box((0.1, 0.1, 0.02), 0.37)
PLAIN = ImpactMaterial(friction=0.2, friction_loaded=0.2, friction_rise=0.0)


def slowed(law: ImpactLaw, velocity) -> float:
    """Friction [m/s^2] of a plate that slides so."""
    run = rollout(law, State((0, 0, 0.01), velocity=(*velocity, 0.0)), 20)
    return float(np.linalg.norm(velocity) - np.linalg.norm(run.velocity[-1])) / (20 * law.timestep)


def test_friction_depends_on_direction_speed_and_load():
    """Each factor at a slide of which all three are known."""
    law = ImpactLaw(PLATE, PLAIN, timestep=0.002, substeps=2)
    for angle, factor in ((0.0, 1.2), (np.pi / 2, 1.0), (np.pi, 0.7)):
        assert law.with_residual(GRAIN).friction_at(1.0, 3.0, angle) == pytest.approx(0.2 * factor)
        found = slowed(law.with_residual(GRAIN), (np.cos(angle), np.sin(angle)))
        assert found == pytest.approx(0.2 * factor * 9.81, rel=1e-3)
    faster = Residual(Material(1.0, speed=Curve.of(lambda v: 1 + 0.5 * v, 0.1, 3.0)))
    assert slowed(law.with_residual(faster), (1.0, 0.0)) == pytest.approx(0.2 * 1.48 * 9.81, rel=0.02)
    loaded = Residual(Material(1.0, load=Curve.of(lambda n: 1 + 0.1 * n, 0.1, 50.0)))
    factor = 1 + 0.1 * 0.37 * 9.81
    assert slowed(law.with_residual(loaded), (1.0, 0.0)) == pytest.approx(0.2 * factor * 9.81, rel=0.01)


def test_restitution_depends_on_the_approach():
    body = Body.box((0.1, 0.1, 0.1), 0.37)
    bounce = Residual(restitution=Curve.of(lambda v: 0.5 if v < 1 else 1.5, 0.1, 10))
    law = ImpactLaw(body, ImpactMaterial(restitution=0.4, restitution_threshold=0.0), residual=bounce, substeps=4)
    for speed, kept in ((0.3, 0.2), (3.0, 0.6)):
        run = rollout(law, State((0, 0, 0.06), velocity=(0, 0, -speed)), 40)
        assert run.velocity[:, 2].max() == pytest.approx(-kept * run.velocity[:, 2].min(), rel=0.05)
        assert law.restitution_at(speed) == pytest.approx(kept, rel=0.02)


def test_a_constant_factor_is_other_friction_everywhere():
    """In rollouts, of samples too, and step by step."""
    half = LAW.with_residual(Residual(Material(0.5))).with_spread((0.05, 0.1, 0.05))
    m = LAW.material
    same = LAW.with_material(friction=0.5 * m.friction, friction_loaded=0.5 * m.friction_loaded)
    same = same.with_spread((0.05, 0.1, 0.05))
    start = random_states(np.random.default_rng(3), 3)
    ours, theirs = (rollout(law, start, 100) for law in (half, same))
    assert ours.position == pytest.approx(theirs.position, abs=1e-9)
    assert np.abs(ours.position - rollout(LAW, start, 100).position).max() > 1e-3
    ours, theirs = (rollout(law, start, 60, samples=2, seed=1).position for law in (half, same))
    assert ours == pytest.approx(theirs, abs=1e-9)
    ours, theirs = (Stepper(law, start[0]) for law in (half, same))
    for _ in range(60):
        ours.step()
        theirs.step()
    assert ours.state.position == pytest.approx(theirs.state.position, abs=1e-9)


def test_mujoco_takes_a_law_with_its_residual():
    mujoco = pytest.importorskip("mujoco")
    from stiction.mujoco import Simulation, to_mjcf

    ends = []
    for residual in (None, GRAIN, Residual(Material(1.2))):
        law = ImpactLaw(PLATE, PLAIN, timestep=0.002, residual=residual)
        model = mujoco.MjModel.from_xml_string(to_mjcf(law, name="plate"))
        sim = Simulation(model, laws={"plate": law})
        sim.reset(qpos=[0, 0, 0.01, 1, 0, 0, 0], qvel=[1.0, 0, 0, 0, 0, 0])
        sim.step(50)
        ends.append(float(sim.data.qvel[0]))
    assert ends[0] == pytest.approx(1 - 0.2 * 9.81 * 0.1, rel=1e-3)
    assert ends[1] == pytest.approx(1 - 0.24 * 9.81 * 0.1, rel=1e-3) and ends[1] == pytest.approx(ends[2], abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_residual_can_break_physics(seed):
    """Whatever was learned: nothing sinks, and kinetic and potential energy together never rise."""
    rng = np.random.default_rng(seed)
    form = Form.of(ImpactLaw(CUBE, ImpactMaterial(restitution=0.6)), PARTS)
    residual = form.residual(rng.uniform(-0.5, 0.5, len(form.names)))
    law = ImpactLaw(CUBE, ImpactMaterial(restitution=0.6), timestep=1 / 148, substeps=4, residual=residual)
    run = rollout(law, random_states(rng, 2), 150)
    assert lowest_points(CUBE, run).min() > -0.1 * CUBE.rounding
    total = energy(CUBE, run, 9.81)
    assert np.diff(total, axis=-1).max() < 1e-12 * total.max() + CUBE.mass * 9.81 * 1e-3 / 148


def whole() -> ImpactLaw:
    form = Form.of(LAW, PARTS)
    return LAW.with_residual(form.residual(np.random.default_rng(1).uniform(-0.3, 0.3, len(form.names))))


def test_model_file_round_trip(tmp_path):
    law = whole()
    law.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    assert again.residual.depends_on == ("direction", "speed", "load", "restitution")
    start = random_states(np.random.default_rng(6), 2)
    assert np.array_equal(rollout(law, start, 100).position, rollout(again, start, 100).position)
    assert "residual in direction" in repr(again)


def damaged(tmp_path, change):
    """A file of a law with a residual, changed in its description and tensors."""
    whole().save(tmp_path / "law.safetensors")
    description, _ = whole().to_parts()
    tensors = load_file(tmp_path / "law.safetensors")
    change(description, tensors)
    (tmp_path / "law.safetensors").write_bytes(to_file(json.dumps(description, sort_keys=True), tensors))
    return load(tmp_path / "law.safetensors")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d, t: t.pop("residual.restitution"), "it has no 'restitution'"),
        (lambda d, t: t.update({"residual.friction.load": np.full(5, 9.0)}), "factor of up to 100"),
        (lambda d, t: t.update({"residual.friction.load": np.zeros((5, 5))}), "coefficients"),
        (lambda d, t: t.update({"residual.more": np.zeros(2)}), "and a covariance, got"),
        (lambda d, t: d["residual"]["friction"].update(viscosity=1.0), "and curves only"),
        (lambda d, t: d["residual"].update(spin={}), "may have friction and restitution, got"),
        (lambda d, t: (d.pop("residual"), t.pop("residual.restitution")), "unknown array"),
        (
            lambda d, t: t.update({"residual.inner": np.zeros((2, 11)), "residual.outer": np.zeros((3, 2))}),
            "and a covariance, got",
        ),
    ],
)
def test_files_that_describe_no_residual_are_refused(tmp_path, change, sentence):
    with pytest.raises(InputError, match=sentence):
        damaged(tmp_path, change)


def test_files_of_earlier_versions_have_empty_networks(tmp_path):
    empty = {"residual.inner": np.zeros((0, 11)), "residual.outer": np.zeros((3, 0))}

    def older(description, tensors):
        description.pop("residual")
        for name in [name for name in tensors if name != "spread"]:
            tensors.pop(name)
        tensors.update(empty)

    law = damaged(tmp_path, older)
    assert law.residual is None and law.material == LAW.material


@pytest.mark.parametrize(
    "parts", [{"friction": Material(0.5, axes="body")}, {"friction": 0.5}, {"friction": Material(200.0)}]
)
def test_an_invalid_residual_is_refused(parts):
    with pytest.raises(InputError):
        Residual(**parts)
    with pytest.raises(InputError, match="must be a Residual"):
        ImpactLaw(CUBE, residual=(1.0, 2.0))  # pyright: ignore[reportArgumentType]


def tosses_of(law: ImpactLaw, tmp_path, count: int = 32):
    return read(write_npz(tmp_path / "a.npz", record(count, seed=7, frames=60, law=law)), BODY).tosses


@pytest.mark.slow
def test_a_ground_with_a_grain_is_found(tmp_path):
    """Friction that differs by direction is learned, close to what it is; nothing else is."""
    found, about = fit_residual(LAW, tosses_of(LAW.with_residual(GRAIN), tmp_path), width_of(BODY))
    assert about["parts"][0] == "direction" and about["gain"] > 2 * about["gain_error"] > 0
    assert found.residual is not None
    angle = np.array([0.0, np.pi / 2, np.pi])
    assert found.residual.friction_factor(0.5, 10.0, angle) == pytest.approx([1.2, 1.0, 0.7], abs=0.12)


@pytest.mark.slow
def test_where_the_law_is_right_nothing_is_kept(tmp_path):
    found, about = fit_residual(LAW, tosses_of(LAW, tmp_path), width_of(BODY))
    assert found.residual is None and about["parts"] == []
    assert set(about["tried"]) == set(PARTS)


def test_few_tosses_are_not_asked(tmp_path):
    tosses = tosses_of(LAW, tmp_path)
    twins = np.arange(32) // 4  # 8 recordings, each of them seen from 4 sides
    assert fit_residual(LAW, tosses, width_of(BODY), groups=twins) == (LAW, {})


def test_folds_keep_throws_together():
    throw = np.repeat(np.arange(20), 3)
    fold = fold_of(throw, FOLDS, 0)
    assert all(len(set(fold[throw == k])) == 1 for k in range(20)) and set(fold) == set(range(FOLDS))
    values = np.random.default_rng(0).normal(size=20)
    assert clustered_mean(np.repeat(values, 3), throw)[1] == pytest.approx(values.std(ddof=1) / 20**0.5)


@pytest.mark.slow
def test_a_residual_is_reported_and_plotted(tmp_path):
    from dataclasses import replace

    from test_explain import identified

    from stiction.fit.report import body_details

    plain = identified()
    about = {"loss": 0.2, "parts": ["direction"], "gain": 0.05, "gain_error": 0.01, "tried": {}}
    found = replace(plain, law=plain.law.with_residual(GRAIN), residual=about)
    details = "\n".join(body_details(found))
    assert "dependence of friction on the direction of slip" in details and "0.05 ± 0.01" in details
    nothing = {"loss": 0.2, "parts": [], "tried": {"load": {"gain": 0.001, "error": 0.002}}}
    assert "0.001 ± 0.002 at most" in "\n".join(body_details(replace(plain, residual=nothing)))
    pytest.importorskip("matplotlib")
    sizes = []
    for each in (plain, found):
        each.plot(tmp_path / "a.png")
        sizes.append((tmp_path / "a.png").stat().st_size)
    assert sizes[1] != sizes[0]
