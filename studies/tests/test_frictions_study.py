"""Other frictions: the simulator of corners agrees with ours where both can, and what a material lacks is named."""

import numpy as np
import pytest

import stiction
from stiction import Material, State
from stiction_studies.materials.corners import Corners, Slip
from stiction_studies.materials.grounds import BOX, OTHERS, ground

RANGES = {"height": (0.0, 0.1), "vertical": (-1.5, 0.0)}


def constant(slip: Slip):
    return np.full(len(slip.load), 0.4)


def test_corners_with_constant_friction_move_as_a_material_does():
    start = State.random(BOX, 6, seed=1, ranges=RANGES)
    truth = Corners(constant).throw(BOX, start, 150, timestep=0.002, gravity=(0, 0, -9.81))
    ours = stiction.rollout(Material.coulomb(0.4).on(BOX), start, 150, substeps=0)
    assert np.median(np.linalg.norm(truth["position"][:, -1] - ours.position[:, -1], axis=1)) < 1e-4


def learned_from(truth: Corners, throws: int = 16) -> Material:
    requeries = 0 if truth.remembers else 10
    more = {"ranges": RANGES, "requeries": requeries, "workers": 1, "progress": False, "shard_throws": throws}
    return stiction.train_material(stiction.collect(BOX, truth, throws=throws, steps=250, **more))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("skew", "degrees from the direction against the slip"),
        ("patchy", "the place on the ground"),
    ],
)
def test_what_a_material_lacks_is_named(name, words):
    material = learned_from(ground(name).truth)
    assert words in material.info["warning"]


@pytest.mark.parametrize(("name", "torsion", "rolling"), [("rolling", None, 0.01), ("fingertip", 0.02 * 0.4, None)])
def test_the_torques_of_soft_corners_are_learned(name, torsion, rolling):
    material = learned_from(ground(name).truth)
    for found, wanted in ((material.torsion, torsion), (material.rolling, rolling)):
        assert found is None if wanted is None else found == pytest.approx(wanted, rel=0.02)
    assert material.scale == pytest.approx(0.4, rel=0.02) and material.info["warning"] is None


@pytest.mark.slow
def test_a_texture_on_all_sides_of_a_body_is_found_by_itself():
    material = learned_from(ground("grain").truth, throws=30)
    assert "texture of the body" in material.info["structure"]["depends_on"]
    found = material.info["forecast"]
    assert found["material"]["held_out_mean"] < 0.5 * found["coulomb"]["held_out_mean"]


def test_every_friction_has_a_name_of_its_own():
    assert len({one.name for one in OTHERS}) == len(OTHERS) == 14
