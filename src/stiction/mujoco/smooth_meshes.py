"""Meshes that stand for smooth surfaces: their curvature, by which neighbouring points are one contact.

MuJoCo lists several vertices of a finely tessellated mesh near the point where the smooth surface would touch. As
separate contacts they would hinder its rolling: the core makes one contact of them (core/mujoco/smooth_surfaces.hpp).

An edge is smooth if its dihedral angle is below a few degrees, and if the faces beside it, coplanar facets taken as
one, have similar widths across it: a fillet does not make the flat face beside it smooth. A face without smooth edges
is flat. The curvature of a face follows from the angles of its smooth edges (Cohen-Steiner and Morvan 2003),
K = sum of (angle length / 2) c c' / area, with c across the edge in the face.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.mjcf import mujoco

SMOOTH_ANGLE = 2.0  # [degrees] a circle of 180 sides; coarser meshes lie too far from the smooth surface, and sink in
_COPLANAR = 1e-3  # [rad]
_SIMILAR = 3.0  # ratio of widths


@dataclass(frozen=True)
class SmoothMesh:
    """Faces of the convex hull of a mesh, in its geom's frame.

    normals: (n, 3), outward; offsets: (n,), n . x of the plane [m]; curvatures: (n, 3, 3) [1 / m], zero of flat faces
    """

    normals: NDArray[np.float64]
    offsets: NDArray[np.float64]
    curvatures: NDArray[np.float64]


def smooth_meshes(model: Any, geoms: list[int], angle: float) -> dict[int, SmoothMesh]:
    """The meshes of these geoms that have smooth edges, below this angle [degrees], by the numbers of the geoms."""
    found: dict[int, SmoothMesh | None] = {}
    meshes = {g: int(model.geom_dataid[g]) for g in geoms if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH}
    for mesh in set(meshes.values()):
        found[mesh] = smooth_mesh(*_hull(model, mesh), np.radians(angle))
    return {g: one for g, mesh in meshes.items() if (one := found[mesh]) is not None}


def _hull(model: Any, mesh: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and triangles of a mesh's convex hull, which MuJoCo has made; none if it does not use one."""
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    vertices = model.mesh_vert[first : first + count].astype(np.float64)
    start = int(model.mesh_graphadr[mesh])
    if start < 0:
        return vertices, np.empty((0, 3), dtype=np.int64)
    graph = model.mesh_graph[start:]
    n_vertices, n_faces = int(graph[0]), int(graph[1])
    at = 2 + 2 * n_vertices + (n_vertices + 3 * n_faces)
    return vertices, graph[at : at + 3 * n_faces].reshape(-1, 3).astype(np.int64)


def smooth_mesh(vertices: NDArray, triangles: NDArray, angle: float) -> SmoothMesh | None:
    """The faces of a convex polyhedron with curvatures; None if no edge is smooth. angle: of smooth edges [rad]"""
    corners = vertices[triangles] if len(triangles) else np.empty((0, 3, 3))
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    kept = size > 1e-12 * (size.max() if len(size) else 0.0)
    triangles, corners, normals, size = triangles[kept], corners[kept], normals[kept], size[kept]
    if not len(triangles):
        return None
    normals = normals / size[:, None]
    outward = np.sign(
        np.einsum("ij,ij->i", normals, corners.mean(axis=1) - vertices[np.unique(triangles)].mean(axis=0))
    )
    normals = normals * outward[:, None]
    edges, sides = _edges(triangles)
    face = _coplanar(normals, sides)
    n_faces = int(face.max()) + 1
    area = np.bincount(face, size / 2)
    mean = np.stack([np.bincount(face, size * normals[:, k]) for k in range(3)], axis=1)
    mean /= np.linalg.norm(mean, axis=1)[:, None]
    offsets = np.full(n_faces, -np.inf)
    np.maximum.at(offsets, face, np.einsum("ij,ij->i", mean[face], corners[:, 0]))

    along = vertices[edges[:, 1]] - vertices[edges[:, 0]]
    length = np.linalg.norm(along, axis=1)
    first, second = face[sides[:, 0]], face[sides[:, 1]]
    turn = np.arctan2(
        np.linalg.norm(np.cross(mean[first], mean[second]), axis=1), np.einsum("ij,ij->i", mean[first], mean[second])
    )
    candidates = np.flatnonzero((first != second) & (turn < angle) & (length > 0.0))
    if not len(candidates):
        return None
    both = np.stack([first[candidates], second[candidates]])
    across = np.cross((along[candidates] / length[candidates, None])[None], mean[both])
    widths = [_widths(corners, face, f, c) for f, c in zip(both, across)]
    similar = np.maximum(*widths) <= _SIMILAR * np.minimum(*widths)
    curvatures = np.zeros((n_faces, 3, 3))
    for f, c in zip(both, across):
        share = (turn * length)[candidates] / 2 / area[f]
        np.add.at(curvatures, f[similar], (share[:, None, None] * c[:, :, None] * c[:, None, :])[similar])
    return SmoothMesh(mean, offsets, curvatures) if curvatures.any() else None


def _widths(corners: NDArray, face: NDArray, faces: NDArray, across: NDArray) -> NDArray[np.float64]:
    """The extents of faces along directions (n, 3). corners: of all triangles (t, 3, 3), face: of each of them (t,)"""
    order = np.argsort(face, kind="stable")
    count = np.bincount(face)
    number = count[faces]
    ends = np.cumsum(number)
    members = order[np.arange(ends[-1]) + np.repeat(np.cumsum(count)[faces] - ends, number)]
    along = np.einsum("tij,tj->ti", corners[members], np.repeat(across, number, axis=0))
    starts = ends - number
    return np.maximum.reduceat(along.max(axis=1), starts) - np.minimum.reduceat(along.min(axis=1), starts)


def _edges(triangles: NDArray) -> tuple[NDArray, NDArray]:
    """Edges (n, 2) that two triangles share, and these two (n, 2)."""
    every = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(triangles)), 3)
    order = np.lexsort((every[:, 1], every[:, 0]))
    every, owner = every[order], owner[order]
    twice = np.flatnonzero((every[1:] == every[:-1]).all(axis=1))
    return every[twice], np.stack([owner[twice], owner[twice + 1]], axis=1)


def _coplanar(normals: NDArray, sides: NDArray) -> NDArray:
    """The number of the face of each triangle: neighbours in one plane belong to one face."""
    parent = np.arange(len(normals))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    flat = np.linalg.norm(normals[sides[:, 0]] - normals[sides[:, 1]], axis=1) < _COPLANAR
    for a, b in sides[flat].tolist():
        parent[root(a)] = root(b)
    return np.unique([root(k) for k in range(len(normals))], return_inverse=True)[1].reshape(-1)
