"""The report of a run: what was in contact, what was not solved, where the time went, and what to do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.contact_reports import BodyContact
from stiction.mujoco.mjcf import mujoco

PHASES = ("detection", "constraints", "free motion", "solving", "integration", "recovery")
_LEAST, _PER_DECADE = -16, 10  # of the histogram of residuals: see core/mujoco/run_statistics.hpp
_SHOWN = 8  # pairs in the text
# Limits beyond which something is worth advice.
_DEEP = 0.05  # penetration, as a share of the thickness of the thinner geom
_UNSOLVED = 1e-3  # share of contact steps
_MANY = 8.0  # points of a pair with a mesh, on average
_OUTSIDE = 0.1  # share of the steps of a learned law


@dataclass(frozen=True)
class PairReport:
    """Contacts with a material between two geoms.

    names: of the geoms, or of their bodies where these have no other
    steps: in contact, or within reach; unsolved: of these, steps whose impulses are not exact
    points: mean per step in contact
    depth: greatest penetration [m]; relative_depth: the same as a share of the thickness of the thinner one
    start_depth: penetration in the first step of the run that had contact [m]
    """

    names: tuple[str, str]
    steps: int
    unsolved: int
    points: float
    depth: float
    relative_depth: float
    start_depth: float
    has_mesh: bool

    def __str__(self) -> str:
        return f"'{self.names[0]}'-'{self.names[1]}'"


@dataclass(frozen=True)
class LawReport:
    """Contacts of one body with a learned law: see the counters of `BodyContact`."""

    key: str
    steps: int
    unsolved: int
    outside: int
    evaluations: int


@dataclass(frozen=True)
class RunReport:
    """Everything since the start of a simulation, or since its last `reset` or `forget`.

    contact_steps: steps with contacts that have a law; unsolved: of these, steps without an exact solution
    points: mean number of points with materials per contact step; most_points: the most in one
    residual: greatest relative residual of the unsolved steps with points, median_residual: their median (to a tenth of
        a power of ten); 0 where there are none
    rounds: mean number of integrations per step; newton_steps: mean number of Newton steps per contact step
    seconds: time spent in each phase of the steps [s], estimated from every 17th step
    pairs: those with the most unsolved steps first, then those with the most points; laws: bodies with learned laws
    advice: one sentence
    """

    steps: int
    timestep: float
    contact_steps: int
    unsolved: int
    points: float
    most_points: int
    residual: float
    median_residual: float
    rounds: float
    newton_steps: float
    seconds: dict[str, float]
    pairs: tuple[PairReport, ...]
    laws: tuple[LawReport, ...]
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers, texts, lists and dictionaries, such as for JSON."""
        whole = asdict(self)
        whole["pairs"] = [one | {"names": list(one["names"])} for one in whole["pairs"]]
        return whole | {"laws": list(whole["laws"])}

    def __str__(self) -> str:
        lines = [
            f"{self.steps} steps of {self.timestep:g} s, {self.contact_steps} of them with contact",
            f"points    mean {self.points:.1f}, most {self.most_points}; {self.rounds:.2f} rounds, "
            f"{self.newton_steps:.1f} Newton steps",
            f"unsolved  {self._unsolved()}",
            f"time      {self._time()}",
        ]
        lines += [f"law       {one.key}: {self._law(one)}" for one in self.laws]
        lines += [f"pair      {one}: {self._pair(one)}" for one in self.pairs[:_SHOWN]]
        if len(self.pairs) > _SHOWN:
            lines.append(f"          and {len(self.pairs) - _SHOWN} pairs more")
        return "\n".join([*lines, f"advice    {self.advice}"])

    __repr__ = __str__

    def _unsolved(self) -> str:
        if not self.unsolved:
            return "none"
        share = self.unsolved / max(self.contact_steps, 1)
        text = f"{self.unsolved} steps, {_percent(share)} of those with contact"
        if self.residual:
            text += f"; relative residual: median {self.median_residual:.0e}, greatest {self.residual:.0e}"
        return text

    def _time(self) -> str:
        total = sum(self.seconds.values())
        if not self.steps or not total:
            return "not measured: only every 17th step is"
        shares = ", ".join(f"{name} {_percent(part / total)}" for name, part in self.seconds.items())
        return f"{total:.3g} s, {1e6 * total / self.steps:.3g} us a step: {shares}"

    def _pair(self, one: PairReport) -> str:
        unsolved = f", {one.unsolved} unsolved" if one.unsolved else ""
        depth = f", depth up to {1e3 * one.depth:.2g} mm" if one.depth > 1e-6 else ""
        return f"{one.steps} steps, {one.points:.1f} points{unsolved}{depth}"

    def _law(self, one: LawReport) -> str:
        return (
            f"{one.steps} steps, {one.unsolved} unsolved, {one.outside} outside of its training range, "
            f"{one.evaluations / max(one.steps, 1):.1f} evaluations a step"
        )


def report_of(core: Any, model: Any, contacts: Mapping[Any, Any], steps: int) -> RunReport:
    """The report of a native step (`_core.Step`) with these contacts, after so many time steps."""
    counts, greatest, rows = core.run_statistics
    with_points, points, most, parts, measured = counts[:5].tolist()
    times, histogram = counts[5 : 5 + len(PHASES)], counts[5 + len(PHASES) :]
    scale = 1e-9 * parts / max(measured, 1)
    pairs = [_pair_of(model, row) for row in rows]
    pairs.sort(key=lambda one: (one.unsolved, one.steps * one.points), reverse=True)
    laws = [_law_of(key, one) for key, one in contacts.items() if isinstance(one, BodyContact)]
    facts: dict[str, Any] = {
        "steps": steps,
        "timestep": float(model.opt.timestep),
        "contact_steps": core.all_contact_steps,
        "unsolved": core.unsolved,
        "points": points / max(with_points, 1),
        "most_points": most,
        "residual": greatest,
        "median_residual": min(_median(histogram), greatest),
        "rounds": core.rounds / max(steps, 1),
        "newton_steps": core.newton_steps / max(core.all_contact_steps, 1),
        "seconds": {name: scale * int(time) for name, time in zip(PHASES, times)},
        "pairs": tuple(pairs),
        "laws": tuple(laws),
    }
    return RunReport(**facts, advice=_advice(RunReport(**facts, advice="")))


def _pair_of(model: Any, row: NDArray[np.float64]) -> PairReport:
    geoms = int(row[0]), int(row[1])
    steps, unsolved, points = (int(count) for count in row[2:5])
    thickness = min((_thickness(model, geom) for geom in geoms), default=np.inf)
    return PairReport(
        names=(_name(model, geoms[0]), _name(model, geoms[1])),
        steps=steps,
        unsolved=unsolved,
        points=points / max(steps, 1),
        depth=float(row[5]),
        relative_depth=float(row[5]) / thickness,
        start_depth=float(row[6]),
        has_mesh=any(model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH for geom in geoms),
    )


def _law_of(key: Any, one: BodyContact) -> LawReport:
    return LawReport(str(key), one.steps, one.unsolved, one.outside, one.total_evaluations)


def _name(model: Any, geom: int) -> str:
    """The name of a geom, or of its body if it has no other geom with contacts."""
    if model.geom(geom).name:
        return model.geom(geom).name
    body = int(model.geom_bodyid[geom])
    collide = (model.geom_contype | model.geom_conaffinity) != 0
    name = model.body(body).name or f"body {body}"
    return name if np.sum((model.geom_bodyid == body) & collide) == 1 else f"{name}, geom {geom}"


def _thickness(model: Any, geom: int) -> float:
    """The least extent of a geom along its axes [m]; infinite for a plane or a heightfield."""
    if model.geom_type[geom] in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD):
        return np.inf
    return 2 * float(model.geom_aabb[geom, 3:].min())


def _median(histogram: NDArray[np.int64]) -> float:
    """The middle of the range with the median of the residuals; 0 if there are none."""
    if not histogram.any():
        return 0.0
    place = int(np.searchsorted(np.cumsum(histogram), histogram.sum() / 2))
    return 10.0 ** (_LEAST + (place + 0.5) / _PER_DECADE)


def _advice(report: RunReport) -> str:
    """One sentence: the first of these findings that applies."""
    if not report.contact_steps:
        return (
            "No contact with a law so far: check the keys of laws, and contype and conaffinity of their geoms."
            if report.steps
            else "No step was taken yet."
        )
    deepest = max(report.pairs, key=lambda one: one.relative_depth, default=None)
    if deepest is not None and deepest.relative_depth > _DEEP:
        depth = f"by up to {1e3 * deepest.depth:.2g} mm, {_percent(deepest.relative_depth)} of the thinner one"
        if deepest.start_depth > 0.5 * deepest.depth:
            return f"{deepest} overlapped {depth}, at the start: separate them in that pose."
        return (
            f"{deepest} penetrated {depth}: shorten the time step of {report.timestep:g} s, or raise gap in Simulation."
        )
    outside = [one for one in report.laws if one.outside > _OUTSIDE * one.steps]
    if outside:
        return (
            f"The law of {outside[0].key!r} was evaluated outside of its training range in "
            f"{_percent(outside[0].outside / outside[0].steps)} of its steps: train it with a wider range of throws."
        )
    heavy = _heavy_mesh(report)
    if report.unsolved > _UNSOLVED * report.contact_steps:
        return _advice_on_unsolved(report, heavy)
    if heavy is not None and report.seconds["solving"] > 0.5 * sum(report.seconds.values()):
        return f"Most of the time is spent on solving, with {heavy.points:.0f} points at {heavy}: {_SIMPLER}"
    if report.unsolved:
        return f"All contact steps but {report.unsolved} were solved."
    return "All contact steps were solved."


_SIMPLER = "a simpler geom for collisions (box, capsule, or a coarser mesh) costs less."


def _heavy_mesh(report: RunReport) -> PairReport | None:
    """The pair with a mesh that has the most points, if these are many."""
    meshes = [one for one in report.pairs if one.has_mesh and one.points > _MANY]
    return max(meshes, key=lambda one: one.points, default=None)


def _advice_on_unsolved(report: RunReport, heavy: PairReport | None) -> str:
    share = _percent(report.unsolved / report.contact_steps)
    concerned = [one for one in report.pairs if one.unsolved]
    if not concerned:
        keys = ", ".join(repr(one.key) for one in report.laws if one.unsolved)
        return f"Unsolved steps ({share}) concern the laws of {keys or 'the bodies'}: try a shorter time step."
    names = _listed([str(one) for one in concerned])
    if heavy is not None and heavy.unsolved:
        return f"Unsolved steps ({share}) concern {names}; {heavy} has {heavy.points:.0f} points: {_SIMPLER}"
    return f"Unsolved steps ({share}) concern {names}: try a shorter time step, or softness=1e-3 in Simulation."


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} pairs more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
