"""Observed contacts of one or many bodies: what a material is learned from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Mode, State
from stiction.fit.friction_structure import Range
from stiction.simulation.motion import Motion, Setting, contacts_at, to_motion

FEWEST_THROWS, FEWEST_SLIDING = 4, 40  # below which nothing is learned
_LEAST_LOAD = 1e-2  # share of the weight: a patch that slides under less changes no motion
_COLUMNS = ("position", "quaternion", "twist", "impulse", "after", "mode", "kind", "throw", "step")


@dataclass(frozen=True)
class Observed:
    """Contacts of one body in one setting, n of them, at its centre of mass.

    twist, after: before and after the step, (n, 6); impulse: (n, 6)
    mode, kind, throw, step: (n,); throws of different data sets have different numbers; step -1: of no trajectory
    """

    body: Body
    setting: Setting
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    twist: NDArray[np.float64]
    impulse: NDArray[np.float64]
    after: NDArray[np.float64]
    mode: NDArray[np.int64]
    kind: NDArray[np.int64]
    throw: NDArray[np.int64]
    step: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.mode)

    def __getitem__(self, which: NDArray) -> "Observed":
        """Some of the contacts, by index or by mask."""
        return replace(self, **{name: getattr(self, name)[which] for name in _COLUMNS})

    def sliding(self) -> "Observed":
        """Those that slide under some load."""
        weight = self.body.mass * float(np.linalg.norm(self.setting.gravity)) * self.setting.timestep
        return self[(self.mode == Mode.DYNAMIC) & (self.impulse[:, 2] > _LEAST_LOAD * weight)]

    def contacts(self) -> _core.Contacts:
        """All contacts as laws see them."""
        return contacts_at(self.body, Motion(self.position, self.quaternion, self.twist), self.setting)


def joined(parts: Sequence[Observed]) -> Observed:
    """Contacts of one body in one setting, of several parts."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return replace(parts[0], **columns)


def opened(data: Any) -> list[Any]:
    """The data sets that `data` means: one or many, each opened or the path of its folder."""
    several = data if isinstance(data, Sequence) and not isinstance(data, str | Path) else [data]
    sets = []
    for one in several:
        if isinstance(one, str | Path):
            from stiction.data.dataset import DataSet  # needs pyarrow, which opened data have no use for

            one = DataSet(one)
        if not all(hasattr(one, name) for name in ("body", "setting", "read")):
            raise checks.InputError(f"A material is learned from data sets or their folders, got {checks.shown(one)}.")
        sets.append(one)
    if not sets:
        raise checks.InputError("A material is learned from at least one data set, got none.")
    return sets


def observe(sets: Sequence[Any]) -> list[Observed]:
    """The contacts of data sets, those that touch where they were recorded to; too few of them are refused."""
    parts, first = [], 0
    for one in sets:
        part = _read(one, first)
        first = int(part.throw.max(initial=first - 1)) + 1
        parts.append(part)
    throws = len(np.unique(np.concatenate([part.throw for part in parts])))
    if throws < FEWEST_THROWS:
        raise checks.InputError(f"A material needs at least {FEWEST_THROWS} throws with contacts, got {throws}.")
    sliding = sum(len(part.sliding()) for part in parts)
    if sliding < FEWEST_SLIDING:
        raise checks.InputError(
            f"A material needs at least {FEWEST_SLIDING} sliding contacts, got {sliding}: throw the body more often, "
            "or faster."
        )
    return parts


def _read(data: Any, first: int) -> Observed:
    """The contacts of one data set; its throws are numbered from `first` on."""
    rows = data.read(_COLUMNS)
    motion = to_motion(data.body, State(rows["position"], rows["quaternion"]))
    numbers: dict[str, Any] = {name: np.asarray(rows[name], np.float64) for name in ("twist", "impulse", "after")}
    numbers |= {name: np.asarray(rows[name], np.int64) for name in ("mode", "kind", "throw", "step")}
    numbers["throw"] = numbers["throw"] + first
    part = Observed(data.body, data.setting, motion.position, motion.quaternion, **numbers)
    record: Any = part.contacts().record
    return part[record.index]


# The slip speeds and loads that were seen: between them friction is learned, beyond them its last value is kept.


_LEFT_OUT = 3  # observations at either end, ...
_SHARE = 1e-2  # ... but no more than this share of them
_BEYOND = 0.2  # by which the range is extended, in logarithms: the penalty on bends leaves power laws as they are
_SLOWEST = 1e-3  # [m/s]: what lies below is as good as rest
_NARROWEST = 0.5  # width of a range, in logarithms


def seen_ranges(parts: list[Observed]) -> tuple[Range, Range]:
    """Ranges of ln slip speed [m/s] and of ln load [N] of the sliding contacts; a patch's points share its load."""
    speeds, loads = zip(*(_speeds_and_loads(part.sliding()) for part in parts))
    return _range(np.maximum(np.concatenate(speeds), _SLOWEST)), _range(np.concatenate(loads))


def _speeds_and_loads(sliding: Observed) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    record: Any = sliding.contacts().record
    slip = record.before[:, :3] + np.cross(record.before[:, 3:], record.centre)
    load = sliding.impulse[:, 2] / sliding.setting.timestep
    return np.linalg.norm(slip[:, :2], axis=1), load / [_core.material_points(int(n)) for n in record.count]


def _range(values: NDArray[np.float64]) -> Range:
    logs = np.log(values[values > 0])
    share = min(_LEFT_OUT / max(len(logs), 1), _SHARE)
    low, high = np.quantile(logs, (share, 1 - share))
    wider = max(_BEYOND, 0.5 * (_NARROWEST - (high - low)))
    return float(low - wider), float(high + wider)
