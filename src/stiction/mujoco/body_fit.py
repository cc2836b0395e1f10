"""Whether a body of a MuJoCo model is the one that a law was made for, and the pose of the law's body in it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.mujoco.mjcf import body_number, contact_geoms, matrix_of, mujoco, sharp

TOLERANCE = 0.01  # relative difference that a body may have from the law's
_GEOM = mujoco.mjtGeom


@dataclass(frozen=True)
class Fit:
    """The pose of a law's body in a body of the model.

    body: number in the model
    turn: rotation from the law's body frame to the model's, (3, 3)
    """

    body: int
    turn: NDArray[np.float64]


def fit(model: Any, name: Any, body: Body, tolerance: float = TOLERANCE) -> Fit:
    """The pose of the law's `body` in the model's body of that name, or an error with the reason of a misfit."""
    number = body_number(model, name)
    if model.body_weldid[number] == 0:
        raise checks.InputError(f"The body {name!r} is fixed to the world; a law needs a body that can move.")
    geoms = contact_geoms(model, number)
    if not geoms:
        raise checks.InputError(f"The body {name!r} has no geom that can touch anything.")
    turn, shift, misfit = place(model, number, body)
    if misfit > tolerance * body.diameter:
        raise checks.InputError(
            f"The geoms of the body {name!r} do not have the shape of its law's {body.shape}: they differ by "
            f"{misfit:.3g} m, allowed are {tolerance * body.diameter:.3g} m."
        )
    mass = float(model.body_mass[number])
    if abs(mass - body.mass) > tolerance * body.mass:
        raise checks.InputError(f"The body {name!r} has a mass of {mass:.6g} kg, its law one of {body.mass:.6g} kg.")
    com, own = turn @ body.com + shift, model.body_ipos[number]
    if np.abs(com - own).max() > tolerance * body.diameter:
        raise checks.InputError(
            f"The body {name!r} has its centre of mass at {np.round(own, 6).tolist()}, its law at "
            f"{np.round(com, 6).tolist()} [m, body frame]."
        )
    axes = matrix_of(model.body_iquat[number])
    inertia, wanted = axes @ np.diag(model.body_inertia[number]) @ axes.T, turn @ body.inertia @ turn.T
    if np.abs(inertia - wanted).max() > tolerance * np.abs(wanted).max():
        raise checks.InputError(
            f"The body {name!r} has other moments of inertia than its law: {_moments(inertia)} against "
            f"{_moments(wanted)} kg m^2."
        )
    return Fit(number, turn)


def _moments(inertia: NDArray[np.float64]) -> str:
    return ", ".join(f"{moment:.4g}" for moment in np.linalg.eigvalsh(inertia))


def place(model, name: str | int, body: Body) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Rotation (3, 3) and shift (3,) from the law's body frame to the model's, of all frames it may have been drawn in,
    and the greatest difference of the shapes there [m].

    name: or number of the model's body
    """
    geoms = contact_geoms(model, body_number(model, name))
    directions = np.random.default_rng(0).normal(size=(400, 3))
    directions = np.concatenate([np.eye(3), -np.eye(3), directions / np.linalg.norm(directions, axis=1)[:, None]])
    reaches = [_support(model, g, directions) for g in geoms]
    # With a margin, rounded edges may be drawn as a smaller geom, as `to_mjcf` does.
    margins = model.geom_margin[geoms, np.newaxis]
    reach = [np.max(reaches, axis=0), np.max(reaches + margins, axis=0)]
    candidates = [(np.eye(3), np.zeros(3))]
    for g in geoms:
        frame = matrix_of(model.geom_quat[g]), model.geom_pos[g]
        candidates.append(frame)
        mesh = model.geom_dataid[g]
        if model.geom_type[g] == _GEOM.mjGEOM_MESH:  # MuJoCo has moved the file's axes to the mesh's principal ones
            back = matrix_of(model.mesh_quat[mesh]).T
            turn = frame[0] @ back
            candidates.append((turn, frame[1] - turn @ model.mesh_pos[mesh]))
    # Rounded edges may be drawn as sharp ones: MuJoCo's boxes have no others.
    misfits = [
        min(
            _misfit(one.vertices @ turn.T + shift, one.rounding, directions, far)
            for one in (body, sharp(body))
            for far in reach
        )
        for turn, shift in candidates
    ]
    best = int(np.argmin(misfits))
    return *candidates[best], misfits[best]


def _misfit(corners: NDArray[np.float64], rounding: float, directions: NDArray[np.float64], reach: Any) -> float:
    """Greatest difference to how far something reaches in each direction (n, 3), (n,), of these corners (k, 3) [m]."""
    return float(np.abs((directions @ corners.T).max(axis=1) + rounding - reach).max())


def _support(model, g: int, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a geom reaches in each direction (n, 3), from the origin of its body's frame, (n,)."""
    kind, size = model.geom_type[g], model.geom_size[g]
    local = directions @ matrix_of(model.geom_quat[g])
    if kind == _GEOM.mjGEOM_BOX:
        far = np.abs(local) @ size
    elif kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[g]
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        far = (local @ model.mesh_vert[first : first + count].T).max(axis=1)
    elif kind == _GEOM.mjGEOM_CYLINDER:
        far = size[0] * np.hypot(local[:, 0], local[:, 1]) + size[1] * np.abs(local[:, 2])
    elif kind == _GEOM.mjGEOM_CAPSULE:
        far = size[0] + size[1] * np.abs(local[:, 2])
    elif kind == _GEOM.mjGEOM_SPHERE:
        far = np.full(len(local), size[0])
    elif kind == _GEOM.mjGEOM_ELLIPSOID:
        far = np.linalg.norm(local * size, axis=1)
    else:
        raise checks.InputError(
            f"A law needs geoms that are a box, mesh, cylinder, capsule, sphere or ellipsoid; geom {g} of its body is "
            f"of type {_GEOM(kind).name}."
        )
    return far + directions @ model.geom_pos[g]
