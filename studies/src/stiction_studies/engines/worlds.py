"""The interface of a simulator: worlds with one body above a ground, tosses, scenes, and parts on hinges."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.simulation.motion import Motion, Setting
from stiction_studies.engines.scene_parts import Scene

MUJOCO, BULLET, DART = "MuJoCo", "Bullet", "DART"
FOOT = 0.002  # radius of a sphere that stands for a contact point [m]
Poses = tuple[NDArray[np.float64], NDArray[np.float64]]  # positions (n, frames, 3), quaternions (n, frames, 4)


@dataclass(frozen=True)
class Coefficients:
    """Contact coefficients: Coulomb friction, restitution, and friction against spinning [m]."""

    friction: float
    restitution: float = 0.0
    spinning: float = 0.0


class World(ABC):
    """One body, or one articulated body, above a ground, with the states that it starts from.

    step: advances the world by one time step; may be another object after each `put`
    """

    step: Callable[[], object]

    @abstractmethod
    def put(self, start: int) -> None:
        """Put the body into its start state of this number; the world keeps no memory of earlier steps."""

    @abstractmethod
    def n_contacts(self) -> int:
        """Return the number of contact points in the last step."""

    def counts(self, start: int, steps: int) -> NDArray[np.int64]:
        """Return the number of contact points in each step from a start, (steps,)."""
        self.put(start)
        found = np.zeros(steps, dtype=np.int64)
        for t in range(steps):
            self.step()
            found[t] = self.n_contacts()
        return found

    def film(self, n_starts: int, read: Callable[[], Any], steps: int, every: int) -> NDArray[np.float64]:
        """Return what `read` returns from each start, each `every` steps, (starts, 1 + steps // every, ...)."""
        frames = []
        for start in range(n_starts):
            self.put(start)
            frames.append(film(self.step, read, steps, every))
        return np.array(frames)

    def close(self) -> None:
        """Release the resources of the world."""
        return None


class Engine(ABC):
    """A simulator with its own contact model. Settings that are not arguments are the simulator's defaults.

    name: in tables
    has_drag: whether it can damp the velocity of a free body
    """

    name: str
    has_drag: bool = True

    @abstractmethod
    def box(self, body: Body, starts: Motion, friction: float, setting: Setting) -> World:
        """Return a world with a box on a plane; starts (n,) are those of the centre of mass."""

    @abstractmethod
    def mesh(self, body: Body, starts: Motion, friction: float, setting: Setting) -> World:
        """Return a world with any body as a convex mesh on a plane."""

    @abstractmethod
    def spheres(self, body: Body, starts: Motion, friction: float, setting: Setting) -> World:
        """Return a world with a prism on small spheres in the corners of its lower face: every point is kept."""

    @abstractmethod
    def toss(
        self, body: Body, states: State, steps: int, setting: Setting, contact: Mapping[str, float], drag: float = 0.0
    ) -> Poses:
        """Return the poses of the body frame, tossed from each state (n,), at the start and after each frame.

        body: a box or a convex hull; in Bullet, the principal axes of its inertia are its axes
        setting: time between two frames [s], and gravity
        contact: the contact parameters that the simulator offers, by name
        drag: rate at which velocity and spin decay [1/s]
        """

    @abstractmethod
    def run_scene(self, scene: Scene, steps: int, every: int) -> NDArray[np.float64]:
        """Return the poses (frames, parts, 7) of all parts, position and quaternion, each `every` steps."""

    def roll_links(
        self, model: Any, states: NDArray[np.float64], frames: int, substeps: int, contact: Coefficients
    ) -> NDArray[np.float64]:
        """Return the states (n, frames, nq + nv) of the jointed part of a MuJoCo model; velocities are NaN."""
        raise NotImplementedError


def load_engine(name: str) -> Engine:
    """Return the simulator of this name: MUJOCO, BULLET or DART."""
    if name == MUJOCO:
        from stiction_studies.engines.mujoco_engine import MujocoEngine as Loaded
    elif name == BULLET:
        from stiction_studies.engines.bullet_engine import BulletEngine as Loaded
    else:
        from stiction_studies.engines.dart_engine import DartEngine as Loaded
    return Loaded()


def installed() -> dict[str, Engine]:
    """Return the simulators that are installed, by name."""
    found = {}
    for name in (MUJOCO, BULLET, DART):
        with suppress(ImportError):
            found[name] = load_engine(name)
    return found


def film(step: Callable[[], object], read: Callable[[], Any], steps: int, every: int) -> NDArray[np.float64]:
    """Return what `read` returns at the start and after each `every` steps, (1 + steps // every, ...)."""
    frames = [read()]
    for t in range(1, steps + 1):
        step()
        if t % every == 0:
            frames.append(read())
    return np.array(frames)


def feet(body: Body) -> NDArray[np.float64]:
    """Return the centres (n, 3), from the centre of mass, of spheres in the corners of a prism's lower face."""
    vertices = body.vertices - body.com
    return vertices[vertices[:, 2] < vertices[:, 2].mean()] + np.array([0.0, 0.0, FOOT])
