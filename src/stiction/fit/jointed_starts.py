"""The state at the begin of each toss that its frames of free flight tell, through the part's own free motion.

First by polynomials; then by Gauss-Newton through MuJoCo's motion without contact. How poses in flight follow from the
start hardly changes with the numbers of the part that are fitted, so this is found once (`Starts`), and the start for
other numbers takes two free motions (`states`). Contact is simulated from shortly before the touch on: what comes
before is free motion whatever the contact is, and the same for all numbers that do not show in flight (`flown`).
"""

import os
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

# How far motions of a jointed part are apart: its base, in percent of a length and degrees, and its joints.


def differences(part: JointedPart, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """From qpos b to qpos a, each (n, 7 + joints): shape (n, 6 + joints).

    Position of the base [% of the part's length], its rotation vector in world axes [degrees], hinges [degrees], slides
    [% of the length].
    """
    percent = 100 / part.length
    scale = np.where(part.hinges, np.degrees(1.0), percent)
    turn = np.degrees(rotation_vectors(a[:, 3:POSE], b[:, 3:POSE]))
    return np.hstack([(a[:, :3] - b[:, :3]) * percent, turn, (a[:, POSE:] - b[:, POSE:]) * scale])


# Many motions of one MuJoCo model by its own steps and its own contact, in threads.


def threads() -> int:
    """As many as this process has cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def motions(model: Any, starts: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """States after each of `steps` (n, steps, nstate) from `starts` (n, nstate), both of mjSTATE_FULLPHYSICS."""
    data = [mujoco.MjData(model) for _ in range(threads())]
    found, _ = mujoco_rollout.rollout(model, data, starts, nstep=steps)
    return np.asarray(cast(Any, found))


# Motions of a jointed part: without contact, with a material, or with MuJoCo's own contact.


SUBSTEPS = 8  # time steps of a frame: corners that land one shortly after the other are to be told apart
# From a model and states (n, nq + nv), the states at each of so many frames after them, (n, frames, nq + nv).
Roll = Callable[[Any, NDArray[np.float64], int], NDArray[np.float64]]


def roll_plainly(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
    """By MuJoCo alone."""
    return _at_frames(motions(model, _with_time(states), SUBSTEPS * frames))


def roll_with(material: Material, links: tuple[str, ...]) -> Roll:
    """With a material between these bodies and all that they touch."""
    laws: Mapping[Any, Any] = {name: material for name in links}

    def roll(model: Any, states: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
        data = [mujoco.MjData(model) for _ in range(threads())]
        return _at_frames(rollout(model, data, _with_time(states), laws=laws, nstep=SUBSTEPS * frames)[0])

    return roll


def states_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """States at each frame, (steps + 1, nq + nv) at least, of motions that last so many frames each (n,)."""
    found: list[NDArray] = [np.empty(0)] * len(steps)
    for group in groups_alike(steps):
        run = roll(model, states[group], max(1, int(steps[group].max())))
        frames = np.concatenate([states[group, np.newaxis], run], axis=1)
        for k, i in enumerate(group.tolist()):
            found[i] = frames[k]
    return found


def frames_of(roll: Roll, model: Any, states: NDArray[np.float64], steps: NDArray[np.int64]) -> list[NDArray]:
    """Positions qpos at each frame of the same motions, (steps + 1, nq) at least."""
    nq = (states.shape[1] + 1) // 2  # a free base has one number more than velocities, joints have one each
    return [found[:, :nq] for found in states_of(roll, model, states, steps)]


def _with_time(states: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([np.zeros((len(states), 1)), states])


def _at_frames(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of states after each step, with their time, those at frames, without."""
    return found[:, SUBSTEPS - 1 :: SUBSTEPS, 1:]


_ROUNDS = 2  # of Gauss-Newton after the polynomials
_CORRECTIONS = 2  # of a start for other numbers of the part
_LEAD = 3  # frames of flight that are left to the simulation with contact: another shape may touch earlier
_KEPT = 64  # flights with other numbers of the part that are remembered
_STEPS = (1e-4, 1e-3, 1e-3, 1e-2)  # [m], [rad], [m/s], [rad/s] of the finite differences


@dataclass(frozen=True)
class Flown:
    """The free motion of each toss up to shortly before its first touch.

    qpos: of each toss by frame, (last + 1, nq); last: the last of these frames (n,); states: there (n, nq + nv)
    """

    qpos: list[NDArray[np.float64]]
    last: NDArray[np.int64]
    states: NDArray[np.float64]


class Starts:
    """Tosses, and what their flights tell about their starts.

    tosses: each of them begins with its flight; timestep: of the frames [s]
    model: the part without contact
    """

    def __init__(self, part: JointedPart, tosses: JointedTosses, model: Any) -> None:
        self.part, self.tosses, self.timestep = part, tosses.tosses, tosses.timestep
        # By how much each start is off on purpose.
        self._shift = np.zeros((len(self.tosses), 2 * (POSE - 1 + len(part.joints))))
        self._flown: dict[bytes, Flown] = {}
        self._flights = np.array([toss.frame[toss.flight - 1] for toss in self.tosses])
        self._near = np.stack([_by_polynomials(toss, self.timestep) for toss in self.tosses])
        for _ in range(_ROUNDS):
            self._learn(model)
            self._near = self.states(model)
        self._learn(model)

    def __len__(self) -> int:
        return len(self.tosses)

    def __getitem__(self, which) -> "Starts":
        """Of the tosses with these numbers."""
        which = np.atleast_1d(which)
        some = object.__new__(Starts)
        some.part, some.tosses, some.timestep = self.part, [self.tosses[int(i)] for i in which], self.timestep
        some._flights, some._near = self._flights[which], self._near[which]
        some._shift, some._flown = self._shift[which], {}
        some._answers = [self._answers[int(i)] for i in which]
        return some

    def states(self, model: Any) -> NDArray[np.float64]:
        """The state (n, nq + nv) at frame 0 of each toss, for a part of these numbers, without contact."""
        states = self._near
        for _ in range(_CORRECTIONS):
            moves = np.stack([answer @ r.ravel() for answer, r in zip(self._answers, self._missed(model, states))])
            states = _moved(states, -moves, self.part)
        return _moved(states, self._shift, self.part)

    def flown(self, model: Any) -> Flown:
        """The free motion of a part of these numbers; remembered, since most fitted numbers do not show in flight."""
        key = _numbers_in_flight(model)
        if key not in self._flown:
            if len(self._flown) >= _KEPT:
                self._flown.clear()
            last = np.maximum(self._flights - _LEAD, 0)
            found = states_of(roll_plainly, model, self.states(model), last)
            qpos = [motion[: n + 1, : model.nq] for motion, n in zip(found, last.tolist())]
            there = np.stack([motion[n] for motion, n in zip(found, last.tolist())])
            self._flown[key] = Flown(qpos, last, there)
        return self._flown[key]

    def stray(self, model: Any) -> NDArray[np.float64]:
        """By how much each flight misses its frames, rms of percents and degrees, shape (n,)."""
        return np.array([np.sqrt((r**2).sum(axis=1).mean()) for r in self._missed(model, self.states(model))])

    def shaken(self, noise: float, rng: np.random.Generator) -> "Starts":
        """The same as if the numbers of each frame in flight were off by `noise`, in percent and degrees."""
        other = self[np.arange(len(self))]
        moves = [answer @ rng.normal(0.0, noise, answer.shape[1]) for answer in self._answers]
        other._shift = np.stack(moves)
        return other

    def _missed(self, model: Any, states: NDArray) -> list[NDArray]:
        """What is left in the frames of flight (frames, 6 + joints)."""
        found = frames_of(roll_plainly, model, states, self._flights)
        flights = [toss.flight for toss in self.tosses]
        at = [motion[toss.frame[:n]] for motion, toss, n in zip(found, self.tosses, flights)]
        recorded = [toss.qpos[:n] for toss, n in zip(self.tosses, flights)]
        rows = differences(self.part, np.concatenate(at), np.concatenate(recorded))
        return np.split(rows, np.cumsum(flights)[:-1])

    def _learn(self, model: Any) -> None:
        """Find how the frames in flight answer to the start, and from that how the start follows from them."""
        here = self._missed(model, self._near)
        dofs = POSE - 1 + len(self.part.joints)
        steps = _finite_steps(self.part)
        columns = []
        for k in range(2 * dofs):
            move = np.zeros((len(self.tosses), 2 * dofs))
            move[:, k] = steps[k]
            there = self._missed(model, _moved(self._near, move, self.part))
            columns.append([(b - a).ravel() / steps[k] for a, b in zip(here, there)])
        self._answers = [np.linalg.pinv(np.stack(rows, axis=1), rcond=1e-8) for rows in zip(*columns)]


def _numbers_in_flight(model: Any) -> bytes:
    """All numbers of a model that its free motion depends on."""
    inertia = model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat, model.body_pos
    joints = model.dof_damping, model.dof_frictionloss, model.opt.gravity, np.array([model.opt.timestep])
    return b"".join(np.ascontiguousarray(numbers).tobytes() for numbers in (*inertia, *joints))


def _finite_steps(part: JointedPart) -> NDArray[np.float64]:
    joints = [_STEPS[1] if turns else _STEPS[0] for turns in part.hinges]
    rates = [_STEPS[3] if turns else _STEPS[2] for turns in part.hinges]
    return np.array([_STEPS[0]] * 3 + [_STEPS[1]] * 3 + joints + [_STEPS[2]] * 3 + [_STEPS[3]] * 3 + rates)


def _moved(states: NDArray, moves: NDArray, part: JointedPart) -> NDArray[np.float64]:
    """States (n, nq + nv) moved by (n, 2 nv): position, rotation vector in world axes, joints, velocities."""
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
    """The state at frame 0 by parabolas through the frames of flight, of all coordinates by themselves."""
    n = toss.flight
    t = timestep * toss.frame[:n]
    solve = np.linalg.pinv(np.stack([np.ones_like(t), t, t**2], axis=1))[:2]
    place, velocity = solve @ toss.qpos[:n, :3]
    joints, rates = solve @ toss.qpos[:n, POSE:]
    recorded = Rotation.from_quat(toss.qpos[:n, 3:POSE], scalar_first=True)
    middle = recorded[n // 2]
    about = (middle.inv() * recorded).as_rotvec()
    for k in range(1, n):  # a rotation vector jumps by a whole turn where it is half a turn long
        size = np.linalg.norm(about[k])
        if size > 0 and np.linalg.norm(about[k] - about[k - 1]) > np.pi:
            about[k] *= 1 - 2 * np.pi / size
    turn, rate = solve @ about
    first = middle * Rotation.from_rotvec(turn)
    later = middle * Rotation.from_rotvec(turn + 1e-6 * rate)
    spin = (first.inv() * later).as_rotvec() / 1e-6  # in body axes, as MuJoCo has it
    return np.concatenate([place, first.as_quat(scalar_first=True), joints, velocity, spin, rates])
