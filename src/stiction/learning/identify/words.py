"""An identified law in words: what was found, how certain that is, and what the tosses do not tell."""

import numpy as np

from stiction.laws.impact import SLIP_SPEED
from stiction.learning.identify.curves import Curves
from stiction.learning.identify.identified import Identified
from stiction.learning.identify.identify import width_of

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
