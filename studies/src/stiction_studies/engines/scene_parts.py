"""Scenes that are described once for all simulators: several simple bodies on a ground, and links on hinges."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks

Shape = Literal["box", "sphere", "capsule", "cylinder"]
G = 9.81  # [m/s^2]
_POSE = 7  # numbers of a pose in qpos: position, quaternion w x y z


@dataclass(frozen=True)
class Part:
    """One body of a scene, its frame at its centre of mass.

    size: edges of a box; radius of a sphere; radius, and length without caps, of a capsule or cylinder along z [m]
    mass: [kg]
    position [m], quaternion: at the start
    velocity [m/s], spin [rad/s]: at the start, world axes
    slide: axis of its prismatic joint, world axes; None for a free body
    force: constant force along `slide` [N]
    """

    name: str
    shape: Shape
    size: tuple[float, ...]
    mass: float
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slide: tuple[float, float, float] | None = None
    force: float = 0.0

    @property
    def inertia(self) -> NDArray[np.float64]:
        """Principal moments of inertia of a homogeneous solid, body axes [kg m^2], (3,)."""
        if self.shape == "box":
            square = np.square(self.size)
            return self.mass * (square.sum() - square) / 12
        radius = self.size[0]
        if self.shape == "sphere":
            return np.full(3, 0.4 * self.mass * radius**2)
        length = self.size[1]
        if self.shape == "cylinder":
            across = self.mass * (3 * radius**2 + length**2) / 12
            return np.array([across, across, self.mass * radius**2 / 2])
        # A capsule is a cylinder, and two half spheres with centres of mass 3/8 of the radius beyond its ends.
        share = length / (length + 4 * radius / 3)
        cylinder, caps = self.mass * share, self.mass * (1 - share)
        along = cylinder * radius**2 / 2 + caps * 0.4 * radius**2
        across = cylinder * (3 * radius**2 + length**2) / 12
        across += caps * (0.4 * radius**2 + length**2 / 4 + 3 * length * radius / 8)
        return np.array([across, across, along])


@dataclass(frozen=True)
class Scene:
    """Bodies on a ground, with one Coulomb coefficient for all contacts.

    slope: of the ground, which falls toward +x [degrees]; the ground goes through the origin
    """

    parts: tuple[Part, ...]
    friction: float
    slope: float = 0.0
    timestep: float = 0.002

    @property
    def free(self) -> tuple[Part, ...]:
        """The free bodies."""
        return tuple(part for part in self.parts if part.slide is None)

    @property
    def tilt(self) -> tuple[float, float, float, float]:
        """The ground's quaternion."""
        half = np.radians(self.slope) / 2
        return float(np.cos(half)), 0.0, float(np.sin(half)), 0.0

    @property
    def downhill(self) -> NDArray[np.float64]:
        """Direction of steepest descent, (3,); along x on level ground."""
        a = np.radians(self.slope)
        return np.array([np.cos(a), 0.0, -np.sin(a)])

    @property
    def up(self) -> NDArray[np.float64]:
        """The ground's normal, (3,)."""
        a = np.radians(self.slope)
        return np.array([np.sin(a), 0.0, np.cos(a)])

    def poses(
        self,
        q: NDArray[np.float64],
        n_free: int = _POSE,
        free: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda pose: pose,
    ) -> NDArray[np.float64]:
        """Return the poses (frames, parts, 7) of all parts from joint positions (frames, n), part after part.

        n_free: joint positions of a free body; free: returns its poses (frames, 7) from them
        """
        found = np.empty((len(q), len(self.parts), _POSE))
        at = 0
        for k, part in enumerate(self.parts):
            if part.slide is None:
                found[:, k] = free(q[:, at : at + n_free])
                at += n_free
            else:
                found[:, k, :3] = np.array(part.position) + q[:, at : at + 1] * np.array(part.slide)
                found[:, k, 3:] = part.quaternion
                at += 1
        return found


# A part on hinges, read from a compiled MuJoCo model for the other simulators.


@dataclass(frozen=True)
class Link:
    """A rigid link; its frame is that of the body for the base, and at the hinge for the others.

    parent: number of the parent link, -1 for the base; place: of its hinge in the parent's frame [m]
    turn: rotation of its frame against the parent's at angle 0
    axis, damping [N m s], friction [N m]: of the hinge
    mass [kg]; com: centre of mass [m]; principal: from the principal axes to the link's; inertia: along them [kg m^2]
    balls: x, y, z and radius [m] of its contact spheres, (n, 4)
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
class LinkStart:
    """A state of a part: centre of mass of the base [m], its rotation, velocity and spin in world axes; the hinges."""

    position: NDArray[np.float64]
    rotation: Rotation
    velocity: NDArray[np.float64]
    spin: NDArray[np.float64]
    angles: NDArray[np.float64]
    rates: NDArray[np.float64]


def links_of(model: Any) -> list[Link]:
    """Return the links of a part on hinges whose contact geoms are spheres, the base first."""
    bodies = [int(b) for b in np.flatnonzero(model.body_rootid == model.jnt_bodyid[0])]
    for k, body in enumerate(bodies):
        kinds = model.jnt_type[model.jnt_bodyid == body].tolist()
        if kinds != [3 if k else 0]:  # MuJoCo's numbers of a hinge and a free joint
            raise checks.InputError("Bullet and DART move parts with a free base and one hinge for each other link.")
    return [_link(model, body, bodies) for body in bodies]


def _link(model: Any, body: int, bodies: list[int]) -> Link:
    parent = bodies.index(int(model.body_parentid[body])) if body != bodies[0] else -1
    turn = Rotation.from_quat(model.body_quat[body], scalar_first=True)
    hinge = _hinge_place(model, body, bodies)
    from_parent = _hinge_place(model, bodies[parent], bodies) if parent >= 0 else np.zeros(3)
    dof, sphere = int(model.body_dofadr[body]), 2  # MuJoCo's number of a sphere
    balls = np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == sphere) & (model.geom_contype > 0))
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
    """Return the position of a body's hinge in its frame; the base has none, and keeps its frame."""
    return np.zeros(3) if body == bodies[0] else np.array(model.jnt_pos[model.body_jntadr[body]])


def ground_height(model: Any) -> float:
    """Return the height of the plane of a model [m]."""
    return float(model.geom_pos[np.flatnonzero(model.geom_type == 0)[0], 2])


def link_starts(base: Link, states: NDArray[np.float64]) -> list[LinkStart]:
    """Return MuJoCo's states (n, nq + nv) of a part as states of its centre of mass in world axes."""
    nq = (states.shape[1] + 1) // 2
    found = []
    for state in states:
        turn = Rotation.from_quat(state[3:_POSE], scalar_first=True)
        spin = turn.apply(state[nq + 3 : nq + 6])  # MuJoCo has it in body axes
        arm = turn.apply(base.com)
        velocity = state[nq : nq + 3] + np.cross(spin, arm)
        found.append(LinkStart(state[:3] + arm, turn, velocity, spin, state[_POSE:nq], state[nq + 6 :]))
    return found


def link_states(base: Link, read: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return MuJoCo's states (n, frames, nq + nv) from centres of mass, quaternions and angles (n, frames, nq).

    Velocities are NaN, and so is a whole frame with anything that is not finite.
    """
    nq = read.shape[2]
    found = np.full((*read.shape[:2], 2 * nq - 1), np.nan)
    finite = np.isfinite(read).all(axis=2)
    qpos = read[finite]
    qpos[:, :3] -= Rotation.from_quat(qpos[:, 3:_POSE], scalar_first=True).apply(base.com)
    found[finite, :nq] = qpos
    return found
