"""How good a material is on throws that it has not seen, and whether what is left is noise or something it lacks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import Mode
from stiction.laws.material import Material
from stiction.learning.material.observed import Observed
from stiction.learning.material.patches import KINDS

LARGE = 0.02  # held-out error of friction from which on it is looked at
_ENOUGH = 30  # sliding contacts of a kind below which its error says little
_ABOVE_NOISE = 1.5  # times the noise floor: more is not noise


def judge(material: Material, parts: list[Observed]) -> dict[str, Any]:
    """Figures of a material on observed contacts, by kind of patch and together.

    friction_error: mean size of the error over mean size of friction, where it slides; modes: share that is right;
    noise_floor: what of friction_error jumps from one step to the next, as noise does and what a map lacks does not
    """
    rows = [_Judged(material, part) for part in parts if len(part)]
    figures: dict[str, Any] = {}
    for name, kinds in {**{kind.name.lower(): (kind,) for kind in KINDS}, "all": KINDS}.items():
        figures[name] = _figures(rows, kinds)
    return {kind: figures[kind] for kind in ("point", "line", "surface", "all") if figures[kind]["contacts"]}


def warning(figures: dict[str, Any]) -> str | None:
    """A sentence if the error of some kind of patch is greater than noise explains."""
    wrong = {}
    for name, own in figures.items():
        error, floor = own.get("friction_error", 0.0), own.get("noise_floor") or 0.0
        if own.get("dynamic", 0) >= _ENOUGH and error > max(LARGE, _ABOVE_NOISE * floor):
            wrong[name] = error, floor
    if not wrong:
        return None
    name = "all" if "all" in wrong else max(wrong, key=lambda kind: wrong[kind][0])
    error, floor = wrong[name]
    where = "" if name == "all" else f" of {name} contacts"
    return (
        f"On throws that were held out, friction{where} is wrong by {error:.1%}, and noise explains only {floor:.1%}: "
        "this friction is not, or not only, a smooth function of slip direction, slip speed and load at rigid points."
    )


class _Judged:
    """One body's contacts, with friction (n, 2) as observed and as the material has it."""

    def __init__(self, material: Material, part: Observed) -> None:
        impulse, mode = material.on(part.body, timestep=part.setting.timestep).respond(part.contacts())
        self.kind, self.slides, self.right = part.kind, part.mode == Mode.DYNAMIC, part.mode == mode
        self.friction, self.error = part.impulse[:, :2], impulse[:, :2] - part.impulse[:, :2]
        follows = np.zeros(len(part), dtype=np.bool_)
        follows[1:] = (np.diff(part.throw) == 0) & (np.diff(part.step) == 1) & (part.step[:-1] >= 0)
        follows[1:] &= (np.diff(part.kind) == 0) & self.slides[1:] & self.slides[:-1]
        self.follows = follows


def _figures(rows: list[_Judged], kinds: tuple) -> dict[str, Any]:
    """Figures of the contacts of some kinds."""
    chosen = [np.isin(row.kind, kinds) for row in rows]
    number = sum(int(which.sum()) for which in chosen)
    result: dict[str, Any] = {"contacts": number}
    if not number:
        return result
    right = sum(int(row.right[which].sum()) for row, which in zip(rows, chosen))
    result["modes"] = round(right / number, 6)
    error, friction, jumps, steps = (
        np.concatenate([part(row, which) for row, which in zip(rows, chosen)])
        for part in (_error, _friction, _jumps, _shares)
    )
    result["dynamic"] = len(error)
    if len(error) and friction.mean() > 0:
        result["friction_error"] = round(float(error.mean() / friction.mean()), 7)
    if len(jumps) > 10:
        result["noise_floor"] = round(float(jumps.mean() / np.sqrt(2) / steps.mean()), 7)
    return result


def _error(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(row.error[which & row.slides], axis=1)


def _friction(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    return np.linalg.norm(row.friction[which & row.slides], axis=1)


def _jumps(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    at = np.flatnonzero(which & row.follows)
    return np.linalg.norm(row.error[at] - row.error[at - 1], axis=1)


def _shares(row: _Judged, which: NDArray) -> NDArray[np.float64]:
    at = np.flatnonzero(which & row.follows)
    size = np.linalg.norm(row.friction, axis=1)
    return 0.5 * (size[at] + size[at - 1])
