"""The test bed of `stiction.identify`: are its intervals right, and how good are forecasts, on truths not made by us?

Each set is a part with its contact in MuJoCo, Bullet or DART (truths.py), thrown and recorded with a tracker's noise.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.checks import InputError
from stiction.basics.environment import commit
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.fit.forecast import law_errors, toss_errors
from stiction.fit.gauss_newton import Parameter
from stiction.fit.identified import Identified
from stiction.fit.identify import IdentifySettings, identify_with
from stiction.fit.toss_objective import (
    SUBSTEPS,
    Motions,
    TossModel,
    Values,
    body_parameters,
    fitted_body,
    groups_alike,
    horizon,
    width_of,
)
from stiction.laws.coulomb import CoulombLaw
from stiction.recordings.importing import import_recordings
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, load_engine
from stiction_studies.page.section import Section
from stiction_studies.recordings import testbed_tables
from stiction_studies.recordings.fitted_simulators import Peer, fitted_values
from stiction_studies.recordings.truths import (
    IMPACT_SPEED,
    MIXED,
    PYRAMIDS,
    SLIDING,
    SOFT,
    SPEED,
    STIFF,
    TUMBLING,
    Recorded,
    Truth,
    friction_range,
    record,
    restitution,
)
from stiction_studies.study import Study, kept

SOON = 0.15  # [s] from the first touch on: the short horizon of forecasts
FRESH = 20  # throws that are forecast
PROCESSES = 2  # that work on sets at the same time
SETTINGS = IdentifySettings(residual=False, effects=False, regions=False, progress=False)
_TEXT = [
    "Parts of four shapes were thrown in MuJoCo, Bullet and DART, with soft and stiff contact, and recorded with the "
    "noise of a tracker. `stiction.identify` was given the recordings and a part whose size is off by up to 2.5 %, "
    "its inertia by up to 10 % and its centre of mass by up to 4 mm along each axis; seeds above 0 draw them, and vary "
    "friction and restitution. The errors of the model were chosen with seed 0. The true friction and "
    "restitution were measured in the simulator that threw the part: of a plate that slides at "
    f"{SPEED} m/s under its own weight, and of drops at {IMPACT_SPEED:g} m/s.",
    f"{FRESH} fresh throws of each part were then forecast by the law that was found, by MuJoCo and by Coulomb's law "
    "without bounce, all fitted to the same recordings with the same minimiser.",
]


@dataclass(frozen=True)
class TossSet:
    """A part, and how it is thrown and recorded."""

    truth: Truth
    how: Recorded

    @property
    def is_coarse(self) -> bool:
        """Whether it is recorded as by a simple camera: 30 to 60 Hz, noise of 2 mm and 1 degree."""
        return self.how.rate <= 60 and self.how.mm >= 2 and self.how.degrees >= 1

    def varied(self, rng: np.random.Generator) -> "TossSet":
        """Return a set of another part: other friction, restitution, centre of mass, size and inertia."""
        truth = self.truth
        other = replace(
            truth,
            friction=truth.friction * rng.uniform(0.8, 1.25),
            restitution=truth.restitution * rng.uniform(0.8, 1.15),
            com=tuple(rng.uniform(-0.004, 0.004, 3).tolist()),
            size=rng.uniform(0.985, 1.025),
            inertia=rng.uniform(0.92, 1.1),
        )
        return replace(self, truth=other)


def _sets(rows: Sequence[tuple]) -> list[TossSet]:
    """Return sets from rows: engine, shape, stiffness, what friction falls with, friction, restitution; tosses, throws,
    rate [Hz], noise [mm, degrees]."""
    found = []
    for engine, shape, stiffness, falls, mu, e, *how in rows:
        found.append(TossSet(Truth(engine, shape, mu, e, falls, stiffness), Recorded(*how)))
    return found


SETS = _sets([
    # MuJoCo, elliptic cone.
    (MUJOCO, "box", SOFT, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.2),
    (MUJOCO, "box", STIFF, "", 0.25, 0.0, 50, SLIDING, 250, 0.1, 0.1),
    (MUJOCO, "box", STIFF, "", 0.4, 0.5, 12, TUMBLING, 150, 0.2, 0.2),
    (MUJOCO, "box", STIFF, "speed", 0.4, 0.2, 50, SLIDING, 150, 0.2, 0.2),
    (MUJOCO, "box", STIFF, "load", 0.35, 0.2, 50, MIXED, 150, 0.2, 0.2),
    (MUJOCO, "frustum", SOFT, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.1),
    (MUJOCO, "frustum", STIFF, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.1),
    (MUJOCO, "frustum", STIFF, "", 0.4, 0.3, 12, MIXED, 150, 0.2, 0.1),
    (MUJOCO, "frustum", SOFT, "speed", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.1),
    (MUJOCO, "frustum", STIFF, "", 0.2, 0.6, 50, TUMBLING, 240, 0.5, 0.3),
    (MUJOCO, "frustum", SOFT, "load", 0.4, 0.3, 50, SLIDING, 150, 0.2, 0.1),
    (MUJOCO, "wedge", STIFF, "", 0.3, 0.1, 50, MIXED, 200, 0.2, 0.2),
    (MUJOCO, "wedge", SOFT, "", 0.5, 0.4, 12, MIXED, 100, 0.5, 0.3),
    (MUJOCO, "wedge", STIFF, "speed", 0.3, 0.1, 12, SLIDING, 150, 0.2, 0.2),
    (MUJOCO, "wedge", STIFF, "", 0.3, 0.3, 50, SLIDING, 500, 0.1, 0.1),
    (MUJOCO, "capsule hull", STIFF, "", 0.3, 0.3, 50, MIXED, 150, 0.2, 0.2),
    (MUJOCO, "capsule hull", SOFT, "", 0.2, 0.0, 50, TUMBLING, 120, 1.0, 0.5),
    (MUJOCO, "capsule hull", STIFF, "", 0.4, 0.5, 12, TUMBLING, 200, 0.2, 0.2),
    # MuJoCo, pyramidal cone: its default.
    (PYRAMIDS, "box", STIFF, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.2),
    (PYRAMIDS, "box", SOFT, "", 0.4, 0.3, 12, SLIDING, 150, 0.2, 0.2),
    (PYRAMIDS, "frustum", SOFT, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.1),
    (PYRAMIDS, "wedge", STIFF, "", 0.5, 0.2, 50, SLIDING, 150, 0.5, 0.3),
    # Bullet.
    (BULLET, "box", STIFF, "", 0.35, 0.4, 12, MIXED, 240, 0.1, 0.1),
    (BULLET, "box", STIFF, "", 0.35, 0.4, 50, MIXED, 240, 0.1, 0.1),
    (BULLET, "box", STIFF, "", 0.5, 0.0, 50, SLIDING, 150, 0.5, 0.3),
    (BULLET, "box", STIFF, "", 0.2, 0.2, 50, TUMBLING, 100, 1.0, 0.5),
    (BULLET, "frustum", STIFF, "", 0.4, 0.3, 50, MIXED, 150, 0.2, 0.2),
    (BULLET, "frustum", STIFF, "", 0.3, 0.6, 12, TUMBLING, 150, 0.2, 0.2),
    (BULLET, "frustum", STIFF, "", 0.3, 0.0, 12, SLIDING, 500, 0.1, 0.1),
    (BULLET, "capsule hull", STIFF, "", 0.3, 0.2, 50, MIXED, 150, 0.2, 0.2),
    # DART: its friction is a box.
    (DART, "box", STIFF, "", 0.3, 0.3, 50, MIXED, 150, 0.2, 0.2),
    (DART, "box", STIFF, "", 0.3, 0.0, 12, SLIDING, 240, 0.1, 0.1),
    (DART, "frustum", STIFF, "", 0.25, 0.4, 50, MIXED, 150, 0.2, 0.2),
    (DART, "wedge", STIFF, "", 0.4, 0.2, 50, MIXED, 150, 0.2, 0.2),
    (DART, "wedge", STIFF, "", 0.4, 0.6, 12, TUMBLING, 150, 0.5, 0.3),
    # Simple cameras.
    (MUJOCO, "box", STIFF, "", 0.4, 0.3, 50, MIXED, 60, 2.0, 1.0),
    (MUJOCO, "box", SOFT, "", 0.3, 0.4, 50, TUMBLING, 30, 2.0, 1.0),
    (MUJOCO, "box", STIFF, "", 0.4, 0.2, 50, SLIDING, 30, 2.0, 1.0),
    (MUJOCO, "frustum", STIFF, "speed", 0.4, 0.3, 50, SLIDING, 60, 2.0, 1.0),
    (PYRAMIDS, "frustum", SOFT, "", 0.4, 0.3, 50, MIXED, 60, 2.0, 1.0),
    (BULLET, "box", STIFF, "", 0.35, 0.4, 50, MIXED, 60, 2.0, 1.0),
    (BULLET, "frustum", STIFF, "", 0.3, 0.2, 50, MIXED, 30, 2.0, 1.0),
    (BULLET, "capsule hull", STIFF, "", 0.3, 0.5, 50, TUMBLING, 60, 2.0, 1.0),
    (DART, "wedge", STIFF, "", 0.3, 0.3, 50, MIXED, 30, 2.0, 1.0),
    (MUJOCO, "wedge", SOFT, "", 0.5, 0.3, 12, MIXED, 60, 2.0, 1.0),
])  # fmt: skip
QUICK = _sets([
    (MUJOCO, "frustum", SOFT, "", 0.4, 0.3, 5, MIXED, 60, 0.2, 0.1),
    (BULLET, "box", STIFF, "", 0.35, 0.4, 5, TUMBLING, 60, 0.2, 0.2),
    (DART, "box", STIFF, "", 0.3, 0.0, 5, SLIDING, 60, 2.0, 1.0),
])  # fmt: skip


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Identify all sets, forecast fresh throws, print the tables, write the results and publish the section.

    The figures of each set are cached in the folder of the results, so that a run that was stopped is resumed.
    """
    study = Study(out, "testbed", scale, seed)
    quick = study.scale == "quick"
    sets = QUICK if quick else SETS
    if seed:  # model errors were chosen with the truths of seed 0: others check them
        sets = [one.varied(np.random.default_rng([seed, k])) for k, one in enumerate(sets)]
    with bar("Sets of tosses", len(sets)) as shown:
        figures = []
        for found in _all_figures(sets, 3 if quick else FRESH, seed, study.folder / "sets"):
            figures.append(found)
            shown.advance()
    rows = list(zip(sets, figures))
    tables = testbed_tables.all_tables(rows)
    section = Section(study.name, "Identification of simulated truths", _TEXT, study.command, tables, [])
    content = {"sets": [asdict(one) | found for one, found in rows]}
    study.finish(section, content, [testbed_tables.columns(rows)])


def _all_figures(sets: Sequence[TossSet], fresh: int, seed: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of each set, in order."""
    seeds = [1000 * seed + number for number in range(len(sets))]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(partial(_kept_figures, fresh, folder, commit()), sets, seeds)


def _kept_figures(fresh: int, folder: Path, version: str | None, one: TossSet, seed: int) -> dict[str, Any]:
    """Return the figures of a set. version: of the code that identifies, on which they depend too"""
    key = [asdict(one), asdict(SETTINGS), fresh, seed, version]
    if version is None or version.endswith("+"):  # the code is not that of a commit
        return set_figures(one, fresh, seed)
    return kept(folder, key, lambda: set_figures(one, fresh, seed))


def set_figures(one: TossSet, fresh: int, seed: int) -> dict[str, Any]:
    """Throw, identify and forecast: return what is true, what was answered, and the errors of the forecasts."""
    started, truth = time.process_time(), one.truth
    figures: dict[str, Any] = {"refused": None, "answers": {}, "forecasts": {}, "truth": true_values(truth)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tosses.npz"
        record(truth, one.how, fresh, seed, path)
        try:
            recordings = import_recordings(path, truth.given)
            found = identify_with(SETTINGS, recordings, truth.given)
        except InputError as error:
            return figures | {"refused": str(error).replace(str(path), "tosses.npz")}
    figures["answers"] = answers(found)
    speeds = found.law.info["verdict"]["friction_sliding"]["speeds"]
    if speeds:  # friction where it was observed, if that is not at the usual speed
        figures["truth"]["friction"] = [friction_range(truth, float(np.clip(SPEED, *speeds)))]
    fitted, judged = (recordings.tosses[np.flatnonzero(recordings.held_out == held)] for held in (False, True))
    figures["forecasts"] = forecasts(found, truth.given, fitted, judged)
    return figures | {"cpu_seconds": time.process_time() - started}


# What is true, and what was answered. A quantity has one or more components, each (low, high) or (value, error).

QUANTITIES = ("friction", "restitution", "com", "inertia", "size")


def true_values(truth: Truth) -> dict[str, list[tuple[float, float]]]:
    """Return the least and the greatest true value of each component of all QUANTITIES; only friction has a range."""
    single = {"restitution": [restitution(truth)], "com": truth.body.com.tolist()}
    single |= {"inertia": [truth.inertia], "size": [truth.size]}
    found = {"friction": [friction_range(truth)]}
    return found | {name: [(value, value) for value in values] for name, values in single.items()}


def answers(found: Identified) -> dict[str, list[tuple[float, float] | None]]:
    """Return value and standard error of each component of all QUANTITIES; None where it was not observed.

    Sliding friction is that under the part's own weight, restitution that at 1 m/s.
    """
    verdict = found.law.info["verdict"]  # `found.figures` would fit the material first
    names = ("friction_sliding", "restitution", "com", "inertia", "size")
    return {quantity: _components(verdict[name]) for quantity, name in zip(QUANTITIES, names)}


def _components(answer: Mapping[str, Any]) -> list[tuple[float, float] | None]:
    values, errors = (np.atleast_1d(np.array(answer[name], dtype=np.float64)) for name in ("value", "error"))
    seen = bool(answer.get("observed", True))
    return [(v, e) if seen and np.isfinite([v, e]).all() else None for v, e in zip(values.tolist(), errors.tolist())]


# Forecasts.

OURS, COULOMB = "stiction", "Coulomb"


def forecasts(found: Identified, given: Body, fitted: Tosses, judged: Tosses) -> dict[str, dict[str, dict[str, float]]]:
    """Return mean errors of forecasts of `judged` tosses, by model and horizon: position [% of width], rotation [°]."""
    gravity, width = np.array(found.law.gravity), width_of(given)
    peer = Peer(load_engine(MUJOCO), given, gravity)
    models = {
        MUJOCO: (peer.model(width), peer.parameters(True, found.law.body.com)),
        COULOMB: (coulomb_model(given, gravity), coulomb_parameters(given, found.law.body.com)),
    }
    windows = {"soon": max(1, round(SOON / judged.timestep)), "whole": None}
    errors = {OURS: {name: law_errors(found.law, judged, width, window=w) for name, w in windows.items()}}
    for name, (model, parameters) in models.items():
        values = fitted_values(model, parameters, fitted, lambda done, most: None)
        motions = model.predict(values, judged, horizon(judged, (None,)))
        errors[name] = {horizon_: toss_errors(judged, motions, width, w) for horizon_, w in windows.items()}
    return {model: {name: each.means() for name, each in both.items()} for model, both in errors.items()}


def coulomb_parameters(given: Body, com: NDArray[np.float64]) -> list[Parameter]:
    """Return the parameters of a part and its one coefficient of friction. com: first estimate [m]"""
    body = [p for p in body_parameters(given, com) if p.name != "rounding"]
    return [Parameter("friction", "", 0.25, 0.1, 0.005, 0.0, 2.0), *body]


def coulomb_model(given: Body, gravity: NDArray[np.float64]) -> TossModel:
    """Return Coulomb's law with a round cone and without bounce as a model of tosses."""

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        body, up = fitted_body(given, {"rounding": 0.0, **values}), np.array([0.0, 0.0, values["ground"]])
        law = CoulombLaw(body, values["friction"], cone="round", timestep=tosses.timestep)
        states, found = tosses.states(body, gravity), list[Any]([None] * len(steps))
        for group in groups_alike(steps):
            start = states[group]
            start.position[...] -= up
            n = int(steps[group].max())
            run = rollout(law, start, n, gravity=gravity, substeps=SUBSTEPS, finite=False)
            for k, i in enumerate(group.tolist()):
                found[i] = run.position[k] + up, run.quaternion[k]
        return found

    return TossModel(predict, width_of(given))
