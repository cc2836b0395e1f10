"""Smooth functions of one quantity: splines of a speed or load, Fourier series of a direction, restitution."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks

NO_CURVE = _core.Spline(0.0, 1.0, [], 0.0, 0.0)
MAX_HARMONICS = 64


def frozen(values: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy."""
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, eq=False)
class Curve:
    """A cubic B-spline in the natural logarithm of x, over equidistant knots.

    start, step: first knot and spacing of the knots; the curve extends to `start + (n - 3) step`
    coefficients: shape (n,), n >= 4
    seen: (lowest, highest) logarithm in the data; the curve is constant outside
    """

    start: float
    step: float
    coefficients: NDArray[np.float64]
    seen: tuple[float, float] = field(default=(-np.inf, np.inf))

    def __post_init__(self) -> None:
        coefficients = frozen(checks.array("The coefficients of a curve", self.coefficients, (None,)))
        if coefficients.ndim != 1 or not 4 <= len(coefficients) <= 4096:
            raise checks.InputError(f"A curve has 4 to 4096 coefficients, got shape {coefficients.shape}.")
        start = checks.scalar("The first knot of a curve", self.start)
        step = checks.positive("The step of a curve", self.step)
        end = start + step * (len(coefficients) - 3)
        low, high = (float(x) for x in self.seen)
        if not low <= high:
            raise checks.InputError(f"The range of a curve's data must have its lower limit first, got {self.seen}.")
        values = {"start": start, "step": step, "coefficients": coefficients}
        values["seen"] = (min(max(low, start), end), max(min(high, end), start))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, function: Callable, lowest: float, highest: float, spacing: float = 0.05) -> "Curve":
        """The curve ln function(x) from x = lowest to highest, accurate to about eight digits for a smooth function.

        spacing: of the knots in ln x; fewer knots are less accurate
        """
        start, end = np.log(checks.positive("lowest", lowest)), np.log(checks.positive("highest", highest))
        count = int(np.ceil((end - start) / spacing)) + 1
        knots = np.linspace(start, end, count)
        values = checks.array("The curve's function", np.vectorize(function)(np.exp(knots)), (count,))
        if (values <= 0).any():
            raise checks.InputError(f"The function of a curve must be positive, got {values.min():g}.")
        return cls(start, knots[1] - knots[0], interpolating_coefficients(np.log(values)))

    @classmethod
    def over(cls, seen: tuple[float, float], coefficients: ArrayLike) -> "Curve":
        """The curve with these coefficients (n,) whose knots extend over the range of logarithms `seen`."""
        values = np.asarray(coefficients, dtype=np.float64)
        return cls(seen[0], (seen[1] - seen[0]) / max(len(values) - 3, 1), values, seen)

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """Values at x > 0, in its shape."""
        places = np.log(np.maximum(checks.array("x", x, ()), 1e-300))
        return np.asarray(self.native(places.ravel())).reshape(places.shape)

    @property
    def swing(self) -> float:
        """An upper bound of its absolute value."""
        return float(np.abs(self.coefficients).max())

    @property
    def native(self) -> _core.Spline:
        """The curve in the native core."""
        return _core.Spline(self.start, self.step, self.coefficients.tolist(), *self.seen)

    def to_dict(self) -> dict[str, Any]:
        """A description for JSON; the coefficients are stored apart, as a tensor."""
        return {"begin": self.start, "step": self.step, "seen": list(self.seen)}

    @classmethod
    def from_dict(cls, description: dict[str, Any], coefficients: NDArray[Any]) -> "Curve":
        """The curve with this description and these coefficients."""
        return cls(description["begin"], description["step"], coefficients, tuple(description["seen"]))

    def basis(self, x: ArrayLike) -> NDArray[np.float64]:
        """The B-spline basis at x (k,), shape (k, n): the curve is basis @ coefficients."""
        n = len(self.coefficients)
        place = (np.clip(np.log(np.maximum(x, 1e-300)), *self.seen) - self.start) / self.step
        first = np.clip(place.astype(np.int64), 0, n - 4)
        t = place - first
        s = 1 - t
        weights = np.stack([s**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * s**2 + 3 * s**3, t**3], axis=-1) / 6
        result = np.zeros((len(t), n))
        np.put_along_axis(result, first[:, np.newaxis] + np.arange(4), weights, axis=1)
        return result


def interpolating_coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (n + 2,) of the natural cubic spline through values (n,) at equidistant knots."""
    from scipy.linalg import solve_banded  # slow to import

    n = len(values) + 2
    bands = np.zeros((5, n))  # row k holds the diagonal 2 - k
    inner = np.arange(1, n - 1)
    bands[1, inner + 1], bands[2, inner], bands[3, inner - 1] = 1 / 6, 4 / 6, 1 / 6
    bands[2, 0], bands[1, 1], bands[0, 2] = 1.0, -2.0, 1.0  # zero second derivative at both ends
    bands[2, n - 1], bands[3, n - 2], bands[4, n - 3] = 1.0, -2.0, 1.0
    right = np.zeros(n)
    right[1:-1] = values
    return solve_banded((2, 2), bands, right)


def harmonics_of(function: Callable[[float], float]) -> tuple[NDArray, NDArray, float]:
    """Fourier series of ln function(angle): the necessary cosines and sines from the first harmonic on, and the factor
    exp(mean)."""
    angles = np.arange(4 * MAX_HARMONICS) * (2 * np.pi / (4 * MAX_HARMONICS))
    values = checks.array("The function of direction", np.vectorize(function)(angles), (len(angles),))
    if (values <= 0).any():
        raise checks.InputError(f"The function of direction must be positive, got {values.min():g}.")
    series = np.fft.rfft(np.log(values)) / len(angles)
    parts = 2 * series[1 : MAX_HARMONICS + 1]
    count = int(np.flatnonzero(np.abs(parts) > 1e-10)[-1] + 1) if (np.abs(parts) > 1e-10).any() else 0
    return parts[:count].real, -parts[:count].imag, float(np.exp(series[0].real))


TEXTURES = (0, 3, 8, 15, 24)  # numbers of coefficients of a texture: of degree 0 to 4


def texture_basis(directions: NDArray[np.float64], n_coefficients: int) -> NDArray[np.float64]:
    """The monomials x^i y^j z^k of unit vectors (n, 3) by which a texture is a polynomial, (n, n_coefficients).

    k is 0 or 1, since x^2 + y^2 + z^2 = 1; those of lower degree come first, then k = 0, then falling i.
    """
    x, y, z = directions.T
    columns = [
        x**i * y ** (degree - k - i) * z**k
        for degree in range(1, TEXTURES.index(n_coefficients) + 1)
        for k in (0, 1)
        for i in range(degree - k, -1, -1)
    ]
    return np.stack(columns, axis=1) if columns else np.empty((len(directions), 0))


@dataclass(frozen=True)
class Restitution:
    """Restitution e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for approach speeds v above the threshold, else 0.

    e0: coefficient at 0.5 m/s, 0 to 1; fall: exponent of its decrease with speed; threshold: [m/s]

    The course of an impact, in MuJoCo models:

    duration: [s] over which friction that depends on the load takes the normal impulse of an impact, so that it does
        not depend on the time step; 0: over the time step
    lever: relative growth of restitution with the rotational share of the inverse effective inertia, 0 to 1
    lag: delay of friction behind the normal impulse, as a share of an impact; for materials with several `parts`
    """

    e0: float = 0.0
    fall: float = 0.0
    threshold: float = 0.0
    duration: float = 0.0
    lever: float = 0.0
    lag: float = 0.0

    def __post_init__(self) -> None:
        checks.between("restitution", self.e0, 0, 1)
        checks.between("The fall of restitution", self.fall, -10, 10)
        checks.non_negative("The threshold of restitution [m/s]", self.threshold)
        checks.non_negative("The duration of an impact [s]", self.duration)
        checks.between("The lever of restitution", self.lever, -1, 10)
        checks.between("The lag of friction in an impact", self.lag, 0, 1)

    def __call__(self, speed: ArrayLike) -> NDArray[np.float64]:
        """Coefficients for approach speeds [m/s]."""
        v = np.asarray(speed, dtype=np.float64)
        safe = np.maximum(v, max(self.threshold, 1e-12))
        e = self.e0 * (safe / _core.RESTITUTION_SPEED) ** -self.fall * (1 - self.threshold / safe)
        return np.where(v > self.threshold, np.clip(e, 0.0, 1.0), 0.0)
