"""What a learned material is worth: its errors on held-out contacts, and whole throws beside the best Coulomb law.

A law that forecasts whole throws worse than constant friction is not handed over. One whose forecasts are off by more
than `LEVEL` ends in a warning that names what its residuals look like.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.state import Mode, State
from stiction.fit.friction_structure import Model, Structure
from stiction.fit.material_choice import FrictionProblem, Ranges, capped_errors
from stiction.fit.material_points import KINDS, Observed, Patches
from stiction.laws.material import Cone, Limit, Material
from stiction.simulation.motion import MAX_START_DEPTH
from stiction.simulation.rollout import rollout

LEVEL = 0.01  # median error of forecasts, as a share of the way, above which a material warns
FRICTION_LEVEL = 0.02  # error of friction that counts if it is more than noise explains


def contact_errors(material: Material, parts: list[Observed]) -> dict[str, Any]:
    """Return the errors of a material on observed contacts, by kind of patch and together.

    friction_error: mean error over mean friction, where it slides; modes: share of correct ones;
    noise_floor: the part of friction_error that jumps from step to step, as noise does, unlike a missing dependence
    """
    rows = [_Compared(material, part) for part in parts if len(part)]
    names = {**{kind.name.lower(): (kind,) for kind in KINDS}, "all": KINDS}
    figures = {name: _errors_of(rows, kinds) for name, kinds in names.items()}
    return {name: row for name, row in figures.items() if row["contacts"]}


class _Compared:
    """One body's contacts: friction (n, 2) and its errors; follows: which contacts continue the one before."""

    def __init__(self, material: Material, part: Observed) -> None:
        impulse, mode = material.on(part.body, timestep=part.setting.timestep).respond(part.contacts())
        self.kind, self.slides, self.correct = part.kind, part.mode == Mode.DYNAMIC, part.mode == mode
        self.friction, self.error = part.impulse[:, :2], impulse[:, :2] - part.impulse[:, :2]
        follows = np.zeros(len(part), dtype=np.bool_)
        follows[1:] = (np.diff(part.throw) == 0) & (np.diff(part.step) == 1) & (part.step[:-1] >= 0)
        follows[1:] &= (np.diff(part.kind) == 0) & self.slides[1:] & self.slides[:-1]
        self.follows = follows

    def sizes(self, kinds: tuple) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return sizes of errors and of friction where it slides, of jumps of the error, and of friction there."""
        which, size = np.isin(self.kind, kinds), np.linalg.norm(self.friction, axis=1)
        at, slides = np.flatnonzero(which & self.follows), which & self.slides
        jumps = np.linalg.norm(self.error[at] - self.error[at - 1], axis=1)
        return np.linalg.norm(self.error[slides], axis=1), size[slides], jumps, 0.5 * (size[at] + size[at - 1])


def _errors_of(rows: list[_Compared], kinds: tuple) -> dict[str, Any]:
    correct = np.concatenate([row.correct[np.isin(row.kind, kinds)] for row in rows] or [np.empty(0)])
    result: dict[str, Any] = {"contacts": len(correct)}
    if not len(correct):
        return result
    result["modes"] = round(int(correct.sum()) / len(correct), 6)
    error, friction, jumps, steps = (np.concatenate(part) for part in zip(*(row.sizes(kinds) for row in rows)))
    result["dynamic"] = len(error)
    if len(error) and friction.mean() > 0:
        result["friction_error"] = round(float(error.mean() / friction.mean()), 7)
    if len(jumps) > 10 and steps.mean() > 0:
        result["noise_floor"] = round(float(jumps.mean() / np.sqrt(2) / steps.mean()), 7)
    return result


@dataclass(frozen=True)
class Forecasts:
    """Errors of whole throws, from the first contact on: of the last position, as shares of the mean way, (n,)."""

    errors: NDArray[np.float64]

    @classmethod
    def of(cls, material: Material, parts: list[Observed]) -> "Forecasts":
        """Forecast all throws of which consecutive steps were recorded."""
        found = [_forecast(material, part) for part in parts]
        errors, ways = (np.concatenate(column) for column in zip(*found))
        return cls(errors / max(float(ways.mean()), 1e-300) if len(ways) else errors)

    @property
    def capped(self) -> NDArray[np.float64]:
        """The errors, each at most the mean way: some throws tip over by chance."""
        return np.minimum(self.errors, 1.0)

    def mean(self) -> float | None:
        """Return the mean of the capped errors; None without throws."""
        return float(self.capped.mean()) if len(self.errors) else None

    def median(self) -> float | None:
        """Return the median error; None without throws."""
        return float(np.median(self.errors)) if len(self.errors) else None


def _forecast(material: Material, part: Observed) -> tuple[NDArray, NDArray]:
    """Return errors and ways [m] of the throws of one body."""
    seen = np.flatnonzero(part.step >= 0)
    if not len(seen):
        return np.empty(0), np.empty(0)
    order = seen[np.lexsort((part.step[seen], part.throw[seen]))]
    first = np.unique(part.throw[order], return_index=True)[1]
    last = np.append(first[1:], len(order)) - 1
    start, end = order[first], order[last]
    height = _core.lowest_heights(part.body.hull, part.position[start], part.quaternion[start])
    good = (part.step[end] > part.step[start]) & (height > -MAX_START_DEPTH * part.body.diameter)
    start, end = start[good], end[good]
    if not len(start):
        return np.empty(0), np.empty(0)
    steps, setting = part.step[end] - part.step[start], part.setting
    origin = _core.to_body_frame(part.body.com, part.position[start], part.quaternion[start], part.twist[start])
    state = State(origin[0], part.quaternion[start], *origin[1:])
    law = material.on(part.body, timestep=setting.timestep)
    run = rollout(law, state, int(steps.max()), gravity=setting.gravity, substeps=0, threads=1, finite=False)
    number = np.arange(len(start))
    wanted = _core.to_body_frame(part.body.com, part.position[end], part.quaternion[end], part.twist[end])[0]
    error = np.linalg.norm(run.position[number, steps] - wanted, axis=1)
    ways = np.linalg.norm(wanted - origin[0], axis=1)
    return np.where(np.isfinite(error), error, 10 * ways.mean()), ways


_FACTORS = (0.6, 0.7, 0.8, 0.9, 1.12, 1.25, 1.5), (0.95, 1.05), (0.975, 1.025)  # of friction, tried in turn
_SCANNED = 100  # throws by which they are compared


def best_constant(patches: Patches, parts: list[Observed], ranges: Ranges) -> tuple[Model, NDArray[np.float64]]:
    """Return the best Coulomb law: constant friction with the cone and the limit that explain the patches best.

    If friction is not constant, no coefficient explains all patches: the one that forecasts these throws best is taken.
    """
    best: tuple[float, Model, NDArray[np.float64]] | None = None
    for cone, limit in product(get_args(Cone), get_args(Limit)):
        model = Model(Structure(cone=cone, limit=limit), *ranges)
        problem = FrictionProblem(patches, model, 0.0)
        theta = problem.fit(model.start(patches.typical), iterations=6)[-1]
        error = float(capped_errors(problem.residuals(theta)).mean())
        if best is None or error < best[0]:
            best = error, model, theta
    assert best is not None
    _, model, theta = best
    throws = np.unique(np.concatenate([part.throw for part in parts]))[:_SCANNED]
    few = [part[np.isin(part.throw, throws)] for part in parts]
    for factors in _FACTORS:
        tried = [theta, *(theta + np.log(factor) for factor in factors)]
        errors = [Forecasts.of(model.material(one), few).mean() for one in tried]
        theta = min(zip(tried, errors), key=lambda pair: np.inf if pair[1] is None else pair[1])[0]
    return model, theta


@dataclass(frozen=True)
class Comparison:
    """Forecasts of the same throws by a material and by the best Coulomb law.

    The throws are held out: both laws were fitted to others. every: the comparison by all throws
    """

    material: Forecasts
    coulomb: Forecasts
    every: "Comparison | None" = None

    @property
    def loses(self) -> bool:
        """Whether the Coulomb law forecasts better.

        It does if held-out throws show it by more than two standard errors. As they are few, it also does if held-out
        throws and all throws show it on the mean, one of them beyond luck, unless the material forecasts well anyway.
        Fewer than two throws show nothing.
        """
        if len(self.material.errors) < 2:
            return False
        mean, error = self.excess
        if mean > max(2 * error, self.luck):
            return True
        if self.every is None or mean <= 0 or self.every.excess[0] <= 0 or np.median(self.material.errors) <= LEVEL:
            return False
        return mean > self.luck or self.every.excess[0] > self.every.luck

    @property
    def excess(self) -> tuple[float, float]:
        """By how much the errors of the material are greater on the mean, and the standard error of that."""
        excess = self.material.capped - self.coulomb.capped
        return float(excess.mean()), float(excess.std(ddof=1) / np.sqrt(len(excess)))

    @property
    def luck(self) -> float:
        """A difference of the means that does not count: 2 % of them, and half of what a material warns of."""
        return 0.02 * float(self.material.capped.mean()) + 0.5 * LEVEL

    @property
    def kept(self) -> Forecasts:
        """Those of the law that is kept."""
        return self.coulomb if self.loses else self.material

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the info of a material has them: shares of the mean way from the first contact on."""
        throws = len(self.material.errors)
        figures: dict[str, Any] = {"held_out_throws": throws, "kept": "coulomb" if self.loses else "material"}
        for name, one in (("material", self.material), ("coulomb", self.coulomb)):
            found = {"held_out_mean": one.mean(), "held_out_median": one.median()}
            figures[name] = {key: None if value is None else round(value, 6) for key, value in found.items()}
        if throws > 1:
            figures["excess"], figures["excess_error"] = (round(value, 6) for value in self.excess)
        return figures


def contact_warning(figures: dict[str, Any], compared: Comparison, causes: list[str]) -> str | None:
    """Return what a user must know first: that a Coulomb law was better, how wrong forecasts are, and why.

    figures: of `contact_errors`; causes: what the residuals look like
    """
    every = figures.get("all", {})
    error, floor = every.get("friction_error", 0.0), every.get("noise_floor") or 0.0
    beyond_noise = every.get("dynamic", 0) >= 30 and error > max(FRICTION_LEVEL, 1.5 * floor)
    sentences = []
    if compared.loses:
        sentences.append(
            "Coulomb's law, its coefficient fitted to whole throws, forecasts held-out ones better than the map that "
            f"explains single contacts best ({compared.coulomb.mean():.1%} of the way against "
            f"{compared.material.mean():.1%}) and was kept."
        )
    off = compared.kept.median()
    if off is None and beyond_noise:
        sentences.append(
            f"On held-out throws, the error of friction is {error:.1%}, and noise explains only {floor:.1%}."
        )
    elif off is not None and off > LEVEL and (beyond_noise or causes):
        sentences.append(f"Forecasts of held-out throws are off by {off:.1%} of the way, more than {LEVEL:.0%}.")
    if not sentences:
        return None
    if compared.loses and len(sentences) == 1 and not causes:
        return sentences[0]
    looks = "; ".join(causes) if causes else "nothing that has a name here"
    sentences.append(
        "This friction is not, or not only, a smooth function of slip direction, slip speed and load at points. "
        f"What is left looks like: {looks}."
    )
    return " ".join(sentences)
