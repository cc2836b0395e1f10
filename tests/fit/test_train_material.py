"""Learning a material: what is learned is the truth, in its simplest form, with honest error bars."""

from typing import Any

import numpy as np
import pytest

import stiction
from stiction import Body, Material, State, train_material
from stiction.laws.curves import Restitution

BOX = Body.box((0.2, 0.3, 0.4), 1.0)
RECTANGLE = Body.rectangle((0.3, 0.1), 2.0)


class Throws:
    """Contacts of throws of a law with noise on their impulses, read like a data set."""

    def __init__(self, law: Any, throws: int, seed: int = 0, noise: float = 0.0, steps: int = 400) -> None:
        data = stiction.collect(
            law.body, law, throws=throws, steps=steps, seed=seed, ranges={"height": (0.01, 0.3)}, requeries=0,
            keep_static_surface=1.0, workers=1, progress=False,
        )  # fmt: skip
        self.body, self.setting, self.rows = data.body, data.setting, data.read()
        rng = np.random.default_rng(seed)
        self.rows["impulse"] = self.rows["impulse"] * (1 + noise * rng.standard_normal(self.rows["impulse"].shape))

    def read(self, columns):
        return {name: self.rows[name] for name in columns}


def throws_of(material: Material, number: int, body: Body = BOX, **more: Any) -> Throws:
    return Throws(material.on(body), number, **more)


def chosen(material: Material) -> str:
    return f"{material.info['structure']['switches']}: {material.info['structure']['depends_on']}"


@pytest.fixture(scope="module")
def scales() -> Material:
    """A learned directional material."""
    return train_material(throws_of(Material.directional(0.3, 0.5, 0.8), 12))


def test_a_directional_material_is_learned(scales):
    angles = np.linspace(0, 2 * np.pi, 24)
    truth = Material.directional(0.3, 0.5, 0.8).friction(angles)
    np.testing.assert_allclose(scales.friction(angles), truth, rtol=2e-3)
    assert chosen(scales) == "round cone, actual limit, world axes: direction"
    assert scales.info["held_out"]["all"]["friction_error"] < 2e-3
    assert scales.info["warning"] is None


def test_it_serves_another_body_and_time_step(scales):
    truth = Material.directional(0.3, 0.5, 0.8)
    prism = Body.prism(5, 0.1, 0.2, 0.3)
    start = State([0, 0, 0.3], [0.9, 0.3, 0.3, 0.1], [2, 1, 0], [3, 1, 2])
    runs = [stiction.rollout(material.on(prism, timestep=0.001), start, 800) for material in (truth, scales)]
    way = np.linalg.norm(runs[0].position[-1] - runs[0].position[0])
    assert np.linalg.norm(runs[0].position[-1] - runs[1].position[-1]) < 0.01 * way


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "structure"),
    [
        (Material.coulomb(0.5), "round cone, actual limit: constant"),
        (Material.coulomb(0.5, cone="box"), "box cone, frictionless limit, world axes: constant"),
        (Material.anisotropic((0.3, 0.6)), "round cone, actual limit, world axes: ellipse"),
        (Material.viscous(0.4, 0.6), "round cone, actual limit: viscosity"),
    ],
)
def test_the_simplest_structure_is_chosen(truth, structure):
    learned = train_material(throws_of(truth, 10))
    assert chosen(learned) == structure
    assert learned.info["held_out"]["all"]["friction_error"] < 1e-3
    rows = learned.info["tried_structures"]
    assert len(rows) == 16 and all(row["held_out_error"] >= 0 for row in rows)


@pytest.mark.slow
def test_a_curve_of_speed_is_learned_from_noisy_impulses():
    truth = Material.stribeck(0.8, 0.4, speed=0.3)
    learned = train_material(throws_of(truth, 24, noise=0.05))
    assert "speed" in chosen(learned)
    speeds = np.array([0.1, 0.2, 0.4, 1.0, 2.0])
    error = np.log(learned.friction(0.0, speeds, 5.0) / truth.friction(0.0, speeds, 5.0))
    assert np.abs(error).max() < 0.06
    assert learned.info["warning"] is None  # what is left is noise


@pytest.mark.slow
def test_lines_and_surfaces_teach_without_single_points():
    truth, data = Material.directional(0.3, 0.4, 0.6), throws_of(Material.directional(0.3, 0.4, 0.6), 8)
    flat = data.rows["kind"] != stiction.Kind.POINT
    data.rows = {name: column[flat] for name, column in data.rows.items()}
    learned = train_material(data)
    assert learned.info["structure"]["chosen_by"] == "all patches"
    assert chosen(learned) == "round cone, actual limit, world axes: direction"
    angles = np.linspace(0, 2 * np.pi, 12)
    np.testing.assert_allclose(learned.friction(angles), truth.friction(angles), rtol=0.01)


@pytest.mark.slow
def test_several_bodies_teach_together():
    truth, speeds = Material.stribeck(0.6, 0.3, speed=0.5), np.array([0.2, 0.5, 1.0])
    learned = train_material([throws_of(truth, 8, RECTANGLE, steps=200), throws_of(truth, 6, steps=200)])
    assert learned.info["throws"] == 14 and len(learned.info["bodies"]) == 2
    np.testing.assert_allclose(learned.friction(0.0, speeds, 5.0), truth.friction(0.0, speeds, 5.0), rtol=0.02)


@pytest.mark.slow
def test_error_bars_cover_the_truth():
    truth, angles = Material.directional(0.3, 0.5, 0.8), np.linspace(0, 2 * np.pi, 12)
    shares = []
    for seed in range(3):
        learned = train_material(throws_of(truth, 10, seed=seed, noise=0.05, steps=250), seed=seed)
        error = np.log(learned.friction(angles) / truth.friction(angles))
        shares.append(np.abs(error) / learned.uncertainty(angles))
    assert np.mean(np.array(shares) < 2) > 0.75  # 0.95, were all of them independent
    assert np.median(shares) > 0.2  # 0.67 for error bars that are neither too short nor too long


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path):
    data = throws_of(Material.coulomb(0.4), 6, steps=200)
    for name in ("a", "b"):
        train_material(data, seed=3).save(tmp_path / f"{name}.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    again = stiction.load(tmp_path / "a.safetensors")
    assert again.info["seed"] == 3 and again.covariance is not None


@pytest.mark.slow
def test_friction_outside_of_the_family_is_reported():
    data = throws_of(Material.coulomb(0.4), 10)
    wave = 1 + 0.3 * np.sin(20 * data.rows["position"][:, :1])  # friction of a place, which no map of slip and load has
    data.rows["impulse"][:, :2] *= wave
    data.rows["step"][:] = -1  # of no trajectory: there is nothing to forecast
    learned = train_material(data)
    assert "not, or not only" in learned.info["warning"]


def test_rebounds_are_learned_by_the_speed_of_approach():
    truth = Material.coulomb(0.4, restitution=Restitution(0.5, fall=0.3))
    learned = train_material(throws_of(truth, 12))
    speeds = np.array([0.3, 1.0, 3.0])
    np.testing.assert_allclose(learned.restitution(speeds), truth.restitution(speeds), rtol=0.02)
    assert float(learned.friction()) == pytest.approx(0.4, rel=2e-3)
    assert learned.info["warning"] is None


def test_a_body_that_does_not_bounce_has_no_restitution(scales):
    assert scales.restitution.e0 == 0.0


def test_whole_throws_are_forecast_beside_the_best_coulomb_law(scales):
    found = scales.info["forecast"]
    assert found["kept"] == "material" and 1 <= found["held_out_throws"] < 12
    assert found["material"]["held_out_mean"] < 0.1 * found["coulomb"]["held_out_mean"]


def test_refusals():
    few = throws_of(Material.coulomb(0.4), 2)
    with pytest.raises(stiction.InputError, match="at least 4 throws"):
        train_material(few)
    with pytest.raises(stiction.InputError, match="data sets or their folders, got 3"):
        train_material([3])
    with pytest.raises(stiction.InputError, match="at least one data set, got none"):
        train_material([])
    still = throws_of(Material.coulomb(0.4), 6)
    still.rows["mode"] = np.ones_like(still.rows["mode"])
    with pytest.raises(stiction.InputError, match="at least 40 sliding contacts, got 0"):
        train_material(still)
    with pytest.raises(stiction.InputError, match="held_out must be a share between 0 and 1, got 1"):
        train_material(throws_of(Material.coulomb(0.4), 6), held_out=1.0)


@pytest.mark.slow
def test_ground_without_friction_has_next_to_none():
    learned = train_material(throws_of(Material.coulomb(0.0), 8))
    assert float(learned.friction()) < 5e-3


def test_a_picture_goes_to_any_path(scales, tmp_path):
    stiction.plot_material(scales, str(tmp_path / "map.png"))
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_throw_is_held_out_however_few_there_are(seed):
    learned = train_material(throws_of(Material.coulomb(0.5), 5, steps=250), seed=seed)
    assert learned.info["held_out"]["all"]["contacts"] > 0
