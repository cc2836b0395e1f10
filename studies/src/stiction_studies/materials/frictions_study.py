"""Frictions that users have, inside and outside the family of materials: what is learned, kept and warned of; and how
often the error bars of materials cover the truth under noise.

Each ground truth is learned from throws of the box. The law that `stiction.train_material` hands over is compared on
fresh whole throws with the best Coulomb law: the better, on these throws, of one fitted to single contacts and one
whose coefficient is fitted to whole throws.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.spatial.transform import Rotation

from stiction.bodies.state import State
from stiction.data.collecting import collect
from stiction.data.dataset import DataSet
from stiction.fit.material_learning import coulomb_of
from stiction.fit.material_points import observe
from stiction.fit.train_material import train_material
from stiction.laws.law import Law
from stiction.laws.material import Material
from stiction.simulation.rollout import rollout
from stiction.training.from_data import train
from stiction_studies.materials.grounds import BOX, HOME, OTHERS, Ground
from stiction_studies.materials.lab import best_coulomb, plan_for
from stiction_studies.page.section import Section, Table
from stiction_studies.paper.metrics import EvaluationSet, fresh_starts, throw_truth
from stiction_studies.study import Study, kept, percent

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Scale:
    """How much is done.

    throws, tests: training throws and fresh ones, of each ground truth; names: of the ground truths
    networks: optimiser steps of the paper's networks; 0: none are trained
    noisy: names of the truths whose error bars are measured; repetitions: of each data set with noisy impulses;
        tracked: of each one with noisy poses, which take minutes
    """

    throws: int
    tests: int
    names: tuple[str, ...]
    networks: int
    noisy: tuple[str, ...]
    repetitions: int
    tracked: int


_ALL = tuple(one.name for one in OTHERS)
_NOISY = ("constant", "direction", "speed", "load")
SCALES = {
    "quick": Scale(24, 10, ("hertz", "skew"), 0, ("constant",), 2, 0),
    "usual": Scale(100, 200, _ALL, 0, _NOISY, 30, 0),
    "full": Scale(100, 200, _ALL, 1000, _NOISY, 60, 30),
}


def run(out: Path, *, scale: str = "usual", seed: int = 0, by: str | None = None) -> None:
    """Learn and evaluate what is not in the folder yet; print the tables, write the results, publish the section."""
    study = Study(out, "frictions", scale, seed, by=by)
    size = SCALES[scale]
    with Console(stderr=True).status("") as status:
        rows = []
        for one in OTHERS:
            if one.name in size.names:
                status.update(f"{one.title}")
                key = ["friction", one.name, size.throws, size.tests, size.networks, seed]
                figures = kept(study.folder / "figures", key, lambda one=one: learned(one, size, study.folder, seed))
                rows.append({"ground": one.name, "title": one.title, "of_points": one.of_points, **figures})
        covered = []
        for data, title, times in (
            (noisy_impulses, "5 % noise", size.repetitions),
            (tracked_poses, "tracker", size.tracked),
        ):
            for case in (case for case in NOISY if times and case.name in size.noisy):
                status.update(f"Error bars: {case.name}, {title}")
                key = ["coverage", case.name, title, times, seed]
                measure = partial(coverage, case, data, times, seed)
                row = {"case": case.name, "title": f"{case.title}, {title}"}
                covered.append(row | kept(study.folder / "figures", key, measure))
    text = [
        "Frictions that users have, each learned from throws of the box, some of them outside of what a material can "
        "express. Whole throws decide: where the best Coulomb law forecasts better, it is kept; where forecasts are "
        "off by more than 1 % of the way, a warning names what is left.",
        f"{size.throws} training throws and {size.tests} fresh throws of 1.6 s; {size.repetitions} noisy data sets of "
        "each truth.",
    ]
    tables = [_frictions_table(rows), _warnings_table(rows), _coverage_table(covered)]
    section = Section(study.name, "Frictions", text, study.command, tables)
    flat = [{name: value for name, value in row.items() if isinstance(value, str | float | int | bool)} for row in rows]
    study.finish(section, {"frictions": rows, "coverage": covered}, flat)


def learned(one: Ground, size: Scale, folder: Path, seed: int) -> dict[str, Any]:
    """Errors of the laws learned from throws on one ground, on fresh ones."""
    data = _data(one, size.throws, folder, seed)
    plan = plan_for(HOME, one.truth, seed)
    start = fresh_starts(plan, size.tests, seed)
    tests = EvaluationSet(plan, {}, start, throw_truth(plan, start, plan.steps))

    def errors(law: Law) -> dict[str, Any]:
        return tests.evaluate(law, seed)["throws"]  # type: ignore[arg-type]

    material = train_material(data, seed=seed)
    laws = {"material": errors(material.on(BOX)), "coulomb": min(map(errors, _coulombs(data, seed)), key=_mean)}
    if size.networks:
        laws["networks"] = errors(train(data, steps=size.networks, seed=seed, progress=False))
    known = ("structure", "forecast", "residual", "warning")
    return {"laws": laws, "restitution": material.restitution.e0} | {name: material.info[name] for name in known}


def _mean(found: dict[str, Any]) -> float:
    return found.get("mean", np.inf)


def _coulombs(data: DataSet, seed: int) -> list[Law]:
    """Coulomb laws: one fitted to single contacts, one whose coefficient is fitted to whole throws.

    The second one has a coefficient of restitution where points rebound from the ground.
    """
    model, theta = coulomb_of(observe([data]), seed)
    return [best_coulomb(data, seed)[0], model.material(theta).on(data.body, timestep=data.plan.timestep)]


def _data(one: Ground, throws: int, folder: Path, seed: int) -> DataSet:
    """Throws of the box; a truth with memory is never asked for single steps."""
    remembers = getattr(one.truth, "remembers", False)
    return collect(
        BOX, one.truth, throws=throws, steps=HOME.steps, seed=seed, out=folder / "data" / f"{one.name}-{throws}-{seed}",
        requeries=0 if remembers else 30, shard_throws=throws, progress=False,
    )  # fmt: skip


def _frictions_table(rows: Rows) -> Table:
    cells = []
    for row in rows:
        laws, structure = row["laws"], row["structure"]
        bounce = f", restitution {row['restitution']:.2g}" if row["restitution"] else ""
        found = "Coulomb's law" if row["forecast"]["kept"] == "coulomb" else structure["depends_on"]
        cells.append(
            [
                row["title"],
                "yes" if row["of_points"] else "no",
                *(percent(laws[name]["mean"]) if "mean" in laws.get(name, {}) else "–" for name in LAWS),
                found + bounce,
                "yes" if row["warning"] else "no",
            ]
        )
    columns = ["", "In the family", "Best Coulomb law", "Material", "Networks", "Kept", "Warns"]
    note = (
        "Mean error of the final position of fresh throws, as a share of the mean distance. Kept: what the law that "
        "train_material returns depends on."
    )
    return Table("Frictions that users have", columns, cells, note)


LAWS = ("coulomb", "material", "networks")


def _warnings_table(rows: Rows) -> Table:
    cells = [[row["title"], "; ".join(row["residual"]) or "–"] for row in rows if row["warning"]]
    return Table("What the warnings name", ["", "What is left looks like"], cells)


# Coverage: noisy data of known materials, of which the structure is found as well as the parameters.


@dataclass(frozen=True)
class Noisy:
    """A truth that is learned from noisy data. places: (direction, speed, load) at which friction is asked for"""

    name: str
    title: str
    truth: Material
    places: tuple[NDArray[np.float64], ...]


def _places(direction: Any, speed: Any, load: Any) -> tuple[NDArray[np.float64], ...]:
    return tuple(np.array(part, dtype=np.float64) for part in np.broadcast_arrays(direction, speed, load))


_ANGLES = np.arange(8) * np.pi / 4
_SPEEDS, _LOADS = np.geomspace(0.1, 2.0, 6), np.geomspace(2.0, 200.0, 6)
NOISY = (
    Noisy("constant", "constant", Material.coulomb(0.4), _places([0.0], 0.3, 10.0)),
    Noisy("direction", "direction", Material.directional(0.3, 0.5, 0.8), _places(_ANGLES, 0.3, 10.0)),
    Noisy("speed", "speed (Stribeck)", Material.stribeck(0.8, 0.4, speed=0.4), _places(0.0, _SPEEDS, 10.0)),
    Noisy("load", "load", Material.of(load=lambda n: 0.25 + 0.5 / (1 + n / 20)), _places(0.0, 0.3, _LOADS)),
)


class NoisyThrows:
    """Contacts of 24 throws with noise of 5 % on each component of their impulses, read like a data set."""

    def __init__(self, truth: Material, seed: int) -> None:
        data = collect(
            BOX, truth, throws=24, steps=400, seed=seed, ranges={"height": (0.01, 0.3)}, requeries=0, workers=1,
            progress=False,
        )  # fmt: skip
        self.body, self.setting, self.rows = data.body, data.setting, data.read()
        noise = np.random.default_rng(seed).standard_normal(self.rows["impulse"].shape)
        self.rows["impulse"] = self.rows["impulse"] * (1 + 0.05 * noise)

    def read(self, columns: tuple[str, ...]) -> dict[str, NDArray]:
        """Columns as a data set has them."""
        return {name: self.rows[name] for name in columns}


def noisy_impulses(truth: Material, seed: int) -> Material:
    """What is learned from noisy impulses."""
    return train_material(NoisyThrows(truth, seed), seed=seed)


def tracked_poses(truth: Material, seed: int) -> Material:
    """What is learned from the poses of 16 throws at 500 frames a second, with noise of 0.2 mm and 0.2 degrees."""
    ranges = {"height": (0.01, 0.1), "vertical": (-1.5, 0.0)}
    run = rollout(truth.on(BOX), State.random(BOX, 16, seed=seed, ranges=ranges), 300, substeps=0)
    rng = np.random.default_rng(seed)
    position = run.position + rng.normal(0, 2e-4, run.position.shape)
    turn = Rotation.from_rotvec(rng.normal(0, np.radians(0.2), (run.position.size // 3, 3)))
    turned = turn * Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True)
    quaternion = turned.as_quat(scalar_first=True).reshape(run.quaternion.shape)
    return train_material(replace(run, position=position, quaternion=quaternion), body=BOX, seed=seed)


def coverage(case: Noisy, learn: Callable[[Material, int], Material], repetitions: int, seed: int) -> dict[str, Any]:
    """How often the truth lies within one and within two standard errors, over noisy data sets."""
    errors, bars, chosen, warned = [], [], [], 0
    for number in range(1000 * seed, 1000 * seed + repetitions):
        material = learn(case.truth, number)
        errors.append(np.log(material.friction(*case.places) / case.truth.friction(*case.places)))
        bars.append(material.uncertainty(*case.places))
        chosen.append(material.info["structure"]["depends_on"])
        warned += material.info["warning"] is not None
    error, bar = np.array(errors), np.array(bars)
    share = np.abs(error) / bar
    return {
        "repetitions": repetitions,
        "covered_68": float(np.mean(share < 1.0)),
        "covered_95": float(np.mean(share < 1.96)),
        "bias": float(error.mean()),
        "error": float(np.sqrt((error**2).mean())),
        "right_structure": float(np.mean([name == _structure(case) for name in chosen])),
        "chosen": sorted(set(chosen)),
        "warned": warned / repetitions,
    }


def _structure(case: Noisy) -> str:
    return "constant" if not case.truth.depends_on else " + ".join(case.truth.depends_on)


def _coverage_table(rows: Rows) -> Table:
    cells = [
        [row["title"], str(row["repetitions"]), *(f"{100 * row[name]:.0f} %" for name in ("covered_68", "covered_95")),
         *(percent(abs(row[name])) if name == "error" else f"{100 * row[name]:+.2f} %" for name in ("bias", "error")),
         *(f"{100 * row[name]:.0f} %" for name in ("right_structure", "warned"))]
        for row in rows
    ]  # fmt: skip
    columns = ["", "Data sets", "Within 1 s.e.", "Within 1.96 s.e.", "Bias", "RMS error", "Right structure", "Warns"]
    note = "Calibrated error bars cover 68 % and 95 %."
    return Table("Error bars of materials under noise", columns, cells, note)
