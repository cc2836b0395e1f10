"""Ground truths of other contacts: one simulator of corners that rub, bounce, spin, stick and remember.

A step is that of the paper: v1 = v + h M^-1 tau, impulses of the corners below the ground, positions by the velocity
after it. Corner i has a normal impulse n_i and friction f_i, with w the velocity after the step less its target (a
rebound along the normal, a tangential rebound along the ground):

    0 <= n_i + a h  _|_  w_z >= 0,     |f_i| <= mu (n_i + a h),     f_i against w_t, turned by the skew, where it slips

mu is any function of the slip, a the adhesion. A soft corner also has a torque about the normal of at most
mu (n_i + a h) times its radius, and one against rolling. Friction with memory follows bristles (Dahl, "A solid friction
model", 1968), or the age of the contact (Dieterich, "Modeling of rock friction", 1979).

The impulses are found by block Gauss-Seidel sweeps over the corners, written for batches in NumPy; the solver shares no
line with those of the core.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import State
from stiction.simulation.motion import Motion, to_motion

_SWEEPS, _TOLERANCE = 100, 1e-6  # of an impulse, relative to the greatest one of the body
FRESH = 0.05  # [s] age of a new contact


class Slip(NamedTuple):
    """The slip of k corners, by which a coefficient of friction may be given.

    direction: of slip, world axes (k, 2); rotation: of the body (k, 3, 3)
    speed: at the start of the step [m/s]; load: [N]; place: on the ground (k, 2) [m]; age: of the contact [s]; all (k,)
    """

    direction: NDArray[np.float64]
    rotation: NDArray[np.float64]
    speed: NDArray[np.float64]
    load: NDArray[np.float64]
    place: NDArray[np.float64]
    age: NDArray[np.float64]


@dataclass(frozen=True)
class Corners:
    """A ground truth of corners, for `stiction.collect`.

    friction: coefficient, as a function of the slip
    restitution: as a function of the approach speed [m/s]; tangential: share of the slip that an impact turns around
    skew: angle from the direction against the slip to that of friction [rad]
    spinning, rolling: torque about the normal and against rolling over friction and over load [m]
    bristle: way over which friction builds up [m]; forgetting: slip after which the age of a contact is forgotten [m]
    adhesion: pull of a corner that is about to leave the ground [N]
    """

    friction: Callable[[Slip], NDArray[np.float64]]
    restitution: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    tangential: float = 0.0
    skew: float = 0.0
    spinning: float = 0.0
    rolling: float = 0.0
    bristle: float = 0.0
    forgetting: float = 0.0
    adhesion: float = 0.0

    @property
    def remembers(self) -> bool:
        """Whether a step depends on more than the state before it."""
        return self.bristle > 0 or self.forgetting > 0

    def throw(self, body: Body, state: State, steps: int, *, timestep: float, gravity: Any) -> dict[str, NDArray]:
        """The motion of the body from each state of a batch (n,)."""
        motion, gravity = to_motion(body, state), np.asarray(gravity, dtype=np.float64)
        moving = _Moving(self, body, motion, timestep, gravity)
        frames = [motion]
        for _ in range(steps):
            frames.append(moving.step())
        parts = [np.stack(part, axis=1) for part in zip(*frames)]
        flat = [part.reshape(-1, part.shape[-1]) for part in parts]
        frame = _core.to_body_frame(body.com, *flat)
        shape = (len(motion.position), steps + 1, 3)
        position, velocity, spin = (np.asarray(part).reshape(shape) for part in frame)
        return {"position": position, "quaternion": parts[1], "velocity": velocity, "angular_velocity": spin}


class _Moving:
    """Bodies that move, with the memory of their corners: impulses, bristles and ages, (n, V, ...)."""

    def __init__(self, ground: Corners, body: Body, motion: Motion, timestep: float, gravity: NDArray) -> None:
        self.ground, self.body, self.h, self.gravity = ground, body, timestep, gravity
        self.motion, self.arms = motion, body.vertices - body.com
        n, corners = len(motion.position), len(body.vertices)
        self.impulse = np.zeros((n, corners, 6))
        self.bristle, self.age = np.zeros((n, corners, 2)), np.full((n, corners), FRESH)

    def step(self) -> Motion:
        """One time step."""
        h, (position, quaternion, twist) = self.h, self.motion
        R = rotation_matrices(quaternion)
        arms = self.arms @ np.swapaxes(R, 1, 2)
        height = position[:, np.newaxis, 2] + arms[..., 2]
        touches = height <= _core.TOUCH
        after = np.array(_core.free_twists(self.body.hull, quaternion, twist, h, self.gravity))
        rows, way = np.flatnonzero(touches.any(axis=1)), h * after
        if len(rows):
            after[rows], rise = self._contact(rows, R[rows], arms[rows], touches[rows], after[rows], height[rows])
            way = h * after
            way[rows] += rise
        self.impulse[~touches] = 0.0
        self.bristle[~touches], self.age[~touches] = 0.0, FRESH
        self.motion = Motion(position + way[:, :3], _turned(quaternion, way[:, 3:]), after)
        return self.motion

    def _contact(
        self, rows: NDArray, R: NDArray, arms: NDArray, touches: NDArray, v1: NDArray, height: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Twists after the contact of some bodies, and their ways out of the ground, which velocities do not see."""
        corners = np.argsort(~touches, axis=1, kind="stable")[:, : touches.sum(axis=1).max()]
        at = rows[:, np.newaxis], corners
        there, arm = (np.take_along_axis(part, index, 1) for part, index in (
            (touches, corners), (arms, corners[..., np.newaxis])))  # fmt: skip
        J = np.zeros((*arm.shape[:2], 6, 6))  # velocities and spins of the corners, by the twist
        J[..., range(6), range(6)] = 1.0
        arm[..., 2] = 0.5 * (arm[..., 2] - self.motion.position[rows, np.newaxis, 2])  # at half the depth
        x, y, z = (arm[..., k] for k in range(3))
        J[..., 0, 4], J[..., 0, 5], J[..., 1, 3], J[..., 1, 5], J[..., 2, 3], J[..., 2, 4] = z, -y, -z, x, y, -x
        inverse = np.zeros((len(rows), 6, 6))
        inverse[:, range(3), range(3)] = 1 / self.body.mass
        inverse[:, 3:, 3:] = R @ np.linalg.inv(self.body.inertia) @ np.swapaxes(R, 1, 2)
        before = np.einsum("mkij,mj->mki", J, self.motion.twist[rows])
        ground, slip = self.ground, before[..., :2]
        speed = np.linalg.norm(slip, axis=-1)
        if ground.bristle:
            bent = self.bristle[at] + self.h * slip
            self.bristle[at] = bent / (1 + self.h * speed / ground.bristle)[..., np.newaxis]
        if ground.forgetting:
            self.age[at] = (self.age[at] + self.h) / (1 + self.h * speed / ground.forgetting)
        target = np.zeros((*arm.shape[:2], 3))
        fast = (before[..., 2] < -0.05)[..., np.newaxis]
        if ground.restitution is not None:
            target[..., 2] = ground.restitution(np.maximum(-before[..., 2], 0.0)) * np.maximum(-before[..., 2], 0.0)
        target[..., :2] = -ground.tangential * slip * fast
        place = self.motion.position[rows, np.newaxis, :2] + arm[..., :2]
        response = inverse[:, np.newaxis] @ np.swapaxes(J, -1, -2)
        bent = self.bristle[at] / (ground.bristle or 1.0)
        own = J @ response
        a, b, c = own[..., 0, 0], own[..., 0, 1], own[..., 1, 1]
        stiffest = 0.5 * (a + c + np.sqrt((a - c) ** 2 + 4 * b * b))
        inverse = np.linalg.inv(own[..., :3, :3]).astype(np.float64)
        more = there, self.impulse[at], target, R, speed, place, bent, self.age[at]
        problem = _Problem(v1, J, response, own, inverse, stiffest, *more)
        depth = np.where(there, -np.take_along_axis(height, corners, 1), 0.0)
        rise = problem.rise(np.minimum(0.01 * depth, 1e-3 * self.h))
        twist, self.impulse[at] = problem.solve(ground, self.h)
        return twist, rise


@dataclass
class _Problem:
    """The contacts of m bodies, with at most K corners each.

    twist: (m, 6); J: (m, K, 6, 6); response: of the twist to impulses and torques of the corners (m, K, 6, 6)
    own: response of a corner's velocity and spin to its own impulse and torque (m, K, 6, 6); inverse: of the part that
        belongs to its impulse (m, K, 3, 3); stiffest: greatest response along the ground (m, K)
    there: (m, K); impulse: f, n and torques (m, K, 6); target: (m, K, 3); rotation: (m, 3, 3)
    speed: (m, K); place: (m, K, 2); bent: of the bristles over their limit (m, K, 2); age: (m, K)
    """

    twist: NDArray[np.float64]
    J: NDArray[np.float64]
    response: NDArray[np.float64]
    own: NDArray[np.float64]
    inverse: NDArray[np.float64]
    stiffest: NDArray[np.float64]
    there: NDArray[np.bool_]
    impulse: NDArray[np.float64]
    target: NDArray[np.float64]
    rotation: NDArray[np.float64]
    speed: NDArray[np.float64]
    place: NDArray[np.float64]
    bent: NDArray[np.float64]
    age: NDArray[np.float64]

    def solve(self, ground: Corners, h: float) -> tuple[NDArray, NDArray]:
        """Twists (m, 6) and impulses (m, K, 6) after sweeps until no impulse changes."""
        self.impulse[~self.there] = 0.0
        twist = self.twist + np.einsum("mkij,mkj->mi", self.response, self.impulse)
        twists, impulses = twist.copy(), self.impulse.copy()
        part, rows = replace(self, twist=twist), np.arange(len(twist))
        for sweep in range(_SWEEPS):
            change = np.zeros(len(rows))
            for k in range(self.there.shape[1]):
                np.maximum(change, part.relax(ground, h, k), out=change)
            if sweep % 5 == 4 or not change.any():
                twists[rows], impulses[rows] = part.twist, part.impulse
                open_ = change > _TOLERANCE * np.abs(part.impulse[..., :3]).max(axis=(1, 2))
                if not open_.any():
                    break
                part, rows = part.some(open_), rows[open_]
        return twists, impulses

    def rise(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """The ways (m, 6) of bodies whose corners rise by at least this much (m, K) [m], by normal impulses alone."""
        way, push = np.zeros(self.twist.shape), np.zeros(wanted.shape)
        for _ in range(20):
            for k in range(wanted.shape[1]):
                missing = wanted[:, k] - (self.J[:, k, 2] * way).sum(axis=1)
                more = np.maximum(push[:, k] + missing / self.own[:, k, 2, 2], 0.0) * self.there[:, k] - push[:, k]
                push[:, k] += more
                way += self.response[:, k, :, 2] * more[:, np.newaxis]
        return way

    def some(self, which: NDArray[np.bool_]) -> "_Problem":
        """Some of the bodies."""
        if which.all():
            return self
        return _Problem(**{name: values[which] for name, values in vars(self).items()})

    def relax(self, ground: Corners, h: float, k: int) -> NDArray[np.float64]:
        """Solve for the impulses of corner k alone; returns the greatest change of each body's impulses (m,)."""
        there, held, p = self.there[:, k], ground.adhesion * h, self.impulse[:, k]
        was, A = p.copy(), self.own[:, k]
        w = _apply(self.J[:, k, :3], self.twist) - self.target[:, k]
        f, bent = p[:, :2], self.bent[:, k]
        along = bent if ground.bristle else _direction(f)  # of friction, were the slip to stay as it is
        mu = self._coefficient(ground, h, k, -along, p[:, 2] + held)
        push = -mu[:, np.newaxis] * bent if ground.bristle else mu[:, np.newaxis] * along  # friction by a unit of load
        slope = np.maximum(A[:, 2, 2] + (A[:, 2, :2] * push).sum(axis=1), 0.2 * A[:, 2, 2])
        load = np.maximum(p[:, 2] + held - w[:, 2] / slope, 0.0) * there
        new = np.concatenate([push * load[:, np.newaxis], (load - held * there)[:, np.newaxis]], axis=1)
        if not ground.bristle:
            w_t = w[:, :2] + _apply(A[:, :2, :3], new - p[:, :3])
            if ground.skew:
                w_t = _rotated(w_t, ground.skew)
            trial = new[:, :2] - w_t / self.stiffest[:, k, np.newaxis]
            limit = load * self._coefficient(ground, h, k, -trial, load)
            size = np.maximum(np.hypot(trial[:, 0], trial[:, 1]), 1e-300)
            new[:, :2] = trial * np.minimum(1.0, limit / size)[:, np.newaxis]
            stuck = p[:, :3] - _apply(self.inverse[:, k], w)
            stuck_load = stuck[:, 2] + held
            limit = stuck_load * self._coefficient(ground, h, k, -stuck[:, :2], stuck_load)
            holds = there & (stuck_load >= 0) & (np.hypot(stuck[:, 0], stuck[:, 1]) <= limit)
            new = np.where(holds[:, np.newaxis], stuck, new)
        p[:, :3] = new
        if ground.spinning or ground.rolling:
            load = (p[:, 2] + held) * there
            spin = (self.twist + _apply(self.response[:, k], p - was))[:, 3:]
            limit = ground.spinning * load * self._coefficient(ground, h, k, -p[:, :2], load)
            p[:, 5] = np.clip(p[:, 5] - spin[:, 2] / A[:, 5, 5], -limit, limit)
            rolls = p[:, 3:5] - spin[:, :2] / (A[:, 3, 3] + A[:, 4, 4])[:, np.newaxis]
            size = np.maximum(np.hypot(rolls[:, 0], rolls[:, 1]), 1e-300)
            p[:, 3:5] = rolls * np.minimum(1.0, ground.rolling * load / size)[:, np.newaxis]
        moved = p - was
        self.twist += _apply(self.response[:, k], moved)
        return np.abs(moved[:, :3]).max(axis=1)

    def _coefficient(self, ground: Corners, h: float, k: int, slip: NDArray, load: NDArray) -> NDArray[np.float64]:
        """The coefficient of corner k for slip in this direction (m, 2), under a load (m,) [N s]."""
        direction = _direction(slip)
        if ground.skew:
            direction = _rotated(direction, -ground.skew)
        load = np.maximum(load, 1e-300) / h
        return ground.friction(Slip(direction, self.rotation, self.speed[:, k], load, self.place[:, k], self.age[:, k]))


def _direction(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.maximum(np.hypot(vectors[:, 0], vectors[:, 1]), 1e-300)[:, np.newaxis]


def _rotated(vectors: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    (x, y), cos, sin = vectors.T, np.cos(angle), np.sin(angle)
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)


def _apply(matrices: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return (matrices @ vectors[..., np.newaxis])[..., 0]


def _turned(quaternion: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quaternions (n, 4) turned by rotation vectors (n, 3) in world axes."""
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    w, v = np.cos(0.5 * angle)[:, 0], 0.5 * np.sinc(angle / (2 * np.pi)) * turn
    s, u = quaternion[:, 0], quaternion[:, 1:]
    vector = w[:, np.newaxis] * u + s[:, np.newaxis] * v + np.cross(v, u)
    result = np.concatenate([(w * s - (v * u).sum(axis=1))[:, np.newaxis], vector], axis=1)
    return result / np.linalg.norm(result, axis=1, keepdims=True)
