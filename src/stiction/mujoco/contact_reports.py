"""The contacts of each key of a simulation's `laws`: in the last step, and counted since the start or the last reset.

What is read always describes the present; an array that was read stays as it was.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.state import Kind, Mode


class UnknownKeyError(checks.InputError, KeyError):
    """There is no law with this key."""

    __str__ = ValueError.__str__  # the sentence as it is


class Contacts(dict[Any, Any]):
    """The contacts by the keys of `laws`; the reversed key of a pair gives the impulses on the other of the two."""

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, tuple) and key[::-1] in self:
            return self[key[::-1]].reversed()
        known = ", ".join(repr(name) for name in self)
        raise UnknownKeyError(f"laws has no key {key!r:.80}: its keys are {known:.300}.")


class BodyContact:
    """The contact of one body that has a learned law."""

    def __init__(self, core: _core.Step, number: int) -> None:
        self._core: Any = core
        self._number = number
        self._statistics = self._core.link_statistics[number]  # a view, which the steps change

    @property
    def mode(self) -> Mode:
        """NONE where it does not touch."""
        return Mode(int(self._statistics["mode"]))

    @property
    def kind(self) -> Kind:
        """Of its patch; NONE where it does not touch."""
        return Kind(int(self._statistics["kind"]))

    @property
    def impulse(self) -> NDArray[np.float64]:
        """About its centre of mass, world axes [N s, N m s], (6,)."""
        return self._statistics["impulse"].copy()

    @property
    def points(self) -> NDArray[np.float64]:
        """Contact points at the start of the last step, world axes [m], (k, 3); none if it did not touch."""
        return self._core.link_points(self._number) if self.kind else np.zeros((0, 3))

    @property
    def evaluations(self) -> int:
        """Evaluations of its law in the last step."""
        return int(self._statistics["evaluations"])

    @property
    def last_query(self) -> NDArray[np.float64]:
        """V1, the twist at which its law was last evaluated, (6,)."""
        return self._statistics["last_query"].copy()

    @property
    def steps(self) -> int:
        """Steps in contact."""
        return int(self._statistics["steps"])

    @property
    def total_evaluations(self) -> int:
        """Evaluations of its law in all steps."""
        return int(self._statistics["all_evaluations"])

    @property
    def unsolved(self) -> int:
        """Steps in which no mode was consistent, so that the sliding solution was taken."""
        return int(self._statistics["unsolved"])

    @property
    def outside(self) -> int:
        """Steps whose last evaluation lay outside of the law's training range."""
        return int(self._statistics["outside"])

    @property
    def uncovered(self) -> int:
        """Steps in which it touched something that its law does not cover."""
        return int(self._statistics["uncovered"])

    def __repr__(self) -> str:
        return (
            f"BodyContact(mode={self.mode.name}, kind={self.kind.name}, impulse={np.round(self.impulse, 6).tolist()}, "
            f"evaluations={self.evaluations}, steps={self.steps}, total_evaluations={self.total_evaluations}, "
            f"unsolved={self.unsolved}, outside={self.outside}, uncovered={self.uncovered})"
        )


class PairContact:
    """The contacts of one key with a material.

    bodies: the only body of each of the pair; None where there are several
    sign: 1 for the first of the pair in the core, -1 for the second
    """

    def __init__(
        self, core: _core.Step, number: int, data: Any, bodies: tuple[int | None, int | None], sign: int = 1
    ) -> None:
        self._core: Any = core
        self._number, self._bodies, self._sign = number, bodies, sign
        self._data = data  # the core reads it, and does not keep it alive

    def reversed(self) -> "PairContact":
        """The same contacts with the second of the pair as the first."""
        first, second = self._bodies
        return PairContact(self._core, self._number, self._data, (second, first), -self._sign)

    def _statistics(self) -> tuple[Any, ...]:
        return self._core.pair_statistics(self._number)

    @property
    def mode(self) -> Mode:
        """STATIC where all points that press stick, DYNAMIC where one slips, NONE where none presses."""
        pressing, slipping = self._statistics()[:2]
        return Mode.NONE if not pressing else Mode.DYNAMIC if slipping else Mode.STATIC

    @property
    def kind(self) -> Kind:
        """By the number of points that press: POINT, LINE for two, SURFACE for more, or NONE."""
        return Kind(min(self._statistics()[0], 3))

    @property
    def impulse(self) -> NDArray[np.float64]:
        """On the first of the pair, about its centre of mass at the start of the step, world axes [N s, N m s], (6,).

        Where the key names several bodies, it is the sum over them, about the world's origin.
        """
        _, _, force, moment, *_ = self._statistics()
        body = self._bodies[0]
        centre = np.zeros(3) if body is None else self._core.centre(body)
        return self._sign * np.concatenate([force, moment - np.cross(centre, force)])

    @property
    def points(self) -> NDArray[np.float64]:
        """Positions of the points that press, in the world [m], (k, 3)."""
        return self._of_points(1)

    @property
    def normals(self) -> NDArray[np.float64]:
        """Normals there, into the first of the pair, (k, 3)."""
        return self._sign * self._of_points(2)

    @property
    def impulses(self) -> NDArray[np.float64]:
        """Impulses there, on the first of the pair, world axes [N s], (k, 3)."""
        return self._sign * self._of_points(3)

    @property
    def torques(self) -> NDArray[np.float64]:
        """Torques of soft contacts there, on the first of the pair, world axes [N m s], (k, 3)."""
        return self._sign * self._of_points(6)

    @property
    def slips(self) -> NDArray[np.bool_]:
        """Which of these points slip, (k,)."""
        return self._of_points(4).astype(bool)

    @property
    def depths(self) -> NDArray[np.float64]:
        """Penetration at these points at the start of the step [m], (k,); negative: a gap."""
        return -self._of_points(5)

    def _of_points(self, field: int) -> NDArray:
        parts = self._core.points()
        return parts[field][parts[0] == self._number]

    @property
    def steps(self) -> int:
        """Steps in contact."""
        return self._statistics()[4]

    @property
    def unsolved(self) -> int:
        """Steps in which the impulses were found by the guards alone."""
        return self._statistics()[5]

    @property
    def outside(self) -> int:
        """Steps in which a point slipped faster or carried more load than where the material was learned."""
        return self._statistics()[6]

    def __repr__(self) -> str:
        return (
            f"PairContact(mode={self.mode.name}, points={self._statistics()[0]}, "
            f"impulse={np.round(self.impulse, 6).tolist()}, steps={self.steps}, "
            f"unsolved={self.unsolved}, outside={self.outside})"
        )
