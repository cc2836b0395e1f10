"""What became of the contact of one body with a law."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Kind, Mode


class BodyContact:
    """The contact of one body: of the last step, then counts since the start or the last reset.

    It always tells of the present; an array that was read stays as it was.
    """

    def __init__(self, note: Any) -> None:
        self._note = note  # a row of the native core's notes, which the steps change

    @property
    def mode(self) -> Mode:
        """NONE where it does not touch."""
        return Mode(int(self._note["mode"]))

    @property
    def kind(self) -> Kind:
        """Of its patch; NONE where it does not touch."""
        return Kind(int(self._note["kind"]))

    @property
    def impulse(self) -> NDArray[np.float64]:
        """About its centre of mass, world axes [N s, N m s], (6,)."""
        return self._note["impulse"].copy()

    @property
    def evaluations(self) -> int:
        """How often its law was asked in the last step."""
        return int(self._note["evaluations"])

    @property
    def asked_at(self) -> NDArray[np.float64]:
        """V1, the twist that its law was last asked about, (6,)."""
        return self._note["asked_at"].copy()

    @property
    def steps(self) -> int:
        """Steps in contact."""
        return int(self._note["steps"])

    @property
    def asked(self) -> int:
        """Evaluations in all of them."""
        return int(self._note["asked"])

    @property
    def unsolved(self) -> int:
        """Steps in which no mode was consistent, so that the sliding solution was taken."""
        return int(self._note["unsolved"])

    @property
    def outside(self) -> int:
        """Steps whose last question lay outside of the law's training range."""
        return int(self._note["outside"])

    @property
    def uncovered(self) -> int:
        """Steps in which it touched something that its law does not cover."""
        return int(self._note["uncovered"])

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self._note[name]}" for name in self._note.dtype.names)
        return f"BodyContact({values})"
