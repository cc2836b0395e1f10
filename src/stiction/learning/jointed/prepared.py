"""From a recording and an MJCF file to tosses that can be fitted: level, cut to their flights, with starts."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stiction.basics import checks
from stiction.learning.jointed.flight import find_flights
from stiction.learning.jointed.levelling import level
from stiction.learning.jointed.part import JointedPart
from stiction.learning.jointed.places import places_of
from stiction.learning.jointed.recording import JointedTosses, read_jointed
from stiction.learning.jointed.rolling import SUBSTEPS
from stiction.learning.jointed.starts import Starts

_LEAST = 2  # tosses to fit


@dataclass(frozen=True)
class Prepared:
    """Tosses to fit and to judge by, with their starts.

    gravity: [m/s^2] that the flights show; report: what was found and done, in sentences
    """

    part: JointedPart
    fitted: Starts
    held_out: Starts
    gravity: float
    report: list[str] = field(default_factory=list)


def prepare(
    data: str | Path | JointedTosses, part: JointedPart, *, tosses: int | None = None, seed: int = 0
) -> Prepared:
    """Read, level and cut recorded tosses. tosses: fit this many only, drawn with `seed`"""
    recorded = data if isinstance(data, JointedTosses) else read_jointed(data, part)
    if len(recorded) < _LEAST + 1:
        raise checks.InputError(f"A fit needs {_LEAST} tosses and one to judge by, got {len(recorded)}.")
    to_fit, to_judge = recorded.split(seed)
    number = len(to_fit)
    both = JointedTosses([*to_fit.tosses, *to_judge.tosses], recorded.timestep)
    may_decide = np.arange(len(both)) < number  # what is held out says nothing of the recorder's tilt
    levelled, places = level(both, places_of(part, both.tosses), may_decide)
    flights = find_flights(levelled.tosses, places)
    fitted, held_out = np.flatnonzero(flights.kept < number), np.flatnonzero(flights.kept >= number)
    if tosses is not None:
        fitted = np.sort(np.random.default_rng(seed).permutation(fitted)[: checks.count("tosses", tosses, _LEAST)])
    if len(fitted) < _LEAST or not len(held_out):
        raise checks.InputError(
            f"A fit needs {_LEAST} tosses with a free flight and one to judge by, got {len(fitted)} and "
            f"{len(held_out)}."
        )
    free = part.model({"gravity": flights.gravity}, recorded.timestep / SUBSTEPS, contact=False)
    starts = [Starts(part, flights.tosses[some], free) for some in (fitted, held_out)]
    return Prepared(part, starts[0], starts[1], flights.gravity, [*levelled.report, *flights.report])
