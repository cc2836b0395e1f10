"""Tosses as the fit sees them: recorded poses, which frames fly, and the state at the start that the flight tells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.state import State


@dataclass(frozen=True, eq=False)
class Toss:
    """One recorded toss; missing frames are left out.

    frame: numbers of the frames that are there, the first 0, shape (n,)
    position: of the tracked point, the origin of the body frame [m], shape (n, 3)
    quaternion: body to world (w, x, y, z), shape (n, 4)
    flight: number of leading frames in free flight
    """

    frame: NDArray[np.int64]
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    flight: int

    @property
    def steps(self) -> int:
        """Time steps from the first frame to the last."""
        return int(self.frame[-1])

    @cached_property
    def touch(self) -> int:
        """The first frame after the flight."""
        return int(self.frame[min(self.flight, len(self.frame) - 1)])

    def frames_until(self, last: int) -> int:
        """How many frames are there up to number `last`."""
        return int(np.searchsorted(self.frame, last, side="right"))


class Start:
    """The state at frame 0 that the frames in flight tell, for any centre of mass and gravity.

    The spin is constant in world axes; the centre of mass flies on a parabola. Fitted by least squares.
    """

    def __init__(self, toss: Toss, timestep: float) -> None:
        if toss.flight < 3:
            raise checks.InputError(f"A toss needs 3 frames of free flight to know its start, got {toss.flight}.")
        t = timestep * toss.frame[: toss.flight]
        self.quaternion, self.spin, turned = _steady_turn(t, toss.quaternion[: toss.flight])
        design = np.stack([np.ones_like(t), t], axis=1)
        solve = np.linalg.pinv(design)  # (2, n): from samples to value and slope at t = 0
        # com_k = p_k + R_k c = x0 + v0 t + g t^2 / 2: linear in c and g.
        self.plain = solve @ toss.position[: toss.flight]  # (2, 3)
        self.per_com = np.einsum("an,nij->aij", solve, turned)  # (2, 3, 3)
        self.per_gravity = solve @ (-0.5 * t**2)  # (2,)
        self.turned = turned
        self.rotation = turned[0]


def flight_estimate(tosses: "Tosses") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(com_x, com_y, com_z [m], gravity [m/s^2]) that free flight alone tells, and their standard errors.

    In flight the centre of mass moves on a parabola and the tracked point turns about it: a linear problem, from which
    each toss's own start drops out.
    """
    rows, values = [], []
    for toss, start in zip(tosses.tosses, tosses.starts):
        t = tosses.timestep * toss.frame[: toss.flight]
        design = np.stack([np.ones_like(t), t], axis=1)
        free = np.eye(len(t)) - design @ np.linalg.pinv(design)
        fall = np.zeros((len(t), 3, 1))
        fall[:, 2, 0] = 0.5 * t**2
        A = np.concatenate([start.turned, fall], axis=2)  # p + R c + g t^2 / 2 e_z is straight and steady
        rows.append(np.einsum("mn,nij->mij", free, A).reshape(-1, 4))
        values.append(-(free @ toss.position[: toss.flight]).reshape(-1))
    A, b = np.concatenate(rows), np.concatenate(values)
    found, *_ = np.linalg.lstsq(A, b, rcond=None)
    each = [a.T @ (v - a @ found) for a, v in zip(rows, values)]
    inverse = np.linalg.pinv(A.T @ A)
    covariance = inverse @ sum(np.outer(e, e) for e in each) @ inverse  # tosses are independent, their frames are not
    return found, np.sqrt(np.diag(covariance))


def _steady_turn(t, quaternion):
    """Orientation at t = 0, spin [rad/s] and all rotation matrices of the steady turn nearest to the quaternions."""
    seen = Rotation.from_quat(quaternion, scalar_first=True)
    first = seen[0]
    steps = (seen[1:] * seen[:-1].inv()).as_rotvec()  # also right where the whole turn is more than half a circle
    spin = steps.sum(axis=0) / t[-1]
    solve = np.linalg.pinv(np.stack([np.ones_like(t), t], axis=1))
    for _ in range(4):
        model = Rotation.from_rotvec(np.outer(t, spin)) * first
        rest, drift = solve @ (seen * model.inv()).as_rotvec()
        first = Rotation.from_rotvec(rest) * first
        spin = spin + drift
    model = Rotation.from_rotvec(np.outer(t, spin)) * first
    return first.as_quat(scalar_first=True), spin, model.as_matrix()


class Tosses:
    """Tosses of one body, recorded with one frame interval.

    timestep: [s]
    """

    def __init__(self, tosses: list[Toss], timestep: float) -> None:
        self.tosses = tosses
        self.timestep = checks.positive("timestep [s]", timestep)

    def __len__(self) -> int:
        return len(self.tosses)

    def __getitem__(self, which) -> "Tosses":
        """The tosses with these numbers."""
        return Tosses([self.tosses[int(i)] for i in np.atleast_1d(which)], self.timestep)

    @cached_property
    def starts(self) -> list[Start]:
        """What the flight of each toss tells about its start."""
        return [Start(toss, self.timestep) for toss in self.tosses]

    def states(self, com, gravity) -> State:
        """States at frame 0 for this centre of mass (3,) and gravity (3,)."""
        plain, per_com, per_gravity, rotation, quaternion, spin = self._flights
        moved = plain + per_com @ np.asarray(com) + per_gravity[:, :, np.newaxis] * np.asarray(gravity)
        arm = rotation @ np.asarray(com)
        return State(moved[:, 0] - arm, quaternion, moved[:, 1] - np.cross(spin, arm), spin)

    @cached_property
    def _flights(self) -> list[NDArray[np.float64]]:
        """What the starts know, toss by toss."""
        names = ("plain", "per_com", "per_gravity", "rotation", "quaternion", "spin")
        return [np.stack([getattr(start, name) for start in self.starts]) for name in names]


def errors(toss: Toss, position, quaternion, last: int | None = None) -> tuple[NDArray, NDArray]:
    """Position errors (n, 3) [m] and rotation errors (n, 3) [rad] of a predicted motion at the recorded frames.

    position, quaternion: of all frames, shape (steps + 1, ...)
    last: only frames up to this number
    """
    n = len(toss.frame) if last is None else toss.frames_until(last)
    at = toss.frame[:n]
    return position[at] - toss.position[:n], rotation_vectors(quaternion[at], toss.quaternion[:n])


def rotation_vectors(a, b) -> NDArray[np.float64]:
    """Rotation vectors (n, 3) [rad] of quaternions a relative to b, world axes."""
    w = (a * b).sum(axis=1)
    a0, a1, a2, a3 = a.T
    b0, b1, b2, b3 = b.T
    v = np.empty((len(w), 3))  # of a b^-1; np.cross would take most of the time of a fit
    v[:, 0] = b0 * a1 - a0 * b1 - a2 * b3 + a3 * b2
    v[:, 1] = b0 * a2 - a0 * b2 - a3 * b1 + a1 * b3
    v[:, 2] = b0 * a3 - a0 * b3 - a1 * b2 + a2 * b1
    v[w < 0] *= -1
    sine = np.sqrt((v**2).sum(axis=1))
    angle = 2 * np.arctan2(sine, np.abs(w))
    return v * (angle / np.maximum(sine, 1e-12))[:, np.newaxis]
