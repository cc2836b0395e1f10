"""MuJoCo, Bullet and DART as predictors of recorded tosses of a box, with the contact parameters that each offers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.fit.gauss_newton import Parameter
from stiction.fit.toss_objective import Motions, Predict, body_parameters, fitted_body, groups_alike
from stiction.recordings.tosses import Tosses
from stiction.simulation.motion import Setting
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, Engine, installed

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
        body = [p for p in body_parameters(self.body, com) if p.name != "rounding"] if with_body else []
        return [*self.contact, *body]

    @property
    def predict(self) -> Predict:
        """The function that predicts tosses from the values of the parameters."""

        def predict(values: dict[str, float], tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
            states = tosses.states(self.fitted(values), self.gravity, self.drag)
            return self.motions(values, states, steps, tosses.timestep)

        return predict

    def fitted(self, values: Mapping[str, float]) -> Body:
        """Return the body with the values of its parameters."""
        return fitted_body(self.body, {"rounding": 0.0, **values})

    def motions(self, values: Mapping[str, float], states: State, steps: NDArray[np.int64], timestep: float) -> Motions:
        """Return the motions of the states (n,), each for its own number of steps (n,)."""
        body, up = self.fitted(values), np.array([0.0, 0.0, values.get("ground", 0.0)])
        lowered = State(states.position - up, states.quaternion, states.velocity, states.angular_velocity)
        contact = {p.name: values[p.name] for p in self.contact}
        setting = Setting(timestep, np.asarray(self.gravity, dtype=np.float64))
        motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
        for group in groups_alike(steps):
            most = int(steps[group].max())
            position, quaternion = self.engine.toss(body, lowered[group], most, setting, contact, self.drag)
            for k, i in enumerate(group.tolist()):
                motions[i] = position[k] + up, quaternion[k]
        return motions


def engines() -> list[Engine]:
    """Return the simulators that are installed."""
    return list(installed().values())
