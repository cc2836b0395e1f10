"""The study of anisotropic friction: its starts, and its ground truth against formulas and MuJoCo."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import CoulombLaw, rollout
from stiction_studies.paper import anisotropy

MU, G = np.array([0.75, 1.5]), 9.81


def test_the_box_starts_flat_with_its_longest_edge_ahead(box):
    start = anisotropy.starts(box, 0.3)
    R = Rotation.from_quat(start.quaternion, scalar_first=True).as_matrix()
    ahead = start.velocity / anisotropy.SPEED
    np.testing.assert_allclose(R[:, :, 2], ahead, atol=1e-12)  # body z is the longest edge
    np.testing.assert_allclose(np.abs(R[:, 2, 0]), 1.0)  # body x, the shortest, is upright
    heights = start.position[:, 2:] + R[:, 2] @ box.vertices.T
    np.testing.assert_allclose(heights.min(axis=1), 0.3)


def test_heading_differences_go_the_short_way_round():
    np.testing.assert_allclose(anisotropy.heading_difference([179.0, 10.0], [-179.0, 350.0]), [-2.0, 20.0])


def test_a_sliding_point_stops_where_the_formula_says():
    distance, heading = anisotropy.slide_point(MU, G)
    along = anisotropy.SPEED**2 / (2 * MU * G)
    np.testing.assert_allclose(distance[[0, 2, 4, 6]], np.tile(along, 2), rtol=1e-3)
    np.testing.assert_allclose(anisotropy.heading_difference(heading[[0, 2]], [0.0, 90.0]), 0.0, atol=1e-6)
    round_distance, round_heading = anisotropy.slide_point(np.array([0.5, 0.5]), G)
    np.testing.assert_allclose(round_distance, anisotropy.SPEED**2 / G, rtol=1e-3)
    np.testing.assert_allclose(anisotropy.heading_difference(round_heading, anisotropy.DIRECTIONS), 0.0, atol=1e-6)


def test_elliptic_friction_slides_the_box_as_a_point(box):
    law = CoulombLaw(box, MU, cone="round", timestep=5e-4)
    run = rollout(law, anisotropy.starts(box, 0.0), 1000)
    distance, heading = anisotropy.travelled(run)
    wanted, wanted_heading = anisotropy.slide_point(MU, G)
    np.testing.assert_allclose(distance, wanted, rtol=5e-3)
    np.testing.assert_allclose(anisotropy.heading_difference(heading, wanted_heading), 0.0, atol=0.1)


def test_mujoco_slides_as_far_along_the_axes(box):
    engine = pytest.importorskip("stiction.mujoco.plain_throw", exc_type=ImportError)
    start = anisotropy.starts(box, -1e-4)[[0, 2]]
    contact = engine.SoftContact("elliptic", settling_time=0.005)
    run = engine.throw(box, start, 5000, friction=MU, contact=contact, timestep=1e-4)
    distance, heading = anisotropy.travelled(run)
    np.testing.assert_allclose(distance, anisotropy.SPEED**2 / (2 * MU * G), rtol=2e-3)
    np.testing.assert_allclose(heading, [0.0, 90.0], atol=0.01)
