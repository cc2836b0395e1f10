"""Identification: known parameters come back, and unobservable ones are reported as such."""

import json

import numpy as np
import pytest

import stiction
from stiction import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.cli import main
from stiction.fit.free import LawType, choose, fit_law
from stiction.fit.gauss_newton import Parameter, TossFit, mean_loss
from stiction.fit.toss_objective import STAGES
from stiction.recordings import read
from stiction.recordings.flight_estimate import flight_estimate
from toss_files import BODY, LAW, impact_law, record, write_npz

SIZE = Body.box((0.1, 0.1, 0.1), 0.37)


def test_gauss_newton_finds_a_curve_despite_wild_tosses():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 40)
    truth = np.array([1.5, -0.7])
    data = [truth[0] * t + truth[1] * t**2 + rng.normal(0, 0.01, 40) for _ in range(10)]
    data[3] = data[3] + 50.0  # a toss that landed on another side
    parameters = [Parameter("a", "", 0.0, 1.0, 1e-3), Parameter("b", "", 0.0, 1.0, 1e-3)]

    def simulate(x):
        return [np.stack([x[0] * t + x[1] * t**2 - d], axis=1) for d in data]

    found = TossFit(0.1, 20, ridge=1e-6).solve(simulate, parameters, np.zeros(2))
    assert np.abs(found.values - truth).max() < 0.05
    assert (np.abs(found.values - truth) < 4 * found.errors + 0.02).all()
    assert found.losses[-1] < found.losses[0] and mean_loss(simulate(truth), 0.1) < found.losses[0]


def test_unobserved_parameters_stay_at_their_start():
    parameters = [Parameter("seen", "", 0.0, 1.0, 1e-3), Parameter("unseen", "", 0.3, 1.0, 1e-3)]
    simulate = lambda x: [np.full((5, 1), x[0] - 1.0)] * 4  # noqa: E731
    found = TossFit(1.0, 10, ridge=1e-3).solve(simulate, parameters, np.array([0.0, 0.3]))
    assert found.values == pytest.approx([1.0, 0.3], abs=1e-2)
    assert found.observed[0] > 0.9 and found.observed[1] < 0.1


@pytest.mark.parametrize(("error", "lowest", "highest"), [(1e-3, -0.01, 0.01), (10.0, 0.9, 1.1), (0.1, 0.2, 0.8)])
def test_what_was_measured_elsewhere_weighs_by_its_error(error, lowest, highest):
    """Tosses say 1, another measurement 0: the surer one decides, and neither is called a guess."""
    data = 1.0 + np.random.default_rng(2).normal(0, 0.5, (12, 20))
    parameters = [Parameter("a", "", 0.0, 1.0, 1e-3, error=error)]
    simulate = lambda x: [(x[0] - row)[:, np.newaxis] for row in data]  # noqa: E731
    found = TossFit(1.0, 10, ridge=1).solve(simulate, parameters, np.zeros(1))
    assert lowest < found.values[0] < highest
    assert found.errors[0] < 1.5 * error and found.observed[0] == 1.0


@pytest.mark.slow
def test_flights_hold_the_centre_of_mass_where_the_law_is_wrong(tmp_path):
    """A bounce that depends on the lever, which the fit does not know: what flight measures stays as it is."""
    law = LAW.with_material(restitution_lever=2.0, friction=0.5, friction_loaded=0.1)
    tosses = read(write_npz(tmp_path / "a.npz", record(16, seed=6, frames=50, law=law)), SIZE).tosses
    few = {"friction_rise": 0.0, "friction_load": 8.0, "spin": 0.85, "lag": 0.125, "restitution_fall": 0.0}
    law = LawType({**few, "restitution_threshold": 0.03, "ground": 0.0})
    fitted = fit_law(tosses, SIZE, law, stages=STAGES[:1])
    for axis, true in zip("xyz", BODY.com):
        value, error = fitted.found(f"com_{axis}")
        assert abs(value - true) < 3 * error and error < 5e-5, axis


def test_rotation_vectors_are_relative_turns():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(1)
    a, b = Rotation.random(20, rng), Rotation.random(20, rng)
    got = rotation_vectors(a.as_quat(scalar_first=True), b.as_quat(scalar_first=True))
    assert got == pytest.approx((a * b.inv()).as_rotvec(), abs=1e-9)


def test_free_flight_gives_gravity_and_centre_of_mass(tmp_path):
    found = read(write_npz(tmp_path / "a.npz", record(30, seed=3)), SIZE)
    values, errors = flight_estimate(found.tosses, SIZE.inertia)
    truth = np.array([*BODY.com, 9.81])
    assert (np.abs(values - truth) < 4 * errors + 1e-4).all()
    assert errors[3] < 0.1


@pytest.mark.slow
def test_known_parameters_come_back(tmp_path):
    """By the command, from poses with a tracker's noise: each within its standard error, which is small."""
    path = write_npz(tmp_path / "a.npz", record(20, seed=4, frames=60), split=np.arange(20) >= 16)
    out, figures_path = tmp_path / "law.safetensors", tmp_path / "law.json"
    args = ["identify", str(path), "--body", "box:0.1,0.1,0.1", "--mass", "0.37", "--out", str(out)]
    assert main([*args, "--json", str(figures_path)]) == 0
    law, figures = stiction.load(out), json.loads(figures_path.read_text())
    assert law.info == {name: figures[name] for name in law.info}
    speeds = [0.5, 1.0]
    restitution = LAW.material.restitution_at(speeds)
    truth = {f"com_{axis}": value for axis, value in zip("xyz", BODY.com)}
    truth |= {"friction_loaded": LAW.material.friction_loaded, "restitution": restitution[1]}
    truth |= {"size": 1.0, "rounding": BODY.rounding, "inertia": 9e-4 / SIZE.inertia[0, 0]}
    rows = figures["parameters"]
    for name, value in truth.items():
        assert abs(rows[name]["value"] - value) < 4 * rows[name]["error"] + 1e-5, name
    assert rows["restitution"]["error"] < 0.07 and rows["size"]["error"] < 0.012
    assert law.material.restitution_at(speeds) == pytest.approx(restitution, rel=0.05)
    assert figures["held_out"]["position"] < 2.0 and figures["held_out"]["rotation"] < 2.0
    assert "Restitution: " in figures["summary"] and "Verdict: " in figures["summary"]


@pytest.mark.slow
def test_a_part_without_bounce_is_given_none(tmp_path):
    """Coulomb friction of 0.3 that acts at once, no restitution, sharp edges; frames as a tracker sees them."""
    law = impact_law(SIZE, restitution=0.0, friction=0.3, friction_loaded=0.3, memory=1)
    tosses = read(write_npz(tmp_path / "a.npz", record(8, seed=5, frames=50, law=law)), SIZE).tosses
    found = choose(tosses, SIZE)
    assert not found.fitted.bounces and found.fitted.memory == 1
    assert not found.tried["bounce"]["kept"] and found.tried["bounce"]["restitution"] < 0.03
    for name, true in (("size", 1.0), ("inertia", 1.0), ("friction_loaded", 0.3)):
        value, error = found.fitted.found(name)
        assert abs(value - true) < 4 * error and error < 0.05, name


def test_windows_of_one_toss_are_no_new_tosses():
    rng = np.random.default_rng(3)
    data = rng.normal(0, 1, 8)[:, np.newaxis] + rng.normal(0, 0.1, (8, 20))
    once = _offset(data, 1)
    twice = _offset(data, 2)
    assert twice.errors == pytest.approx(once.errors, rel=1e-6)


def test_standard_errors_hold_with_few_tosses():
    """Six tosses that differ by more than their frames do: nearly all truths lie within two standard errors."""
    rng, inside = np.random.default_rng(4), 0
    for _ in range(100):
        data = rng.normal(0, 1, 6)[:, np.newaxis] + rng.normal(0, 0.1, (6, 20))
        found = _offset(data, 1)
        inside += abs(found.values[0]) < 2 * found.errors[0]
    assert 84 <= inside <= 99


def _offset(data, windows: int):
    """A number fitted to tosses (n, frames), each seen in so many windows, the whole toss each."""
    parameters = [Parameter("a", "", 0.0, 1.0, 1e-3)]

    def simulate(x):
        return [(x[0] - row)[:, np.newaxis] for _ in range(windows) for row in data]

    return TossFit(100.0, 10, ridge=1e-6, windows=windows).solve(simulate, parameters, np.zeros(1))
