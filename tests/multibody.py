"""Small multibody systems for tests, written out by hand: a box hinged to a few links, touching the ground."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction import Body, _core
from stiction.mujoco.links import Links

H = 0.002


@dataclass
class Hinged:
    """A box (the distal body of the paper) on a hinge at the end of `n` more hinged links (its upstream system).

    position, rotation: of the box, which touches; M: its inertia at the centre of mass (6, 6); twist: dq
    tau: applied wrench (6,)
    J: from its twist to the five velocities that the hinge holds, (5, 6)
    M_up, dq_up, tau_up, J_up: the same of the upstream system, in its joint coordinates
    """

    position: NDArray
    rotation: NDArray
    M: NDArray
    twist: NDArray
    tau: NDArray
    J: NDArray
    M_up: NDArray
    dq_up: NDArray
    tau_up: NDArray
    J_up: NDArray
    J_box: NDArray  # from all joint velocities, upstream then the hinge, to the box's twist, (6, n + 1)

    def touch(self, links: Links) -> _core.Contacts:
        """The contact of the box, the only one of the links."""
        assert links.touch(self.position[None], self.rotation[None]).tolist() == [0]
        return links.contacts

    def whole(self) -> tuple[NDArray, NDArray]:
        """V_free and L of the box, from the joint-space equation of the whole system."""
        n = len(self.dq_up)
        M = np.zeros((n + 1, n + 1))
        M[:n, :n] = self.M_up
        M += self.J_box.T @ self.M @ self.J_box
        force = np.append(self.tau_up, 0.0) + self.J_box.T @ self.tau
        dq = np.append(self.dq_up, self.spin)
        return self.J_box @ (dq + H * np.linalg.solve(M, force)), self.J_box @ np.linalg.solve(M, self.J_box.T)

    spin: float = 0.0


def hinged_box(body: Body, rng: np.random.Generator, planar: bool) -> Hinged:
    """A random system: planar with all axes along y, or with any axes."""
    n = int(rng.integers(1, 4))
    if planar:
        half = rng.uniform(0, np.pi)
        quaternion = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
    else:
        quaternion = Rotation.random(rng=rng).as_quat(scalar_first=True)
    R = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    position = np.array([0.0, 0.0, -((body.vertices - body.com) @ R[2]).min() - 10 ** rng.uniform(-7, -3)])
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = body.mass * np.eye(3), R @ body.inertia @ R.T
    pivot = R @ np.array([-body.size[0] / 2, 0.0, 0.0])  # all places relative to the box's centre
    axes = np.tile([0.0, 1.0, 0.0], (n + 1, 1)) if planar else rng.normal(size=(n + 1, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    places = np.array([pivot + rng.normal(0, 0.4, 3) * ([1, 0, 1] if planar else 1) for _ in range(n)] + [pivot])
    M_up, tau_up = np.zeros((n, n)), np.zeros(n)
    for k in range(n):  # upstream link k moves with joints 0 .. k
        centre = 0.5 * (places[k] + places[k + 1])
        mass = rng.uniform(0.3, 3.0)
        columns = np.zeros((6, n))
        columns[:, : k + 1] = _columns(axes[: k + 1], places[: k + 1], centre)
        inertia = np.diag([mass] * 3 + [0.01 * mass] * 3)
        M_up += columns.T @ inertia @ columns
        tau_up += columns.T @ np.array([0, 0, -9.81 * mass, 0, 0, 0])
    J_box = _columns(axes, places, np.zeros(3))
    dq = rng.normal(0, 2.0, n + 1)
    hold = _hinge_rows(axes[-1])
    return Hinged(
        position, R, M, J_box @ dq, np.array([0, 0, -9.81 * body.mass, 0, 0, 0.0]), hold @ _shift(pivot),
        M_up, dq[:n], tau_up, hold @ _columns(axes[:n], places[:n], pivot), J_box, float(dq[n]),
    )  # fmt: skip


def _columns(axes, places, point) -> NDArray:
    """Twist (linear at `point`, angular) of a body for each hinge before it, (6, k)."""
    return np.concatenate([np.cross(axes, point - places), axes], axis=1).T


def _shift(point) -> NDArray:
    """From a twist at the origin to one at `point`, (6, 6)."""
    x, y, z = point
    out = np.eye(6)
    out[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    return out


def _hinge_rows(axis) -> NDArray:
    """The five velocities that a hinge holds: of its point, and turning across its axis, (5, 6)."""
    across = np.linalg.svd(axis[None])[2][1:]
    out = np.zeros((5, 6))
    out[:3, :3] = np.eye(3)
    out[3:, 3:] = across
    return out


def joined_links(body: Body, rng: np.random.Generator, n: int, rows: int):
    """`n` touching bodies of one system that is held together by `rows` random constraints.

    Positions (n, 3), rotations (n, 3, 3), V_free (6 n,) and L (6 n, 6 n)
    """
    R = Rotation.random(n, rng).as_matrix()
    for i in np.flatnonzero(rng.uniform(size=n) < 0.6):  # most stand on an edge or a face
        lean = rng.choice([0.0, rng.uniform(0.1, 1.4)])
        R[i] = (Rotation.from_rotvec([0, 0, rng.uniform(0, 6.3)]) * Rotation.from_rotvec([0, lean, 0])).as_matrix()
    depth = 10 ** rng.uniform(-7, -4, n)
    position = np.zeros((n, 3))
    position[:, 2] = [-((body.vertices - body.com) @ r[2]).min() - d for r, d in zip(R, depth)]
    W = np.zeros((6 * n, 6 * n))
    for i in range(n):
        W[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.eye(3) / body.mass
        W[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = R[i] @ np.linalg.inv(body.inertia) @ R[i].T
    C = rng.normal(size=(rows, 6 * n))
    L = W - W @ C.T @ np.linalg.solve(C @ W @ C.T, C @ W) if rows else W
    L = 0.5 * (L + L.T)
    V = rng.normal(0, 1, 6 * n)
    V -= W @ C.T @ np.linalg.solve(C @ W @ C.T, C @ V) if rows else 0.0
    return position, R, V, L
