"""Identification: known parameters come back, and what the tosses do not tell is said."""

import json

import numpy as np
import pytest

from stiction import Body, load
from stiction.cli import main
from stiction.laws.impact import ImpactLaw
from stiction.learning.identify.gauss_newton import Parameter, mean_loss, minimise
from stiction.learning.recordings.read import import_recordings
from stiction.learning.recordings.tosses import flight_estimate, rotation_vectors
from toss_files import BODY, LAW, record, write_npz

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

    found = minimise(simulate, parameters, np.zeros(2), width=0.1, iterations=20, ridge=1e-6)
    assert np.abs(found.values - truth).max() < 0.05
    assert (np.abs(found.values - truth) < 4 * found.errors + 0.02).all()
    assert found.losses[-1] < found.losses[0] and mean_loss(simulate(truth), 0.1) < found.losses[0]


def test_what_no_data_tells_stays_at_its_start():
    parameters = [Parameter("seen", "", 0.0, 1.0, 1e-3), Parameter("unseen", "", 0.3, 1.0, 1e-3)]
    found = minimise(
        lambda x: [np.full((5, 1), x[0] - 1.0)] * 4,
        parameters,
        np.array([0.0, 0.3]),
        width=1.0,
        iterations=10,
        ridge=1e-3,
    )
    assert found.values == pytest.approx([1.0, 0.3], abs=1e-2)
    assert found.told[0] > 0.9 and found.told[1] < 0.1


def test_rotation_vectors_are_relative_turns():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(1)
    a, b = Rotation.random(20, rng), Rotation.random(20, rng)
    got = rotation_vectors(a.as_quat(scalar_first=True), b.as_quat(scalar_first=True))
    assert got == pytest.approx((a * b.inv()).as_rotvec(), abs=1e-9)


def test_free_flight_tells_gravity_and_centre_of_mass(tmp_path):
    found = import_recordings(write_npz(tmp_path / "a.npz", record(30, seed=3)), SIZE)
    values, errors = flight_estimate(found.tosses)
    truth = np.array([*BODY.com, 9.81])
    assert (np.abs(values - truth) < 4 * errors + 1e-4).all()
    assert errors[3] < 0.1


@pytest.fixture(scope="module")
def identified(tmp_path_factory):
    """A law identified from recordings of a known one with a tracker's noise, and the figures of the command."""
    folder = tmp_path_factory.mktemp("identified")
    path = write_npz(folder / "a.npz", record(40, seed=4, frames=70), split=np.arange(40) >= 32)
    out = folder / "law.safetensors"
    args = ["identify", str(path), "--body", "box:0.1,0.1,0.1", "--mass", "0.37", "--out", str(out)]
    assert main([*args, "--json", str(folder / "law.json")]) == 0
    return load(out), json.loads((folder / "law.json").read_text())


@pytest.mark.slow
def test_known_parameters_come_back(identified):
    """Each parameter that the tosses tell within a few of its standard errors, and these are small."""
    law, figures = identified
    assert isinstance(law, ImpactLaw)
    truth = {
        "com_x": BODY.com[0],
        "com_y": BODY.com[1],
        "com_z": BODY.com[2],
        "friction_loaded": LAW.material.friction_loaded,
        "size": 1.0,
        "rounding": BODY.rounding,
        "inertia": 9e-4 / SIZE.inertia[0, 0],
    }
    for name, value in truth.items():
        row = figures["parameters"][name]
        assert abs(row["value"] - value) < 4 * row["error"] + 1e-5, name
    assert figures["parameters"]["restitution"]["error"] < 0.02 and figures["parameters"]["size"]["error"] < 0.01


@pytest.mark.slow
def test_known_bounces_come_back(identified):
    """The restitution at the speeds of impacts, whichever of its parameters say it."""
    found, true = identified[0].material, LAW.material
    for speed in (0.5, 1.0):
        assert _restitution(found, speed) == pytest.approx(_restitution(true, speed), rel=0.02)


def _restitution(material, speed: float) -> float:
    slower = (speed / 0.5) ** -material.restitution_fall
    return material.restitution * slower * (1 - material.restitution_threshold / speed)


@pytest.mark.slow
@pytest.mark.xfail(
    reason="restitution, its fall and its threshold say nearly the same, and what counts as an impact changes at the "
    "threshold: the loss is too rough there for the fit to move along the valley"
)
def test_known_restitution_comes_back(identified):
    row = identified[1]["parameters"]["restitution"]
    assert abs(row["value"] - LAW.material.restitution) < 4 * row["error"]


@pytest.mark.slow
def test_what_was_identified_forecasts_other_tosses(identified):
    assert identified[1]["held_out"]["position"] < 2.0 and identified[1]["held_out"]["rotation"] < 2.0
