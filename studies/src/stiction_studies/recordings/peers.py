"""MuJoCo, Bullet and DART as predictors of recorded tosses, with the parameters that each offers."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.fit.gauss_newton import Parameter
from stiction.fit.toss_objective import Motions, TossModel, Values, body_parameters, fitted_body, groups_alike
from stiction.recordings.tosses import Tosses

_FRICTION = Parameter("friction", "", 0.2, 0.1, 0.005, 0.01, 2.0)
_BOUNCE = Parameter("restitution", "", 0.15, 0.1, 0.02, 0.0, 1.0)


@dataclass(frozen=True)
class Peer:
    """A simulator: the module of stiction_studies.engines that tosses with it, and its own contact parameters.

    drags: whether it can let a body lose speed in the air
    """

    name: str
    module: str
    package: str
    contact: tuple[Parameter, ...]
    drags: bool = True

    @property
    def toss(self) -> Callable:
        """Its function; imports the engine."""
        return import_module(f"stiction_studies.engines.{self.module}").toss


PEERS = (
    Peer(
        "MuJoCo",
        "mujoco_peer",
        "mujoco",
        (
            _FRICTION,
            Parameter("torsion", "m", 0.005, 0.01, 0.001, 1e-5, 0.1),
            Parameter("time_constant", "s", 0.01, 0.005, 0.0005, 0.0036, 0.1),
            Parameter("damping_ratio", "", 0.6, 0.3, 0.03, 0.05, 2.0),
        ),
    ),
    Peer(
        "Bullet",
        "bullet_peer",
        "pybullet",
        (_FRICTION, _BOUNCE, Parameter("spinning", "m", 0.002, 0.005, 0.0005, 0.0, 0.1)),
    ),
    Peer("DART", "dart_peer", "dartpy", (_FRICTION, _BOUNCE), drags=False),
)


def available() -> list[Peer]:
    """The simulators that are installed."""
    return [peer for peer in PEERS if find_spec(peer.package) is not None]


def peer_parameters(peer: Peer, body: Body, with_body: bool, com=None) -> list[Parameter]:
    """Contact parameters of a peer, and, by choice, those of the body; peers know no rounded edges."""
    own = list(peer.contact)
    if with_body:
        own += [p for p in body_parameters(body, com) if p.name != "rounding"]
    return own


def peer_model(peer: Peer, body: Body, gravity: ArrayLike, width: float, drag: float = 0.0) -> TossModel:
    """Return a peer as a model of tosses; gravity (3,) [m/s^2], width: as of TossModel, drag [1/s]."""
    names = [p.name for p in peer.contact]

    def predict(values: Values, tosses: Tosses, steps: NDArray[np.int64]) -> Motions:
        fitted = fitted_body(body, {"rounding": 0.0, **values})
        states = tosses.states(fitted, gravity, drag)
        contact = {name: values[name] for name in names} | ({"drag": drag} if peer.drags else {})
        return peer_motions(peer, fitted, states, steps, tosses.timestep, gravity, values.get("ground", 0.0), contact)

    return TossModel(predict, width)


def peer_motions(peer: Peer, body: Body, states: State, steps, timestep, gravity, ground, contact) -> Motions:
    """Motions of the states (n,), each for its own number of steps (n,); gravity (3,)."""
    lowered = State(states.position - [0, 0, ground], states.quaternion, states.velocity, states.angular_velocity)
    motions: Motions = [(np.empty(0), np.empty(0))] * len(steps)
    for group in groups_alike(steps):
        most = int(steps[group].max())
        position, quaternion = peer.toss(body, lowered[group], most, timestep=timestep, gravity=gravity, **contact)
        for k, i in enumerate(group.tolist()):
            motions[i] = position[k] + [0, 0, ground], quaternion[k]
    return motions
