"""What the bench asks of a simulator: bodies that are put in place and stepped by one Python call at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body

FOOT = 0.002  # radius of a sphere that stands for a contact point [m]


class Stage(ABC):
    """One body in a world with the ground, and the states that it starts from.

    step: advances the world by one time step; may be another object after each `put`
    """

    step: Callable[[], object]

    @abstractmethod
    def put(self, start: int) -> None:
        """Put the body into its state number `start`, in a world that remembers nothing."""

    @abstractmethod
    def touching(self) -> int:
        """Contact points that the last step worked with."""

    def counts(self, start: int, steps: int) -> NDArray[np.int64]:
        """Contact points of each step from a start, (steps,)."""
        self.put(start)
        found = np.zeros(steps, dtype=np.int64)
        for t in range(steps):
            self.step()
            found[t] = self.touching()
        return found

    def close(self) -> None:
        """Give back what the world holds."""
        return None


def feet(body: Body) -> NDArray[np.float64]:
    """Centres (n, 3), from the centre of mass, of spheres in a prism that touch in the corners of its lower face."""
    vertices = body.vertices - body.com
    return vertices[vertices[:, 2] < vertices[:, 2].mean()] + np.array([0.0, 0.0, FOOT])
