"""Input checks: each returns the checked value, or raises an InputError with what was given and what is allowed."""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics.errors import InputError, first_line, shown

__all__ = [
    "InputError", "array", "between", "choice", "count", "first_line", "flag", "non_negative", "numbers", "positive",
    "scalar", "shown", "vector", "whole_numbers",
]  # fmt: skip

Text = TypeVar("Text", bound=str)


def numbers(name: str, value: ArrayLike, what: str = "an array of numbers") -> NDArray[np.float64]:
    """`value` as float64. Strings, dates, durations and complex numbers are refused, though NumPy converts some."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and not _holds_reals(given):
            raise TypeError(f"{given.dtype} is not a numeric type")
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{name} must be {what}, got {shown(value)}.") from error


def _holds_reals(given: NDArray[Any]) -> bool:
    """Whether these are Python's own numbers, such as fractions or large integers."""
    return given.dtype.kind == "O" and all(isinstance(part, Real | Decimal) for part in given.flat)


def array(name: str, value: ArrayLike, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """`value` as finite float64 whose last axes have the given `shape` (None: any length)."""
    result = numbers(name, value)
    wanted = "(..., " + ", ".join("n" if n is None else str(n) for n in shape) + ")"
    tail = result.shape[result.ndim - len(shape) :] if result.ndim >= len(shape) else ()
    if len(tail) != len(shape) or any(n not in (None, got) for n, got in zip(shape, tail, strict=True)):
        raise InputError(f"{name} must have shape {wanted}, got shape {result.shape}.")
    if not np.all(np.isfinite(result)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InputError(f"{name} must be finite, got {result[where]} at index {where}.")
    return result


def whole_numbers(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """`value` as integers of any shape."""
    given = numbers(name, value, "whole numbers")
    if not np.isfinite(given).all() or (np.abs(given) > 2**53).any() or (given != np.floor(given)).any():
        raise InputError(f"{name} must be whole numbers, got {shown(value)}.")
    return given.astype(np.int64)


def vector(name: str, value: ArrayLike, size: int) -> NDArray[np.float64]:
    """`value` as a finite float64 array of shape (size,)."""
    result = array(name, value, (size,))
    if result.ndim != 1:
        raise InputError(f"{name} must have shape ({size},), the same for all bodies, got shape {result.shape}.")
    return result


def positive(name: str, value: float) -> float:
    """`value` as a finite float above zero."""
    number = scalar(name, value)
    if number <= 0:
        raise InputError(f"{name} must be positive, got {number:g}.")
    return number


def non_negative(name: str, value: float) -> float:
    """`value` as a finite float of at least zero."""
    number = scalar(name, value)
    if number < 0:
        raise InputError(f"{name} must not be negative, got {number:g}.")
    return number


def between(name: str, value: float, low: float, high: float) -> float:
    """`value` as a finite float from `low` to `high`."""
    number = scalar(name, value)
    if not low <= number <= high:
        raise InputError(f"{name} must be {low:g} to {high:g}, got {number:g}.")
    return number


def scalar(name: str, value: float) -> float:
    """`value` as a finite float."""
    number = numbers(name, value, "a number")
    if number.ndim:
        raise InputError(f"{name} must be a single number, got shape {number.shape}.")
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}.")
    return float(number)


def count(name: str, value: int, least: int, most: int | None = None) -> int:
    """`value` as an int from `least` to `most` (None: no upper limit)."""
    wrong = isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, int | np.integer)
    if wrong or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {allowed}, got {shown(value)}.")
    return int(value)


def flag(name: str, value: bool) -> bool:
    """`value` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be true or false, got {shown(value)}.")
    return bool(value)


def choice(name: str, value: Text, allowed: Sequence[Text]) -> Text:
    """`value`, which must be one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}.")
    return value
