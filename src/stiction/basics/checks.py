"""Refusals: one clear sentence that says what was wrong, what was got and what is allowed."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LONGEST = 80  # letters of a value in a refusal


class InputError(ValueError):
    """Input that stiction cannot work with; the message is one sentence for the person who gave it."""


def shown(value: object) -> str:
    """A value as a refusal shows it: short and on one line, whatever its own `repr` does."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # such as a whole number of more digits than Python writes
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def first_line(error: BaseException) -> str:
    """What an error of another library says, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".")[:150]


def numbers(name: str, value: ArrayLike, what: str = "an array of numbers") -> NDArray[np.float64]:
    """`value` as float64; texts, dates, durations and complex numbers are no lengths, whatever numpy makes of them."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf" and not _holds_reals(given):
            raise TypeError(f"{given.dtype} is no type of numbers")
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{name} must be {what}, got {shown(value)}.") from error


def _holds_reals(given: NDArray[Any]) -> bool:
    """Whether these are numbers as Python has them, such as fractions, or whole numbers of many digits."""
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
    """`value` as whole numbers of any shape."""
    given = numbers(name, value, "whole numbers")
    if not np.isfinite(given).all() or (np.abs(given) > 2**53).any() or (given != np.floor(given)).any():
        raise InputError(f"{name} must be whole numbers, got {shown(value)}.")
    return given.astype(np.int64)


def vector(name: str, value: ArrayLike, size: int) -> NDArray[np.float64]:
    """`value` as a finite float64 array of just the shape (size,)."""
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


def scalar(name: str, value: float) -> float:
    """`value` as a finite float."""
    number = numbers(name, value, "a number")
    if number.ndim:
        raise InputError(f"{name} must be a single number, got shape {number.shape}.")
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}.")
    return float(number)


def count(name: str, value: int, least: int, most: int | None = None) -> int:
    """`value` as an int of at least `least` and, where that is given, at most `most`."""
    wrong = isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, int | np.integer)
    if wrong or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {allowed}, got {shown(value)}.")
    return int(value)


def flag(name: str, value: bool) -> bool:
    """`value`, which must be true or false."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be true or false, got {shown(value)}.")
    return bool(value)


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, which must be one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}.")
    return value


# Names that a person types: one that does not exist is answered with the nearest that do.


def known(what: str, name: str, names: Collection[str]) -> str:
    """`name`, which must be one of `names`; `what` says of what it is the name, such as "study"."""
    if name in names:
        return name
    pass  # brings numpy, for which help need not wait

    near = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}."
    raise InputError(f"There is no {what} {name!r}; {hint}")
