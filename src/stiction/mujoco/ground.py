"""The ground of bodies with learned laws in a MuJoCo model: planes and faces of boxes that are fixed to the world."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.mujoco.mjcf import contact_geoms, mujoco
from stiction.mujoco.pairs import collides_with

_SAME = 1e-9  # how far normals and heights [m] may differ in one plane
_PLANE, _BOX = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_BOX)
_NORMALS = np.kron(np.eye(3), [[1.0], [-1.0]])  # of a box's faces, in its own axes


@dataclass
class Plane:
    """A plane at any angle and height; faces in one plane share it.

    normal: world axes, (3,); height: along the normal, from the world's origin [m]
    support: cosine of the normal with up, against gravity: from 1, level, to -1, a ceiling
    floors: geoms in it that are planes of the model; where there are none, only faces of boxes are in it
    geoms: all of the model's geoms in it
    """

    normal: NDArray[np.float64]
    height: float
    support: float
    floors: set[int]
    geoms: set[int]

    @property
    def axes(self) -> NDArray[np.float64]:
        """Rows x, y and normal of the frame of its contacts, (3, 3): x is the world's x projected on the plane, or y
        is the world's y projected on it where the plane stands across the world's x."""
        x, y, n = np.eye(3)[0], np.eye(3)[1], self.normal
        if abs(n[0]) < 0.9:
            x = _unit(x - n[0] * n)
            return np.stack([x, np.cross(n, x), n])
        y = _unit(y - n[1] * n)
        return np.stack([np.cross(y, n), y, n])


@dataclass
class Ground:
    """Everything that links can stand on.

    boxes: the model's geoms that are boxes; faces: numbers of the planes of their faces, +x, -x, +y ..., (b, 6)
    centre, turn, half: of the boxes; rows of turn are their axes, (b, 3), (b, 3, 3), (b, 3)
    endless: whether each link stands on each plane wherever it touches it, (n, p); if not, only on faces of boxes
    meets: whether each link may touch each box, (n, b)
    is_one_plane: whether there is only one plane to choose from
    """

    planes: list[Plane]
    boxes: list[int]
    faces: list[list[int]]
    centre: NDArray[np.float64]
    turn: NDArray[np.float64]
    half: NDArray[np.float64]
    endless: NDArray[np.bool_]
    meets: NDArray[np.bool_]
    is_one_plane: bool

    @property
    def core(self) -> _core.Ground:
        """The ground in the native core."""
        core = _core.Ground(
            axes=np.array([plane.axes for plane in self.planes]),
            height=np.array([plane.height for plane in self.planes]),
            support=[plane.support for plane in self.planes],
            endless=self.endless.tolist(),
        )
        for box, faces in enumerate(self.faces):
            centre, turn, half = self.centre[box], np.ascontiguousarray(self.turn[box]), self.half[box]
            core.add_box(centre=centre, axes=turn, half=half, faces=faces, meets=self.meets[:, box].tolist())
        return core


def fixed_ground(model: Any) -> list[int]:
    """The geoms that may be ground: fixed planes and boxes, whose surfaces neither move like belts nor stick."""
    fixed = (model.body_weldid[model.geom_bodyid] == 0) & ~has_active_surface(model)
    return np.flatnonzero(fixed & np.isin(model.geom_type, [_PLANE, _BOX])).tolist()


def has_active_surface(model: Any) -> NDArray[np.bool_]:
    """Which geoms have a surface that moves over the geom (`surfacevel`) or that attracts others (`adhesion`)."""
    return model.geom_surfacevel.any(axis=1) | (model.geom_adhesion != 0)


def find_ground(model: Any, bodies: Sequence[int], covers: Callable[[int, int], bool] | None = None) -> Ground:
    """The ground of these bodies: all planes, and the boxes that the model lets them touch, fixed to the world.

    covers: whether a material holds between two geoms; such geoms are no ground
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    own = [contact_geoms(model, body) for body in bodies]

    def carries(link: int, g: int) -> bool:
        return covers is None or not any(covers(one, g) for one in own[link])

    links = range(len(bodies))
    fixed = fixed_ground(model)
    boxes = [g for g in fixed if model.geom_type[g] == _BOX]
    meets = np.array([[_may_touch(model, bodies[i], g) and carries(i, g) for g in boxes] for i in links])
    meets = meets.reshape(len(bodies), len(boxes))
    kept = np.flatnonzero(meets.any(axis=0))
    boxes, meets = [boxes[k] for k in kept], meets[:, kept]
    turn = data.geom_xmat[boxes].reshape(-1, 3, 3).transpose(0, 2, 1).copy()
    half, centre = model.geom_size[boxes].copy(), data.geom_xpos[boxes].copy()
    pull = model.opt.gravity
    planes = _Planes(_unit(-pull) if pull.any() else np.array([0.0, 0.0, 1.0]))
    floors = [g for g in fixed if model.geom_type[g] == _PLANE and any(carries(i, g) for i in links)]
    for g in floors:
        planes.add(data.geom_xmat[g].reshape(3, 3)[:, 2], data.geom_xpos[g], g, endless=True)
    faces = []
    for k, g in enumerate(boxes):
        normals = _NORMALS @ turn[k]
        middles = centre[k] + normals * np.repeat(half[k], 2)[:, None]
        faces.append([planes.add(normal, middle, g) for normal, middle in zip(normals, middles)])
    if not planes.found and covers is None:
        raise checks.InputError(
            "A law needs something to stand on, a plane or a box that is fixed to the world and that its body may "
            "touch; the model has none."
        )
    endless = np.array([[any(carries(i, g) for g in plane.floors) for plane in planes.found] for i in links])
    endless = endless.reshape(len(bodies), len(planes.found))
    lost = [body for i, body in enumerate(bodies) if not endless[i].any() and not meets[i].any()]
    if covers is not None and lost:
        raise checks.InputError(
            f"The body {model.body(lost[0]).name or lost[0]!r} has a learned law, but no ground for it: on "
            "all planes and boxes that are fixed to the world and that it may touch, materials hold, or there are none."
        )
    one = len(planes.found) == 1 and not boxes and all(carries(i, g) for i in links for g in planes.found[0].geoms)
    return Ground(planes.found, boxes, faces, centre, turn, half, endless, meets, one)


class _Planes:
    """Planes found so far. up: a unit vector against gravity, (3,)"""

    def __init__(self, up: NDArray[np.float64]) -> None:
        self.up = up
        self.found: list[Plane] = []

    def add(self, normal: NDArray[np.float64], point: NDArray[np.float64], geom: int, endless: bool = False) -> int:
        """The number of the plane with this normal (3,) through this point (3,), which this geom is added to."""
        if abs(normal[2] - 1.0) < _SAME:  # level ground has exactly the world's axes
            normal = np.array([0.0, 0.0, 1.0])
        height = float(normal @ point)
        for number, plane in enumerate(self.found):
            if np.abs(plane.normal - normal).max() < _SAME and abs(plane.height - height) < _SAME:
                plane.floors |= {geom} if endless else set()
                plane.geoms.add(geom)
                return number
        support = round(float(normal @ self.up), 9)  # planes that differ by rounding only are equally level
        self.found.append(Plane(normal.copy(), height, support, {geom} if endless else set(), {geom}))
        return len(self.found) - 1


def _may_touch(model: Any, body: int, geom: int) -> bool:
    """Whether MuJoCo looks for contact of a body with a fixed geom."""
    return bool(collides_with(model, geom)[contact_geoms(model, body)].any())


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / np.linalg.norm(vector)
