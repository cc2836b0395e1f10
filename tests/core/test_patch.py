"""From poses to patches: the same vertices as a plain scan, kinds that do not flicker."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from conftest import convex_stone
from contact_states import contacts_from, random_contacts
from stiction import Body, Kind
from stiction._core import TOUCH

EDGE = Rotation.from_rotvec([np.pi / 4, 0, 0]).as_quat(scalar_first=True)
CORNER = Rotation.from_rotvec([0.6, 0.5, 0]).as_quat(scalar_first=True)
FACE = np.array([1.0, 0, 0, 0])


@pytest.mark.parametrize("sides", [None, 5, 64, 999])
def test_patch_holds_exactly_the_vertices_that_touch(sides):
    body = convex_stone(400) if sides is None else Body.prism(sides, 0.2, 0.15, 1.0)
    contacts = random_contacts(body, 400, np.random.default_rng(sides))
    for i in range(400):
        c = contacts.record[i]
        heights = c.height + (body.vertices - body.com) @ c.rotation[2]
        touching = contacts.vertices(i)
        assert len(touching) == c["count"] and np.array_equal(np.sort(touching), np.flatnonzero(heights <= TOUCH))


@pytest.mark.parametrize(("quaternion", "kind"), [(FACE, Kind.SURFACE), (EDGE, Kind.LINE), (CORNER, Kind.POINT)])
@pytest.mark.parametrize("depth", [0.0, 1e-12, 1e-6, 1e-4])
def test_kind_does_not_flicker_under_tiny_pose_changes(box, quaternion, kind, depth):
    rng = np.random.default_rng(1)
    turns = Rotation.from_rotvec(1e-9 * rng.uniform(-1, 1, (500, 3))) * Rotation.from_quat(
        quaternion, scalar_first=True
    )
    # Depth is measured at the lowest vertex, so that the height moves with the turn as well.
    depths = depth + 1e-9 * rng.uniform(-1, 1, 500)
    contacts = contacts_from(box, turns.as_quat(scalar_first=True), depths, np.zeros((500, 6)))
    assert (contacts.record.kind == kind).all()


def test_centre_radius_and_axis_of_simple_patches(box):
    contacts = contacts_from(box, [FACE, EDGE], [0.0, 0.0], np.zeros((2, 6)))
    face, edge = contacts.record
    assert face.centre == pytest.approx([0, 0, -0.2])
    assert face.radius == pytest.approx(np.hypot(0.1, 0.15))
    assert np.abs(edge.axis) == pytest.approx([1, 0, 0])
    assert edge.radius == pytest.approx(0.1)


def test_contact_points_lie_at_mid_depth(box):
    contacts = contacts_from(box, [FACE], [2e-3], np.zeros((1, 6)))
    assert contacts.record[0].centre[2] + contacts.record[0].height == pytest.approx(-1e-3)
    assert contacts.record[0].depth == pytest.approx(2e-3)


def test_a_bevel_as_small_as_the_depth_joins_the_patch():
    """Vertices of several faces at once: the patch is then a list, not a run of one face."""
    ring = lambda radius, z: [(radius * np.cos(a), radius * np.sin(a), z) for a in np.arange(8) * np.pi / 4]  # noqa: E731
    points = ring(0.1, -0.05) + ring(0.101, -0.0495) + ring(0.1, 0.05)
    body = Body.hull_of(points, 1.0, com=(0, 0, 0), inertia=np.diag([2e-3, 2e-3, 3e-3]))
    contacts = contacts_from(body, [FACE], [1e-3], np.zeros((1, 6)))
    assert contacts.record[0]["count"] == 16 and sorted(contacts.vertices(0)) == list(range(16))


def test_rounded_corners_touch_with_their_lowest_points():
    """A ball is swept over the hull: its corners touch that much earlier, over the same places."""
    sharp, rounded = (Body.box((0.2, 0.2, 0.2), 1.0, rounding=r) for r in (0.0, 0.01))
    for body in (sharp, rounded):
        contacts = contacts_from(body, [FACE], [1e-4], np.zeros((1, 6)))
        assert contacts.record[0].height == pytest.approx(0.1 - 1e-4, abs=1e-12)
        assert contacts.record[0].depth == pytest.approx(1e-4, abs=1e-12) and contacts.record[0].kind == Kind.SURFACE
    assert np.abs(contacts.points(0)[:, :2]).max() == pytest.approx(0.09)
