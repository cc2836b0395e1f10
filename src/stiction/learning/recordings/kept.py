"""What a folder of recordings must hold: its parts are checked against each other, whoever wrote them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.learning.recordings import limits


def check_kept(folder: Path, manifest: dict[str, Any], table: dict[str, NDArray[Any]]) -> None:
    """Refuse recordings that cannot have been written by `stiction import`.

    table: columns of the frames, each (n,)
    """
    manifest["timestep"] = limits.checked_interval(f"{folder}: the timestep", manifest["timestep"])
    names, number = manifest["names"], len(manifest["names"])
    if not isinstance(names, list) or not number or not all(isinstance(name, str) for name in names):
        raise checks.InputError(f"{folder} is damaged: names must be one text a toss, got {checks.shown(names)}.")
    for name in ("groups", "held_out"):
        found = checks.whole_numbers(f"{folder}: {name}", manifest[name])
        if found.shape != (number,):
            raise checks.InputError(f"{folder} is damaged: {name} must have one entry a toss, got shape {found.shape}.")
    report = manifest["report"]
    if not isinstance(report, list) or not all(isinstance(line, str) for line in report):
        raise checks.InputError(f"{folder} is damaged: its report must be lines of text, got {checks.shown(report)}.")
    numbers = {name: checks.numbers(f"{folder}: {name}", column) for name, column in table.items()}
    for name, column in numbers.items():
        if not np.isfinite(column).all():
            raise checks.InputError(f"{folder} is damaged: {name} must be finite in every frame.")
    _check_order(folder, numbers, number)


def _check_order(folder: Path, table: dict[str, NDArray[np.float64]], tosses: int) -> None:
    """Tosses follow each other, and so do the frames of each, of which the first ones are in flight."""
    toss, frame, flight = table["toss"], table["frame"], table["flight"]
    step = np.diff(toss)
    whole = len(toss) > 0 and toss[0] == 0 and toss[-1] == tosses - 1 and np.isin(step, (0, 1)).all()
    rising = (np.diff(frame)[step == 0] >= 1).all() and (np.diff(flight)[step == 0] <= 0).all()
    if not whole or not rising or not np.isin(flight, (0, 1)).all() or np.abs(frame).max() > 2**31:
        raise checks.InputError(f"{folder} is damaged: its frames must be ordered by toss and by their numbers.")
    length = np.sqrt(sum(table[name] ** 2 for name in table if name.startswith("quaternion")))
    if (np.abs(length - 1) > 1e-6).any():
        raise checks.InputError(f"{folder} is damaged: quaternions must have length 1.")
