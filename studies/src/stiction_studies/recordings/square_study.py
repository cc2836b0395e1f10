"""Real drops of a square in a vertical plane: our law and the simulators, on held-out drops.

The data (`square_drops.npz`, from DAIRLab/ImpactModeling, BSD 3-Clause) is not part of the project. Simulators move a
box of the same faces, deep enough to stay upright; they get the gravity and, where they know it, the drag that the
flights show.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import parts
from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.fit.forecast import coverage
from stiction.fit.identify import IdentifySettings, identify_tosses
from stiction.fit.toss_objective import Motions, horizon, roll_law
from stiction.laws.impact import ImpactLaw
from stiction.recordings.importing import import_recordings
from stiction.recordings.tosses import Tosses, errors
from stiction.simulation.motion import Setting
from stiction.viewer.subject import posed, recorded_motion
from stiction_studies.engines.worlds import Engine, installed
from stiction_studies.page.motions_shown import Scene, scene_of_throws
from stiction_studies.page.section import Section
from stiction_studies.recordings import forecast_comparison
from stiction_studies.recordings.fitted_simulators import SYSID, Peer, SysidRival, fitted_values, has_sysid
from stiction_studies.recordings.forecast_comparison import Compared
from stiction_studies.study import Study

SIDE, MASS = 0.06, 0.1  # [m, kg]; the mass is not known, and not observable
SOON = 25  # frames from the first touch on: the short horizon
UNITS = {"position": " %", "rotation": "°"}
_TEXT = [
    "A square of 60 mm was dropped between two plates and tracked at 250 Hz. It bounces and tumbles, which soon "
    f"becomes unpredictable: errors are shown over the first {SOON} frames after the first touch, and over whole "
    "drops. Means over the time of each drop: position in % of the side, rotation in degrees.",
    "In the replays the recording moves in front and the forecast behind it; both start at the same place.",
]


@dataclass(frozen=True)
class Scale:
    """Numbers of drops that all models are fitted to, and evaluated on."""

    fitted: int
    evaluated: int


SCALES = {"quick": Scale(12, 8), "usual": Scale(300, 80), "full": Scale(300, 80)}


def run(out: Path, *, scale: str, seed: int, path: Path, data: Path) -> None:
    """Fit, compare, print the tables, write the results and the law `square.safetensors`, and publish the section."""
    study = Study(out, "square", scale, seed, data=data, by="tosses")
    with parts() as progress:
        fits = _Fits(path, SCALES[study.scale], seed, progress)
        models = fits.everything()
    fits.law.info.update({"study": "square", "fitted_tosses": len(fits.fitted), "seed": seed})
    fits.law.save(study.folder / "square.safetensors")
    shares = coverage(fits.law, fits.evaluated, seed=seed)
    content = {
        "models": [model.figures() for model in models],
        "margins": {m.model: forecast_comparison.margins(models[0], m, seed) for m in models[1:]},
        "coverage": {str(region): share for region, share in shares.items()},
        "scale": vars(fits.size),
    }
    tables = [
        *forecast_comparison.tables(models, UNITS, seed),
        forecast_comparison.regions({"recordings inside": shares}),
    ]
    section = Section(study.name, "Real drops of a square", _TEXT, study.command, tables, [], fits.replays(models[0]))
    study.finish(section, content, forecast_comparison.rows(models))


def horizons(tosses: Tosses, motions: Motions) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return mean errors of each drop (n,): soon after its first touch, and as a whole."""
    rows: dict[str, list[tuple[float, float]]] = {f"{SOON} frames from the first touch on": [], "whole": []}
    for toss, motion in zip(tosses.tosses, motions, strict=True):
        dp, turn = errors(toss, *motion)
        both = np.stack([np.linalg.norm(dp, axis=1) * (100 / SIDE), np.degrees(np.linalg.norm(turn, axis=1))], axis=1)
        soon = (toss.frame >= toss.touch) & (toss.frame < toss.touch + SOON)
        for frames, found in zip((soon, slice(None)), rows.values()):
            found.append(tuple(both[frames].mean(axis=0)))
    return {name: dict(zip(UNITS, np.array(found).T)) for name, found in rows.items()}


class _Fits:
    """The models, fitted to the same drops and evaluated on the same others."""

    law: ImpactLaw

    def __init__(self, path: Path, size: Scale, seed: int, progress) -> None:
        self.size, self.progress = size, progress
        recordings = import_recordings(path, Body.rectangle((SIDE, SIDE), MASS))
        train, held = np.flatnonzero(~recordings.held_out), np.flatnonzero(recordings.held_out)
        self.fitted: Tosses = recordings.tosses[drawn(train, size.fitted, seed)]
        self.evaluated: Tosses = recordings.tosses[held[: size.evaluated]]
        self.steps = horizon(self.evaluated, (None,))
        self.body = recordings.body or Body.rectangle((SIDE, SIDE), MASS)
        self.box = Body.box((SIDE, 3.0 * SIDE, SIDE), MASS)  # deep enough to stay upright
        self.motions: dict[str, Motions] = {}

    def everything(self) -> list[Compared]:
        """Return the errors of all models, ours first."""
        found = [self.measured("stiction", self.ours)]
        for engine in installed().values():
            found.append(self.measured(f"{engine.name}, body too", partial(self.peer, engine)))
        if has_sysid():
            found.append(self.measured(SYSID, self.sysid))
        return found

    def measured(self, name: str, forecast: Callable[[str], Motions]) -> Compared:
        """Return the time of a model's fit and the errors of its forecasts."""
        start = time.process_time()
        self.motions[name] = forecast(name)
        return Compared(
            name, len(self.fitted), time.process_time() - start, horizons(self.evaluated, self.motions[name])
        )

    def ours(self, name: str) -> Motions:
        """Return the forecasts of our law."""
        shown = lambda stage, done, most: self.progress(f"{name}: {stage}", done, most)  # noqa: E731
        self.law = identify_tosses(IdentifySettings(effects=False), self.fitted, self.body, report=shown).law
        return roll_law(self.law, self.evaluated.states(self.law.body, self.law.gravity, self.law.drag), self.steps)

    def peer(self, engine: Engine, name: str) -> Motions:
        """Return the forecasts of a simulator, its contact and the body fitted by our own fitter."""
        drag = self.law.drag if engine.has_drag else 0.0
        peer = Peer(engine, self.box, self.gravity(drag), drag)
        unobservable = ("com_y", "inertia_y", "inertia_z")  # in a plane
        parameters = [p for p in peer.parameters(True, self.law.body.com) if p.name not in unobservable]
        model = peer.model(SIDE)
        values = fitted_values(model, parameters, self.fitted, partial(self.progress, name))
        return model.predict(values, self.evaluated, self.steps)

    def sysid(self, name: str) -> Motions:
        """Return the forecasts of MuJoCo, fitted by its own toolbox."""
        setting = Setting(self.fitted.timestep, self.gravity(self.law.drag))
        rival = SysidRival(self.box, self.law.body.com, setting, SIDE, drag=self.law.drag)
        rival.fit(self.fitted, partial(self.progress, name))
        return rival.motions(rival.starts(self.evaluated), self.steps)

    def gravity(self, drag: float) -> NDArray[np.float64]:
        """Return gravity (3,) as the flights show it; without drag, less its mean in the flights."""
        if drag or not self.law.drag:
            return np.array(self.law.gravity)
        start = self.fitted.states(self.law.body, self.law.gravity, self.law.drag)
        return self.law.gravity - self.law.drag * start.velocity.mean(axis=0)

    def replays(self, ours: Compared) -> list[Scene]:
        """Return drops as recorded and as predicted: a good forecast, the median, and a poor one."""
        position = ours.horizons["whole"]["position"]
        found = []
        for number, share in forecast_comparison.typical(position):
            toss = self.evaluated.tosses[number]
            p, q = self.motions["stiction"][number]
            runs = {
                "recorded": recorded_motion(toss, self.evaluated.timestep),
                "stiction": posed(p[: toss.steps + 1], q[: toss.steps + 1], self.evaluated.timestep),
            }
            caption = (
                f"Mean position error {position[number]:.0f} % of the side: {100 * share:.0f} % are forecast better."
            )
            found.append(scene_of_throws(f"Drop {number + 1}", self.law.body, runs, caption))
        return found
