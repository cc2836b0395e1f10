"""Corners and faces of convex bodies, and mesh files. Qhull is imported on demand: it takes longer than a step."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks

_COPLANAR = 1e-9  # triangles whose unit normals and offsets (relative to the size) differ by less are one face


def load_mesh(path: Path, scale: float) -> Any:
    """The watertight convex mesh in a file as a trimesh.Trimesh, in metres; scale: metres in one unit of the file."""
    import trimesh  # slow to import

    if not path.is_file():
        raise checks.InputError(f"There is no mesh file {path}.")
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # any that trimesh's readers raise
        raise checks.InputError(f"{path} cannot be read as a mesh: {error}.") from error
    if not isinstance(mesh, trimesh.Trimesh) or len(mesh.faces) == 0:
        raise checks.InputError(f"{path} holds no triangles; a body needs a watertight convex mesh.")
    mesh.merge_vertices()
    mesh.apply_scale(scale)
    extent = float(mesh.extents.max())
    if not 1e-3 <= extent <= 20:  # plausible sizes
        raise checks.InputError(
            f"{path} is {extent:g} m long; a body is 0.001 to 20 m: give `scale`, such as 0.001 for a file in "
            "millimetres."
        )
    if not mesh.is_watertight:
        raise checks.InputError(f"{path} is not watertight, so its mass is not defined; close its holes first.")
    hull_volume = mesh.convex_hull.volume
    if mesh.volume < (1 - 1e-6) * hull_volume:
        raise checks.InputError(
            f"{path} is not convex: it fills {100 * mesh.volume / hull_volume:.4g} % of its convex hull; "
            "give the hull, or one convex part of it."
        )
    return mesh


def convex_corners(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of the convex hull of `points` (n, 3), in their given order."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[np.sort(ConvexHull(points).vertices)]
    except (QhullError, ValueError) as error:
        raise checks.InputError(
            f"A body needs at least four corners that do not lie in one plane, got {len(points)} points that do."
        ) from error


def shrunk(vertices: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """Corners of the hull of `vertices` after its faces have moved inwards by `distance` [m]."""
    from scipy.spatial import ConvexHull, HalfspaceIntersection

    planes = ConvexHull(vertices).equations  # normal . x + offset <= 0
    _, first = np.unique(np.round(planes, 9), axis=0, return_index=True)
    planes = planes[np.sort(first)]
    planes[:, 3] += distance
    inside = vertices.mean(axis=0)
    if (planes[:, :3] @ inside + planes[:, 3]).max() >= 0:
        raise checks.InputError(f"A body cannot be rounded by {distance:g} m: it is too small.")
    corners = HalfspaceIntersection(planes, inside).intersections
    _, first = np.unique(np.round(corners, 9), axis=0, return_index=True)
    return convex_corners(corners[np.sort(first)])


def shrunk_in_plane(vertices: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """The same for a convex polygon in the x-z plane; its corners (n, 3) keep their order."""
    loop = outline_of(vertices)
    corners = vertices[loop][:, [0, 2]]
    along = np.roll(corners, -1, axis=0) - corners
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    before = np.roll(along, 1, axis=0)
    # The loop is counter-clockwise, so that (-z, x) of an edge points inwards. Each corner stays on both its edges.
    sine = before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0]
    moved = corners + distance * (along - before) / sine[:, np.newaxis]
    if ((np.roll(moved, -1, axis=0) - moved) * along).sum(axis=1).min() <= 0:
        raise checks.InputError(f"A body cannot be rounded by {distance:g} m: it is too small.")
    result = np.zeros_like(vertices)
    result[np.ix_(loop, [0, 2])] = moved
    return result


def outline_of(vertices: NDArray[np.float64]) -> list[int]:
    """The corners of a convex polygon in the x-z plane, in order around it."""
    spokes = vertices - vertices.mean(axis=0)
    return np.argsort(np.arctan2(spokes[:, 2], spokes[:, 0])).tolist()


def faces_of(vertices: NDArray[np.float64]) -> list[list[int]]:
    """Faces as vertex loops, counter-clockwise seen from outside."""
    return (_faces_of_few(vertices) if len(vertices) <= 12 else None) or _faces_of_many(vertices)


def _faces_of_few(vertices: NDArray[np.float64]) -> list[list[int]] | None:
    """The same by testing every plane through three corners, without Qhull; None if the result is not a closed hull."""
    i, j, k = np.array(list(combinations(range(len(vertices)), 3))).T
    normal = np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i])
    length = np.linalg.norm(normal, axis=1)
    size = float(np.abs(vertices).max())
    wide = length > 1e-6 * size * size
    normal = normal[wide] / length[wide, None]
    height = (vertices[None] - vertices[i[wide], None]) @ normal[:, :, None]
    height = height[..., 0] / size
    height, normal = np.concatenate([height, -height]), np.concatenate([normal, -normal])
    outer = height.max(axis=1, initial=0.0) <= _COPLANAR
    corners = {tuple(np.flatnonzero(row > -_COPLANAR).tolist()): n for row, n in zip(height[outer], normal[outer])}
    faces = [_ordered(vertices, np.array(on), n) for on, n in sorted(corners.items())]
    edges = Counter(edge for face in faces for edge in ring(face))
    closed = set(edges.values()) == {2} and len(vertices) - len(edges) + len(faces) == 2  # Euler's formula
    return faces if closed and len({vertex for face in faces for vertex in face}) == len(vertices) else None


def _faces_of_many(vertices: NDArray[np.float64]) -> list[list[int]]:
    """The same by Qhull; coplanar triangles are merged."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except QhullError as error:
        raise checks.InputError(f"The {len(vertices)} vertices of a body do not enclose a volume.") from error
    if len(hull.vertices) != len(vertices):
        raise checks.InputError(
            f"A body is described by the corners of its convex hull; {len(vertices) - len(hull.vertices)} of "
            f"{len(vertices)} vertices are not corners."
        )
    size = float(np.abs(vertices).max())
    scale = np.array([1.0, 1.0, 1.0, 1 / size])
    plane = hull.equations * scale
    group = np.full(len(hull.simplices), -1)
    faces = []
    for seed in range(len(group)):
        if group[seed] >= 0:
            continue
        members, stack = [], [seed]
        group[seed] = seed
        while stack:
            triangle = stack.pop()
            members.append(triangle)
            for other in hull.neighbors[triangle]:
                if group[other] < 0 and np.abs(plane[other] - plane[seed]).max() < _COPLANAR:
                    group[other] = seed
                    stack.append(int(other))
        corners = np.unique(hull.simplices[members])
        faces.append(_ordered(vertices, corners, hull.equations[seed, :3]))
    return faces


def _ordered(vertices, corners, normal) -> list[int]:
    """Corners of one face, counter-clockwise about its outward normal, the lowest index first."""
    spokes = vertices[corners] - vertices[corners].mean(axis=0)
    x = spokes[0] / np.linalg.norm(spokes[0])
    y = np.cross(normal, x)
    loop = corners[np.argsort(np.arctan2(spokes @ y, spokes @ x))]
    return np.roll(loop, -int(loop.argmin())).tolist()


def ring(loop: Sequence[int]) -> list[tuple[int, int]]:
    """Edges of a loop, each with its lower index first."""
    corners = [int(k) for k in loop]
    return [(min(a, b), max(a, b)) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
