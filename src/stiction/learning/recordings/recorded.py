"""Recordings: tosses of one body with one frame interval, and which of them are held out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.learning.recordings.tosses import Tosses


@dataclass(frozen=True)
class Recordings:
    """Tosses of one body with one frame interval, the ground at z = 0.

    groups: tosses with the same number are the same recording in other axes, shape (n,)
    held_out: tosses that are to be kept for validation, shape (n,)
    report: what was found when they were read
    """

    tosses: Tosses
    names: list[str]
    groups: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    report: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tosses)

    def part(self, which: Sequence[int] | NDArray) -> "Recordings":
        """Some of the tosses."""
        which = np.asarray(which)
        return replace(
            self,
            tosses=self.tosses[which],
            names=[self.names[int(i)] for i in which],
            groups=self.groups[which],
            held_out=self.held_out[which],
        )


def split(recordings: Recordings, share: float = 0.2, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the tosses to fit and to hold out: as the recording says, else drawn, groups kept together."""
    if recordings.held_out.any() and not recordings.held_out.all():
        return np.flatnonzero(~recordings.held_out), np.flatnonzero(recordings.held_out)
    groups = np.unique(recordings.groups)
    if len(groups) < 2:
        raise checks.InputError("At least two tosses are needed, one of them to hold out.")
    order = np.random.default_rng(seed).permutation(groups)
    out = np.isin(recordings.groups, order[: max(1, round(share * len(groups)))])
    return np.flatnonzero(~out), np.flatnonzero(out)
