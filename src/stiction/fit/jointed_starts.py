"""The states at the start of each toss of a jointed part, from its frames of free flight.

Each start is the least-squares solution for the frames in flight, first by polynomials, then by Gauss-Newton through
MuJoCo's motion without contact. The Jacobian hardly changes with the parameters of the part, so that it is found once
(`Starts`), and a start for other parameters takes two simulations (`states`). Contact is simulated from shortly before
the touch on: the flight before is the same for all parameters that do not affect it, and is cached (`flown`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from mujoco import rollout as mujoco_rollout
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.rotations import rotation_vectors
from stiction.fit.jointed_part import POSE, JointedPart
from stiction.fit.jointed_recording import JointedToss, JointedTosses
from stiction.fit.toss_objective import groups_alike
from stiction.laws.material import Material
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.rollouts import rollout
from stiction.simulation.rollout import processors


def differences(part: JointedPart, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the differences from qpos b to qpos a, each (n, 7 + joints), in shape (n, 6 + joints).

    Position of the base [% of the part's length], its rotation vector in world axes [degrees], hinges [degrees], slides
    [% of the length].
    """
    percent = 100 / part.length
    scale = np.where(part.hinges, np.degrees(1.0), percent)
    turn = np.degrees(rotation_vectors(a[:, 3:POSE], b[:, 3:POSE]))
    return np.hstack([(a[:, :3] - b[:, :3]) * percent, turn, (a[:, POSE:] - b[:, POSE:]) * scale])


SUBSTEPS = 8  # time steps of a frame, which resolve corners that land shortly after one another
# From a model and states (n, nq + nv) to the states at each of the given number of frames, (n, frames, nq + nv).
Roll = Callable[[Any, NDArray[np.float64], int], NDArray[np.float64]]


def roll_plainly(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
    """Simulate by MuJoCo alone."""
    found, _ = mujoco_rollout.rollout(model, _data(model), _with_time(states), nstep=SUBSTEPS * frames)
    return _at_frames(np.asarray(cast(Any, found)))


def roll_with(material: Material, links: tuple[str, ...]) -> Roll:
    """Return how to simulate with a material between these bodies and all that they touch."""
    laws: Mapping[Any, Any] = {name: material for name in links}

    def roll(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
        return _at_frames(rollout(model, _data(model), _with_time(states), laws=laws, nstep=SUBSTEPS * frames)[0])

    return roll


def _data(model: Any) -> list[Any]:
    """Return data for as many threads as this process has processors."""
    return [mujoco.MjData(model) for _ in range(processors())]


def _with_time(states: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([np.zeros((len(states), 1)), states])


def _at_frames(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the states at frames, without their time, from those after each step."""
    return found[:, SUBSTEPS - 1 :: SUBSTEPS, 1:]


def states_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """Return the states at each frame, at least (steps + 1, nq + nv), of motions with these numbers of frames (n,)."""
    found: list[NDArray] = [np.empty(0)] * len(steps)
    for group in groups_alike(steps):
        run = roll(model, states[group], max(1, int(steps[group].max())))
        frames = np.concatenate([states[group, np.newaxis], run], axis=1)
        for k, i in enumerate(group.tolist()):
            found[i] = frames[k]
    return found


def frames_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """Return qpos at each frame of the same motions, at least (steps + 1, nq)."""
    nq = (states.shape[1] + 1) // 2  # a free base has one number more than velocities, joints have one each
    return [found[:, :nq] for found in states_of(roll, model, states, steps)]


@dataclass(frozen=True)
class Flown:
    """The free motion of each toss up to shortly before its first touch.

    qpos: of each toss by frame, (last + 1, nq); last: the last of these frames (n,); states: there (n, nq + nv)
    """

    qpos: list[NDArray[np.float64]]
    last: NDArray[np.int64]
    states: NDArray[np.float64]


class Starts:
    """Tosses and their starts.

    tosses: each of them starts in flight; timestep: of the frames [s]
    model: the part without contact
    """

    def __init__(self, part: JointedPart, tosses: JointedTosses, model: Any) -> None:
        self.part, self.tosses, self.timestep = part, tosses.tosses, tosses.timestep
        # Deliberate offsets of the starts.
        self._shift = np.zeros((len(self.tosses), 2 * (POSE - 1 + len(part.joints))))
        self._flown: dict[bytes, Flown] = {}
        self._flights = np.array([toss.frame[toss.flight - 1] for toss in self.tosses])
        self._near = np.stack([_by_polynomials(toss, self.timestep) for toss in self.tosses])
        for _ in range(2):
            self._linearise(model)
            self._near = self.states(model)
        self._linearise(model)

    def __len__(self) -> int:
        return len(self.tosses)

    def __getitem__(self, which) -> "Starts":
        """Return the starts of the tosses with these numbers."""
        which = np.atleast_1d(which)
        some = object.__new__(Starts)
        some.part, some.tosses, some.timestep = self.part, [self.tosses[int(i)] for i in which], self.timestep
        some._flights, some._near = self._flights[which], self._near[which]
        some._shift, some._flown = self._shift[which], {}
        some._inverses = [self._inverses[int(i)] for i in which]
        return some

    def states(self, model: Any) -> NDArray[np.float64]:
        """Return the state (n, nq + nv) at frame 0 of each toss, for this model without contact."""
        states = self._near
        for _ in range(2):
            moves = np.stack([inverse @ r.ravel() for inverse, r in zip(self._inverses, self._missed(model, states))])
            states = _moved(states, -moves, self.part)
        return _moved(states, self._shift, self.part)

    def flown(self, model: Any) -> Flown:
        """Return the free motion of this model; it is cached, since most fitted parameters do not affect flight."""
        key = _numbers_in_flight(model)
        if key not in self._flown:
            if len(self._flown) >= 64:
                self._flown.clear()
            last = np.maximum(self._flights - 3, 0)  # another shape may touch earlier
            found = states_of(roll_plainly, model, self.states(model), last)
            qpos = [motion[: n + 1, : model.nq] for motion, n in zip(found, last.tolist())]
            there = np.stack([motion[n] for motion, n in zip(found, last.tolist())])
            self._flown[key] = Flown(qpos, last, there)
        return self._flown[key]

    def stray(self, model: Any) -> NDArray[np.float64]:
        """Return the rms residual of each flight [percent and degrees], shape (n,)."""
        return np.array([np.sqrt((r**2).sum(axis=1).mean()) for r in self._missed(model, self.states(model))])

    def shaken(self, noise: float, rng: np.random.Generator) -> "Starts":
        """Return the starts for frames in flight with additional noise of this size, in percent and degrees."""
        other = self[np.arange(len(self))]
        moves = [inverse @ rng.normal(0.0, noise, inverse.shape[1]) for inverse in self._inverses]
        other._shift = np.stack(moves)
        return other

    def _missed(self, model: Any, states: NDArray) -> list[NDArray]:
        """Return the residuals of each toss in its frames of flight (frames, 6 + joints)."""
        found = frames_of(roll_plainly, model, states, self._flights)
        flights = [toss.flight for toss in self.tosses]
        at = [motion[toss.frame[:n]] for motion, toss, n in zip(found, self.tosses, flights)]
        recorded = [toss.qpos[:n] for toss, n in zip(self.tosses, flights)]
        rows = differences(self.part, np.concatenate(at), np.concatenate(recorded))
        return np.split(rows, np.cumsum(flights)[:-1])

    def _linearise(self, model: Any) -> None:
        """Find the pseudo-inverses of the derivatives of the frames in flight with respect to the starts."""
        here, joints = self._missed(model, self._near), self.part.hinges
        metre, radian, speed, spin = 1e-4, 1e-3, 1e-3, 1e-2  # steps of the finite differences [m, rad, m/s, rad/s]
        steps = [metre] * 3 + [radian] * 3 + [radian if hinge else metre for hinge in joints]
        steps += [speed] * 3 + [spin] * 3 + [spin if hinge else speed for hinge in joints]
        columns = []
        for k, step in enumerate(steps):
            move = np.zeros((len(self.tosses), len(steps)))
            move[:, k] = step
            there = self._missed(model, _moved(self._near, move, self.part))
            columns.append([(b - a).ravel() / step for a, b in zip(here, there)])
        self._inverses = [np.linalg.pinv(np.stack(rows, axis=1), rcond=1e-8) for rows in zip(*columns)]


def _numbers_in_flight(model: Any) -> bytes:
    """Return all numbers of a model that its free motion depends on."""
    inertia = model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat, model.body_pos
    joints = model.dof_damping, model.dof_frictionloss, model.opt.gravity, np.array([model.opt.timestep])
    return b"".join(np.ascontiguousarray(numbers).tobytes() for numbers in (*inertia, *joints))


def _moved(states: NDArray, moves: NDArray, part: JointedPart) -> NDArray[np.float64]:
    """Return states (n, nq + nv) moved by (n, 2 nv): position, rotation vector in world axes, joints, velocities."""
    joints = len(part.joints)
    nq, nv = POSE + joints, POSE - 1 + joints
    result = states.copy()
    result[:, :3] += moves[:, :3]
    turn = Rotation.from_rotvec(moves[:, 3:6]) * Rotation.from_quat(states[:, 3:POSE], scalar_first=True)
    result[:, 3:POSE] = turn.as_quat(scalar_first=True)
    result[:, POSE:nq] += moves[:, 6:nv]
    result[:, nq:] += moves[:, nv:]
    return result


def _by_polynomials(toss: JointedToss, timestep: float) -> NDArray[np.float64]:
    """Return the state at frame 0 by a parabola through the frames of flight for each coordinate."""
    n = toss.flight
    t = timestep * toss.frame[:n]
    solve = np.linalg.pinv(np.stack([np.ones_like(t), t, t**2], axis=1))[:2]
    place, velocity = solve @ toss.qpos[:n, :3]
    joints, rates = solve @ toss.qpos[:n, POSE:]
    recorded = Rotation.from_quat(toss.qpos[:n, 3:POSE], scalar_first=True)
    middle = recorded[n // 2]
    about = (middle.inv() * recorded).as_rotvec()
    for k in range(1, n):  # rotation vectors jump by a whole turn where they are half a turn long
        size = np.linalg.norm(about[k])
        if size > 0 and np.linalg.norm(about[k] - about[k - 1]) > np.pi:
            about[k] *= 1 - 2 * np.pi / size
    turn, rate = solve @ about
    first = middle * Rotation.from_rotvec(turn)
    later = middle * Rotation.from_rotvec(turn + 1e-6 * rate)
    spin = (first.inv() * later).as_rotvec() / 1e-6  # in body axes, as MuJoCo has it
    return np.concatenate([place, first.as_quat(scalar_first=True), joints, velocity, spin, rates])
