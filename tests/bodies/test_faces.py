"""Faces of convex bodies."""

import numpy as np

from stiction import Body
from stiction.bodies.faces import _faces_of_few, _faces_of_many, convex_corners


def test_coplanar_triangles_become_one_face(box, prism):
    assert sorted(map(len, box.faces)) == [4] * 6
    assert sorted(map(len, prism.faces)) == [4] * 5 + [5] * 2


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
