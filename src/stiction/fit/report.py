"""Details of fits: the table of parameters, how the law was chosen, and pictures of laws and materials."""

import sys
import textwrap
from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics import checks, colours
from stiction.basics.environment import require
from stiction.basics.files import whole_file
from stiction.fit.identified import Identified, IdentifiedBody
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import IMPACT_SPEED, SLIP_SPEED
from stiction.laws.material import Material

ROUGH = 0.3  # relative standard error above which a parameter is uncertain
FEW = 20  # tosses: below, shares are given as counts
_RESIDUAL = {
    "direction": "friction on the direction of slip",
    "speed": "friction on the speed of slip",
    "load": "friction on the load",
    "restitution": "restitution on the speed",
}


class Curves:
    """Friction and restitution of laws drawn from the standard errors of a fit, and of single tosses.

    factors: of friction and restitution, drawn from the law's spread (draws, 2)
    """

    def __init__(self, found: IdentifiedBody, draws: int = 400) -> None:
        self.law, self.laws = found.law, found.drawn_laws(draws)
        self.factors = np.exp(np.random.default_rng(1).standard_normal((draws, 2)) * found.law.spread[:2])

    def restitution(self, speed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that of all draws, shape (draws, n); speed (n,) [m/s]."""
        return np.array([law.restitution_at(speed) for law in self.laws])

    def friction(
        self, speed: NDArray[np.float64], force: NDArray[np.float64], direction: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return that of all draws, (draws, n); speed (n,) [m/s], force (n,) [N], direction (n,) [rad], or its mean."""
        return np.array([law.friction_at(speed, force, direction) for law in self.laws])


def body_details(found: IdentifiedBody) -> list[str]:
    """Return what the verdict leaves out, one sentence a line: the type of law, its residual, regions of forecasts."""
    losses = sorted(found.tried["impacts"].values())
    builds_up = found.fitted.memory > 1
    action = "follows the slip as the impact builds up" if builds_up else "opposes the slip after the impact"
    lines = [
        f"In an impact, friction {action}: the loss is {losses[0]:.3g}, with the other type of law {losses[1]:.3g}."
    ]
    if found.loads is not None:
        low, high = (f"{float(f'{load:.2g}'):g}" for load in found.loads)  # two digits, and no powers of ten
        lines.append(f"These tosses slip mostly under {low} to {high} N; friction may differ under other loads.")
    return [*lines, *_unobserved(found), *_residual(found), *_regions(found)]


def _unobserved(found: IdentifiedBody) -> list[str]:
    fitted = found.fitted
    loose = [
        p.name
        for p, value, error in zip(fitted.parameters, fitted.solution.values, fitted.solution.errors)
        if p.name in ("friction_load", "friction_rise", "spin", "lag", "restitution_fall", "restitution_threshold")
        and p.name not in found.unobserved
        and error > ROUGH * max(abs(value), p.scale)
    ]
    lines = [f"Uncertain: {', '.join(loose)}."] if loose else []
    if found.unobserved:
        lines.append(f"Not observable in these tosses, kept near the start: {', '.join(found.unobserved)}.")
    return lines


def _residual(found: IdentifiedBody) -> list[str]:
    about = found.residual
    if not about:
        return []
    if not about["parts"]:
        most = max(about["tried"].values(), key=lambda row: row["gain"])
        gain, error = about.get("gain", most["gain"]), about.get("gain_error", most["error"])
        return [
            "No residual of friction (by direction, speed and load) or restitution (by speed) was found: the loss of "
            f"left-out tosses, {about['loss']:.3g}, falls by {gain:.2g} ± {error:.2g} at most."
        ]
    what = ", of ".join(_RESIDUAL[part] for part in about["parts"])
    return [
        f"A residual dependence of {what} was learned as a map: the loss of left-out tosses, "
        f"{about['loss']:.3g}, falls by {about['gain']:.2g} ± {about['gain_error']:.2g}."
    ]


def _regions(found: IdentifiedBody) -> list[str]:
    if not found.coverage:
        return []
    number, whose = (found.tosses[1], "held-out") if found.held_out is not None else (found.tosses[0], "left-out")
    shares = ", ".join(f"{r:.0%} regions hold {share_of(number, s)}" for r, s in found.coverage.items())
    return [f"Final positions of {number} {whose} tosses: {shares}."]


def share_of(number: int, share: float) -> str:
    """Return a share of tosses as a percentage, or as a count of few tosses, where that would look too exact."""
    return f"{share * number:.0f} of {number}" if number < FEW else f"{share:.1%}"


_CAPTION = (
    "size and inertia are factors on those of the body as given, inertia_y and inertia_z further ones on two of its "
    "moments; com is the centre of mass in the body frame; restitution is that at {restitution:g} m/s, friction that "
    "at {slip:g} m/s under its own weight, friction_loaded that under very large load. Position and rotation: increase "
    "of the errors in forecasts of the {tosses} tosses if this parameter alone is reset, in % of the width (the mean "
    "extent of the body along its axes, {width:.0f} mm) and in degrees."
)


def titled_table(title: str, headings: Sequence[str], left: Sequence[str], no_wrap: bool = False) -> Table:
    """Return a table with these columns. left: those that are aligned on the left"""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", no_wrap=no_wrap)
    return table


def print_identified(found: Identified, details: bool = False) -> None:
    """Print the summary and, with details, all parameters and how the law was chosen."""
    # Files and pipes have no width; rich would assume 80 columns and truncate the names.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    for line in found.summary().splitlines():
        console.print(textwrap.fill(line, console.width, subsequent_indent=" " * 19), soft_wrap=True)
    if details:
        _print_details(found, console)
    else:
        console.print("More: --details")
    console.print(f"Took {found.seconds:.0f} s.")


def _print_details(found: Identified, console: Console) -> None:
    """Print the table of parameters and the sentences that belong to it."""
    fitted, held = found.tosses
    names = ["parameter", "value", "standard error", "unit", "start"]
    effects = found.effects if isinstance(found, IdentifiedBody) else {}
    if isinstance(found, IdentifiedBody):
        names += ["position", "rotation"]
    table = titled_table(f"Fitted to {fitted} tosses", names, left=("parameter", "unit"), no_wrap=True)
    if isinstance(found, IdentifiedBody):
        table.caption_justify = "left"
        table.caption = _CAPTION.format(
            restitution=IMPACT_SPEED,
            slip=SLIP_SPEED,
            tosses=f"{held} held-out" if held else f"{fitted} fitted",
            width=1e3 * width_of(found.fitted.body),
        )
        units = {"gravity": "m/s^2", "gravity_x": "m/s^2", "drag": "1/s"}
        flight = {"gravity": found.fitted.gravity, **found.fitted.shape, **found.fitted.slowed}
        for name, (value, error) in flight.items():
            seen, source = ("not observed", "") if isinf(error) else (f"{error:.2g}", "free flight")
            table.add_row(name, f"{value:.4g}", seen, units.get(name, ""), source)
    for p, value, error in zip(found.parameters, found.solution.values, found.solution.errors):
        scale, unit = (1e3, "mm") if p.unit == "m" else (1.0, p.unit)
        seen = "not observed" if p.name in found.unobserved else f"{scale * error:.2g}"
        more = [f"{c:+.2f}{u}" for c, u in zip(effects.get(p.name, ()), (" %", " deg"))]
        table.add_row(p.name, f"{scale * value:.4g}", seen, unit, f"{scale * p.start:.4g}", *more)
    console.print(table)
    if isinstance(found, IdentifiedBody):
        console.print("\n".join(body_details(found)))


_LINE, _PALE, _TRUE = colours.as_hex(colours.STICTION), "#e3e7ec", colours.as_hex(colours.TRUTH)


def plot_identified(found: IdentifiedBody, path: str | Path) -> None:
    """Draw friction and restitution; dark bands: uncertainty of the fit, light ones: also spread between tosses."""
    path = checked_picture(path)
    figure, curves = _figure(f"Identified from {found.tosses[0]} tosses"), Curves(found)
    law, (friction, restitution) = curves.law, curves.factors.T
    directed = law.residual is not None and "direction" in law.residual.depends_on
    axes = figure.subplots(1, 4 if directed else 3)
    weight = found.law.body.mass * -found.law.gravity[2]
    speed, load = (np.geomspace(*limits, 100) for limits in ((0.02, 2.0), (1.0, 300.0)))
    under, at = np.full(100, weight), np.full(100, SLIP_SPEED)
    names = "slip speed [m/s]", "friction coefficient", f"sliding under its weight, {weight:.3g} N"
    _panel(axes[0], names, speed, law.friction_at(speed, under), curves.friction(speed, under), friction)
    names = "load [N]", "friction coefficient", f"slipping at {SLIP_SPEED:g} m/s"
    _panel(axes[1], names, load, law.friction_at(at, load), curves.friction(at, load), friction)
    names = "approach speed [m/s]", "restitution", "bounce" if found.fitted.bounces else "no bounce"
    _panel(axes[2], names, speed, law.restitution_at(speed), curves.restitution(speed), restitution)
    if directed:
        angle = np.linspace(-np.pi, np.pi, 100)
        drawn = curves.friction(at, under, angle)
        names = "direction of slip [degrees]", "friction coefficient", f"at {SLIP_SPEED:g} m/s, {weight:.3g} N"
        _panel(axes[3], names, np.degrees(angle), law.friction_at(at, under, angle), drawn, friction)
        axes[3].set_xscale("linear")
    of_friction = [*axes[:2], *axes[3:]]
    top = max(axis.get_ylim()[1] for axis in of_friction)
    for axis in of_friction:
        axis.set_ylim(0, top)
    axes[2].set_ylim(0, max(0.1, axes[2].get_ylim()[1]))
    axes[0].legend(frameon=False, loc="lower right")
    _save(figure, path)


def checked_picture(path: str | Path) -> Path:
    """Return the path of a picture that can be drawn, or refuse it."""
    require("A plot of an identified law", "matplotlib")
    if Path(path).suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {path}.")
    return Path(path)


def _figure(title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _save(figure: Any, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, metadata={"Software": None})


def _panel(axes: Any, names: tuple[str, str, str], x: NDArray, line: NDArray, drawn: NDArray, factors: NDArray) -> None:
    """Draw a curve (n,), 90 % of those within its uncertainty (draws, n), and 90 % of those of single tosses."""
    wide = np.quantile(np.clip(drawn * factors[:, np.newaxis], 0.0, None), (0.05, 0.95), axis=0)
    narrow = np.quantile(drawn, (0.05, 0.95), axis=0)
    axes.fill_between(x, *wide, color=_LINE, alpha=0.15, linewidth=0, label="90 % of tosses")
    axes.fill_between(x, *narrow, color=_LINE, alpha=0.35, linewidth=0, label="90 % band of the law")
    axes.plot(x, line, color=_LINE, label="identified")
    axes.set(xscale="log", xlabel=names[0], ylabel=names[1], title=names[2])
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])


def plot_material(material: Material, path: str | Path, *, truth: Any = None, title: str = "") -> None:
    """Draw friction by direction, speed and load, as a .png file; bands are 95 %, the range of the data is shaded.

    truth: the true material, or any object with its method `friction`, drawn below
    """
    figure = _figure(title)
    seen = material.info.get("seen", {"speeds": [0.01, 3.0], "loads": [1.0, 100.0]})
    speed, load = (float(np.sqrt(low * high)) for low, high in (seen["speeds"], seen["loads"]))
    angles = np.linspace(0, 2 * np.pi, 181) + 1e-3  # exactly along an axis, only one side of a box slips
    polar: Any = figure.add_subplot(1, 3, 1, projection="polar")
    _material_band(polar, (material, truth), angles, angles, np.full(181, speed), np.full(181, load))
    polar.set_title("direction of slip")
    polar.set_ylim(0, 1.1 * polar.get_ylim()[1])
    for place, (name, unit, limits) in enumerate(
        (("slip speed", "m/s", seen["speeds"]), ("load", "N", seen["loads"])), start=2
    ):
        axes = figure.add_subplot(1, 3, place)
        x = np.geomspace(limits[0] / 3.0, limits[1] * 3.0, 200)
        at = (x, np.full(200, load)) if place == 2 else (np.full(200, speed), x)
        axes.axvspan(*limits, color=_PALE, zorder=0, label="seen")
        _material_band(axes, (material, truth), x, np.zeros(200), *at)
        title = f"at a load of {load:.3g} N" if place == 2 else f"at a speed of {speed:.3g} m/s"
        axes.set(xscale="log", xlabel=f"{name} [{unit}]", title=title)
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[1].set_ylabel("friction coefficient")
    figure.axes[1].legend(frameon=False)
    _save(figure, Path(path))


def _material_band(axes: Any, maps: tuple[Material, Any], x: NDArray, *at: NDArray) -> None:
    """Draw the friction of a material, with its band, and of the truth, against x (n,)."""
    material, truth = maps
    if truth is not None:
        axes.plot(x, truth.friction(*at), color=_TRUE, linewidth=5, alpha=0.6, label="true")
    mu, error = material.friction(*at), material.uncertainty(*at)
    axes.plot(x, mu, color=_LINE, label="learned")
    if np.isfinite(error).all():
        factor = np.exp(1.96 * error)
        axes.fill_between(x, mu / factor, mu * factor, color=_LINE, alpha=0.25, linewidth=0)
