"""A part with hinges as simulators other than MuJoCo take it: its links, read from a compiled MuJoCo model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks

POSE = 7  # numbers of the pose of the base in qpos: position, quaternion w x y z
_FREE, _HINGE, _SPHERE = 0, 3, 2  # as MuJoCo numbers joints and geoms


@dataclass(frozen=True)
class Link:
    """A rigid link; its frame is that of the body for the base, and lies at the hinge for the others.

    parent: number of the link that carries it, -1 for the base; place: of its hinge in the parent's frame [m]
    turn: of its frame against the parent's at angle 0; axis: of the hinge; damping [N m s], friction [N m]: of the hinge
    mass [kg]; com: centre of mass [m]; principal: from the principal axes to the link's; inertia: along them [kg m^2]
    balls: x, y, z and radius [m] of the spheres that it touches with, (n, 4)
    """

    parent: int
    place: NDArray[np.float64]
    turn: Rotation
    axis: NDArray[np.float64]
    damping: float
    friction: float
    mass: float
    com: NDArray[np.float64]
    principal: Rotation
    inertia: NDArray[np.float64]
    balls: NDArray[np.float64]


@dataclass(frozen=True)
class Contact:
    """Coefficients of a touch: friction, restitution, and by choice friction against spinning [m]."""

    friction: float
    restitution: float
    spinning: float = 0.0


class Mover(Protocol):
    """A simulator with a part in it."""

    def put(self, place: NDArray, turn: Rotation, velocity: NDArray, spin: NDArray, q: NDArray, dq: NDArray) -> None:
        """Put the base's centre of mass and axes, their velocity and spin in world axes, and the hinges."""
        ...

    def step(self) -> None:
        """Make one time step."""
        ...

    def read(self) -> NDArray[np.float64]:
        """The base's centre of mass, its quaternion w x y z, and the hinges, (7 + hinges,)."""
        ...


def links_of(model: Any) -> list[Link]:
    """The links of a part on hinges that touches with spheres, the base first."""
    numbers = [int(b) for b in np.flatnonzero(model.body_rootid == model.jnt_bodyid[0])]
    at = {body: k for k, body in enumerate(numbers)}
    found = []
    for k, body in enumerate(numbers):
        joints = np.flatnonzero(model.jnt_bodyid == body)
        if len(joints) != 1 or model.jnt_type[joints[0]] != (_HINGE if k else _FREE):
            raise checks.InputError("Bullet and DART are given parts with a free base, and one hinge for each other link.")
        joint, dof = int(joints[0]), int(model.jnt_dofadr[joints[0]])
        hinge = np.array(model.jnt_pos[joint]) if k else np.zeros(3)
        turn = Rotation.from_quat(model.body_quat[body], scalar_first=True)
        geoms = np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == _SPHERE) & (model.geom_contype > 0))
        parent = at[int(model.body_parentid[body])] if k else -1
        place = np.array(model.body_pos[body]) + turn.apply(hinge)
        if parent >= 0:
            place -= model.jnt_pos[model.body_jntadr[numbers[parent]]] if parent else 0.0
        found.append(
            Link(
                parent, place, turn,
                np.array(model.jnt_axis[joint]), float(model.dof_damping[dof]), float(model.dof_frictionloss[dof]),
                float(model.body_mass[body]), np.array(model.body_ipos[body]) - hinge,
                Rotation.from_quat(model.body_iquat[body], scalar_first=True), np.array(model.body_inertia[body]),
                np.hstack([model.geom_pos[geoms] - hinge, model.geom_size[geoms, :1]]),
            )  # fmt: skip
        )
    return found


def ground_of(model: Any) -> float:
    """Height of the plane of a model [m]."""
    return float(model.geom_pos[np.flatnonzero(model.geom_type == 0)[0], 2])


def move(
    mover: Mover, base: Link, states: NDArray[np.float64], frames: int, substeps: int, restart: Callable[[], None]
) -> NDArray[np.float64]:
    """States (n, frames, nq + nv) after each `substeps` steps, from states of MuJoCo (n, nq + nv); velocities are NaN.

    restart: called before each motion
    """
    nq = (states.shape[1] + 1) // 2
    found = np.full((len(states), frames, states.shape[1]), np.nan)
    read = np.empty((len(states), frames, nq))
    for i, state in enumerate(states):
        turn = Rotation.from_quat(state[3:POSE], scalar_first=True)
        spin = turn.apply(state[nq + 3 : nq + 6])  # MuJoCo has it in body axes
        arm = turn.apply(base.com)
        restart()
        mover.put(
            state[:3] + arm, turn, state[nq : nq + 3] + np.cross(spin, arm), spin, state[POSE:nq], state[nq + 6 :]
        )
        for t in range(frames):
            for _ in range(substeps):
                mover.step()
            read[i, t] = mover.read()
    lost = ~np.isfinite(read).all(axis=2)
    read[lost] = [*np.zeros(3), 1.0, *np.zeros(nq - 4)]
    turns = Rotation.from_quat(read[..., 3:POSE].reshape(-1, 4), scalar_first=True)
    read[..., :3] -= turns.apply(base.com).reshape(*read.shape[:2], 3)
    read[lost] = np.nan
    found[..., :nq] = read
    return found
