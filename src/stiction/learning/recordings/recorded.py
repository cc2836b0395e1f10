"""Recordings: tosses of one body with one frame interval, and which of them are held out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.learning.recordings.tosses import Toss, Tosses


@dataclass(frozen=True)
class Recordings:
    """Tosses of one body with one frame interval, the ground at z = 0.

    `recordings[3]` is a toss, `recordings[:10]` some of them, as recordings; `len` and `for` work as for a list.

    tosses: all of them, as the fit sees them; names: of each
    groups: tosses with the same number are the same recording in other axes, shape (n,)
    held_out: tosses that are to be kept for validation, shape (n,)
    report: what was found when they were read
    source: where they come from, and how they were read
    body: what was tossed, as it was measured; None if they do not say
    """

    tosses: Tosses
    names: list[str]
    groups: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    report: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=dict)
    body: Body | None = None

    def __len__(self) -> int:
        return len(self.tosses)

    def __repr__(self) -> str:
        what = "" if self.body is None else f" of {self.body!r}"
        held = f", {int(self.held_out.sum())} held out" if self.held_out.any() else ""
        return f"Recordings({len(self)} tosses{what} at {1 / self.timestep:.4g} Hz{held})"

    @property
    def timestep(self) -> float:
        """Time from frame to frame [s]."""
        return self.tosses.timestep

    @overload
    def __getitem__(self, which: int) -> Toss: ...
    @overload
    def __getitem__(self, which: "slice | Sequence[int] | NDArray") -> "Recordings": ...
    def __getitem__(self, which: Any) -> "Toss | Recordings":
        """The toss with this number, which knows its body and time step; or some tosses, as recordings."""
        if not isinstance(which, int | np.integer):
            return self.part(np.arange(len(self))[which])
        toss, name = self.tosses.tosses[which], self.names[which]  # an IndexError ends a `for`
        return replace(toss, timestep=self.timestep, body=self.body, name=name, among=self.tosses)

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
