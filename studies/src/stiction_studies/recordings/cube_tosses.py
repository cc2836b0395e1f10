"""Real tosses of a cube: our law and the simulators, all fitted by one fitter, on tosses that none has seen.

The data (`cube_tosses_train.npz`, from DAIRLab/contact-nets, BSD 3-Clause) is not part of the project. Fits use its
training tosses; figures are of its validation tosses, from the recorded first frame ("raw") and from the state that
the data set fits to the free flight ("fit").
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.progress import parts
from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.fit.forecast import TossErrors, toss_errors
from stiction.fit.free import LawType, fit_law
from stiction.fit.gauss_newton import Parameter
from stiction.fit.identify import IdentifySettings, identify_tosses
from stiction.fit.toss_objective import Motions, fit, fitted_body, horizon, roll_law
from stiction.laws.impact import ImpactLaw
from stiction.laws.modelfile import load
from stiction.recordings.flight_estimate import flight_estimate
from stiction.recordings.importing import import_recordings
from stiction.recordings.tosses import Recordings, Tosses
from stiction_studies.page.section import Replay
from stiction_studies.recordings import sysid_rival, toss_page, toss_starts
from stiction_studies.recordings.peers import Peer, available, peer_model, peer_motions, peer_parameters
from stiction_studies.recordings.toss_costs import costs
from stiction_studies.recordings.toss_rivals import rivals
from stiction_studies.study import Study, joined

SIDE, MASS, INERTIA = 0.1048, 0.37, 8.1e-4  # [m, kg, kg m^2] as published
EFFICIENCY = (8, 16, 32, 64, 128, 320)
SHIPPED = "stiction, the law cube that ships"
DRAWS, FEW = 3, 32  # so many draws of the tosses where they are at most FEW: which ones they are matters then


@dataclass(frozen=True)
class Scale:
    """How much is done: tosses that ours, the peers and the ablations are fitted on, validation tosses.

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

# Ingredients and how each is taken away: parameters that are fixed, or another type of law.
ABLATIONS: dict[str, LawType] = {
    "everything": LawType(),
    "no restitution": LawType({"restitution": 0.0, "restitution_fall": 0.0, "restitution_threshold": 0.03}),
    "centre of mass in the middle": LawType({"com_x": 0.0, "com_y": 0.0, "com_z": 0.0}),
    "friction without memory": LawType(memory=1),
    "inertia as published": LawType({"inertia": 1.0, "inertia_y": 1.0, "inertia_z": 1.0}),
    "sharp corners": LawType({"rounding": 0.0}),
    "friction the same at any load": LawType({"friction_load": 1e3}),
    "friction the same at any speed": LawType({"friction_rise": 0.0}),
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
        content["starts"] = toss_starts.first_frame(fits.law, SIDE, seed, validation=validation, training=fitted)
        content["spins"] = toss_starts.spins_off(*validation)
    fits.law.info.update({"study": "tosses", "fitted_tosses": len(fits.some(size.ours)), "seed": seed})
    law_file = study.folder / "cube.safetensors"
    fits.law.save(law_file)
    content["networks"] = fits.networks(study.folder, size) if size.throws else []
    ours = fits.errors["stiction", "fit"].position
    section = toss_page.section(content, study.command, fits.law, fits.held_tosses, fits.starts.fit, ours)
    section = replace(section, replays=[*fits.rivals(), *section.replays])
    study.finish(section, content | {"scale": vars(size)}, fits.rows(), "scipy", "mujoco-core", "pybullet", "dartpy")


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


class _Fits:
    """The fits and the figures."""

    law: ImpactLaw

    def __init__(self, body: Body, recordings: Recordings, train, held, starts: Starts, seed: int) -> None:
        self.body, self.starts, self.seed = body, starts, seed
        self.train, self.tosses, self.groups = train, recordings.tosses, recordings.groups
        self.held_tosses: Tosses = recordings.tosses[held]
        self.errors: dict[tuple[str, str], TossErrors] = {}  # of each model and start
        self.forecasts: dict[str, Motions] = {}  # of each model, from the flight

    def everything(self, size: Scale, progress) -> dict[str, Any]:
        """All parts of the study, as figures for JSON."""
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
            self.peer(peer, with_body, size.peers, progress) for peer in available() for with_body in (False, True)
        ]
        rows += [self.sysid(size.peers, progress)] if sysid_rival.is_there() else []
        return {
            "models": rows,
            "efficiency": [self.efficiency(n, progress, size, ours) for n in size.efficiency],
            "ablation": [self.ablation(name, size.ablation, progress) for name in ABLATIONS],
            "coverage": {
                "validation": {str(k): v for k, v in found.coverage.items()},
                "spread": list(self.law.spread),
            },
            "costs": costs(
                self.law,
                self.held_tosses,
                self.starts.fit,
                next((row for row in rows if row["model"] == "MuJoCo, body too"), None),
            ),
        }

    def some(self, number: int, draw: int = 0) -> Tosses:
        """So many training tosses, drawn with the seed."""
        return self.tosses[self.chosen(number, draw)]

    def chosen(self, number: int, draw: int = 0) -> NDArray[np.int64]:
        """Their numbers."""
        return drawn(self.train, number, [self.seed, draw])

    def identified(self, number: int, progress, name: str, law: LawType | None = None, draw: int = 0) -> ImpactLaw:
        """Our law fitted to so many tosses, of this type."""
        tosses = self.some(number, draw)
        shown = lambda done, most: progress(name, done, most)  # noqa: E731
        return fit_law(tosses, self.body, law, errors=False, progress=shown).law(tosses.timestep)

    def figures_of_law(self, law: ImpactLaw, name: str) -> dict[str, Any]:
        """Errors on the validation tosses from both starts."""
        steps = horizon(self.held_tosses, (None,))
        return self.figures(name, *(roll_law(law, start, steps) for start in (self.starts.raw, self.starts.fit)))

    def figures(self, name: str, raw: Motions, fitted: Motions) -> dict[str, Any]:
        """Mean errors of motions from both starts."""
        for start, motions in (("raw", raw), ("fit", fitted)):
            self.errors[name, start] = toss_errors(self.held_tosses, motions, SIDE)
        self.forecasts[name] = fitted
        return {start: self.errors[name, start].means() for start in ("raw", "fit")}

    def rows(self) -> dict[str, Any]:
        """Columns of all errors, one row for each toss, model and start."""
        number = np.arange(len(self.held_tosses))
        parts = [{"model": m, "start": s, "toss": number, **vars(e)} for (m, s), e in self.errors.items()]
        return joined(parts)

    def rivals(self) -> list[Replay]:
        """Our forecast of a toss beside that of MuJoCo, where it is installed."""
        peer = "MuJoCo, body too"
        if peer not in self.forecasts:
            return []
        motions = self.forecasts["stiction"], self.forecasts[peer]
        errors = self.errors["stiction", "fit"].position, self.errors[peer, "fit"].position
        return [rivals(self.body, self.held_tosses, motions, errors, self.law.ground)]

    def networks(self, folder: Path, size: Scale) -> list[dict[str, Any]]:
        """What is lost when the paper's networks are trained on the law."""
        from stiction_studies.recordings.toss_networks import stages, trained

        file = trained(folder, self.law, size.throws, size.optimiser, self.seed)
        steps = horizon(self.held_tosses, (None,))
        where = steps, self.held_tosses.timestep
        raw, fitted = (stages(self.law, file, start, *where) for start in (self.starts.raw, self.starts.fit))
        return [{"model": name, **self.figures(name, raw[name], fitted[name])} for name in raw]

    def peer(self, peer: Peer, with_body: bool, number: int, progress) -> dict[str, Any]:
        """A simulator, fitted and measured."""
        tosses = self.some(number)
        flight, _ = flight_estimate(tosses, self.body.inertia)
        gravity = (0.0, 0.0, -float(flight[3]))
        parameters: list[Parameter] = peer_parameters(peer, self.body, with_body, flight[:3])
        name = f"{peer.name}{', body too' if with_body else ''}"
        found = fit(
            peer_model(peer, self.body, gravity, SIDE),
            parameters,
            tosses,
            progress=lambda done, most: progress(name, done, most),
        )
        values = dict(zip((p.name for p in parameters), found.values.tolist()))
        fitted = fitted_body(self.body, {"rounding": 0.0, **values})
        contact = {p.name: values[p.name] for p in peer.contact}
        steps, h = horizon(self.held_tosses, (None,)), self.held_tosses.timestep
        runs = (
            peer_motions(peer, fitted, start, steps, h, gravity, values.get("ground", 0.0), contact)
            for start in (self.starts.raw, self.starts.fit)
        )
        return {"model": name, "fitted_tosses": len(tosses), "values": values, **self.figures(name, *runs)}

    def sysid(self, number: int, progress) -> dict[str, Any]:
        """MuJoCo, fitted by its own toolbox, and measured."""
        tosses, name = self.some(number), sysid_rival.NAME
        flight, _ = flight_estimate(tosses, self.body.inertia)
        gravity = (0.0, 0.0, -float(flight[3]))
        rival = sysid_rival.SysidRival(self.body, flight[:3], tosses.timestep, gravity, SIDE)
        rival.fit(tosses, lambda done, most: progress(name, done, most))
        steps = horizon(self.held_tosses, (None,))
        runs = (rival.motions(start, steps) for start in (self.starts.raw, self.starts.fit))
        values = rival.found.values
        return {"model": name, "fitted_tosses": len(tosses), "values": values, **self.figures(name, *runs)}

    def efficiency(self, number: int, progress, size: Scale, whole: dict[str, Any]) -> dict[str, Any]:
        """Our law fitted to fewer tosses: means over the draws, and the worst of them."""
        rows = [whole]
        if number != size.ours:
            draws = DRAWS if number <= FEW and size.validation > FEW else 1
            rows = [self.few(number, draw, progress) for draw in range(draws)]
        found: dict[str, Any] = {"tosses": len(self.some(number)), "draws": len(rows)}
        for start in ("raw", "fit"):
            measures = {what: [row[start][what] for row in rows] for what in rows[0][start]}
            found[start] = {what: float(np.mean(values)) for what, values in measures.items()}
            found[f"{start}_worst"] = {what: max(values) for what, values in measures.items()}
        return found

    def few(self, number: int, draw: int, progress) -> dict[str, Any]:
        """Errors of our law fitted to one draw of some tosses."""
        name = f"stiction, {number} tosses" + (f", draw {draw + 1}" if draw else "")
        return self.figures_of_law(self.identified(number, progress, name, draw=draw), name)

    def ablation(self, name: str, number: int, progress) -> dict[str, Any]:
        """Our law fitted without one ingredient."""
        law = self.identified(number, progress, name, ABLATIONS[name])
        return {"model": name, "fitted_tosses": len(self.some(number)), **self.figures_of_law(law, name)}
