"""Our stepping with CoulombLaw against DART: one step from DART's own contact states, and whole throws.

DART is the ground truth of the paper. Here the law is known, so any difference between the two comes from the stepping,
the contact patch, the guards or DART's own solver.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from stiction import dart
from stiction._core import DETACH_IMPULSE, TOUCH
from stiction.basics import colours, files
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Kind, Mode, State, Trajectory
from stiction.laws.coulomb import CoulombLaw
from stiction.simulation.rollout import rollout
from stiction_studies.page.section import Section, Table
from stiction_studies.study import Study, joined

THROWS = {"quick": 8, "usual": 100, "full": 200}  # of each case
STEPS, TIMESTEP = 800, 0.002  # [s]
LIMITS = {Kind.POINT: 1e-9, Kind.LINE: 1e-9, Kind.SURFACE: 1e-5}  # of a step's velocity error [m/s, rad/s]
FREE_LIMIT = 1e-4  # of the final position's error [m]


@dataclass(frozen=True)
class Case:
    """One body and law, here and in DART.

    inexact: patch kinds for which DART's solver is not exact, or does not agree with ours in every digit
    effort: rough duration of a throw relative to the others, for the progress bar
    """

    name: str
    body: Body
    friction: float
    solver: str = "dantzig"
    cone: str = "box"
    inexact: tuple[Kind, ...] = ()
    effort: float = 1.0


_BOX = Body.box((0.2, 0.3, 0.4), mass=1.0)
CASES = (
    Case("box", _BOX, 1.0),
    Case("pentagon prism", Body.prism(5, radius=0.2, height=0.2, mass=1.0), 0.7),
    # A planar body on a line is at rest: it is stopped exactly here but not in DART.
    Case("planar rectangle", Body.rectangle((0.2, 0.4), mass=1.0), 0.7, inexact=(Kind.LINE,)),
    Case("box, round cone", _BOX, 0.6, "nsgs", "round", inexact=tuple(LIMITS), effort=2.0),
)

# Reasons for which a step may differ from DART's, in the order in which they are tested.
REASONS = {
    "no normal": "DART applies friction without any normal impulse; the guard of Algorithm 1 forbids it.",
    "unseen": f"A vertex is less than {TOUCH:g} m above the ground: part of our patch, not yet of DART's.",
    "solver": "DART's NSGS stops at a tolerance and its cone is softened differently; DART lets a planar body at rest "
    "creep.",
}


@dataclass(frozen=True)
class Comparison:
    """One throw in DART and here.

    truth, ours: the two trajectories from the same start
    kind: of each contact state of `truth`, shape (n,)
    error: greatest difference of the six velocity components [m/s, rad/s] after one step of ours from it, shape (n,)
    reason: index of the first of REASONS that holds for it, or -1, shape (n,)
    """

    truth: Trajectory
    ours: Trajectory
    kind: NDArray[np.int8]
    error: NDArray[np.float64]
    reason: NDArray[np.int64]

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance between the two positions [m], shape (STEPS + 1,)."""
        return np.linalg.norm(self.ours.position - self.truth.position, axis=-1)


def random_throw(rng: np.random.Generator, *, planar: bool = False) -> State:
    """Draw the start of a throw: any orientation, at 0.4 to 1 m height, velocity and spin normal with
    standard deviations of 1.5 m/s and 4 rad/s."""
    height = rng.uniform(0.4, 1.0)
    turn, velocity, spin = rng.normal(size=4), rng.normal(0, 1.5, 3), rng.normal(0, 4.0, 3)
    if planar:
        turn[[1, 3]] = velocity[1] = spin[0] = spin[2] = 0.0
    return State((0.0, 0.0, height), turn / np.linalg.norm(turn), velocity, spin)


def compare(case: Case, start: State) -> Comparison:
    """Throw in DART from `start`; then one step of ours from each of DART's contact states, and the whole throw."""
    truth = dart.throw(case.body, start, STEPS, friction=case.friction, solver=case.solver, timestep=TIMESTEP)
    touching = np.flatnonzero(truth.kind)
    before, wanted = truth.states()[touching], truth.states()[touching + 1]
    law = CoulombLaw(case.body, case.friction, cone=case.cone, timestep=TIMESTEP)
    got = rollout(law, before, 1).state()
    error = np.hstack([got.velocity - wanted.velocity, got.angular_velocity - wanted.angular_velocity])
    reason = _reasons(case, before, truth.impulse[touching], truth.kind[touching])
    ours = rollout(law, start, STEPS)
    return Comparison(truth, ours, truth.kind[touching], np.abs(error).max(axis=1), reason)


def _reasons(case: Case, before: State, impulse: NDArray, kind: NDArray) -> NDArray[np.int64]:
    """Index of the first of REASONS that holds for each contact state, -1 where none does, shape (n,)."""
    heights = before.position[:, 2:] + rotation_matrices(before.quaternion)[:, 2] @ case.body.vertices.T
    holds = {
        "no normal": (impulse[:, 2] < DETACH_IMPULSE) & (np.hypot(*impulse.T[:2]) > DETACH_IMPULSE),
        "unseen": ((heights > 0) & (heights <= TOUCH)).any(axis=1),
        "solver": np.isin(kind, case.inexact),
    }
    table = np.stack([holds[name] for name in REASONS])
    return np.where(table.any(axis=0), table.argmax(axis=0), -1)


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Compare all cases, print two tables, write results and a picture to `out`/agreement, and publish the section."""
    study = Study(out, "agreement", scale, seed)
    found = _compare_all(THROWS[scale], seed)
    cases = [_summary(case, found[case.name]) for case in CASES]
    content = {"throws": THROWS[scale], "steps": STEPS, "timestep_s": TIMESTEP, "reasons": REASONS, "cases": cases}
    pairs = [(comparison.truth, comparison.ours) for comparison in found[CASES[0].name]]
    with files.whole_file(study.folder / "trajectories.png") as temporary:
        draw(temporary, CASES[0].body, pairs)
    text = [
        "Here nothing is learned: the law is Coulomb's, which is also DART's, so that any difference between the two "
        "comes from the stepping, the contact patch, the guards or DART's own solver. One step is made from each of "
        "DART's own contact states, and whole throws are simulated from the same start.",
    ]
    tables = [_one_step_table(cases), _whole_throw_table(cases)]
    section = Section(study.name, "The physics, without learning", text, study.command, tables)
    parts = [
        {"case": name, "throw": np.arange(len(those)), "position_error": np.array([c.distance[-1] for c in those])}
        for name, those in found.items()
    ]
    study.finish(section, content, joined(parts), "dartpy")


def _compare_all(throws: int, seed: int) -> dict[str, list[Comparison]]:
    """The comparisons of each case by its name, with a progress bar; throw i is the same whatever `throws` is."""
    found: dict[str, list[Comparison]] = {}
    with bar("Throwing", throws * sum(case.effort for case in CASES)) as progress:
        for number, case in enumerate(CASES):
            progress.rename(f"Throwing: {case.name}")
            rng = np.random.default_rng([seed, number])
            found[case.name] = []
            for _ in range(throws):
                found[case.name].append(compare(case, random_throw(rng, planar=case.body.planar)))
                progress.advance(case.effort)
    return found


def _summary(case: Case, found: Sequence[Comparison]) -> dict[str, Any]:
    """The figures of one case, ready for JSON."""
    kind, error, reason = (np.concatenate([getattr(c, name) for c in found]) for name in ("kind", "error", "reason"))
    final = np.array([c.distance[-1] for c in found])
    return {
        "name": case.name,
        "shape": case.body.shape,
        "size_m": list(case.body.size),
        "mass_kg": case.body.mass,
        "friction": case.friction,
        "dart_solver": case.solver,
        "cone": case.cone,
        "one_step": [_step_summary(k, error[kind == k], reason[kind == k]) for k in LIMITS if np.any(kind == k)],
        "free_run": {
            "throws": len(found),
            "position_error_m": _quantiles(final, (50, 90, 95)),
            "limit_m": FREE_LIMIT,
            "share_within": float(np.mean(final <= FREE_LIMIT)),
        },
    }


def _step_summary(kind: Kind, error: NDArray, reason: NDArray) -> dict[str, Any]:
    outside = error > LIMITS[kind]
    exceptions = {name: int(np.sum(outside & (reason == i))) for i, name in enumerate(REASONS)}
    return {
        "patch": kind.name.lower(),
        "states": len(error),
        "velocity_error_m_per_s_or_rad_per_s": _quantiles(error, (50, 99)),
        "limit_m_per_s_or_rad_per_s": LIMITS[kind],
        "share_within": float(np.mean(~outside)),
        "exceptions": {**exceptions, "unexplained": int(np.sum(outside & (reason < 0)))},
    }


def _quantiles(values: NDArray, percents: Sequence[int]) -> dict[str, float]:
    return {f"percent_{q}": float(np.percentile(values, q)) for q in percents} | {"max": float(values.max())}


def _one_step_table(cases: Sequence[dict[str, Any]]) -> Table:
    rows = []
    for case in cases:
        for step in case["one_step"]:
            error = step["velocity_error_m_per_s_or_rad_per_s"]
            found = [f"{count:,} {name}" for name, count in step["exceptions"].items() if count]
            rows.append(
                [
                    f"{case['name']}: {step['patch']}",
                    f"{step['states']:,}",
                    *(f"{error[name]:.1e}" for name in ("percent_50", "percent_99", "max")),
                    _percent(step["share_within"]),
                    ", ".join(found),
                ]
            )
    columns = ["Case and patch", "States", "Median", "99 %", "Max", "Within", "Exceptions"]
    title = "One step of ours from each contact state in DART: velocity error [m/s, rad/s]"
    return Table(title, columns, rows, _note(cases))


def _note(cases: Sequence[dict[str, Any]]) -> str:
    """The limits, the reasons of the exceptions that have occurred, and how many exceptions have none."""
    steps = [step for case in cases for step in case["one_step"]]
    limits = {step["patch"]: step["limit_m_per_s_or_rad_per_s"] for step in steps}
    parts = ["Within: " + ", ".join(f"{limit:.0e} for a {patch}" for patch, limit in limits.items()) + "."]
    seen = [name for name in REASONS if any(step["exceptions"][name] for step in steps)]
    parts += [f"{name.capitalize()}: {REASONS[name]}" for name in seen]
    unexplained = sum(step["exceptions"]["unexplained"] for step in steps)
    return " ".join([*parts, f"Unexplained: {unexplained:,}." if unexplained else "Unexplained: none."])


def _whole_throw_table(cases: Sequence[dict[str, Any]]) -> Table:
    limit = cases[0]["free_run"]["limit_m"]
    rows = []
    for case in cases:
        free = case["free_run"]
        error = free["position_error_m"]
        figures = [f"{error[name]:.1e}" for name in ("percent_50", "percent_90", "percent_95", "max")]
        rows.append([case["name"], f"{free['throws']:,}", *figures, _percent(free["share_within"])])
    columns = ["Case", "Throws", "Median", "90 %", "95 %", "Max", "Within"]
    return Table(
        "Whole throws from the same start: error of the final position [m]", columns, rows, f"Within: {limit:.0e}."
    )


def _percent(share: float) -> str:
    """A share in percent, rounded down: 100 % means all."""
    return f"{math.floor(share * 1e4) / 1e2:.2f} %"


# The picture: side views of three throws, distance over time of all, and contact modes of the three.

Pair = tuple[Trajectory, Trajectory]  # one throw in DART, and ours
_INK, _GREY, _PALE, _PALEST = "#30343a", "#8a9099", "#ccd2d9", "#f0f2f5"
_MODES = {
    Mode.NONE: ("flight", _INK),
    **{Mode(mode): (Mode(mode).name.lower(), colours.as_hex(colour)) for mode, colour in colours.MODES.items()},
}
_NAMES = "ABC"  # of the throws in side view
_STYLE: dict[Any, Any] = {
    "font.size": 11,
    "text.color": _INK,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _GREY,
    "ytick.color": _GREY,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
}


def draw(path: Path, body: Body, pairs: Sequence[Pair]) -> None:
    """Draw a PNG: side views of three throws; how far DART's and our positions are apart in all of them."""
    size = " × ".join(f"{length:g}" for length in body.size)
    title = f"A box of {size} m, thrown in DART and with stiction's CoulombLaw from the same starts"
    # The throws that travel about 2 m fill the picture.
    named = sorted(pairs, key=lambda pair: abs(np.linalg.norm(_way(pair[0])) - 2.0))[: len(_NAMES)]
    right, top = np.max([_reach(body, pair[0]) for pair in named], axis=0)
    scene = 4.4 * (top + 0.1) / (right + 0.35)  # [inch] height of a side view that is a third of the width
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(14, scene + 6), dpi=100, layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        [above], [below] = figure.subfigures(2, 1, squeeze=False, height_ratios=(scene + 1.4, 4.2))
        views = above.subplots(1, len(_NAMES), sharex=True, sharey=True)
        views[0].set(xlim=(-0.3, right + 0.05), ylim=(-0.06, top + 0.04), ylabel="height [m]")
        views[0].xaxis.set_major_locator(MultipleLocator(0.5))
        for name, axes, pair in zip(_NAMES, views, named):
            _side_view(axes, body, pair)
            axes.set(title=f"Throw {name}", xlabel="distance [m]", aspect="equal")
        for axes in views[len(named) :]:
            axes.remove()
        _legend(above)
        left, right = below.subplots(1, 2, width_ratios=(1.6, 1))
        _differences(left, pairs, named)
        _timelines(right, named)
        figure.savefig(path)


def _way(run: Trajectory) -> NDArray[np.float64]:
    """Horizontal displacement (x, y) from start to end [m]."""
    return (run.position[-1] - run.position[0])[:2]


def _side_view(axes: Axes, body: Body, pair: Pair) -> None:
    """Paths of the centre and outlines of the body, in the vertical plane through start and end."""
    truth, ours = pair
    ahead = _heading(truth)
    axes.axhspan(-0.06, 0, color=_PALEST, lw=0)
    axes.axhline(0, color=_GREY, lw=1)
    for step in _instants(truth, spacing=body.diameter):
        axes.add_patch(Polygon(_outline(body, truth, step, ahead), fc=_PALEST, ec=_PALE, lw=4, joinstyle="round"))
        axes.add_patch(Polygon(_outline(body, ours, step, ahead), fill=False, ec=_INK, lw=0.8))
    axes.plot(*_seen(truth.position, ahead).T, color=_PALE, lw=8, solid_capstyle="round")
    line = _seen(ours.position, ahead)
    shades = [_MODES[Mode(mode)][1] for mode in ours.mode]
    axes.add_collection(LineCollection(list(np.stack([line[:-1], line[1:]], axis=1)), colors=shades, linewidths=2.2))


def _heading(run: Trajectory) -> NDArray[np.float64]:
    """Horizontal direction (x, y) from start to end."""
    way = _way(run)
    length = np.linalg.norm(way)
    return way / length if length > 0 else np.array([1.0, 0.0])


def _reach(body: Body, run: Trajectory) -> NDArray[np.float64]:
    """How far ahead and how high (2,) [m] the drawn outlines reach."""
    outlines = [_outline(body, run, step, _heading(run)) for step in _instants(run, spacing=body.diameter)]
    return np.concatenate(outlines).max(axis=0)


def _instants(run: Trajectory, *, spacing: float) -> list[int]:
    """Steps at which to draw the body: first, last, and each time that its centre has moved on by `spacing` [m]."""
    way = np.r_[0, np.cumsum(np.linalg.norm(np.diff(run.position, axis=0), axis=1))]
    stops = np.linspace(0, way[-1], 1 + max(1, round(way[-1] / spacing)))
    return [*np.searchsorted(way, stops[:-1]).tolist(), run.steps]


def _outline(body: Body, run: Trajectory, step: int, ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corners (n, 2) of the body's silhouette."""
    corners = run.position[step] + body.vertices @ rotation_matrices(run.quaternion[step : step + 1])[0].T
    seen = _seen(corners, ahead)
    return seen[ConvexHull(seen).vertices]


def _seen(points: NDArray[np.float64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (..., 3) as (distance ahead, height), shape (..., 2)."""
    return np.stack([points[..., :2] @ ahead, points[..., 2]], axis=-1)


def _legend(figure) -> None:
    """Above the side views: what the lines and the colours mean."""
    handles = [Line2D([], [], color=_PALE, lw=8, label="DART")]
    handles += [Line2D([], [], color=colour, lw=2.2, label=f"ours, {name}") for name, colour in _MODES.values()]
    figure.legend(
        handles=handles, loc="outside upper left", borderaxespad=0.8, ncols=len(handles), frameon=False,
        handlelength=1.6,
    )  # fmt: skip


def _differences(axes: Axes, pairs: Sequence[Pair], named: Sequence[Pair]) -> None:
    """Distance between the two positions over time, log scale: all throws pale, the named ones dark."""
    axes.set_yscale("log")
    for pair in pairs:
        axes.plot(pair[0].time, _distance(pair), color=_GREY, lw=0.7, alpha=0.5)
    time = pairs[0][0].time
    height = -np.inf
    for name, pair in sorted(zip(_NAMES, named), key=lambda item: _distance(item[1])[-1]):
        axes.plot(time, _distance(pair), color=_INK, lw=1.4)
        height = max(height + 0.9, np.log10(_distance(pair)[-1]))  # decades; names must not cover each other
        axes.text(1.01 * time[-1], 10**height, name, va="center", fontweight="bold")
    within = sum(_distance(pair)[-1] <= FREE_LIMIT for pair in pairs)
    axes.axhline(FREE_LIMIT, color=_INK, lw=1, ls=(0, (4, 3)))
    label = f"{1000 * FREE_LIMIT:g} mm: {within} of {len(pairs)} throws end below it"
    background = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}
    axes.text(0.01, 3 * FREE_LIMIT, label, va="bottom", bbox=background)
    axes.set(xlim=(0, time[-1]), ylim=(1e-17, 0.3), xlabel="time [s]", ylabel="distance [m]")
    axes.grid(axis="y", color=_PALEST)
    axes.set_title("Distance between DART's position and ours: all throws, those above dark")


def _distance(pair: Pair) -> NDArray[np.float64]:
    """Distance between the two positions [m], at least 1e-17, shape (steps + 1,)."""
    return np.maximum(np.linalg.norm(pair[1].position - pair[0].position, axis=1), 1e-17)


def _timelines(axes: Axes, named: Sequence[Pair]) -> None:
    """Contact mode over time: a strip for DART above a strip for ours, for each named throw."""
    strip = ListedColormap([_PALEST, *map(colours.as_hex, colours.MODES.values())])
    time = named[0][0].time
    ticks = []
    for row, pair in enumerate(named):
        for part, (run, owner) in enumerate(zip(pair, ("DART", "ours"))):
            top = -1.0 * row - 0.3 * part
            axes.pcolormesh(time, (top, top - 0.27), run.mode[None], cmap=strip, vmin=0, vmax=3)
            ticks.append((top - 0.135, f"{_NAMES[row]}  {owner}"))
    axes.set_yticks(*zip(*ticks))
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set(xlim=(0, time[-1]), ylim=(0.43 - len(_NAMES), 0), xlabel="time [s]")
    axes.set_title("Contact mode of the throws above")
