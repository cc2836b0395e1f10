"""Real tosses of a cube: our law and the simulators, all fitted by one fitter, on tosses that none has seen.

The data (`cube_tosses_train.npz`, from DAIRLab/contact-nets, BSD 3-Clause) is not part of the project. Fits use its
training tosses; figures are of its validation tosses, from the recorded first frame ("raw") and from the state that
the data set fits to the free flight ("fit").
"""

import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.spatial.transform import Rotation

from stiction import checks, results
from stiction.bodies import Body
from stiction.data.identification import shown_progress
from stiction.data.recordings import Recordings, import_recordings
from stiction.laws.impact import ImpactLaw
from stiction.learn.forecast import calibrated, coverage, toss_errors
from stiction.learn.gauss_newton import Parameter
from stiction.learn.identify import (
    STAGES,
    Motions,
    body_parameters,
    build_law,
    fit,
    fitted_body,
    horizon,
    law_parameters,
    predictor,
    roll_law,
)
from stiction.learn.tosses import Tosses, flight_estimate
from stiction.state import State
from stiction.studies import toss_page
from stiction.studies.peers import PEERS, Peer, peer_motions, peer_parameters, peer_predictor

SIDE, MASS, INERTIA = 0.1048, 0.37, 8.1e-4  # [m, kg, kg m^2] as published
EFFICIENCY = (8, 16, 32, 64, 128, 320)


@dataclass(frozen=True)
class Scale:
    """How much is done: tosses that ours, the peers and the ablations are fitted on, validation tosses."""

    ours: int
    peers: int
    ablation: int
    efficiency: tuple[int, ...]
    validation: int


SCALES = {
    "quick": Scale(16, 8, 8, (8,), 16),
    "usual": Scale(320, 64, 64, EFFICIENCY, 80),
    "full": Scale(320, 320, 320, EFFICIENCY, 80),
}

# Ingredients and how each is taken away: parameters that are fixed, or options of the law.
ABLATIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "no restitution": {"fixed": {"restitution": 0.0, "restitution_fall": 0.0, "restitution_threshold": 0.03}},
    "centre of mass in the middle": {"fixed": {"com_x": 0.0, "com_y": 0.0, "com_z": 0.0}},
    "friction without memory": {"options": {"memory": 1}},
    "inertia as published": {"fixed": {"inertia": 1.0, "inertia_y": 1.0, "inertia_z": 1.0}},
    "sharp corners": {"fixed": {"rounding": 0.0}},
    "friction the same at any load": {"fixed": {"friction_load": 1e3}},
    "friction the same at any speed": {"fixed": {"friction_rise": 0.0}},
}


@dataclass(frozen=True)
class Starts:
    """States at the first frame of validation tosses: as recorded, and fitted to the flight by the data set."""

    raw: State
    fit: State


def run(out: Path, *, scale: str = "usual", seed: int = 0, data: Path | None = None) -> None:
    """Fit, compare, print the tables and write `tosses.json` and the law `cube.safetensors` to `out`."""
    size = SCALES[checks.choice("scale", scale, tuple(SCALES))]
    if data is None:
        raise checks.InputError("The study of tosses needs --data: the folder or file of the cube tosses.")
    path = data / "cube_tosses_train.npz" if Path(data).is_dir() else Path(data)
    body = Body.box((SIDE, SIDE, SIDE), MASS, inertia=np.eye(3) * INERTIA)
    recordings = import_recordings(path, body)
    out.mkdir(parents=True, exist_ok=True)
    train = np.flatnonzero(~recordings.held_out)
    held = np.flatnonzero(recordings.held_out)[: size.validation]
    study = _Study(body, recordings, train, held, _starts(path, recordings, held), seed)
    began = time.monotonic()
    with shown_progress(Console(stderr=True)) as progress:
        content = study.everything(size, progress)
    content |= {
        "study": "tosses",
        "parameters": {"scale": scale, "seed": seed, **vars(size)},
        "versions": results.versions("numpy", "scipy", "numba", "mujoco-core", "pybullet", "dartpy"),
        "duration_s": round(time.monotonic() - began, 1),
    }
    study.law.info.update({"study": "tosses", "fitted_tosses": size.ours, "seed": seed})
    study.law.save(out / "cube.safetensors")
    results.write_json(out / "tosses.json", content)
    toss_page.print_tables(content)
    toss_page.publish_page(out, content, study.law, study.held_tosses, study.starts.fit)
    print(f"{content['duration_s']} s; wrote {out / 'tosses.json'}, {out / 'cube.safetensors'}")


def _starts(path: Path, recordings: Recordings, held: NDArray[np.int64]) -> Starts:
    """First frames from the file itself, angular velocities turned into world axes.

    Recorded velocities are differences over the frame before, so that they belong to half a frame earlier.
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


class _Study:
    """The fits and the figures."""

    law: ImpactLaw

    def __init__(self, body: Body, recordings: Recordings, train, held, starts: Starts, seed: int) -> None:
        self.body, self.starts, self.seed = body, starts, seed
        self.train, self.tosses = train, recordings.tosses
        self.held_tosses: Tosses = recordings.tosses[held]
        self.order = np.random.default_rng(seed).permutation(train)

    def everything(self, size: Scale, progress) -> dict[str, Any]:
        """All parts of the study, as figures for JSON."""
        self.law = self.identified(size.ours, progress, "ours")
        self.law, about = calibrated(self.law, self.some(size.ours))
        ours = self.figures_of_law(self.law)
        rows = [{"model": "stiction", "fitted_tosses": size.ours, **ours}]
        rows += [
            self.peer(peer, with_body, size.peers, progress) for peer in available() for with_body in (False, True)
        ]
        return {
            "models": rows,
            "efficiency": [self.efficiency(n, progress, size, ours) for n in size.efficiency],
            "ablation": [self.ablation(name, size.ablation, progress) for name in ABLATIONS],
            "coverage": {
                "training": {str(k): v for k, v in about["coverage"].items()},
                "validation": {str(k): v for k, v in coverage(self.law, self.held_tosses, self.starts.fit).items()},
                "spread": list(self.law.spread),
            },
        }

    def some(self, number: int) -> Tosses:
        """The first tosses of the seeded draw."""
        return self.tosses[np.sort(self.order[:number])]

    def identified(self, number: int, progress, name: str, fixed=None, options=None) -> ImpactLaw:
        """Our law fitted to so many tosses, some of its parameters fixed."""
        tosses = self.some(number)
        flight, flight_errors = flight_estimate(tosses)
        sure = flight_errors[:3] < 0.03 * SIDE
        gravity = float(flight[3])
        values = {"gravity": gravity, **(fixed or {})}
        com = np.where(sure, flight[:3], 0.0)
        parameters = [p for p in body_parameters(self.body, com) + law_parameters() if p.name not in values]
        inner = predictor(self.body, gravity, **(options or {}))
        found = fit(
            lambda v, some, steps: inner({**values, **v}, some, steps),
            parameters,
            tosses,
            SIDE,
            stages=STAGES,
            progress=lambda stage, done, most: progress(name, done, most),
        )
        values |= dict(zip((p.name for p in parameters), found.values.tolist()))
        return build_law(self.body, values, tosses.timestep, **(options or {}))

    def figures_of_law(self, law: ImpactLaw) -> dict[str, Any]:
        """Errors on the validation tosses from both starts."""
        steps = horizon(self.held_tosses, (None,))
        return self.figures(*(roll_law(law, start, steps) for start in (self.starts.raw, self.starts.fit)))

    def figures(self, raw: Motions, fitted: Motions) -> dict[str, Any]:
        """Mean errors of motions from both starts."""
        pairs = {"raw": raw, "fit": fitted}
        return {name: toss_errors(self.held_tosses, motions, SIDE).means() for name, motions in pairs.items()}

    def peer(self, peer: Peer, with_body: bool, number: int, progress) -> dict[str, Any]:
        """A simulator, fitted and measured."""
        tosses = self.some(number)
        flight, _ = flight_estimate(tosses)
        gravity = float(flight[3])
        parameters: list[Parameter] = peer_parameters(peer, self.body, with_body, flight[:3])
        name = f"{peer.name}{', body too' if with_body else ''}"
        found = fit(
            peer_predictor(peer, self.body, gravity),
            parameters,
            tosses,
            SIDE,
            stages=[replace(stage, most=min(32, number)) for stage in STAGES[:2]] + list(STAGES[2:]),
            progress=lambda stage, done, most: progress(name, done, most),
        )
        values = dict(zip((p.name for p in parameters), found.values.tolist()))
        fitted = fitted_body(self.body, {"rounding": 0.0, **values})
        contact = {p.name: values[p.name] for p in peer.contact}
        steps, h = horizon(self.held_tosses, (None,)), self.held_tosses.timestep
        runs = (
            peer_motions(peer, fitted, start, steps, h, gravity, values.get("ground", 0.0), contact)
            for start in (self.starts.raw, self.starts.fit)
        )
        return {"model": name, "fitted_tosses": number, "values": values, **self.figures(*runs)}

    def efficiency(self, number: int, progress, size: Scale, whole: dict[str, Any]) -> dict[str, Any]:
        """Our law fitted to fewer tosses."""
        known = number == size.ours
        return {"tosses": number} | (
            whole if known else self.figures_of_law(self.identified(number, progress, f"{number} tosses"))
        )

    def ablation(self, name: str, number: int, progress) -> dict[str, Any]:
        """Our law fitted without one ingredient."""
        law = self.identified(number, progress, name, **ABLATIONS[name])
        return {"model": name, "fitted_tosses": number, **self.figures_of_law(law)}


def available() -> list[Peer]:
    """The simulators that are installed."""
    return [peer for peer in PEERS if find_spec(peer.package) is not None]
