"""Errors of forecasts that come from the recorded first frame alone, whatever the law.

Its velocities are differences of noisy poses, and in some tosses fingers still turn the cube. The law's forecast from
the recorded frame against its own forecast from the flight is a lower bound of the error of any law.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.fit.forecast import TossErrors, as_tosses, start_floor, toss_errors
from stiction.fit.toss_objective import horizon, roll_law
from stiction.laws.impact import ImpactLaw
from stiction.recordings.tosses import Tosses
from stiction_studies.page.section import Table
from stiction_studies.study import bootstrap_interval

HELD = 0.5  # [rad/s] with a greater difference of the spin to the flight's, the cube is still held in the first frame
PAIRS = 6  # of frames at the start of a toss between which the spin is computed
FLOOR = "law from starts within the noise of the flight against law from the best"


def first_frame(law: ImpactLaw, width: float, seed: int, **sets: tuple[Tosses, State, State]) -> list[dict[str, Any]]:
    """Return rows of errors for each set of tosses, given as tosses, states as recorded, and states of the flight."""
    return [row for name, given in sets.items() for row in _rows(law, width, seed, name, *given)]


def _rows(law: ImpactLaw, width: float, seed: int, name: str, tosses: Tosses, raw: State, fit: State):
    steps = horizon(tosses, (None,))
    mixed = {
        "flight": fit,
        "flight, but velocity as recorded": State(fit.position, fit.quaternion, raw.velocity, fit.angular_velocity),
        "flight, but spin as recorded": State(fit.position, fit.quaternion, fit.velocity, raw.angular_velocity),
        "as recorded": raw,
    }
    motions = {start: roll_law(law, state, steps) for start, state in mixed.items()}
    errors = {start: toss_errors(tosses, motion, width) for start, motion in motions.items()}
    free = ~still_held(raw, fit)
    for start in ("flight", "as recorded"):
        errors[f"{start}, tosses that are free"] = TossErrors(*(value[free] for value in vars(errors[start]).values()))
    own = roll_law(law, tosses.states(law.body, law.gravity, law.drag), steps)
    errors["flight, as fitted here"] = toss_errors(tosses, own, width)
    errors[FLOOR] = start_floor(law, tosses, width, seed=seed)
    errors["law as recorded against law from flight"] = toss_errors(
        as_tosses(tosses, motions["flight"]), motions["as recorded"], width
    )
    return [{"tosses": name, "start": start, **_figures(e, seed)} for start, e in errors.items()]


def still_held(raw: State, fit: State) -> NDArray[np.bool_]:
    """Return whether the spin of the first frame is not yet that of the flight, shape (n,)."""
    return np.linalg.norm(raw.angular_velocity - fit.angular_velocity, axis=1) > HELD


def spins_off(tosses: Tosses, raw: State, fit: State) -> list[dict[str, Any]]:
    """Return the mean difference of the spin between recorded poses to that of the flight [rad/s], in the first frames.

    From poses alone, for tosses that are still held according to their recorded velocities and for those that are free.
    """
    off = np.full((len(tosses), PAIRS), np.nan)
    for i, toss in enumerate(tosses.tosses):
        n = min(toss.flight, PAIRS + 1)
        turns = rotation_vectors(toss.quaternion[1:n], toss.quaternion[: n - 1])
        time = np.diff(toss.frame[:n]) * tosses.timestep
        off[i, : n - 1] = np.linalg.norm(turns / time[:, np.newaxis] - fit.angular_velocity[i], axis=1)
    held = still_held(raw, fit)
    groups = {"still held": held, "free": ~held}
    return [
        {"tosses": name, "number": int(rows.sum()), "off": np.nanmean(off[rows], axis=0).tolist()}
        for name, rows in groups.items()
        if rows.any()
    ]


def spins_table(rows: list[dict[str, Any]]) -> Table:
    """Return the table of `spins_off`."""
    columns = ["", "tosses", *(f"frames {k + 1}-{k + 2}" for k in range(PAIRS))]
    shown = [[row["tosses"], str(row["number"]), *(f"{value:.2f}" for value in row["off"])] for row in rows]
    note = "Means of validation tosses, from poses alone: fingers release over some frames, noise would stay the same."
    return Table("Spin between recorded poses, difference to the flight [rad/s]", columns, shown, note)


def _figures(errors: TossErrors, seed: int) -> dict[str, Any]:
    """Return means, medians and the bootstrap 95 % interval of the mean."""
    found: dict[str, Any] = {"number": len(errors.position)}
    for what in ("position", "rotation"):
        value = getattr(errors, what)
        low, high = bootstrap_interval(value, seed)
        found[what] = {"mean": float(value.mean()), "median": float(np.median(value)), "low": low, "high": high}
    return found


def table(rows: list[dict[str, Any]]) -> Table:
    """Return the rows as a table."""

    def cell(figures: dict[str, float], unit: str) -> str:
        mean, middle = f"{figures['mean']:.1f}{unit}", f"{figures['median']:.1f}{unit}"
        return f"{mean} ({figures['low']:.1f} to {figures['high']:.1f}), {middle}"

    shown = [
        [row["tosses"], row["start"], str(row["number"]), cell(row["position"], " %"), cell(row["rotation"], "°")]
        for row in rows
    ]
    note = (
        "Mean, its bootstrap 95 % interval, median. Flight: as the data set fits it, and as fitted here, with "
        "precession and without frames in which it is still held. The last two rows of each set compare no law with "
        "the recording: they are the error from the start alone, for the best start that the flight allows, and for "
        f"the recorded one. A free cube spins in the first frame as in flight, to {HELD} rad/s; the others are still "
        "held."
    )
    return Table("Error from the first frame", ["set", "start", "tosses", "position", "rotation"], shown, note)
