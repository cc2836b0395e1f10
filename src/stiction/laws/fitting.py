"""Arrays of an approximator, checked against each other before the native core sees them."""

from typing import Any

import numpy as np

from stiction.basics import checks


def check_arrays(whose: str, dtype: Any, arrays: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays that do not have just this type and these shapes, one a name."""
    for name, shape in shapes.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise checks.InputError(f"{name} of {whose} must be {np.dtype(dtype)} of shape {shape}, got {got}.")


def check_scale(whose: str, scale: Any) -> None:
    """Refuse scales of inputs that are not above zero."""
    if not np.all(scale > 0):
        raise checks.InputError(f"scale of {whose} must be positive, got {scale.min():g}.")


def check_names(whose: str, arrays: dict[str, Any], wanted: list[str]) -> None:
    """Refuse arrays of other names than those that are wanted."""
    for name in wanted:
        if name not in arrays:
            raise checks.InputError(f"{whose} has no array {name!r}.")
    for name in arrays:
        if name not in wanted:
            raise checks.InputError(f"{whose} has an array {checks.shown(name)} that means nothing.")


def length(array: Any) -> int:
    """Of an array of one axis; -1 of anything else, which fits nothing."""
    return len(array) if isinstance(array, np.ndarray) and array.ndim == 1 else -1


def freeze(arrays: dict[str, Any]) -> None:
    """Let nobody write to these arrays from here on: the core has a copy, which would not follow."""
    for array in arrays.values():
        array.flags.writeable = False
