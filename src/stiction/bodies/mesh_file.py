"""Mesh files: read, scaled to metres, and refused unless they are a body that has a mass and no hollows."""

from pathlib import Path
from typing import Any

from stiction.basics import checks

_SMALLEST, _LARGEST = 1e-3, 20.0  # plausible sizes of a body given as a mesh file [m]


def load_mesh(path: Path, scale: float) -> Any:
    """The watertight, convex trimesh.Trimesh in a file, each of its units `scale` metres."""
    import trimesh  # heavy, and only needed for meshes

    if not path.is_file():
        raise checks.InputError(f"There is no mesh file {path}.")
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # trimesh raises whatever its readers raise
        raise checks.InputError(f"{path} cannot be read as a mesh: {error}.") from error
    if not isinstance(mesh, trimesh.Trimesh) or len(mesh.faces) == 0:
        raise checks.InputError(f"{path} holds no triangles; a body needs a watertight convex mesh.")
    mesh.merge_vertices()
    mesh.apply_scale(scale)
    extent = float(mesh.extents.max())
    if not _SMALLEST <= extent <= _LARGEST:
        raise checks.InputError(
            f"{path} is {extent:g} m long; a body is {_SMALLEST:g} to {_LARGEST:g} m: give `scale`, such as 0.001 "
            "for a file in millimetres."
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
