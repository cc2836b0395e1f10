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
    turn: of its frame against the parent's at angle 0
    axis, damping [N m s], friction [N m]: of the hinge
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
    bodies = [int(b) for b in np.flatnonzero(model.body_rootid == model.jnt_bodyid[0])]
    for k, body in enumerate(bodies):
        kinds = model.jnt_type[model.jnt_bodyid == body].tolist()
        if kinds != [_HINGE if k else _FREE]:
            raise checks.InputError("Bullet and DART move parts with a free base and one hinge for each other link.")
    return [_link(model, body, bodies) for body in bodies]


def _link(model: Any, body: int, bodies: list[int]) -> Link:
    parent = bodies.index(int(model.body_parentid[body])) if body != bodies[0] else -1
    turn = Rotation.from_quat(model.body_quat[body], scalar_first=True)
    hinge = _hinge_place(model, body, bodies)
    from_parent = _hinge_place(model, bodies[parent], bodies) if parent >= 0 else np.zeros(3)
    dof = int(model.body_dofadr[body])
    balls = np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == _SPHERE) & (model.geom_contype > 0))
    return Link(
        parent=parent,
        place=model.body_pos[body] + turn.apply(hinge) - from_parent,
        turn=turn,
        axis=np.array(model.jnt_axis[model.body_jntadr[body]]),
        damping=float(model.dof_damping[dof]),
        friction=float(model.dof_frictionloss[dof]),
        mass=float(model.body_mass[body]),
        com=model.body_ipos[body] - hinge,
        principal=Rotation.from_quat(model.body_iquat[body], scalar_first=True),
        inertia=np.array(model.body_inertia[body]),
        balls=np.hstack([model.geom_pos[balls] - hinge, model.geom_size[balls, :1]]),
    )


def _hinge_place(model: Any, body: int, bodies: list[int]) -> NDArray[np.float64]:
    """Where a body's hinge is in its frame; the base has none, and keeps its frame."""
    return np.zeros(3) if body == bodies[0] else np.array(model.jnt_pos[model.body_jntadr[body]])


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
