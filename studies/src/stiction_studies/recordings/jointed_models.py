"""Models of a jointed part (our material, and MuJoCo, Bullet and DART with their own contact), and replays of them.

All are fitted to the same tosses and evaluated on the same others.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.splits import drawn as drawn_numbers
from stiction.fit import jointed_fit
from stiction.fit.gauss_newton import Parameter
from stiction.fit.identified_part import IdentifiedPart, identify_part
from stiction.fit.identify import IdentifySettings
from stiction.fit.jointed_fit import AFTER_TOUCH, Build, Judged, with_material
from stiction.fit.jointed_flight import Prepared
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import JointedToss, rest_heights
from stiction.fit.jointed_starts import SUBSTEPS, Roll, roll_plainly
from stiction.mujoco.mjcf import mujoco
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, Coefficients, Engine
from stiction_studies.page.motions_shown import Scene, poses_of, scene_of
from stiction_studies.recordings.fitted_simulators import SYSID, SysidJointed, fitted_values
from stiction_studies.recordings.forecast_comparison import Compared, typical

UNITS = {"position": " %", "rotation": "°", "joints": "°"}
HORIZONS = {"touch": f"{AFTER_TOUCH} frames from the first touch on", "whole": "whole"}
OURS = "stiction"
_FRICTION = Parameter("friction", "", 0.2, 0.1, 0.01, 0.01, 2.0)
_BOUNCE = Parameter("restitution", "", 0.35, 0.1, 0.015, 0.0, 1.0)
_CONTACT = {  # parameters of each simulator
    MUJOCO: (
        Parameter("friction", "", 0.25, 0.1, 0.01, 0.01, 2.0),
        Parameter("torsion", "m", 0.002, 0.005, 0.0005, 1e-5, 0.1),
        Parameter("time_constant", "s", 0.004, 0.003, 0.0003, 0.0018, 0.1),
        Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
        Parameter("impedance", "", 0.9, 0.1, 0.02, 0.1, 0.99),
        Parameter("impedance_width", "m", 0.001, 0.002, 0.0003, 1e-5, 0.02),
    ),
    BULLET: (_FRICTION, _BOUNCE, Parameter("spinning", "m", 0.002, 0.005, 0.0005, 0.0, 0.1)),
    DART: (_FRICTION, _BOUNCE),
}


@dataclass(frozen=True)
class Fitted:
    """A model: how it moves the part, the values of its parameters, and its errors."""

    build: Build
    values: Mapping[str, float]
    compared: Compared


def ours(ready: Prepared, seed: int, command: str) -> tuple[Fitted, IdentifiedPart]:
    """Return our material, as `stiction identify --mjcf` finds it, with its confidence regions."""
    start = time.process_time()
    found = identify_part(IdentifySettings(seed=seed, command=command), ready)
    return _evaluated(OURS, ready, start, with_material(ready.part), found.values), found


def rival(engine: Engine, ready: Prepared, progress: Callable[[int, int], None]) -> Fitted:
    """Return a simulator's own contact and the same parameters of the part, fitted by our fitter."""
    start = time.process_time()
    build = _with_mujoco_contact(ready.part) if engine.name == MUJOCO else _rolled_by(engine, ready.part)
    parameters = _parameters(ready, engine.name)
    values = fitted_values(jointed_fit.jointed_model(ready.part, build), parameters, ready.fitted, progress)
    return _evaluated(f"{engine.name}, body too", ready, start, build, values)


def sysid(ready: Prepared, seconds: float, progress: Callable[[int, int], None]) -> Fitted:
    """Return MuJoCo, fitted by its own toolbox in at least `seconds` of processor time, unless it converges earlier."""
    start = time.process_time()
    build = _with_mujoco_contact(ready.part)
    rival = SysidJointed(ready, _parameters(ready, MUJOCO), build)
    rival.fit(seconds, progress)
    return _evaluated(SYSID, ready, start, build, rival.found.values)


def _parameters(ready: Prepared, engine: str) -> list[Parameter]:
    return [*jointed_fit.part_parameters(ready.part, ready.gravity), *_CONTACT[engine]]


def _with_mujoco_contact(part: JointedPart) -> Build:
    """Return a model of the part with MuJoCo's own contact, with elliptic cones."""

    def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
        spec = part.spec(values, timestep)
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        for geom in [geom for body in spec.bodies for geom in body.geoms]:
            geom.friction = [values["friction"], values["torsion"], 1e-4]
            geom.condim = 4
            geom.solref = [values["time_constant"], values["damping_ratio"]]
            geom.solimp = [values["impedance"], max(0.95, values["impedance"]), values["impedance_width"], 0.5, 2.0]
        return spec.compile(), roll_plainly

    return build


def _rolled_by(engine: Engine, part: JointedPart) -> Build:
    """Return a model of the part whose links another simulator moves."""

    def build(values: Mapping[str, float], timestep: float) -> tuple[Any, Roll]:
        contact = Coefficients(values["friction"], values["restitution"], values.get("spinning", 0.0))
        roll = lambda model, states, n: engine.roll_links(model, states, n, SUBSTEPS, contact)  # noqa: E731
        return part.model(values, timestep), roll

    return build


def fewer(ready: Prepared, number: int, seed: int) -> Compared:
    """Return our material fitted to `number` tosses, drawn with the seed."""
    start = time.process_time()
    some = drawn_numbers(len(ready.fitted), number, seed)
    few = replace(ready, fitted=ready.fitted[some])
    found = identify_part(IdentifySettings(seed=seed, regions=False), few)
    return _evaluated(f"{OURS}, {len(some)} tosses", few, start, with_material(ready.part), found.values).compared


def _evaluated(name: str, ready: Prepared, start: float, build: Build, values: Mapping[str, float]) -> Fitted:
    seconds = time.process_time() - start
    errors = by_horizon(jointed_fit.judge(ready.held_out, build, values))
    return Fitted(build, values, Compared(name, len(ready.fitted), seconds, errors))


def by_horizon(found: Mapping[str, Judged]) -> dict[str, dict[str, np.ndarray]]:
    """Return the errors as the tables name them."""
    return {shown: {what: getattr(found[key], what) for what in UNITS} for key, shown in HORIZONS.items()}


def replays(ready: Prepared, ours: Fitted, rival: Fitted | None) -> list[Scene]:
    """Return held-out tosses as recorded and as forecast: a good forecast, the median, and a poor one."""
    soon = ours.compared.horizons[HORIZONS["touch"]]["position"]
    models = {model.compared.model: model for model in (ours, rival) if model is not None}
    return [_replay(ready, models, number, share, soon) for number, share in typical(soon)]


def _replay(ready: Prepared, models: dict[str, Fitted], number: int, share: float, soon: NDArray) -> Scene:
    one, part = ready.held_out[[number]], ready.part
    toss = one.tosses[0]
    ours = next(iter(models.values()))
    drawn = part.model(ours.values, one.timestep / SUBSTEPS)
    ground = float(rest_heights(drawn, [toss])[0]) + ours.values["ground"]
    motions = {"recorded": _each_frame(toss)}
    for name, model in models.items():
        motions[name] = jointed_fit.predicted(one, model.build, model.values)[0][: toss.steps + 1]
    runs = {
        name: poses_of(drawn, np.nan_to_num(qpos - np.r_[0.0, 0.0, ground, np.zeros(drawn.nq - 3)]))
        for name, qpos in motions.items()
    }
    caption = (
        f"As tracked, and as forecast from its flight. Mean position error of ours soon after the touch "
        f"{soon[number]:.0f} % of the length: {100 * share:.0f} % of the tosses are forecast better."
    )
    return scene_of(f"Toss {number + 1}", drawn, runs, one.timestep, truth="recorded", caption=caption)


def _each_frame(toss: JointedToss) -> NDArray[np.float64]:
    """Return the recorded qpos of all frames; a missing one repeats the one before."""
    return toss.qpos[np.searchsorted(toss.frame, np.arange(toss.steps + 1), side="right") - 1]
