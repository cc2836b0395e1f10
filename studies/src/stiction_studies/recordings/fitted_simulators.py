"""MuJoCo, Bullet and DART fitted to recorded tosses by our fitter, and MuJoCo by its own toolbox, `mujoco.sysid`."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from stiction.basics.splits import drawn
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_vectors
from stiction.bodies.state import State
from stiction.fit import toss_objective
from stiction.fit.gauss_newton import Parameter
from stiction.fit.toss_objective import Motions, TossModel, Values, last_frames
from stiction.recordings.tosses import Tosses
from stiction.simulation.motion import Setting
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, Engine, Poses

SYSID = "mujoco.sysid"
OUTLIER = 10.0  # percent of the width, or degrees: scale of the Cauchy loss of sysid
Progress = Callable[[int, int], None]
Stage = tuple[int | None, int | None, int]  # frames after the first touch, max. tosses, iterations
_FRICTION = Parameter("friction", "", 0.2, 0.1, 0.005, 0.01, 2.0)
_BOUNCE = Parameter("restitution", "", 0.15, 0.1, 0.02, 0.0, 1.0)
CONTACT = {  # parameters of each simulator
    MUJOCO: (
        _FRICTION,
        Parameter("torsion", "m", 0.005, 0.01, 0.001, 1e-5, 0.1),
        Parameter("time_constant", "s", 0.01, 0.005, 0.0005, 0.0036, 0.1),
        Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
    ),
    BULLET: (_FRICTION, _BOUNCE, Parameter("spinning", "m", 0.002, 0.005, 0.0005, 0.0, 0.1)),
    DART: (_FRICTION, _BOUNCE),
}


@dataclass(frozen=True)
class Peer:
    """A simulator with its contact parameters, on a body.

    gravity: [m/s^2], (3,); drag: [1/s], for simulators that have it
    """

    engine: Engine
    body: Body
    gravity: ArrayLike
    drag: float = 0.0

    @property
    def contact(self) -> tuple[Parameter, ...]:
        """The contact parameters that the simulator offers."""
        return CONTACT[self.engine.name]

    def parameters(self, with_body: bool, com=None) -> list[Parameter]:
        """Return the contact parameters and, by choice, those of the body; simulators have no rounded edges."""
        body = [p for p in toss_objective.body_parameters(self.body, com) if p.name != "rounding"] if with_body else []
        return [*self.contact, *body]

    def model(self, width: float) -> TossModel:
        """Return the simulator as a model of tosses; width: as of TossModel."""

        def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
            states = tosses.states(self.fitted(values), self.gravity, self.drag)
            return self.motions(values, states, steps, tosses.timestep)

        return TossModel(predict, width)

    def fitted(self, values: Mapping[str, float]) -> Body:
        """Return the body with the values of its parameters."""
        return toss_objective.fitted_body(self.body, {"rounding": 0.0, **values})

    def motions(self, values: Mapping[str, float], states: State, steps: NDArray[np.int64], timestep: float) -> Motions:
        """Return the motions of the states (n,), each for its own number of steps (n,)."""
        body, up = self.fitted(values), np.array([0.0, 0.0, values.get("ground", 0.0)])
        lowered = State(states.position - up, states.quaternion, states.velocity, states.angular_velocity)
        contact = {p.name: values[p.name] for p in self.contact}
        setting = Setting(timestep, np.asarray(self.gravity, dtype=np.float64))

        def toss(group: NDArray[np.int64], n: int) -> Poses:
            position, quaternion = self.engine.toss(body, lowered[group], n, setting, contact, self.drag)
            return position + up, quaternion

        return _by_length(steps, toss)


def _by_length(steps: NDArray[np.int64], toss: Callable[[NDArray[np.int64], int], Poses]) -> Motions:
    """Return motions, each of its own number of steps (n,); `toss` simulates a group of them for the same steps."""
    motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
    for group in toss_objective.groups_alike(steps):
        for i, position, quaternion in zip(group.tolist(), *toss(group, int(steps[group].max()))):
            motions[i] = position, quaternion
    return motions


def fitted_values(model: TossModel, parameters: list[Parameter], tosses: Any, progress: Progress) -> dict[str, float]:
    """Return the values of a model's parameters, fitted to tosses as `model` takes them."""
    found = toss_objective.fit(model, parameters, tosses, errors=False, progress=progress)
    return dict(zip((p.name for p in parameters), found.values.tolist()))


# `mujoco.sysid`, with our windows and starts.


def has_sysid() -> bool:
    """Return whether `mujoco.sysid` and the packages that it needs are installed."""
    return all(find_spec(name) is not None for name in ("mujoco", "absl", "tabulate", "yaml", "colorama"))


def _fit_stages(rival: "SysidRival | SysidJointed", tosses: Any, stages: Sequence[Stage], progress: Progress) -> None:
    """Fit growing windows of tosses, one stage after the other."""
    for number, (window, max_tosses, iterations) in enumerate(stages, 1):
        some = tosses[drawn(len(tosses), max_tosses, 0)]
        rival.found.fit(rival.segments(some, window), iterations)
        progress(number, len(stages))


class SysidRival:
    """MuJoCo's contact, the size, inertia and centre of mass of a box and the ground's height, by `mujoco.sysid`.

    Masses stay as they are: they are not observable in tosses. Starts are those of the free flight.

    com: initial guess of the centre of mass [m], shape (3,)
    setting: time between two frames [s], gravity; drag: [1/s]
    width: [m], by which position errors are divided
    """

    def __init__(self, body: Body, com, setting: Setting, width: float, *, drag: float = 0.0) -> None:
        from stiction_studies.engines.mujoco_engine import SUBSTEPS, damp, tossed_box
        from stiction_studies.engines.mujoco_sysid import Identification

        self.gravity, self.drag, self.width = np.array(setting.gravity), drag, width
        self.body = body.reshaped(com=com + 1e-3 * width, rounding=0.0)  # not at the origin, see Identification
        scene = tossed_box(self.body, setting, {p.name: p.start for p in CONTACT[MUJOCO]})
        after = functools.partial(damp, drag=drag)
        self.found = Identification(scene, _numbers(body), ["body"], self._differences, SUBSTEPS, after=after)

    def fit(self, tosses: Tosses, progress: Progress = lambda done, most: None) -> None:
        """Fit short windows first, then whole tosses, as our own fit does."""
        stages = ((12, 64, 8), (25, 64, 8), (None, None, 6))
        _fit_stages(self, tosses, stages, progress)

    def starts(self, tosses: Tosses) -> State:
        """Return the starts of tosses (n,) with the centre of mass and inertia that were found so far."""
        found = self.found.model.body("body")
        axes = Rotation.from_quat(found.iquat, scalar_first=True).as_matrix()
        inertia = axes @ np.diag(found.inertia) @ axes.T
        return tosses.states(self.body.reshaped(com=found.ipos, inertia=inertia, rounding=0.0), self.gravity, self.drag)

    def motions(self, states: State, steps: NDArray[np.int64]) -> Motions:
        """Return the motions of the states (n,), each for its own number of steps (n,)."""
        from stiction_studies.engines.mujoco_engine import rolled

        model = self.found.model
        return _by_length(steps, lambda group, n: rolled(model, states[group], n))

    def segments(self, tosses: Tosses, window: int | None) -> list:
        """Return the recorded tosses until `window` frames after their first touch, for sysid."""
        from stiction_studies.engines.mujoco_sysid import Segment

        states = self.starts(tosses)
        spin = Rotation.from_quat(states.quaternion, scalar_first=True).inv().apply(states.angular_velocity)
        segments = []
        for i, (toss, last) in enumerate(zip(tosses.tosses, last_frames(tosses, window).tolist())):
            n = toss.frames_until(last)
            qpos = np.hstack([toss.position[:n], toss.quaternion[:n]])
            start = np.r_[states.position[i], states.quaternion[i]], np.r_[states.velocity[i], spin[i]]
            segments.append(Segment(start, toss.frame[:n], qpos))
        return segments

    def _differences(self, predicted: NDArray[np.float64], recorded: NDArray[np.float64]) -> NDArray[np.float64]:
        away = (predicted[:, :3] - recorded[:, :3]) * (100 / self.width)
        turn = np.degrees(rotation_vectors(predicted[:, 3:], recorded[:, 3:]))
        return np.hstack([away, turn]) / OUTLIER


def _numbers(body: Body) -> list:
    """Return the parameters of the model: the same of contact as under our own fitter, the size, and the ground."""
    from stiction_studies.engines.mujoco_sysid import ModelParameter

    def apply(name: str, spec: Any, to: float) -> None:
        pair = spec.pairs[0]
        if name == "friction":
            pair.friction[:2] = to
        elif name == "torsion":
            pair.friction[2] = to
        elif name == "time_constant":
            pair.solref[0] = to
        elif name == "damping_ratio":
            pair.solref[1] = to
        elif name == "size":
            spec.geom("body").size = np.array(body.size) / 2 * to
        else:
            spec.geom("ground").pos = [0.0, 0.0, to]

    contact = [(p.name, p.start, p.step, p.low, p.high) for p in CONTACT[MUJOCO]]
    others = [("size", 1.0, 0.001, 0.8, 1.2), ("ground", 0.0, 1e-4, -0.01, 0.01)]
    return [ModelParameter(*row, functools.partial(apply, row[0])) for row in contact + others]


class SysidJointed:
    """MuJoCo's contact and the same parameters of a jointed part as under our own fitter, found by `mujoco.sysid`.

    ready: a stiction.fit.jointed_flight.Prepared
    build: makes the model from the values of the parameters and the time step
    """

    def __init__(self, ready: Any, parameters: list[Parameter], build: Callable[..., tuple[Any, Any]]) -> None:
        from stiction.fit.jointed_starts import SUBSTEPS
        from stiction_studies.engines.mujoco_sysid import Identification, ModelParameter

        self.ready = ready
        self._timestep = ready.fitted.timestep / SUBSTEPS
        # Bounds that sysid can work with are finite.
        bounds = [(max(p.low, p.start - 5 * p.scale), min(p.high, p.start + 5 * p.scale)) for p in parameters]
        numbers = [ModelParameter(p.name, p.start, p.step, *both) for p, both in zip(parameters, bounds)]
        scene = ready.part.spec({p.name: p.start for p in parameters}, self._timestep)
        scene.compile()
        self.found = Identification(
            scene.to_xml(), numbers, [], self._differences, SUBSTEPS, build=lambda v: build(v, self._timestep)[0]
        )

    def fit(self, seconds: float = 0.0, progress: Progress = lambda done, most: None) -> None:
        """Fit growing windows, as our own fit does.

        seconds: of processor time; the rest of it after the last window is spent on more iterations there, until they
            change nothing
        """
        start = time.process_time()
        tosses = self.ready.fitted
        stages = ((6, 96, 8), (12, 96, 8), (16, None, 5))
        _fit_stages(self, tosses, stages, progress)
        window, _most, iterations = stages[-1]
        before: dict[str, float] = {}
        while time.process_time() - start < seconds and before != self.found.values:
            before = self.found.values
            self.found.fit(self.segments(tosses, window), iterations)

    def segments(self, tosses: Any, window: int | None) -> list:
        """Return the recorded tosses until `window` frames after their first touch, for sysid."""
        from stiction.fit.jointed_recording import rest_heights
        from stiction_studies.engines.mujoco_sysid import Segment

        model, nq = self.found.model, self.found.model.nq
        states = tosses.states(tosses.part.model(self.found.values, self._timestep, contact=False))
        lowered = rest_heights(model, tosses.tosses)
        segments = []
        for state, toss, height, last in zip(states, tosses.tosses, lowered, last_frames(tosses, window).tolist()):
            n = toss.frames_until(last)
            down = np.r_[0.0, 0.0, height, np.zeros(nq - 3)]
            segments.append(Segment((state[:nq] - down, state[nq:]), toss.frame[:n], toss.qpos[:n] - down))
        return segments

    def _differences(self, predicted: NDArray[np.float64], recorded: NDArray[np.float64]) -> NDArray[np.float64]:
        from stiction.fit.jointed_starts import differences

        return differences(self.ready.part, predicted, recorded) / OUTLIER
