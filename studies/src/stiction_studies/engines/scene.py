"""Scenes of several simple bodies, described once for all simulators: grasps, stacks, slopes, and what rolls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Shape = Literal["box", "sphere", "capsule", "cylinder"]
G = 9.81  # [m/s^2]


@dataclass(frozen=True)
class Part:
    """One body of a scene, its frame at its centre of mass.

    size: edges of a box; radius of a sphere; radius, and length without caps, of a capsule or cylinder along z [m]
    mass: [kg]
    position [m], quaternion: at the start
    velocity [m/s], spin [rad/s]: at the start, world axes
    slide: axis of the world along which alone it moves; without one it is free
    force: along `slide`, all the time [N]
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
        """Principal moments of a solid of even density, body axes [kg m^2], (3,)."""
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
        return _capsule_inertia(self.mass, radius, length)

    def slid(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Poses (n, 7) of a part that has slid by `distance` (n,) [m]."""
        place = np.array(self.position) + distance[:, np.newaxis] * np.array(self.slide)
        return np.hstack([place, np.tile(self.quaternion, (len(place), 1))])


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
        """The parts that no joint holds."""
        return tuple(part for part in self.parts if part.slide is None)

    @property
    def tilt(self) -> tuple[float, float, float, float]:
        """The ground's quaternion."""
        half = np.radians(self.slope) / 2
        return float(np.cos(half)), 0.0, float(np.sin(half)), 0.0

    @property
    def downhill(self) -> NDArray[np.float64]:
        """Direction of the steepest descent, (3,); along x on level ground."""
        a = np.radians(self.slope)
        return np.array([np.cos(a), 0.0, -np.sin(a)])

    @property
    def up(self) -> NDArray[np.float64]:
        """The ground's normal, (3,)."""
        a = np.radians(self.slope)
        return np.array([np.sin(a), 0.0, np.cos(a)])


def film(step: Callable[[], object], read: Callable[[], NDArray[np.float64]], steps: int, every: int) -> NDArray:
    """What `read` gives at the start and after each `every` steps, (1 + steps // every, ...)."""
    frames = [read()]
    for t in range(1, steps + 1):
        step()
        if t % every == 0:
            frames.append(read())
    return np.array(frames)


def _capsule_inertia(mass: float, radius: float, length: float) -> NDArray[np.float64]:
    """A cylinder, and two half spheres whose centres of mass lie 3/8 of the radius beyond its ends."""
    share = length / (length + 4 * radius / 3)
    cylinder, caps = mass * share, mass * (1 - share)
    along = cylinder * radius**2 / 2 + caps * 0.4 * radius**2
    across = cylinder * (3 * radius**2 + length**2) / 12
    across += caps * (0.4 * radius**2 + length**2 / 4 + 3 * length * radius / 8)
    return np.array([across, across, along])
