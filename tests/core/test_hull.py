"""Extreme vertices of a hull, found without a scan."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import Body, _core


def assert_lowest(body, down):
    """With the body turned so that `down` (n, 3) points down, its lowest vertex is the one that a scan finds."""
    down = down / np.linalg.norm(down, axis=1, keepdims=True)
    turns = Rotation.concatenate([Rotation.align_vectors([[0.0, 0.0, -1.0]], [one])[0] for one in down])
    lowest = (turns.as_matrix() @ (body.vertices - body.com).T)[:, 2].min(axis=1) - body.rounding
    found = _core.lowest_heights(body.hull, np.zeros((len(down), 3)), turns.as_quat(scalar_first=True))
    assert found == pytest.approx(lowest, abs=1e-15)


@pytest.mark.parametrize("name", ["box", "prism", "stone", "rectangle"])
def test_extreme_vertex_is_farthest_in_every_direction(name, request):
    assert_lowest(request.getfixturevalue(name), np.random.default_rng(1).normal(size=(2000, 3)))


@pytest.mark.parametrize("sides", [64, 1024])
def test_extreme_vertex_is_farthest_on_large_faces(sides):
    """Also straight along the faces and edges, where many vertices are as far."""
    body = Body.prism(sides, 0.2, 0.1, 1.0)
    axes = np.vstack([np.eye(3), -np.eye(3)])
    near = np.random.default_rng(2).normal(size=(300, 3))
    assert_lowest(body, np.vstack([axes, near, np.repeat(axes, 20, axis=0) + 1e-6 * near[:120]]))


def test_faces_that_name_no_vertex_are_refused(box):
    with pytest.raises(ValueError, match="names a vertex that is not there"):
        _core.Hull(box.vertices, [[0, 1, 8]], 1.0, box.inertia, False, 0.0)
