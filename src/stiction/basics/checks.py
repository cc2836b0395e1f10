"""Refusals: one clear sentence that says what was wrong, what was got and what is allowed."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray


class InputError(ValueError):
    """Input that stiction cannot work with; the message is one sentence for the person who gave it."""


def array(name: str, value: ArrayLike, shape: Sequence[int | None]) -> NDArray[np.float64]:
    """`value` as finite float64 whose last axes have the given `shape` (None: any length)."""
    try:
        result = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers, got {value!r:.80}.") from error
    wanted = "(..., " + ", ".join("n" if n is None else str(n) for n in shape) + ")"
    tail = result.shape[result.ndim - len(shape) :] if result.ndim >= len(shape) else ()
    if len(tail) != len(shape) or any(n not in (None, got) for n, got in zip(shape, tail, strict=True)):
        raise InputError(f"{name} must have shape {wanted}, got shape {result.shape}.")
    if not np.all(np.isfinite(result)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InputError(f"{name} must be finite, got {result[where]} at index {where}.")
    return result


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
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number, got {value!r:.80}.") from error
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}.")
    return number


def count(name: str, value: int, least: int) -> int:
    """`value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, which must be one of `allowed`."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value


def require(command: str, modules: Mapping[str, str]) -> None:
    """Refuse a command whose extras, importable name -> extra, are not installed: before it has worked for minutes."""
    missing = {module: extra for module, extra in modules.items() if find_spec(module) is None}
    if missing:
        raise InputError(
            f"`{command}` needs {' and '.join(missing)}: pip install 'stiction[{','.join(missing.values())}]'"
        )
