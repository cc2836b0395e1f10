"""Extreme vertices of a hull, found without a scan."""

import numpy as np
import pytest

from stiction import Body, _core


@pytest.mark.parametrize("name", ["box", "prism", "stone", "rectangle"])
def test_extreme_vertex_is_farthest_in_every_direction(name, request):
    body = request.getfixturevalue(name)
    corners = body.vertices - body.com
    for direction in np.random.default_rng(1).normal(size=(2000, 3)):
        reach = corners @ direction
        assert reach[body.hull.extreme_vertex(direction)] == pytest.approx(reach.max(), abs=1e-15)


@pytest.mark.parametrize("sides", [64, 1024])
def test_extreme_vertex_is_farthest_on_large_faces(sides):
    """Also straight along the faces and edges, where many vertices are as far."""
    body = Body.prism(sides, 0.2, 0.1, 1.0)
    axes = np.vstack([np.eye(3), -np.eye(3)])
    near = np.random.default_rng(2).normal(size=(300, 3))
    for direction in np.vstack([axes, near, np.repeat(axes, 20, axis=0) + 1e-6 * near[:120]]):
        reach = body.vertices @ direction
        assert reach[body.hull.extreme_vertex(direction)] == pytest.approx(reach.max(), abs=1e-15)


def test_faces_that_name_no_vertex_are_refused(box):
    with pytest.raises(ValueError, match="names a vertex that is not there"):
        _core.Hull(box.vertices, [[0, 1, 8]], 1.0, box.inertia, False, 0.0)
