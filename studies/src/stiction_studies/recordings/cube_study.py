"""Real tosses of a cube: our law and the simulators, all fitted by one fitter, on held-out tosses.

The data (`cube_tosses_train.npz`, from DAIRLab/contact-nets, BSD 3-Clause) is not part of the project. Fits use its
training tosses; figures are of its validation tosses, from the recorded first frame ("raw") and from the state that
the data set fits to the free flight ("fit").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.progress import Report, parts
from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.commands.learning import collect
from stiction.commands.options import CollectOptions
from stiction.fit.forecast import TossErrors, toss_errors
from stiction.fit.free import LawType, fit_law
from stiction.fit.identify import IdentifySettings, identify_tosses
from stiction.fit.toss_objective import Motions, horizon, roll_law
from stiction.laws.impact import INCREMENTS, ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load
from stiction.recordings.flight_estimate import flight_estimate
from stiction.recordings.importing import import_recordings
from stiction.recordings.tosses import Recordings, Tosses
from stiction.simulation.motion import Setting
from stiction.simulation.rollout import rollout
from stiction_studies.engines.worlds import MUJOCO, Engine, installed
from stiction_studies.page.motions_shown import Scene
from stiction_studies.recordings import cube_page, first_frames
from stiction_studies.recordings.cube_page import rivals
from stiction_studies.recordings.fitted_simulators import SYSID, Peer, SysidRival, fitted_values, has_sysid
from stiction_studies.study import Study
from stiction_studies.timing import least_time

SIDE, MASS, INERTIA = 0.1048, 0.37, 8.1e-4  # [m, kg, kg m^2] as published
EFFICIENCY = (8, 16, 32, 64, 128, 320)
SHIPPED, MUJOCO_FITTED = "stiction, the law cube that ships", "MuJoCo, body too"
DRAWS, FEW = 3, 32  # draws of the tosses where they are at most FEW, since errors then depend on the choice

BATCH, FRAMES = 1000, 100  # tosses of a batch, each as long as the median toss
_SUBSTEPS = 4  # steps of the networks in a frame


@dataclass(frozen=True)
class Scale:
    """Numbers of tosses that ours, the peers and the ablations are fitted to, and of validation tosses.

    throws: of the law, to train the paper's networks on; 0: none
    optimiser: steps of each network's training
    """

    ours: int
    peers: int
    ablation: int
    efficiency: tuple[int, ...]
    validation: int
    throws: int = 0
    optimiser: int = 0


SCALES = {
    "quick": Scale(16, 8, 8, (8,), 16),
    "usual": Scale(320, 320, 64, EFFICIENCY, 80, 150, 1500),
    "full": Scale(320, 320, 128, EFFICIENCY, 80, 1000, 8000),
}

NO_MEMORY = "friction without memory"  # the friction of an impact in one increment
ABLATIONS: dict[str, dict[str, float]] = {  # parameters that are fixed
    "everything": {},
    "no restitution": {"restitution": 0.0, "restitution_fall": 0.0, "restitution_threshold": 0.03},
    "centre of mass in the middle": {"com_x": 0.0, "com_y": 0.0, "com_z": 0.0},
    NO_MEMORY: {},
    "inertia as published": {"inertia": 1.0, "inertia_y": 1.0, "inertia_z": 1.0},
    "sharp corners": {"rounding": 0.0},
    "friction the same at any load": {"friction_load": 1e3},
    "friction the same at any speed": {"friction_rise": 0.0},
}


@dataclass(frozen=True)
class Starts:
    """States at the first frame of validation tosses: as recorded, and fitted to the flight by the data set."""

    raw: State
    fit: State


def run(out: Path, *, scale: str, seed: int, path: Path, data: Path) -> None:
    """Fit, compare, print the tables, write the results and the law `cube.safetensors`, and publish the section."""
    study = Study(out, "tosses", scale, seed, data=data)
    size = SCALES[study.scale]
    body = Body.box((SIDE, SIDE, SIDE), MASS, inertia=np.eye(3) * INERTIA)
    recordings = import_recordings(path, body)
    train = np.flatnonzero(~recordings.held_out)
    held = np.flatnonzero(recordings.held_out)[: size.validation]
    fits = _Fits(body, recordings, train, held, _starts(path, recordings, held), seed)
    fitted = fits.some(size.ours), *vars(_starts(path, recordings, fits.chosen(size.ours))).values()
    with parts() as progress:
        content = fits.everything(size, progress)
        validation = fits.held_tosses, *vars(fits.starts).values()
        content["starts"] = first_frames.first_frame(fits.law, SIDE, seed, validation=validation, training=fitted)
        content["spins"] = first_frames.spins_off(*validation)
    fits.law.info.update({"study": "tosses", "fitted_tosses": len(fits.some(size.ours)), "seed": seed})
    law_file = study.folder / "cube.safetensors"
    fits.law.save(law_file)
    content["networks"] = fits.networks(study.folder, size) if size.throws else []
    ours = fits.errors["stiction", "fit"].position
    section = cube_page.section(content, study.command, fits.law, fits.held_tosses, fits.starts.fit, ours)
    section = replace(section, replays=[*fits.rivals(), *section.replays])
    study.finish(section, content | {"scale": vars(size)}, fits.rows())


def _starts(path: Path, recordings: Recordings, held: NDArray[np.int64]) -> Starts:
    """Return first frames from the file itself, with angular velocities in world axes.

    Recorded velocities are backward differences, so that they belong to half a frame earlier.
    """
    with np.load(path) as file:
        states, offsets = file["states"].astype(np.float64), file["offsets"]
        fitted, dt = file["init_fit"].astype(np.float64), float(file["dt"])
    number = [int(recordings.names[int(i)].split("[")[1].rstrip("]")) for i in held]
    raw = states[offsets[number]]
    gravity = 9.61  # [m/s^2], as the data set's own fit has it
    raw[:, 9] -= 0.5 * gravity * dt
    return Starts(_state(raw), _state(fitted[number]))


def _state(rows) -> State:
    q = rows[:, 3:7] / np.linalg.norm(rows[:, 3:7], axis=1, keepdims=True)
    spin = Rotation.from_quat(q, scalar_first=True).apply(rows[:, 10:13])
    return State(rows[:, :3], q, rows[:, 7:10], spin)


class _Fits:
    """The fits and the figures."""

    law: ImpactLaw

    def __init__(self, body: Body, recordings: Recordings, train, held, starts: Starts, seed: int) -> None:
        self.body, self.starts, self.seed = body, starts, seed
        self.train, self.tosses, self.groups = train, recordings.tosses, recordings.groups
        self.held_tosses: Tosses = recordings.tosses[held]
        self.steps = horizon(self.held_tosses, (None,))
        self.errors: dict[tuple[str, str], TossErrors] = {}  # of each model and start
        self.forecasts: dict[str, Motions] = {}  # of each model, from the flight
        self.values: dict[str, dict[str, float]] = {}  # of the parameters of each simulator

    def everything(self, size: Scale, progress: Report) -> dict[str, Any]:
        """Return the figures of all parts of the study for JSON."""
        tosses, groups = self.some(size.ours), self.groups[self.chosen(size.ours)]
        settings = IdentifySettings(effects=False)
        found = identify_tosses(settings, tosses, self.body, held_out=self.held_tosses, groups=groups, report=progress)
        self.law = found.law
        ours = self.figures_of_law(self.law, "stiction")
        rows = [{"model": "stiction", "fitted_tosses": len(tosses), **ours}]
        shipped = cast(ImpactLaw, load("cube"))
        figures = self.figures_of_law(shipped, SHIPPED)
        rows.append({"model": SHIPPED, "fitted_tosses": shipped.info["fitted_tosses"], **figures})
        rows += [
            self.peer(engine, with_body, size.peers, progress)
            for engine in installed().values()
            for with_body in (False, True)
        ]
        rows += [self.sysid(size.peers, progress)] if has_sysid() else []
        return {
            "models": rows,
            "efficiency": [self.fewer(n, progress, size, ours) for n in size.efficiency],
            "ablation": [self.ablation(name, size.ablation, progress) for name in ABLATIONS],
            "coverage": {
                "validation": {str(k): v for k, v in found.coverage.items()},
                "spread": list(self.law.spread),
            },
            "costs": _costs(self.law, self.held_tosses, self.starts.fit, self.values.get(MUJOCO_FITTED)),
        }

    def some(self, number: int, draw: int = 0) -> Tosses:
        """Return `number` training tosses, drawn with the seed."""
        return self.tosses[self.chosen(number, draw)]

    def chosen(self, number: int, draw: int = 0) -> NDArray[np.int64]:
        """Return their numbers."""
        return drawn(self.train, number, [self.seed, draw])

    def figures(self, name: str, forecast: Callable[[State], Motions]) -> dict[str, Any]:
        """Return mean errors of a model's forecasts of the validation tosses from both starts."""
        for start, states in vars(self.starts).items():
            self.forecasts[name] = forecast(states)
            self.errors[name, start] = toss_errors(self.held_tosses, self.forecasts[name], SIDE)
        return {start: self.errors[name, start].means() for start in vars(self.starts)}

    def figures_of_law(self, law: ImpactLaw, name: str) -> dict[str, Any]:
        """Return the same for a law."""
        return self.figures(name, lambda start: roll_law(law, start, self.steps))

    def rows(self) -> list[dict[str, Any]]:
        """Return all errors, one row for each toss, model and start."""
        number = np.arange(len(self.held_tosses))
        return [{"model": m, "start": s, "toss": number, **vars(e)} for (m, s), e in self.errors.items()]

    def rivals(self) -> list[Scene]:
        """Return our forecast of a toss beside that of MuJoCo, where it is installed."""
        if MUJOCO_FITTED not in self.forecasts:
            return []
        motions = self.forecasts["stiction"], self.forecasts[MUJOCO_FITTED]
        errors = self.errors["stiction", "fit"].position, self.errors[MUJOCO_FITTED, "fit"].position
        return [rivals(self.body, self.held_tosses, motions, errors, self.law.ground)]

    def networks(self, folder: Path, size: Scale) -> list[dict[str, Any]]:
        """Return the errors of the paper's networks, trained on the law."""
        file = _trained(folder, self.law, size.throws, size.optimiser, self.seed)
        forecasts = _stages(self.law, file, self.steps, self.held_tosses.timestep)
        return [{"model": name, **self.figures(name, forecast)} for name, forecast in forecasts.items()]

    def peer(self, engine: Engine, with_body: bool, number: int, progress: Report) -> dict[str, Any]:
        """Return the figures of a simulator, fitted by our fitter."""
        tosses, name = self.some(number), f"{engine.name}{', body too' if with_body else ''}"
        com, gravity = self.flight(tosses)
        peer = Peer(engine, self.body, gravity)
        parameters = peer.parameters(with_body, com)
        values = self.values[name] = fitted_values(peer.model(SIDE), parameters, tosses, partial(progress, name))
        h = self.held_tosses.timestep
        figures = self.figures(name, lambda start: peer.motions(values, start, self.steps, h))
        return {"model": name, "fitted_tosses": len(tosses), "values": values, **figures}

    def sysid(self, number: int, progress: Report) -> dict[str, Any]:
        """Return the figures of MuJoCo, fitted by its own toolbox."""
        tosses = self.some(number)
        com, gravity = self.flight(tosses)
        rival = SysidRival(self.body, com, Setting(tosses.timestep, gravity), SIDE)
        rival.fit(tosses, partial(progress, SYSID))
        figures = self.figures(SYSID, lambda start: rival.motions(start, self.steps))
        return {"model": SYSID, "fitted_tosses": len(tosses), "values": rival.found.values, **figures}

    def flight(self, tosses: Tosses) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centre of mass (3,) [m] and gravity (3,) [m/s^2] that free flight indicates."""
        found, _ = flight_estimate(tosses, self.body.inertia)
        return found[:3], np.array([0.0, 0.0, -found[3]])

    def fewer(self, number: int, progress: Report, size: Scale, whole: dict[str, Any]) -> dict[str, Any]:
        """Return the errors of our law fitted to fewer tosses: means over the draws, and the worst of them."""
        rows = [whole]
        if number != size.ours:
            draws = DRAWS if number <= FEW and size.validation > FEW else 1
            names = [f"stiction, {number} tosses" + (f", draw {draw + 1}" if draw else "") for draw in range(draws)]
            rows = [self.refitted(number, progress, name, draw) for draw, name in enumerate(names)]
        found: dict[str, Any] = {"tosses": len(self.some(number)), "draws": len(rows)}
        for start in vars(self.starts):
            measures = {what: [row[start][what] for row in rows] for what in rows[0][start]}
            found[start] = {what: float(np.mean(values)) for what, values in measures.items()}
            found[f"{start}_worst"] = {what: max(values) for what, values in measures.items()}
        return found

    def refitted(self, number: int, progress: Report, name: str, draw: int = 0) -> dict[str, Any]:
        """Return errors of our law fitted to `number` tosses, without the ingredient of this name in ABLATIONS."""
        tosses, memory = self.some(number, draw), 1 if name == NO_MEMORY else INCREMENTS
        law = LawType(ABLATIONS.get(name) or {}, memory=memory)
        found = fit_law(tosses, self.body, law, errors=False, progress=partial(progress, name))
        return self.figures_of_law(found.law(tosses.timestep), name)

    def ablation(self, name: str, number: int, progress: Report) -> dict[str, Any]:
        """Return errors of our law fitted without one ingredient."""
        figures = self.refitted(number, progress, name)
        return {"model": name, "fitted_tosses": len(self.some(number)), **figures}


# Time of a forecast.


def _costs(law: ImpactLaw, tosses: Tosses, states: State, mujoco: Mapping[str, float] | None) -> dict[str, Any]:
    """Return the time of one toss and of a batch [s], on one core; the least of some repeats, after a warm-up.

    states: starts of the tosses, shape (n,)
    mujoco: values of MuJoCo's fitted parameters, if it is installed
    """
    steps = horizon(tosses, (None,)).tolist()
    many = states[np.arange(BATCH) % len(steps)]
    one = [least_time(lambda i=i: rollout(law, states[i], steps[i])) for i in range(len(steps))]
    found: dict[str, Any] = {
        "one_toss_s": float(np.median(one)),
        "batch": BATCH,
        "frames": FRAMES,
        "batch_s": least_time(lambda: rollout(law, many, FRAMES)),
    }
    if mujoco is not None:
        peer = Peer(installed()[MUJOCO], law.body, law.gravity)
        contact = {p.name: mujoco[p.name] for p in peer.contact}
        found["mujoco_batch_s"] = least_time(
            lambda: peer.motions(contact, many, np.full(BATCH, FRAMES), tosses.timestep)
        )
    return found


# From the law to networks. The law is thrown as ground truth, the paper's classifiers and regressors are trained on its
# contacts, and Algorithm 1 with them forecasts the recorded tosses. The paper's contact has no restitution: networks
# trained on bounces would have too much friction, so the law is thrown without restitution. The law itself in the same
# whole steps shows how much of the loss comes from these.


def _trained(folder: Path, law: ImpactLaw, throws: int, optimiser: int, seed: int) -> Path:
    """Return the model file of networks trained on contacts of the law without restitution.

    optimiser: steps of each network's training
    """
    from stiction.training.from_data import train_from
    from stiction.training.settings import TrainSettings

    out = folder / "cube-networks.safetensors"
    with TemporaryDirectory() as scratch:  # in the study's folder, contacts of an earlier run would stand in the way
        thrown, data = Path(scratch) / "law.safetensors", Path(scratch) / "contacts"
        law.with_material(restitution=0.0).save(thrown)
        timestep = law.timestep / _SUBSTEPS
        collect(CollectOptions(out=data, law=str(thrown), throws=throws, timestep=timestep, seed=seed))
        train_from(data, out, TrainSettings(steps=optimiser, seed=seed))
    return out


def _stages(
    law: ImpactLaw, networks: Path, frames: NDArray[np.int64], timestep: float
) -> dict[str, Callable[[State], Motions]]:
    """Return the forecasts of the law itself in whole steps, the same without restitution, and of the networks."""
    plain = ImpactLaw(law.body, law.material, timestep=law.timestep, gravity=law.gravity)  # ground at z = 0
    models = {
        "the law, in whole steps": plain,
        "the same, without restitution": plain.with_material(restitution=0.0),
        "the paper's networks, trained on it": load(networks),
    }
    steps, h, up = _SUBSTEPS * int(max(frames)), timestep / _SUBSTEPS, np.array([0.0, 0.0, law.ground])

    def forecast(model: Law, states: State) -> Motions:
        lowered = State(states.position - up, states.quaternion, states.velocity, states.angular_velocity)
        run = rollout(model, lowered, steps, timestep=h, gravity=law.gravity, substeps=0)
        return list(zip(run.position[:, ::_SUBSTEPS] + up, run.quaternion[:, ::_SUBSTEPS]))

    return {name: partial(forecast, model) for name, model in models.items()}
