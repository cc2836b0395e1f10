"""Damaged bytes of files, damaged arrays, and odd values."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = (0.0, -0.0, -1.0, 1e-300, 1e300, -1e300, 1.7e308, np.nan, np.inf, -np.inf, 1e18, 2.0**31, 0.5)
_VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 3, 2**31 - 1, 2**31, -(2**63), 10**18, 10**400, 10**5000, 0.5, -0.0, 1e-300, 1e300,
    float("nan"), float("inf"), 1j, complex("nan"), Fraction(1, 3), Decimal("0.3"), Decimal("NaN"), "", "x", "0.002",
    "box", "nan", "a" * 5000, "a\0b", "\ud800", "/", ".", "~", b"1", b"", [], (), {}, set(), {"a": 1}, [[]], [None] * 3,
    ["0", "0", "1"], [[1], [1, 2]], [0, 0, 0], [1e300] * 3, [10**400] * 3, range(3), datetime.date(2026, 1, 1),
    datetime.timedelta(1), np.datetime64("2026"), np.timedelta64(3, "s"), np.complex128(1), np.float32(0.5), np.int8(3),
    np.bool_(True), np.str_("1"), Path("nothing.npz"), object, object(), int, len, Ellipsis, NotImplemented, slice(3),
)  # fmt: skip


def odd_value(rng: np.random.Generator) -> Any:
    """A value that is invalid or unusual."""
    match rng.integers(4):
        case 0:
            return odd_array(rng, rng.normal(size=tuple(rng.integers(0, 5, rng.integers(0, 4)))))[0]
        case 1:
            return float(rng.choice(NUMBERS))
        case _:
            return _VALUES[rng.integers(len(_VALUES))]


def odd_array(rng: np.random.Generator, array: np.ndarray) -> tuple[np.ndarray, str]:
    """A damaged array, and a description of the damage."""
    array = array if array.dtype.kind in "biuf" else np.zeros(array.shape)  # it may be odd already
    changes = _CHANGES[rng.integers(len(_CHANGES))]
    with np.errstate(all="ignore"):
        return changes(rng, array), changes.__name__.strip("_").replace("_", " ")


def _another_length(rng, array):
    return np.resize(array, (max(0, len(array) + int(rng.integers(-2, 3))) if array.ndim else 2, *array.shape[1:]))


def _one_more_axis(rng, array):
    return array[np.newaxis]


def _flat(rng, array):
    return array.ravel()


def _turned(rng, array):
    return array.T


def _single_number(rng, array):
    return np.array(rng.choice(NUMBERS))


def _odd_number(rng, array):
    changed = np.array(array, dtype=np.float64)
    if changed.size:
        changed.flat[rng.integers(changed.size)] = rng.choice(NUMBERS)
    return changed


def _odd_row(rng, array):
    changed = np.array(array, dtype=np.float64)
    if changed.ndim and len(changed):
        changed[rng.integers(len(changed))] = rng.choice(NUMBERS)
    return changed


def _all_odd(rng, array):
    return np.full(array.shape, rng.choice(NUMBERS))


def _scaled(rng, array):
    return array * 10.0 ** rng.uniform(-12, 12)


def _other_type(rng, array):
    types = ("f2", "f4", ">f8", "i1", "i8", "u1", "?", "c16", "M8[s]", "m8[s]", "U5", "S5", "V8")
    kind = str(rng.choice(types))
    try:
        return array.astype(kind)
    except (TypeError, ValueError):
        return np.zeros(array.shape, kind)


def _records(rng, array):
    return np.zeros(array.shape, dtype=[("a", "f8"), ("b", "i4")])


def _empty(rng, array):
    return np.empty((0, *array.shape[1:]))


def _shuffled(rng, array):
    return rng.permutation(array) if array.ndim else array


_CHANGES: tuple[Callable[..., np.ndarray], ...] = (
    _another_length, _one_more_axis, _flat, _turned, _single_number, _odd_number, _odd_number, _odd_row, _all_odd,
    _scaled, _other_type, _other_type, _records, _empty, _shuffled,
)  # fmt: skip


def damaged(rng: np.random.Generator, data: bytes) -> tuple[bytes, str]:
    """Damaged bytes of a file, and a description of the damage."""
    changed = bytearray(data)
    where = int(rng.integers(len(data) + 1))
    match rng.integers(7):
        case 0:
            return data[:where], "cut off"
        case 1 | 2:
            for _ in range(rng.choice([1, 1, 2, 8, 64])):
                changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
            return bytes(changed), "bits flipped"
        case 3:
            changed[where : where + int(rng.integers(1, 64))] = rng.bytes(int(rng.integers(0, 64)))
            return bytes(changed), "bytes replaced"
        case 4:
            return data[where:] + data[:where], "begun in the middle"
        case 5:
            changed[where : where + 8] = int(rng.choice([0, 2**31 - 1, 2**40, 2**63 - 1])).to_bytes(8, "little")
            return bytes(changed), "a number of bytes that is wrong"
        case _:
            return (b"", "empty") if rng.uniform() < 0.2 else (data + data, "twice")
