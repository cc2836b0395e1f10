"""Hull topology: faces, and extreme vertices found without a scan."""

import numpy as np
import pytest
from stiction.hull import extreme_vertex

from stiction import Body
from stiction.bodies.faces import _faces_of_few, _faces_of_many, convex_corners


def test_coplanar_triangles_become_one_face(box, prism):
    assert sorted(np.diff(box.hull.loop_offsets).tolist()) == [8] * 6  # each loop of 4 stands twice
    assert sorted(np.diff(prism.hull.loop_offsets).tolist()) == [8] * 5 + [10] * 2


@pytest.mark.parametrize("name", ["box", "prism", "stone", "rectangle"])
def test_extreme_vertex_is_farthest_in_every_direction(name, request):
    hull = request.getfixturevalue(name).hull
    for direction in np.random.default_rng(1).normal(size=(2000, 3)):
        reach = hull.vertices @ direction
        assert reach[extreme_vertex(hull, *direction)] == pytest.approx(reach.max(), abs=1e-15)


def test_the_walk_to_the_extreme_vertex_starts_close(monkeypatch):
    """Doubling the corners of a body must not lengthen the walk: the start is at most a few edges away."""
    for sides in (64, 1024):
        hull = Body.prism(sides, 0.2, 0.1, 1.0).hull
        longest = 0
        for direction in np.random.default_rng(2).normal(size=(300, 3)):
            major = int(np.abs(direction).argmax())
            r = hull.start.shape[1]
            cell = [min(int(0.5 * (direction[(major + k) % 3] / abs(direction[major]) + 1) * r), r - 1) for k in (1, 2)]
            start = hull.start[2 * major + int(direction[major] < 0), cell[0], cell[1]] % sides
            end = extreme_vertex(hull, *direction) % sides
            longest = max(longest, min((start - end) % sides, (end - start) % sides))
        assert longest <= 40, sides


def test_faces_of_few_corners_are_those_of_qhull():
    """Bodies of few corners do without Qhull; faces with more than three corners and without."""
    rng = np.random.default_rng(12)
    bodies = [
        Body.box((0.2, 0.3, 0.4), 1.0),
        Body.box((1.0, 1e-3, 0.5), 1.0),
        *(Body.prism(n, 0.2, 0.1, 1.0) for n in (3, 5, 6)),
    ]
    clouds = [convex_corners(rng.normal(size=(rng.integers(5, 13), 3))) for _ in range(60)]
    for vertices in [*(body.vertices for body in bodies), *clouds]:
        few = _faces_of_few(vertices)
        assert few is not None and sorted(few) == sorted(_faces_of_many(vertices))
    assert _faces_of_few(np.vstack([bodies[0].vertices, np.zeros(3)])) is None  # one that is not a corner
