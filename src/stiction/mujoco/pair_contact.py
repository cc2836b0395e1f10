"""What became of the contacts of one pair with a material."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Kind, Mode


class PairContact:
    """The contacts of one key of `laws`: of the last step, then counts since the start or the last reset.

    It always tells of the present; an array that was read stays as it was.
    """

    def __init__(self, core: Any, number: int, data: Any, body: int | None) -> None:
        self._core, self._number, self._body = core, number, body
        self._data = data  # the core reads it, and does not keep it alive

    def _note(self) -> tuple[Any, ...]:
        return self._core.note(self._number)

    @property
    def mode(self) -> Mode:
        """STATIC where all points that press stick, DYNAMIC where one slips, NONE where none presses."""
        touching, slipping = self._note()[:2]
        return Mode.NONE if not touching else Mode.DYNAMIC if slipping else Mode.STATIC

    @property
    def kind(self) -> Kind:
        """By the number of points that press: POINT, LINE for two, SURFACE for more, or NONE."""
        return Kind(min(self._note()[0], 3))

    @property
    def impulse(self) -> NDArray[np.float64]:
        """On the first of the pair, about its centre of mass at the begin of the step, world axes [N s, N m s], (6,).

        Where the key names several bodies, it is the sum over them, about the world's origin.
        """
        _, _, force, moment, *_ = self._note()
        place = np.zeros(3) if self._body is None else self._core.centre(self._body)
        return np.concatenate([force, moment - np.cross(place, force)])

    @property
    def points(self) -> NDArray[np.float64]:
        """Places where it presses, in the world [m], (k, 3)."""
        return self._own(1)

    @property
    def normals(self) -> NDArray[np.float64]:
        """Normals there, into the first of the pair, (k, 3)."""
        return self._own(2)

    @property
    def impulses(self) -> NDArray[np.float64]:
        """Impulses there, on the first of the pair, world axes [N s], (k, 3)."""
        return self._own(3)

    @property
    def slips(self) -> NDArray[np.bool_]:
        """Which of these points slip, (k,)."""
        return self._own(4).astype(bool)

    @property
    def depths(self) -> NDArray[np.float64]:
        """How deep the surfaces overlap at these points at the begin of the step [m], (k,); below zero: a gap."""
        return -self._own(5)

    def _own(self, field: int) -> NDArray:
        parts = self._core.points()
        return parts[field][parts[0] == self._number]

    @property
    def steps(self) -> int:
        """Steps in contact."""
        return self._note()[4]

    @property
    def unsolved(self) -> int:
        """Steps in which the impulses were found by the guards alone."""
        return self._note()[5]

    @property
    def outside(self) -> int:
        """Steps in which a point slipped faster or bore more than was seen when the material was learned."""
        return self._note()[6]

    def __repr__(self) -> str:
        return (
            f"PairContact(mode={self.mode.name}, points={self._note()[0]}, "
            f"impulse={np.round(self.impulse, 6).tolist()}, steps={self.steps}, "
            f"unsolved={self.unsolved}, outside={self.outside})"
        )
