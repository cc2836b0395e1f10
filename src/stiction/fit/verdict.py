"""The verdict on an identified body: one value, standard error and range of validity for each quantity."""

from typing import Any

import numpy as np

from stiction.fit.direct_measurements import MODEL_ERRORS
from stiction.fit.identified import IdentifiedBody
from stiction.fit.toss_objective import width_of
from stiction.laws.impact import IMPACT_SPEED, SLIP_SPEED

SIGNIFICANT = 2.0  # standard errors from which a difference is significant
MIN_TOSSES = 20  # below, the reader is warned


def verdict_figures(found: IdentifiedBody) -> dict[str, Any]:
    """Return each identified quantity with its value, its standard error, and whether the tosses show it.

    friction_sliding: at a slip of SLIP_SPEED under the body's own weight; friction_impacts: under the greatest loads
    that were seen; restitution: of a corner that arrives at IMPACT_SPEED, measured in rebounds where there are enough;
    com [m]; inertia and size, relative to the body as given
    """
    law, fitted = found.law, found.fitted
    weight = law.body.mass * -law.gravity[2]
    direct, loads = fitted.direct, found.loads
    sliding = direct.sliding
    impacts = fitted.body.planar or direct.rebounds is not None or direct.shows_impacts
    error = fitted.found("friction")[1]
    seen_light = loads is not None and loads[0] < 2 * weight
    figures: dict[str, Any] = {
        "friction_sliding": {
            "value": float(law.friction_at(SLIP_SPEED, weight)),
            "error": error,
            "observed": sliding is not None or (fitted.body.planar and seen_light),
            "load": weight,
            "speeds": None if sliding is None else list(sliding.speeds),
            "slides": 0 if sliding is None else sliding.n_slides,
            "by_direction": None if sliding is None or sliding.by_direction is None else list(sliding.by_direction),
        }
    }
    if loads is not None:
        heavy = max(loads[1], 3 * weight)
        rows = np.array([one.friction_at(SLIP_SPEED, heavy) for one in found.drawn_laws(100)])
        figures["friction_impacts"] = {
            "value": float(law.friction_at(SLIP_SPEED, heavy)),
            "error": float(rows.std()),
            "observed": "friction_loaded" not in found.unobserved,
            "load": heavy,
        }
    in_law = fitted.found("restitution") if fitted.bounces else (0.0, found.tried["bounce"]["error"])
    bounce, bounce_error = in_law
    if direct.rebounds is not None:
        bounce = direct.rebounds.restitution
        bounce_error = float(np.hypot(direct.rebounds.error, MODEL_ERRORS.rebounds[direct.is_soft]))
    figures["restitution"] = {
        "value": bounce,
        "error": bounce_error,
        "in_law": in_law[0],
        "observed": direct.rebounds is not None or ("restitution" not in found.unobserved and impacts),
        "speed": IMPACT_SPEED,
        "speeds": None if direct.rebounds is None else list(direct.rebounds.speeds),
        "rebounds": 0 if direct.rebounds is None else direct.rebounds.n_rebounds,
    }
    axes = "xz" if fitted.body.planar else "xyz"
    com = np.array([fitted.found(f"com_{axis}") for axis in axes])
    figures["com"] = {"value": com[:, 0].tolist(), "error": com[:, 1].tolist()}
    for name, shown in (("inertia", impacts), ("size", True)):
        seen = shown and name not in found.unobserved
        figures[name] = dict(zip(("value", "error"), fitted.found(name)), observed=seen)
    return figures


def verdict_lines(found: IdentifiedBody) -> list[str]:
    """Return the verdict, one line a quantity, the judgement of the forecasts last."""
    figures = verdict_figures(found)
    n_fitted, n_held = found.tosses
    held = f", {n_held} held out" if n_held else ""
    rows = [
        ("Data", f"{n_fitted} tosses at {1 / found.law.timestep:.4g} Hz{held}{_few(n_fitted)}"),
        ("Friction, sliding", _sliding(figures["friction_sliding"])),
        ("Friction, impacts", _impacts(figures.get("friction_impacts"))),
        ("Restitution", _restitution(found, figures["restitution"])),
        ("Centre of mass", _com(found, figures["com"])),
        ("Inertia", _relative(figures["inertia"])),
        ("Size", _relative(figures["size"]) + _size_warning(figures["size"])),
        ("Mass", f"{_mass(found.law.body.mass)}: motion alone does not determine it"),
        *_drag(found),
        ("Forecasts", _forecasts(found)),
        ("Verdict", _judgement(found, figures)),
    ]
    return [f"{name + ':':<19}{text}." for name, text in rows]


def _few(n: int) -> str:
    return f"; with fewer than {MIN_TOSSES}, standard errors are rough" if n < MIN_TOSSES else ""


def _pm(row: dict[str, Any], digits: int = 3) -> str:
    return f"{row['value']:.{digits}f} ± {row['error']:.{digits}f}"


def _mass(mass: float) -> str:
    """Return the mass in words; 1 kg is what is assumed where none is given."""
    return f"{mass:.4g} kg as given" if mass != 1.0 else "1 kg, as given or, where none was given, assumed"


def _sliding(row: dict[str, Any]) -> str:
    where = f"under its own weight ({row['load']:.2g} N)"
    if not row["observed"]:
        return (
            "not observed: too few tosses slide to rest on a face; the law uses "
            f"{row['value']:.2f} {where}, extrapolated from impacts"
        )
    if row["speeds"] is None:
        return f"{_pm(row)} {where}"
    low, high = row["speeds"]
    text = f"{_pm(row)} {where}, measured in {row['slides']} slides at {low:.2g} to {high:.2g} m/s"
    if row["by_direction"]:
        x, y, diagonal = row["by_direction"]
        text += f"; it depends on direction: {x:.2f} along x, {y:.2f} along y, {diagonal:.2f} on the diagonals"
    return text


def _impacts(row: dict[str, Any] | None) -> str:
    if row is None or not row["observed"]:
        return "not observed: the body never slips while it is pressed hard"
    load = float(f"{row['load']:.2g}")  # two digits, and no powers of ten
    return f"{_pm(row)} under loads up to {load:g} N, an effective value for forecasts"


def _restitution(found: IdentifiedBody, row: dict[str, Any]) -> str:
    direct = found.fitted.direct
    if not row["observed"]:
        why = "" if direct.shows_impacts or found.fitted.body.planar else ": too few tosses land on a single corner"
        return f"not observed{why}; the law uses {row['in_law']:.2f}"
    if not found.fitted.bounces and not row["rebounds"]:
        doubt = found.tried["bounce"]
        return f"none: a law with {doubt['restitution']:.2f} ± {doubt['error']:.2f} forecasts left-out tosses no better"
    text = f"{_pm(row)} at {row['speed']:g} m/s"
    if row["speeds"]:
        low, high = row["speeds"]
        text += f", measured in {row['rebounds']} rebounds at {low:.2g} to {high:.2g} m/s"
        if abs(row["value"] - row["in_law"]) > SIGNIFICANT * row["error"]:
            text += f"; the law uses {row['in_law']:.2f}, an effective value for forecasts"
    seconds = np.pi * direct.impact_time if direct.rebounds is None else direct.rebounds.duration
    soft = f"; impacts are soft, about {1e3 * seconds:.0f} ms long, where the law's are instantaneous"
    return text + (soft if _is_soft(found) else "")


def _is_soft(found: IdentifiedBody) -> bool:
    return found.fitted.direct.is_soft


def _com(found: IdentifiedBody, row: dict[str, Any]) -> str:
    body = found.fitted.body
    given = body.com[[0, 2]] if body.planar else body.com
    value, error = np.array(row["value"]), np.array(row["error"])
    away = float(np.linalg.norm(value - given))
    where = ", ".join(f"{1e3 * v:.2f} ± {1e3 * e:.2f}" for v, e in zip(value, error))
    same = bool((np.abs(value - given) < SIGNIFICANT * np.maximum(error, 1e-3 * width_of(body))).all())
    return f"({where}) mm in the body frame, " + (
        "not significantly different from the given one" if same else f"{1e3 * away:.1f} mm from the given one"
    )


def _relative(row: dict[str, Any]) -> str:
    change, error = 100 * (row["value"] - 1), 100 * row["error"]
    if not row["observed"]:
        return "not observed, as given"
    same = abs(change) < SIGNIFICANT * error
    return f"{change:+.1f} ± {error:.1f} % of the given one" + (", not a significant difference" if same else "")


def _size_warning(row: dict[str, Any]) -> str:
    off = abs(row["value"] - 1)
    return "; check the edges that were given" if off > 0.04 and off > 3 * row["error"] else ""


def _drag(found: IdentifiedBody) -> list[tuple[str, str]]:
    value, error = found.fitted.slowed.get("drag", (0.0, 0.0))
    return [("Drag", f"{value:.2f} ± {error:.2g} per second in flight")] if value > SIGNIFICANT * error else []


def _forecasts(found: IdentifiedBody) -> str:
    if found.held_out is None:
        return "not measured: no toss was held out"
    means, medians = found.held_out.means(), found.held_out.medians()
    text = (
        f"mean error {means['position']:.1f} % of the width and {means['rotation']:.1f}° over whole held-out tosses "
        f"(medians {medians['position']:.1f} %, {medians['rotation']:.1f}°)"
    )
    if found.horizon is None:
        return text
    good, possible = found.horizon
    frame = 1e3 * found.law.timestep
    within = f"within 10 % and 10° for {good} frames ({good * frame:.0f} ms) after the first touch"
    return f"{text}; {within}, where the uncertain start alone allows {possible}"


def _judgement(found: IdentifiedBody, figures: dict[str, Any]) -> str:
    check = "check the recordings, the body's edges and its axes before you use this law"
    if found.held_out is None or found.still is None:
        return "not judged, since no toss was held out"
    means = found.held_out.means()
    if means["position"] >= found.still["position"]:
        return f"not usable: a body that stays where it first touches is forecast as well; {check}"
    if _size_warning(figures["size"]):
        return f"doubtful: the contacts fit a body of another size; {check}"
    if found.horizon is not None and found.horizon[0] < 0.25 * found.horizon[1]:
        if _is_soft(found):
            return "of use for a few frames only: contact is softer than this law can express"
        return f"of use for a few frames only, fewer than the starts allow; {check}"
    if not figures["friction_sliding"]["observed"]:
        return "usable for impacts; record slides before you rely on sliding friction"
    return "usable"
