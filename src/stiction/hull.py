"""Topology of a convex body, prepared once so that no contact query ever scans all vertices.

- `neighbours`: the edges of the hull; walking downhill on them ends at the lowest vertex.
- `start`: a cube map from directions to a vertex near the extreme one, so that the walk is a few steps long.
- `loops`: the vertices of each face in order, each loop written twice, so that any run of neighbours on a face is one
  contiguous range; `moments` are running sums along it, so that a run's mean and spread cost the same for any length,
  and `headings` the directions of its edges, so that its extreme vertex is found by bisection.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.faces import faces_of, ring
from stiction.compiled import inlined, lean, lean_jitable

MANY = 16  # up to so many corners are looked at one by one; among more, they are searched for


class Hull(NamedTuple):
    """Compiled-code view of a convex body: all arrays relative to the centre of mass, body axes."""

    vertices: NDArray[np.float64]  # (V, 3)
    neighbours: NDArray[np.int32]  # ragged rows, cut by neighbour_offsets
    neighbour_offsets: NDArray[np.int32]  # (V + 1,)
    incident: NDArray[np.int32]  # (n, 2): face and place in its loop, of each vertex; cut by incident_offsets
    incident_offsets: NDArray[np.int32]  # (V + 1,)
    loops: NDArray[np.int32]  # vertex numbers, each face's loop twice; cut by loop_offsets
    loop_offsets: NDArray[np.int32]  # (F + 1,)
    moments: NDArray[np.float64]  # (n + F, 9): running sums of x, y, z, xx, yy, zz, xy, xz, yz along each loop
    headings: NDArray[
        np.float64
    ]  # `bearing` in `frames` of the edge after each place of `loops`, rising along each loop
    normals: NDArray[np.float64]  # (F, 3) outward
    frames: NDArray[np.float64]  # (F, 2, 3) axes of each face's plane, right-handed about its normal
    clearance: NDArray[np.float64]  # (F,) distance from the face's plane to the nearest vertex off the face
    start: NDArray[np.int32]  # (6, r, r) cube map of directions
    diameter: float
    mass: float
    inertia: NDArray[np.float64]  # (3, 3) about the centre of mass
    inverse_inertia: NDArray[np.float64]  # (3, 3)
    planar: bool  # moves in the x-z plane only
    rounding: float  # [m] radius of the ball that is swept over the hull
    reach: float  # [m] distance of the farthest vertex from the centre of mass
    largest_face: int  # number of its vertices


def build_hull(vertices, mass: float, inertia, planar: bool, rounding: float = 0.0) -> Hull:
    """Prepare the hull of `vertices` (V, 3), relative to the centre of mass; every vertex must be a corner of it."""
    faces = [] if planar else faces_of(vertices)
    edges = _polygon_edges(vertices) if planar else {edge for face in faces for edge in ring(face)}
    neighbours: list[list[int]] = [[] for _ in vertices]
    for a, b in sorted(edges):
        neighbours[a].append(b)
        neighbours[b].append(a)
    incident: list[list[tuple[int, int]]] = [[] for _ in vertices]
    for number, face in enumerate(faces):
        for place, vertex in enumerate(face):
            incident[vertex].append((number, place))
    normals = np.array([_normal(vertices[face]) for face in faces]).reshape(-1, 3)
    frames = np.array([_frame(vertices[face], n) for face, n in zip(faces, normals, strict=True)]).reshape(-1, 2, 3)
    flat_neighbours, neighbour_offsets = _ragged(neighbours, 1)
    flat_incident, incident_offsets = _ragged(incident, 2)
    loops, loop_offsets = _ragged([face + face for face in faces], 1)
    resolution = int(np.ceil(np.sqrt(len(vertices) / 2)))
    return Hull(
        vertices=vertices,
        neighbours=flat_neighbours.reshape(-1),
        neighbour_offsets=neighbour_offsets,
        incident=flat_incident.reshape(-1, 2),
        incident_offsets=incident_offsets,
        loops=loops.reshape(-1),
        loop_offsets=loop_offsets,
        moments=_running_moments(vertices, faces),
        headings=_headings(vertices, faces, frames),
        normals=normals,
        frames=frames,
        clearance=np.array([_clearance(vertices, face, n) for face, n in zip(faces, normals, strict=True)]),
        start=_direction_map(vertices, flat_neighbours.reshape(-1), neighbour_offsets, resolution),
        diameter=2 * float(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1).max()),
        mass=mass,
        inertia=inertia,
        inverse_inertia=np.linalg.inv(inertia),
        planar=planar,
        rounding=rounding,
        reach=float(np.linalg.norm(vertices, axis=1).max()),
        largest_face=max((len(face) for face in faces), default=0),
    )


def _polygon_edges(vertices) -> set[tuple[int, int]]:
    """Edges of a convex polygon in the x-z plane."""
    spokes = vertices - vertices.mean(axis=0)
    return set(ring(np.argsort(np.arctan2(spokes[:, 2], spokes[:, 0])).tolist()))


def _normal(corners):
    """Outward unit normal of a counter-clockwise polygon (Newell's sum, exact for any number of corners)."""
    total = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    return total / np.linalg.norm(total)


def _frame(corners, normal):
    """Two axes in the plane of a polygon, the first along its first edge."""
    x = corners[1] - corners[0]
    x = x / np.linalg.norm(x)
    return np.array([x, np.cross(normal, x)])


def _headings(vertices, faces, frames) -> NDArray[np.float64]:
    """Bearings of the edges along each doubled loop, from 0 of its first edge upwards."""
    blocks = [np.zeros(0)]
    for face, frame in zip(faces, frames, strict=True):
        edges = (np.roll(vertices[face], -1, axis=0) - vertices[face]) @ frame.T
        heading = np.array([bearing(x, y) for x, y in edges])
        heading[0] = 0.0
        once = np.maximum.accumulate(heading)  # rounding must not put two long edges out of order
        blocks.append(np.concatenate([once, once + 4.0]))
    return np.concatenate(blocks)


def _clearance(vertices, face, normal) -> float:
    depth = (vertices[face[0]] - vertices) @ normal
    depth[face] = np.inf
    return float(depth.min())


def _ragged(rows, width: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows of different length one after another, and where each begins."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    return np.array([item for row in rows for item in row], dtype=np.int32).reshape(-1, width), offsets


def _running_moments(vertices, faces):
    """Sums over the first k vertices of each doubled loop, k = 0 .. 2 n, loop after loop."""
    x, y, z = vertices.T
    terms = np.stack([x, y, z, x * x, y * y, z * z, x * y, x * z, y * z], axis=1)
    blocks = [np.zeros((0, 9))]
    for face in faces:
        blocks.append(np.concatenate([np.zeros((1, 9)), np.cumsum(terms[face + face], axis=0)]))
    return np.concatenate(blocks)


def _direction_map(vertices, neighbours, offsets, resolution: int) -> NDArray[np.int32]:
    """For the centre of each cell of a cube map, the vertex farthest in its direction."""
    table = np.zeros((6, resolution, resolution), dtype=np.int32)
    ticks = (2 * np.arange(resolution) + 1) / resolution - 1
    at = 0
    for side in range(6):
        axis, sign = side // 2, 1 - 2 * (side % 2)
        for row, a in enumerate(ticks):
            for column, b in enumerate(ticks):
                direction = np.empty(3)
                direction[axis], direction[(axis + 1) % 3], direction[(axis + 2) % 3] = sign, a, b
                at = climb(vertices, neighbours, offsets, np.int64(at), *direction)
                table[side, row, column] = at
    return table


@lean
def climb(vertices, neighbours, offsets, at, dx, dy, dz):
    """Walk along the hull's edges to the vertex farthest along (dx, dy, dz): on a convex body, no peak is false."""
    height = vertices[at, 0] * dx + vertices[at, 1] * dy + vertices[at, 2] * dz
    while True:
        best = at
        for k in range(offsets[at], offsets[at + 1]):
            other = neighbours[k]
            reach = vertices[other, 0] * dx + vertices[other, 1] * dy + vertices[other, 2] * dz
            if reach > height:
                height = reach
                best = other
        if best == at:
            return at
        at = best


@inlined
def extreme_vertex(hull, dx, dy, dz):
    """Number of the vertex farthest in the direction (dx, dy, dz), body axes."""
    if len(hull.vertices) <= MANY:  # so few are looked at sooner than it is known where to begin
        best, farthest = np.int64(0), -np.inf
        for k in range(len(hull.vertices)):
            reach = hull.vertices[k, 0] * dx + hull.vertices[k, 1] * dy + hull.vertices[k, 2] * dz
            best, farthest = (k, reach) if reach > farthest else (best, farthest)
        return best
    axis, main, a, b = 0, dx, dy, dz
    if abs(dy) > abs(main):
        axis, main, a, b = 1, dy, dz, dx
    if abs(dz) > abs(main):
        axis, main, a, b = 2, dz, dx, dy
    largest = abs(main)
    if largest == 0.0:
        return np.int64(0)
    side = 2 * axis + (1 if main < 0 else 0)
    resolution = hull.start.shape[1]
    row = min(int(0.5 * (a / largest + 1) * resolution), resolution - 1)
    column = min(int(0.5 * (b / largest + 1) * resolution), resolution - 1)
    at = np.int64(hull.start[side, row, column])
    if hull.largest_face > MANY:
        at = _across_face(hull, at, dx, dy, dz)
    return climb(hull.vertices, hull.neighbours, hull.neighbour_offsets, at, dx, dy, dz)


@lean
def _across_face(hull, at, dx, dy, dz):
    """The vertex farthest along (dx, dy, dz) of the face at vertex `at` that looks there: else it is a long walk."""
    face, _place = facing(hull, at, dx, dy, dz)
    first = hull.loop_offsets[face]
    size = (hull.loop_offsets[face + 1] - first) // 2
    e, f = hull.frames[face, 0], hull.frames[face, 1]
    a, b = -(e[0] * dx + e[1] * dy + e[2] * dz), -(f[0] * dx + f[1] * dy + f[2] * dz)
    return np.int64(hull.loops[first + lowest_place(hull.headings, first, size, a, b)])


@inlined
def facing(hull, vertex, dx, dy, dz):
    """The face at `vertex` that looks most along (dx, dy, dz), and the vertex's place in its loop; (-1, 0): none."""
    face, place, best = np.int64(-1), np.int64(0), -np.inf
    for k in range(hull.incident_offsets[vertex], hull.incident_offsets[vertex + 1]):
        n = hull.normals[hull.incident[k, 0]]
        towards = n[0] * dx + n[1] * dy + n[2] * dz
        if towards > best:
            face, place, best = np.int64(hull.incident[k, 0]), np.int64(hull.incident[k, 1]), towards
    return face, place


@lean_jitable
def bearing(x, y):
    """A number from 0 to 4 that rises with the angle of a direction from 0 to 2 pi, without its trigonometry."""
    size = abs(x) + abs(y)
    if not size > 0.0:
        return 0.0
    return 1.0 - x / size if y >= 0.0 else 3.0 + x / size


@lean
def lowest_place(headings, first, size, a, b):
    """Place in a face's loop of the vertex where a x + b y is smallest, (x, y) in the face's frame.

    That falls along an edge while its direction is more than a right angle from (a, b): it ends with the first edge
    that has come three right angles from there, to (b, -a).
    """
    turn = bearing(b, -a)
    low, high = np.int64(0), np.int64(size)
    while low < high:
        middle = (low + high) // 2
        if headings[first + middle] >= turn:
            high = middle
        else:
            low = middle + 1
    return low % size
