"""Smooth curves of one positive quantity, such as a speed or a load: cubic splines in its logarithm."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks

MOST_COEFFICIENTS = 4096
NO_CURVE = _core.Spline(0.0, 1.0, [], 0.0, 0.0)
_FINE = 0.05  # distance of the knots of an exact curve, in logarithms


def frozen(values: ArrayLike) -> NDArray[np.float64]:
    """A copy that cannot be written to."""
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, eq=False)
class Curve:
    """A cubic B-spline in the natural logarithm of x, over equidistant knots.

    begin, step: of the knots; the curve reaches from `begin` to `begin + (n - 3) step`
    coefficients: shape (n,), n >= 4
    seen: (lowest, highest) logarithm that was seen; outside of it the curve keeps its last value
    """

    begin: float
    step: float
    coefficients: NDArray[np.float64]
    seen: tuple[float, float] = field(default=(-np.inf, np.inf))

    def __post_init__(self) -> None:
        coefficients = frozen(checks.array("The coefficients of a curve", self.coefficients, (None,)))
        if coefficients.ndim != 1 or not 4 <= len(coefficients) <= MOST_COEFFICIENTS:
            raise checks.InputError(
                f"A curve has 4 to {MOST_COEFFICIENTS} coefficients, got shape {coefficients.shape}."
            )
        begin = checks.scalar("The begin of a curve", self.begin)
        step = checks.positive("The step of a curve", self.step)
        end = begin + step * (len(coefficients) - 3)
        low, high = (float(x) for x in self.seen)
        if not low <= high:
            raise checks.InputError(f"A curve was seen from a lowest to a highest place, got {self.seen}.")
        values = {"begin": begin, "step": step, "coefficients": coefficients}
        values["seen"] = (min(max(low, begin), end), max(min(high, end), begin))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, function: Callable, lowest: float, highest: float) -> "Curve":
        """The curve of ln function(x) from x = lowest to highest, exact to about eight digits if it is smooth."""
        begin, end = np.log(checks.positive("lowest", lowest)), np.log(checks.positive("highest", highest))
        count = int(np.ceil((end - begin) / _FINE)) + 1
        knots = np.linspace(begin, end, count)
        values = checks.array("The curve's function", np.vectorize(function)(np.exp(knots)), (count,))
        if (values <= 0).any():
            raise checks.InputError(f"The function of a curve must be positive, got {values.min():g}.")
        return cls(begin, knots[1] - knots[0], interpolating_coefficients(np.log(values)))

    @classmethod
    def over(cls, seen: tuple[float, float], coefficients: ArrayLike) -> "Curve":
        """The curve with these coefficients (n,) whose knots reach from the lowest to the highest logarithm seen."""
        values = np.asarray(coefficients, dtype=np.float64)
        return cls(seen[0], (seen[1] - seen[0]) / max(len(values) - 3, 1), values, seen)

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """Values at x > 0, of its shape."""
        places = np.log(np.maximum(checks.array("x", x, ()), 1e-300))
        return np.asarray(self.native(places.ravel())).reshape(places.shape)

    @property
    def swing(self) -> float:
        """What no value of it exceeds in size."""
        return float(np.abs(self.coefficients).max())

    @property
    def native(self) -> _core.Spline:
        """The curve as the native core has it."""
        return _core.Spline(self.begin, self.step, self.coefficients.tolist(), *self.seen)

    def basis(self, x: ArrayLike) -> NDArray[np.float64]:
        """How much each coefficient (n,) counts at x (k,), shape (k, n): the curve is basis @ coefficients."""
        n = len(self.coefficients)
        place = (np.clip(np.log(np.maximum(x, 1e-300)), *self.seen) - self.begin) / self.step
        first = np.clip(place.astype(np.int64), 0, n - 4)
        t = place - first
        s = 1 - t
        weights = np.stack([s**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * s**2 + 3 * s**3, t**3], axis=-1) / 6
        result = np.zeros((len(t), n))
        np.put_along_axis(result, first[:, np.newaxis] + np.arange(4), weights, axis=1)
        return result


def interpolating_coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (n + 2,) of the natural cubic spline through values (n,) at equidistant knots."""
    from scipy.linalg import solve_banded  # only where a curve is made of a function

    n = len(values) + 2
    bands = np.zeros((5, n))  # row k of the bands holds the diagonal 2 - k
    inner = np.arange(1, n - 1)
    bands[1, inner + 1], bands[2, inner], bands[3, inner - 1] = 1 / 6, 4 / 6, 1 / 6
    bands[2, 0], bands[1, 1], bands[0, 2] = 1.0, -2.0, 1.0  # no bend at either end
    bands[2, n - 1], bands[3, n - 2], bands[4, n - 3] = 1.0, -2.0, 1.0
    right = np.zeros(n)
    right[1:-1] = values
    return solve_banded((2, 2), bands, right)


# How contacts bounce: restitution as a function of the speed of approach.


MOST_FALL = 10.0  # power by which restitution falls with speed


@dataclass(frozen=True)
class Restitution:
    """How a contact bounces: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for approach speeds v above a threshold.

    e0: coefficient at 0.5 m/s, 0 to 1; fall: power by which it falls with speed; threshold: [m/s]
    """

    e0: float = 0.0
    fall: float = 0.0
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= checks.scalar("restitution", self.e0) <= 1:
            raise checks.InputError(f"restitution must lie between 0 and 1, got {self.e0:g}.")
        if abs(checks.scalar("The fall of restitution", self.fall)) > MOST_FALL:
            raise checks.InputError(f"The fall of restitution must lie within {MOST_FALL:g}, got {self.fall:g}.")
        checks.non_negative("The threshold of restitution [m/s]", self.threshold)

    def __call__(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Coefficients for approach speeds [m/s]."""
        v = np.asarray(speed, dtype=np.float64)
        safe = np.maximum(v, max(self.threshold, 1e-12))
        e = self.e0 * (safe / _core.RESTITUTION_SPEED) ** -self.fall * (1 - self.threshold / safe)
        return np.where(v > self.threshold, np.clip(e, 0.0, 1.0), 0.0)
