"""Ground truths without friction at points: friction of many bristles, with a solver of its own.

Each corner in contact stands on a small disc of bristles that share its load n. Bristle b slips with velocity u_b and
has the friction

    f_b = -mu (n / B) u_b / sqrt(|u_b|^2 + v0^2)

with B bristles a corner. With one bristle and a large speed v0 this is the regularised friction of many simulators, on
which everything creeps. With several bristles on a disc, a single corner resists being spun.

The twist v after the step and the normal impulses n_i of the corners solve, all at the speeds after the step,

    M (v - v1) = sum_i (J_i n_i + sum_b J_b f_b(v, n_i)),    n_i >= 0,   J_i^T v >= 0,   one of the two zero

by Newton's method with the direction of friction as an unknown of its own (Chan, Golub and Mulet, "A nonlinear primal-
dual method for total variation-based image restoration", 1999), which a small v0 does not disturb. Friction opposes the
slip after the step, so that no contact adds energy. The solver is written for batches in NumPy and shares no line with
those of the core.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.laws.contacts import Contacts, native_of
from stiction.laws.law import Law

_TOLERANCE = 1e-10  # of the residual [m/s], relative to the greatest speed before the step


@dataclass(frozen=True)
class Brush:
    """A ground of bristles: put it on a body with `on`, as a material.

    friction_coefficient: at high speeds
    speed: v0 [m/s], at which a bristle has 71 % of its friction
    radius: of the disc of bristles below a corner [m]
    bristles: on each disc, in one ring; with radius 0 one is enough
    holds: whether an edge or a face whose bristles all slip slower than 2 v0 is stopped, as by static friction; else it
        creeps
    """

    friction_coefficient: float = 0.5
    speed: float = 0.02
    radius: float = 0.0
    bristles: int = 1
    holds: bool = False

    def __post_init__(self) -> None:
        checks.non_negative("friction", self.friction_coefficient)
        checks.positive("speed [m/s]", self.speed)
        checks.non_negative("radius [m]", self.radius)
        checks.count("bristles", self.bristles, 1)

    def on(self, body: Body, *, timestep: float = 0.002) -> "BrushLaw":
        """The law of a body on this ground."""
        return BrushLaw(self, body, timestep)

    def friction(self, direction: ArrayLike = 0.0, speed: ArrayLike = 0.3, load: ArrayLike = 10.0) -> NDArray:
        """Coefficients of a bristle; `speed` is that after a step [m/s]. Direction and load make no difference."""
        v = np.broadcast_arrays(direction, speed, load)[1]
        return self.friction_coefficient * v / np.hypot(v, self.speed)

    @property
    def places(self) -> NDArray[np.float64]:
        """Places (B, 2) of the bristles around their corner [m]."""
        angles = 2 * np.pi * np.arange(self.bristles) / self.bristles
        return self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


class BrushLaw(Law):
    """The contact of one body with a ground of bristles; it returns whole impulses.

    unsolved: number of contacts for which Newton's method has not converged; its last iterate was used
    """

    whole = True

    def __init__(self, brush: Brush, body: Body, timestep: float) -> None:
        self.brush, self.body = brush, body
        self.timestep = checks.positive("timestep [s]", timestep)
        self.unsolved = 0

    def respond(self, contacts: Contacts | _core.Contacts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Impulses (n, 6) about the centre of mass, and modes (n,): static where the ground holds, else derived."""
        contacts = native_of(contacts)
        problem = _Problem(self.brush, contacts)
        solved = problem.solve()
        self.unsolved += int((~solved).sum())
        impulse = problem.impulse()
        mode = np.full(len(contacts), Mode.NONE, dtype=np.int64)
        if self.brush.holds:
            slow = problem.fastest_bristle() < 2.0 * self.brush.speed
            # The impulse that stops a point does not stop its spin, as bristles do.
            for i in np.flatnonzero(slow & (problem.n.sum(axis=1) > 0) & (contacts.record.kind != Kind.POINT)):
                held = contacts.static_impulse(int(i))
                if _pushes(contacts, int(i), held):
                    impulse[i], mode[i] = held, Mode.STATIC
        return impulse, mode

    def __repr__(self) -> str:
        return f"BrushLaw({self.body.shape}, {self.brush})"


def _pushes(contacts: _core.Contacts, i: int, held: NDArray[np.float64]) -> bool:
    """Return whether the impulse that stops a patch needs no pulling force at any of its points.

    That holds if its normal part is the frictionless normal impulse that belongs to its friction.
    """
    friction = np.array([held[0], held[1], 0.0, 0.0, 0.0, held[5]])
    centre = contacts.record.centre[i]
    friction[3:5] = -centre[2] * held[1], centre[2] * held[0]
    twist = contacts.record.velocity[i] + contacts.inverse_inertia[i] @ friction
    p_z, m_x, m_y = contacts.normal_impulse(i, twist)
    gap = np.abs([p_z - held[2], m_x - held[3] + friction[3], m_y - held[4] + friction[4]])
    return bool(held[2] > 0 and (gap <= 1e-6 * held[2]).all())


class _Problem:
    """The equations of m contacts of at most K corners each, and the iterate.

    inverse: M^-1, (m, 6, 6); v1: (m, 6); there: which corners exist, (m, K)
    normal: J_i, (m, K, 6); tangent: J_b of the bristles, (m, K, B, 2, 6)
    delassus: normal Delassus operator of a corner, normal velocity per unit impulse [m/s / (N s)], (m, K)
    v, n: the twist after the step (m, 6), the normal impulses (m, K)
    share: slip over its regularised length, an unknown of its own, (m, K, B, 2)
    """

    def __init__(self, brush: Brush, contacts: _core.Contacts) -> None:
        self.mu, self.speed = brush.friction_coefficient, brush.speed
        count = contacts.record.count
        m, most = len(contacts), int(count.max(initial=1))
        places = np.zeros((m, most, 3))
        for i in range(m):
            places[i, : count[i]] = contacts.points(i)
        there = np.arange(most) < count[:, np.newaxis]
        x, y, z = (places[..., k] for k in range(3))
        normal = np.zeros((m, most, 6))
        normal[..., 2], normal[..., 3], normal[..., 4] = 1.0, y, -x
        bristles = brush.places
        tangent = np.zeros((m, most, len(bristles), 2, 6))
        tangent[..., 0, 0] = tangent[..., 1, 1] = 1.0
        tangent[..., 0, 4], tangent[..., 1, 3] = z[..., np.newaxis], -z[..., np.newaxis]
        tangent[..., 0, 5] = -(y[..., np.newaxis] + bristles[:, 1])
        tangent[..., 1, 5] = x[..., np.newaxis] + bristles[:, 0]
        self.inverse, self.v1 = np.array(contacts.inverse_inertia), contacts.record.velocity.copy()
        self.there, self.normal, self.tangent = there, normal, tangent
        self.delassus = np.einsum("mki,mij,mkj->mk", normal, self.inverse, normal)
        self.v, self.n, self.share = self.v1.copy(), np.zeros(there.shape), np.zeros(tangent.shape[:-1])

    def solve(self) -> NDArray[np.bool_]:
        """Solve for v and n; returns which contacts have converged, (m,)."""
        fastest = np.abs(self.v1).max(axis=1, initial=0.0)
        failed = self._newton(np.arange(len(self.v)), self.speed, _TOLERANCE * (1e-3 + fastest))
        if len(failed):  # continuation in v0, from a large one down to the wanted one
            start = max(1.0, float(fastest.max()))
            self.v[failed], self.n[failed], self.share[failed] = self.v1[failed], 0.0, 0.0
            retried, levels = failed, 6
            for level in range(levels + 1):
                speed = start * (self.speed / start) ** (level / levels)
                goal = (_TOLERANCE if level == levels else 1e-3) * (1e-3 + fastest)
                failed = self._newton(retried, speed, goal)
        solved = np.ones(len(self.v), dtype=np.bool_)
        solved[failed] = False
        return solved

    def _newton(self, rows: NDArray, speed: float, goal: NDArray, max_iterations: int = 40) -> NDArray:
        """Newton's method on some contacts; returns those that have not converged."""
        for _ in range(max_iterations):
            residual, jacobian, slip, length = self._equations(rows, speed)
            open_ = np.abs(residual).max(axis=1, initial=0.0) > goal[rows]
            if not open_.any():
                return rows[:0]
            rows = rows[open_]
            change = np.linalg.solve(jacobian[open_], -residual[open_, :, np.newaxis])[..., 0]
            self._move_shares(rows, change[:, :6], slip[open_], length[open_])
            self.v[rows] += change[:, :6]
            self.n[rows] += change[:, 6:]
        return rows

    def _move_shares(self, rows: NDArray, change: NDArray, slip: NDArray, length: NDArray) -> None:
        """Update the friction directions of the bristles to first order: the dual unknown of the method."""
        moved = np.einsum("kibaj,kj->kiba", self.tangent[rows], change)
        along = (self.share[rows] * np.sum(slip * moved, axis=-1, keepdims=True)) / length
        share = (slip + moved - along) / length
        self.share[rows] = share / np.maximum(np.linalg.norm(share, axis=-1, keepdims=True), 1.0)

    def _equations(self, rows: NDArray, speed: float) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Residuals (k, 6 + K) and their derivatives by (v, n), slip of the bristles and its regularised length."""
        v, n, delassus = self.v[rows], self.n[rows], self.delassus[rows]
        normal, inverse = self.normal[rows], self.inverse[rows]
        pull, stiffness, slip, length = self._bristles(rows, v, speed)
        load = np.maximum(n, 0.0)
        corners = normal + pull  # impulse of a corner with unit load, friction included, (k, K, 6)
        size = 6 + n.shape[1]
        jacobian = np.zeros((len(rows), size, size))
        wrench = np.einsum("ki,kij->kj", n, normal) + np.einsum("ki,kij->kj", load, pull)
        residual_v = v - self.v1[rows] - np.einsum("kij,kj->ki", inverse, wrench)
        jacobian[:, :6, :6] = np.eye(6) + inverse @ np.einsum("ki,kiab->kab", load, stiffness)
        slopes = np.where((n > 0)[..., np.newaxis], corners, normal)
        jacobian[:, :6, 6:] = -np.einsum("kab,kib->kai", inverse, slopes)
        compliance = 1e-7 * delassus  # makes the loads of a surface's corners unique
        gap_speed = np.einsum("kij,kj->ki", normal, v) + compliance * n
        closed = (delassus * n > gap_speed) & self.there[rows]
        residual_n = np.where(closed, gap_speed, delassus * n)
        jacobian[:, 6:, :6] = np.where(closed[..., np.newaxis], normal, 0.0)
        corner = np.arange(6, size)
        jacobian[:, corner, corner] = np.where(closed, compliance, delassus)
        return np.concatenate([residual_v, residual_n], axis=1), jacobian, slip, length

    def _bristles(self, rows: NDArray, v: NDArray, speed: float) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Friction wrench of a corner with unit load, (k, K, 6), and its negative derivative by v, (k, K, 6, 6)."""
        tangent = self.tangent[rows]
        slip = np.einsum("kibaj,kj->kiba", tangent, v)
        length = np.sqrt((slip**2).sum(axis=-1, keepdims=True) + speed**2)
        mu = self.mu / tangent.shape[2]
        pull = -mu * np.einsum("kibaj,kiba->kij", tangent, slip / length)
        crossed = self.share[rows][..., :, np.newaxis] * (slip / length)[..., np.newaxis, :]
        bend = (np.eye(2) - 0.5 * (crossed + np.swapaxes(crossed, -1, -2))) / length[..., np.newaxis]
        arms = np.einsum("kibac,kibcl->kibal", bend, tangent)
        return pull, mu * np.einsum("kibaj,kibal->kijl", tangent, arms), slip, length

    def impulse(self) -> NDArray[np.float64]:
        """Contact impulses (m, 6)."""
        pull = self._bristles(np.arange(len(self.v)), self.v, self.speed)[0]
        return np.einsum("mi,mij->mj", np.maximum(self.n, 0.0), self.normal + pull)

    def fastest_bristle(self) -> NDArray[np.float64]:
        """Greatest slip of a bristle of the loaded corners after the step [m/s], (m,)."""
        slip = np.linalg.norm(np.einsum("mibaj,mj->miba", self.tangent, self.v), axis=-1).max(axis=2)
        return np.where(self.n > 0, slip, 0.0).max(axis=1, initial=0.0)
