"""An identified law in words: what was found, how certain that is, and what the tosses do not tell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks, colours
from stiction.basics.environment import require
from stiction.basics.files import whole_file
from stiction.fit.identified import Identified
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import SLIP_SPEED, ImpactLaw

# Friction and restitution as functions, with what the fit leaves open and with what differs from toss to toss.


DRAWS = 400


class Curves:
    """Laws that the fit may as well have found, drawn from the errors of its parameters and within their bounds.

    toss to toss: each of them also with factors of friction and restitution drawn from the law's own spread
    """

    def __init__(self, found: Identified, seed: int = 0) -> None:
        fitted, rng = found.fitted, np.random.default_rng(seed)
        self.law = found.law
        values, covariance = fitted.solution.values, fitted.solution.covariance
        # From the eigenvectors, since what no toss decides makes the matrix nearly singular.
        sizes, axes = np.linalg.eigh(covariance)
        rows = values + rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(sizes, 0.0)) @ axes.T
        low, high = (np.array([getattr(p, side) for p in fitted.parameters]) for side in ("low", "high"))
        names = [p.name for p in fitted.parameters]
        drawn = [dict(zip(names, row)) for row in np.clip(rows, low, high).tolist()]
        self.laws = [found.law.with_material(**vars(fitted.material(**row))) for row in drawn]
        friction, restitution, _ = found.law.spread
        self.factors = np.exp(rng.standard_normal((DRAWS, 2)) * [friction, restitution])

    def restitution(self, speed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of all draws, shape (draws, n); speed (n,) [m/s]."""
        return self._of_each(lambda law: law.restitution_at(speed))

    def friction(
        self, speed: NDArray[np.float64], force: NDArray[np.float64], direction: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Of all draws, shape (draws, n); speed (n,) [m/s], force (n,) [N], direction (n,) [rad], or all of them."""
        return self._of_each(lambda law: law.friction_at(speed, force, direction))

    def _of_each(self, curve: Callable[[ImpactLaw], NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.array([curve(law) for law in self.laws])


HARD = 200.0  # [N] load of a hard impact
SPEED = 1.0  # [m/s] of the bounce that is told
CERTAIN, ROUGH = 0.1, 0.3  # relative standard errors up to which a number is certain, and known roughly
STRAIGHT = 2.0  # standard errors below which a length or a size is not told from what was given
POOR = 25.0, 40.0  # errors of forecasts [% of the width, degrees] that are of little use
_RESIDUAL = {
    "direction": "friction on the direction of slip",
    "speed": "friction on the speed of slip",
    "load": "friction on the load",
    "restitution": "restitution on the speed",
}
FEW = 20  # tosses, of which a reader should know that they are few


def summary(found: Identified) -> str:
    """A few sentences, one a line."""
    curves = Curves(found)
    contact = [*_friction(found, curves), _bounce(found, curves), *_slowed(found)]
    lines = [*contact, *_body(found), *_open(found), *_forecasts(found)]
    return "\n".join(lines)


def _friction(found: Identified, curves: Curves) -> list[str]:
    weight = found.law.body.mass * -found.law.gravity[2]
    greatest = found.loads[1] if found.loads else HARD
    at, loads = np.full(2, SLIP_SPEED), np.array([weight, greatest])
    (light, hard), errors = curves.law.friction_at(at, loads), curves.friction(at, loads).std(axis=0)
    sentence = f"Friction is about {light:.2f}{_number(light, errors[0])}"
    if abs(light - hard) >= STRAIGHT * np.hypot(*errors):
        in_impacts = f"{hard:.2f}{_number(hard, errors[1])} in impacts of {greatest:.0f} N"
        sentence = f"{sentence} when it slides under its own weight, {weight:.2g} N, and {in_impacts}"
    return [f"{sentence}.", *_effective(found), _impacts(found)]


def _effective(found: Identified) -> list[str]:
    """How far the numbers of friction reach."""
    if found.loads is None:
        return []
    low, high = (f"{float(f'{load:.2g}'):g}" for load in found.loads)  # two digits, and no powers of ten
    return [
        "Friction and how it depends on load are effective numbers, those that forecast best where these tosses slip: "
        f"mostly under {low} to {high} N. They need not hold under other loads, nor in another simulator."
    ]


def _impacts(found: Identified) -> str:
    builds_up = found.fitted.memory > 1
    how = "follows the slip as the impact builds up" if builds_up else "acts at once, against the slip after the impact"
    losses = sorted(found.tried["impacts"].values())
    return f"In an impact, friction {how}: the loss is {losses[0]:.3g}, with the other kind of law {losses[1]:.3g}."


def _bounce(found: Identified, curves: Curves) -> str:
    at = np.array([SPEED])
    doubt = found.tried.get("bounce")
    if not found.fitted.bounces:
        assert doubt is not None
        return (
            f"It does not bounce: a law that may ({_share(doubt['restitution'], doubt['error'])}) forecasts tosses "
            "that were left out no better."
        )
    value, error = float(curves.law.restitution_at(at)[0]), float(curves.restitution(at).std())
    needed = " Tosses that were left out are forecast clearly worse without." if doubt is not None else ""
    return f"It bounces with {_share(value, error)} of its speed at {SPEED:g} m/s ({_how(value, error)}).{needed}"


def _slowed(found: Identified) -> list[str]:
    value, error = found.fitted.slowed.get("drag", (0.0, 0.0))
    if value <= STRAIGHT * error:
        return []
    rate = f"{value:.2f} ± {error:.2g} per second ({_how(value, error)})"
    return [f"In flight it slows down, and so does its spin, at a rate of {rate}."]


def _body(found: Identified) -> list[str]:
    fitted, width = found.fitted, width_of(found.fitted.body)
    axes = [0, 2] if fitted.body.planar else [0, 1, 2]
    com, errors = np.array([fitted.found(f"com_{'xyz'[k]}") for k in axes]).T
    off = com - fitted.body.com[axes]
    far = float(np.linalg.norm(off))
    error = float(np.sqrt(((off * errors) ** 2).sum()) / max(far, 1e-12)) if far > 0 else float(errors.max())
    if far < STRAIGHT * max(error, 1e-3 * width):
        off_by = f"{1e3 * far:.1f} ± {1e3 * error:.1f} mm off"
        lines = [f"The centre of mass cannot be told from where it was given (found {off_by})."]
    else:
        where = ", ".join(f"{1e3 * c:.1f}" for c in off)
        lines = [
            f"The centre of mass lies {1e3 * far:.1f} ± {1e3 * error:.1f} mm from where it was given "
            f"({where} mm along the body's axes; {_how(far, error)})."
        ]
    parts = [_ratio("size", *fitted.found("size")), _ratio("inertia", *fitted.found("inertia"))]
    value, error = fitted.found("rounding")
    parts.append(f"edges are rounded by {1e3 * value:.1f} ± {1e3 * error:.1f} mm")
    sentence = "; ".join(parts)
    return [*lines, f"{sentence[0].upper()}{sentence[1:]}."]


def _ratio(name: str, value: float, error: float) -> str:
    percent = f"{100 * abs(value - 1):.1f} ± {100 * error:.1f} %"
    if abs(value - 1) < STRAIGHT * error:
        return f"{name} cannot be told from what was given ({100 * (value - 1):+.1f} ± {100 * error:.1f} %)"
    return f"{name} is {percent} {'greater' if value > 1 else 'smaller'} than given"


def _open(found: Identified) -> list[str]:
    mass = "No recording of motion tells the mass, only its ratio to the inertia."
    fitted = found.fitted
    loose = [
        p.name
        for p, value, error in zip(fitted.parameters, fitted.solution.values, fitted.solution.errors)
        if p.name in ("friction_load", "friction_rise", "spin", "lag", "restitution_fall", "restitution_threshold")
        and p.name not in found.untold
        and error > ROUGH * max(abs(value), p.scale)
    ]
    lines = [f"Uncertain: {', '.join(loose)}."] if loose else []
    if found.untold:
        lines.append(f"Not told by these tosses, kept near the start: {', '.join(found.untold)}. {mass}")
    else:
        lines.append(mass)
    return lines


def _residual(found: Identified) -> list[str]:
    """What the parameters leave, and by how much the loss of tosses that were left out falls with it."""
    about = found.residual
    if not about:
        return []
    if not about["parts"]:
        most = max(about["tried"].values(), key=lambda row: row["gain"])
        gain, error = about.get("gain", most["gain"]), about.get("gain_error", most["error"])
        return [
            "The law leaves nothing that friction by direction, speed and load or restitution by speed would explain: "
            f"of a loss of {about['loss']:.3g}, tosses that were left out gain {gain:.2g} ± {error:.2g} at most."
        ]
    what = [_RESIDUAL[part] for part in about["parts"]]
    return [
        f"The law leaves a dependence of {', of '.join(what)}, which was learned as a map: of a loss of "
        f"{about['loss']:.3g}, tosses that were left out gain {about['gain']:.2g} ± {about['gain_error']:.2g}."
    ]


def _forecasts(found: Identified) -> list[str]:
    fitted, held = found.tosses
    lines = []
    if fitted < FEW:
        lines.append(f"It was fitted to {fitted} tosses only: a bounce or a size may still change with more of them.")
    lines += _residual(found)
    if found.held_out is not None:
        means = found.held_out.means()
        lines.append(
            f"{held} held-out tosses, from their free flight: {means['position']:.2f} % of the width and "
            f"{means['rotation']:.2f} degrees on average over the toss, {means['final']:.1f} % at its end."
        )
        lines += _poor(means, found.still)
    if found.coverage:
        judged, whose = (held, "held-out") if found.held_out is not None else (fitted, "left-out")
        shares = ", ".join(f"{r:.0%} regions hold {share_of(judged, s)}" for r, s in found.coverage.items())
        lines.append(f"Final positions of {judged} {whose} tosses: {shares}.")
    return lines


def share_of(number: int, share: float) -> str:
    """A share of so many tosses: of few, a percentage would look more exact than it is."""
    return f"{share * number:.0f} of {number}" if number < FEW else f"{share:.1%}"


def _poor(means: dict[str, float], still: dict[str, float] | None) -> list[str]:
    """Plain words where forecasts are of little use."""
    check = "look at the recordings, the body and its axes before you use this law."
    if still is not None and means["position"] >= still["position"]:
        return [
            f"These forecasts are no better than a part that stays where it first touches ({still['position']:.1f} %): "
            f"{check}"
        ]
    if means["position"] > POOR[0] or means["rotation"] > POOR[1]:
        return [
            "These forecasts are poor. Where a part tumbles until chance decides, that is all there is: see whether "
            f"the first frames after the touch are forecast well. Else {check}"
        ]
    return []


def _number(value: float, error: float) -> str:
    return f" ± {error:.2g} ({_how(value, error)})"


def _share(value: float, error: float) -> str:
    return f"{100 * value:.1f} ± {100 * error:.1f} %"


def _how(value: float, error: float) -> str:
    """How certain a number is."""
    if error <= CERTAIN * abs(value):
        return "certain"
    return "known roughly" if error <= ROUGH * abs(value) else "uncertain"


# The picture of an identified law: friction against slip speed and load, restitution against speed, with bands.


_LINE = colours.as_hex(colours.STICTION)
_BAND = (0.05, 0.95)
_SPEEDS, _LOADS = (0.02, 2.0), (1.0, 300.0)  # [m/s, N] that are drawn


def plot_identified(found: Identified, path: str | Path) -> None:
    """Write a PNG; dark bands are what the fit leaves open, light ones also what differs from toss to toss."""
    path = checked_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    curves = Curves(found)
    law, (friction, restitution) = curves.law, curves.factors.T
    directed = law.residual is not None and "direction" in law.residual.depends_on
    axes = figure.subplots(1, 4 if directed else 3)
    weight = found.law.body.mass * -found.law.gravity[2]
    speed, load = (np.geomspace(*limits, 100) for limits in (_SPEEDS, _LOADS))
    under, at = np.full(100, weight), np.full(100, SLIP_SPEED)
    _band(axes[0], speed, law.friction_at(speed, under), curves.friction(speed, under), friction)
    _band(axes[1], load, law.friction_at(at, load), curves.friction(at, load), friction)
    drawn = curves.restitution(speed)
    _band(axes[2], speed, law.restitution_at(speed), drawn, restitution)
    _name(axes[0], "slip speed [m/s]", "friction coefficient", f"sliding under its weight, {weight:.3g} N")
    _name(axes[1], "load [N]", "friction coefficient", f"slipping at {SLIP_SPEED:g} m/s")
    _name(axes[2], "approach speed [m/s]", "restitution", "bounce" if found.fitted.bounces else "no bounce")
    if directed:
        angle = np.linspace(-np.pi, np.pi, 100)
        drawn = curves.friction(at, under, angle)
        _band(axes[3], np.degrees(angle), law.friction_at(at, under, angle), drawn, friction)
        _name(axes[3], "direction of slip [degrees]", "friction coefficient", f"at {SLIP_SPEED:g} m/s, {weight:.3g} N")
        axes[3].set_xscale("linear")
    of_friction = [*axes[:2], *axes[3:]]
    top = max(axis.get_ylim()[1] for axis in of_friction)
    for axis in of_friction:
        axis.set_ylim(0, top)
    axes[2].set_ylim(0, max(0.1, axes[2].get_ylim()[1]))
    axes[0].legend(frameon=False, loc="lower right")
    figure.suptitle(f"Identified from {found.tosses[0]} tosses", x=0.01, ha="left")
    with whole_file(path) as temporary:
        figure.savefig(temporary, metadata={"Software": None})


def checked_picture(path: str | Path) -> Path:
    """The path of a picture that can be drawn; anything else is refused."""
    require("A plot of an identified law", "matplotlib")
    if Path(path).suffix != ".png":
        raise checks.InputError(f"The plot is a .png file, got {path}.")
    return Path(path)


def _band(axes: Any, x: NDArray, line: NDArray, drawn: NDArray, factors: NDArray) -> None:
    """A curve (n,), 90 % of those that the fit leaves open (draws, n), and 90 % of what single tosses may show."""
    wide = np.quantile(np.clip(drawn * factors[:, np.newaxis], 0.0, None), _BAND, axis=0)
    narrow = np.quantile(drawn, _BAND, axis=0)
    axes.fill_between(x, *wide, color=_LINE, alpha=0.15, linewidth=0, label="90 % of tosses")
    axes.fill_between(x, *narrow, color=_LINE, alpha=0.35, linewidth=0, label="90 % band of the law")
    axes.plot(x, line, color=_LINE, label="identified")


def _name(axes: Any, x: str, y: str, title: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
