"""Tables of the test bed: coverage of intervals, errors of forecasts, and what simple cameras show."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction_studies.engines.worlds import BULLET, DART, MUJOCO
from stiction_studies.page.section import Table
from stiction_studies.recordings.truths import PYRAMIDS, SOFT, Truth, friction, restitution
from stiction_studies.study import number, percent

Rows = Sequence[tuple[Any, dict[str, Any]]]  # sets of tosses with their figures, see testbed.set_figures
NAMES = {
    "friction": "friction in sliding",
    "restitution": "restitution at 1 m/s",
    "com": "centre of mass",
    "inertia": "inertia",
    "size": "size",
}
DIRECTIONS = np.pi / 16 * np.arange(5)
TWO_SIGMA = 1.96


def all_tables(rows: Rows) -> list[Table]:
    """Return all tables of the study."""
    return [coverage_table(rows), forecast_table(rows), coarse_table(rows), nominal_table(), set_table(rows)]


def off(answer: tuple[float, float] | None, true: tuple[float, float]) -> float:
    """Return how far an answer (value, standard error) is from the range of true values [standard errors].

    NaN where it was not observed
    """
    if answer is None:
        return float("nan")
    value, error = answer
    return abs(value - float(np.clip(value, *true))) / max(error, 1e-12)


def offs(rows: Rows, quantity: str, chosen: Callable[[Any], bool] = lambda one: True) -> NDArray[np.float64]:
    """Return `off` of all components of a quantity in the chosen sets; NaN where it was not observed or refused."""
    found = []
    for one, figures in rows:
        if chosen(one):
            true = figures["truth"][quantity]
            found += map(off, figures["answers"].get(quantity, [None] * len(true)), true)
    return np.array(found)


def coverage_table(rows: Rows) -> Table:
    """Return how often intervals hold the truth."""
    lines = [[name, *_coverage(offs(rows, quantity))] for quantity, name in NAMES.items()]
    groups = {"same in all directions": is_round, "by direction": lambda one: not is_round(one)}
    lines[1:1] = [[f"friction, {name}", *_coverage(offs(rows, "friction", chosen))] for name, chosen in groups.items()]
    note = (
        f"{len(rows)} sets. Answers are counted by components: a centre of mass has three. Where friction depends on "
        "the direction of slip, an interval holds it if it meets the range over all directions."
    )
    columns = ["", "answers", "not observed", "in 68 %", "in 95 %", "median error / stated"]
    return Table("Intervals that hold the truth", columns, lines, note)


def is_round(one: Any) -> bool:
    """Return whether the friction of a set is the same in all directions."""
    return one.truth.engine in (MUJOCO, BULLET)


def _coverage(found: NDArray[np.float64]) -> list[str]:
    seen = found[np.isfinite(found)]
    if not len(seen):
        return ["0", str(len(found)), "-", "-", "-"]
    shares = [percent(float((seen <= limit).mean())) for limit in (1.0, TWO_SIGMA)]
    return [str(len(seen)), str(len(found) - len(seen)), *shares, number(float(np.median(seen)))]


def forecast_table(rows: Rows) -> Table:
    """Return the errors of the forecasts of fresh throws, and in how many sets a model is the best one."""
    figures = [found["forecasts"] for _, found in rows if found["forecasts"]]
    lines = []
    for model in figures[0] if figures else ():
        cells = [model]
        for horizon in ("soon", "whole"):
            errors = {m: np.array([f[m][horizon]["position"] for f in figures]) for m in figures[0]}
            turns = np.array([f[model][horizon]["rotation"] for f in figures])
            best = np.min([errors[m] for m in errors], axis=0)
            cells += [f"{errors[model].mean():.1f} %", f"{turns.mean():.1f}°", str(int((errors[model] == best).sum()))]
        lines.append(cells)
    columns = [f"{what}, {when}" for when in ("0.15 s", "whole") for what in ("position", "rotation", "best in")]
    note = (
        f"Means over {len(figures)} sets of the mean errors of fresh throws, up to 0.15 s after the first touch and "
        "until rest: position in % of the part's width. Best in: number of sets with the least position error."
    )
    return Table("Forecasts of fresh throws", ["", *columns], lines, note)


def coarse_table(rows: Rows) -> Table:
    """Return what can still be identified from recordings of simple cameras."""
    some = [row for row in rows if row[0].is_coarse]
    lines = []
    for quantity, name in NAMES.items():
        pairs = [
            (*answer, off(answer, tuple(true)))
            for _, figures in some
            for answer, true in zip(figures["answers"].get(quantity, []), figures["truth"][quantity])
            if answer is not None
        ]
        count = f"{len(pairs)} of {sum(len(figures['truth'][quantity]) for _, figures in some)}"
        if not pairs:
            lines.append([name, count, "-", "-", "-"])
            continue
        _, errors, away = np.array(pairs).T
        scale, unit = (1e3, " mm") if quantity == "com" else (1.0, "")
        shown = [number(scale * float(np.median(x))) + unit for x in (errors * away, errors)]
        lines.append([name, count, *shown, percent(float((away <= TWO_SIGMA).mean()))])
    refused = sum(figures["refused"] is not None for _, figures in some)
    note = f"{len(some)} sets, {refused} of which were refused. Medians over the answers."
    columns = ["", "observed", "true error", "stated standard error", "in 95 %"]
    return Table("30 to 60 Hz, noise of 2 mm and 1 degree: what can be identified", columns, lines, note)


def nominal_table() -> Table:
    """Return what nominal coefficients mean in each simulator."""
    truths = {
        "MuJoCo, elliptic cone": Truth(MUJOCO, "box"),
        "MuJoCo, elliptic cone, soft": Truth(MUJOCO, "box", stiffness=SOFT),
        "MuJoCo, pyramidal cone (default)": Truth(PYRAMIDS, "box"),
        "Bullet": Truth(BULLET, "box"),
        "DART": Truth(DART, "box"),
    }
    lines = []
    for name, truth in truths.items():
        slow = friction(truth, 0.0, 0.05)
        values = [*(friction(truth, angle) for angle in DIRECTIONS), slow, restitution(truth)]
        lines.append([name, *(f"{value:.3f}" for value in values)])
    angles = [f"{np.degrees(angle):.4g}°" for angle in DIRECTIONS]
    note = (
        "Friction at 0.3 m/s by the direction in which a plate is sent off, from the x axis, and at 0.05 m/s along x; "
        "restitution of a nominal 0.30 at 1 m/s, which in MuJoCo is a damping ratio."
    )
    title = "What a nominal friction of 0.40 means, by direction of slip"
    return Table(title, ["", *angles, "0.05 m/s", "restitution"], lines, note)


def set_table(rows: Rows) -> Table:
    """Return the sets, and friction and restitution that were found beside the true ones."""
    lines = []
    for k, (one, figures) in enumerate(rows, 1):
        truth, how = one.truth, one.how
        contact = ("soft" if truth.stiffness == SOFT else "stiff") if truth.soft else "rigid"
        falls = f", falls with {truth.falls}" if truth.falls else ""
        thrown = f"{how.tosses} {how.throws}, {how.rate:g} Hz, {how.mm:g} mm, {how.degrees:g}°"
        cells = [f"{k}", f"{truth.engine}: {truth.shape}, {contact}{falls}", thrown]
        for quantity in ("friction", "restitution"):
            (true,) = figures["truth"][quantity]
            (answer,) = figures["answers"].get(quantity, [None])
            same = f"{true[1] - true[0]:.3f}" == "0.000"
            cells.append(f"{true[0]:.3f}" if same else f"{true[0]:.3f} to {true[1]:.3f}")
            nothing = "refused" if figures["refused"] else "not observed"
            cells.append(nothing if answer is None else f"{answer[0]:.3f} ± {answer[1]:.3f}")
        lines.append(cells)
    columns = ["", "truth", "tosses", "friction", "found", "restitution", "found"]
    return Table("The sets, with friction and restitution", columns, lines)


def columns(rows: Rows) -> dict[str, list]:
    """Return one row for each component of each quantity of each set: what is true, and what was answered."""
    found: dict[str, list] = {name: [] for name in ("set", "quantity", "component", "low", "high", "value", "error")}
    for k, (_, figures) in enumerate(rows, 1):
        for quantity, true in figures["truth"].items():
            for part, (low, high) in enumerate(true):
                answer = figures["answers"].get(quantity, [None] * len(true))[part] or (None, None)
                for name, value in zip(found, (k, quantity, part, low, high, *answer)):
                    found[name].append(value)
    return found
