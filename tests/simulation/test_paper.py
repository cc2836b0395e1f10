"""The paper's algorithms in plain NumPy: the laws of contact hold, and the fast code gives the same impulses."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import nnls, root
from scipy.spatial.transform import Rotation

import stiction
from stiction import Body, Kind, Mode, State
from stiction.paper import (
    Patch,
    Side,
    algorithm1,
    algorithm2,
    friction_map,
    friction_of,
    frictionless_lcp,
    patch_velocity,
)

H = 0.002  # [s]
GRAVITY = np.array([0.0, 0.0, -9.81])
TOUCH = 5e-9  # [m] a vertex touches if it lies below this height
KINDS = ("point", "line", "surface")
MODES = ("static", "dynamic", "detach")


class Contact(NamedTuple):
    """A body in contact at the start of a step."""

    state: State
    v: np.ndarray
    tau: np.ndarray
    M_inverse: np.ndarray
    patch: Patch

    @property
    def v1(self) -> np.ndarray:
        return self.v + H * self.M_inverse @ self.tau


def orientation(kind: str, rng: np.random.Generator) -> Rotation:
    """A turn after which a corner, an edge or a face of a box looks down, the edge or face up to some 1e-4 rad."""
    if kind == "point":
        return Rotation.random(rng=rng)
    side = Rotation.from_euler("xyz", rng.integers(4, size=3) * np.pi / 2)
    lean = rng.uniform(0.2, 1.3) if kind == "line" else 0.0
    tilt = Rotation.from_rotvec([lean, 0, 0]) * Rotation.from_rotvec(rng.normal(0, 1e-4, 3))
    return Rotation.from_rotvec([0, 0, rng.uniform(0, 6.3)]) * tilt * side


def contact_of(body: Body, turn: Rotation, v: np.ndarray, depth: float) -> Contact:
    """The body with its lowest vertex at a depth [m] below the ground.

    A contact point lies over its vertex, at half the vertex's depth.
    """
    turn_matrix = turn.as_matrix()
    arms = (body.vertices - body.com) @ turn_matrix.T
    height = -arms[:, 2].min() - depth
    points = arms[arms[:, 2] + height < TOUCH]
    points[:, 2] = (points[:, 2] + height) / 2 - height
    inertia, spin = turn_matrix @ body.inertia @ turn_matrix.T, v[3:]
    M_inverse = np.zeros((6, 6))
    M_inverse[:3, :3], M_inverse[3:, 3:] = np.eye(3) / body.mass, np.linalg.inv(inertia)
    tau = np.concatenate([body.mass * GRAVITY, -np.cross(spin, inertia @ spin)])
    if body.planar:
        M_inverse = np.diag([1 / body.mass, 0, 1 / body.mass, 0, 1 / inertia[1, 1], 0])
        tau[3:] = 0
    com = turn_matrix @ body.com
    position = np.array([0, 0, height]) - com
    state = State(position, turn.as_quat(scalar_first=True), v[:3] - np.cross(spin, com), spin)
    return Contact(state, v, tau, M_inverse, Patch(points, KINDS[min(len(points), 3) - 1]))


def random_contact(body: Body, kind: str, rng: np.random.Generator) -> Contact:
    v = rng.normal(size=6) * np.array([1, 1, 1, 4, 4, 4]) * rng.choice([1e-3, 0.1, 1])
    turn = orientation(kind, rng)
    if body.planar:
        v[[1, 3, 5]] = 0
        turn = Rotation.from_rotvec([0, rng.uniform(0, 6.3) if kind == "point" else rng.integers(4) * np.pi / 2, 0])
    return contact_of(body, turn, v, depth=10 ** rng.uniform(-3.3, -2.7))


def handled(contact: Contact, mode: str, p_f=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Algorithm 1 with fixed answers of the law."""
    *_, v, tau, M_inverse, patch = contact
    return algorithm1(v, H, tau, M_inverse, patch, lambda P, v1: mode, lambda P, v1: np.asarray(p_f))


@pytest.mark.parametrize("kind", KINDS)
def test_contact_stays_physical_whatever_the_law_says(box, kind):
    rng = np.random.default_rng(1)
    for _ in range(50):
        contact = random_contact(box, kind, rng)
        mode = str(rng.choice(MODES))
        p = handled(contact, mode, rng.normal(size=3) * 10 ** rng.uniform(-6, 4))
        v1, N = contact.v1, contact.patch.N
        after = v1 + contact.M_inverse @ p
        p_n = (p - friction_map(contact.patch) @ friction_of(p, contact.patch))[2:5]
        speed = np.abs(v1[2:5]) @ np.abs(N).max(axis=1)
        assert (N.T @ after[2:5]).min() >= -1e-9 * speed  # nothing approaches
        assert p[2] >= 0
        pressed = p[2] + 1e-6 * np.abs(p).max()  # p_n is a difference: rounding limits it
        assert nnls(N, p_n)[1] <= 1e-8 * pressed  # only pushes, with the centre of pressure in the patch
        assert abs(p_n @ after[2:5]) <= 1e-9 * pressed * speed  # no push where the patch separates
        assert p @ (v1 + after) / 2 <= 2e-12 * np.abs(p) @ np.abs(v1)  # no energy
        if p[2] == 0 or (mode == "detach" and (N.T @ v1[2:5]).min() >= 0):
            assert not p.any()


@pytest.mark.parametrize("p_f", [(np.nan, 0, 0), (0, np.inf, 0)])
def test_friction_that_is_nan_counts_as_none(box, p_f):
    contact = random_contact(box, "point", np.random.default_rng(2))
    assert np.array_equal(handled(contact, "dynamic", p_f), handled(contact, "dynamic"))


def test_friction_without_load_is_none(box):
    """A corner that leaves the ground gets no friction, even if the law says that it slides."""
    contact = contact_of(box, Rotation.from_rotvec([0.5, 0.6, 0]), np.array([1.0, 0, 2, 0, 0, 0]), 1e-3)
    assert not handled(contact, "dynamic", (-0.01, 0, 0)).any()


def test_frictionless_lcp_is_complementary_with_many_redundant_points():
    rng = np.random.default_rng(3)
    for _ in range(200):
        points = 0.3 * rng.normal(size=(rng.integers(1, 51), 3))
        choice = rng.integers(3)
        if choice == 0:  # points that lie on each other
            points[:, :2] = points[:, :2].round(1)
        elif choice == 1:  # a regular polygon
            angle = np.linspace(0, 2 * np.pi, len(points), endpoint=False)
            points[:, :2] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        root_of_inverse = rng.normal(size=(6, 6)) + np.eye(6)
        M_inverse, v2 = root_of_inverse @ root_of_inverse.T, rng.normal(size=6)
        patch = Patch(points, "surface")
        p_n = frictionless_lcp(v2, M_inverse, patch)
        before, after = patch.N.T @ v2[2:5], patch.N.T @ (v2[2:5] + M_inverse[2:5, 2:5] @ p_n)
        scale = np.abs(before).max()
        assert after.min() >= -1e-10 * scale
        assert nnls(patch.N, p_n)[1] <= 1e-10 * p_n[0]
        assert abs(p_n @ (v2[2:5] + M_inverse[2:5, 2:5] @ p_n)) <= 1e-10 * p_n[0] * scale
        assert (p_n[0] > 0) == (before.min() < 0)


@pytest.mark.parametrize("kind", KINDS)
def test_static_stops_the_patch(box, rectangle, kind):
    rng = np.random.default_rng(4)
    for body in (box, rectangle)[: 1 if kind == "surface" else 2]:
        held = 0
        for _ in range(30):
            contact = random_contact(body, kind, rng)
            S = patch_velocity(contact.patch)
            assert len(S) == {"point": 3, "line": 5, "surface": 6}[contact.patch.kind]
            left = S @ (contact.v1 + contact.M_inverse @ handled(contact, "static"))
            held += np.abs(left).max() < 1e-12 * np.abs(contact.v1).max()
        assert held > 5  # the others would have to be pulled


def test_body_at_rest_stays_at_rest(box):
    p = handled(contact_of(box, Rotation.identity(), np.zeros(6), 1e-3), "static")
    np.testing.assert_allclose(p, [0, 0, box.mass * 9.81 * H, 0, 0, 0], atol=1e-15)


class WildLaw:
    """A law in plain Python. Its mode switches often, and its friction K v1 brakes or drives, so that all guards are
    needed."""

    timestep, softness = H, 0.0

    def __init__(self, body: Body) -> None:
        self.body, self.K = body, 0.03 * np.random.default_rng(5).normal(size=(3, 6))
        self.K[[0, 1], [0, 1]] -= 0.1

    def mode(self, v1) -> str:
        return MODES[int(30 * v1[0] // 1) % 3]

    def classify(self, contacts):
        return np.array([Mode[self.mode(v1).upper()] for v1 in contacts.record.velocity])

    def friction(self, contacts, dynamic):
        return contacts.record.velocity[dynamic] @ self.K.T  # (p_x, p_y, m_z) at the patch's centre


def compare_with_rollout(law: WildLaw, contacts: list[Contact]) -> set[tuple[str, str, str]]:
    """One step of the fast code from each contact has the same kind of patch, impulse and velocity as Algorithm 1.

    Gives back which (kind, mode that the law chose, mode that came of it) were seen; "limited" is sliding with less
    friction than the law gave.
    """
    fields = ("position", "quaternion", "velocity", "angular_velocity")
    states = State(*(np.array([getattr(contact.state, name) for contact in contacts]) for name in fields))
    run = stiction.rollout(law, states, steps=1)
    seen = set()
    for i, (_, v, tau, M_inverse, patch) in enumerate(contacts):
        p = algorithm1(v, H, tau, M_inverse, patch, lambda P, v1: law.mode(v1), lambda P, v1: law.K @ v1)
        v1 = v + H * M_inverse @ tau
        after = v1 + M_inverse @ p
        assert Kind(run.kind[i, 0]).name.lower() == patch.kind
        assert np.abs(run.impulse[i, 0] - p).max() <= 1e-9 * np.abs(p).max()
        if not law.body.com.any():  # else the trajectory's velocity is that of another point
            velocity = np.append(run.velocity[i, 1], run.angular_velocity[i, 1])
            assert np.abs(velocity - after).max() <= 1e-9 * np.abs(v1).max()
        limited = p.any() and law.mode(v1) == "dynamic" and not np.allclose(friction_of(p, patch), law.K @ v1)
        seen.add((patch.kind, law.mode(v1), "limited" if limited else Mode(run.mode[i, 0]).name.lower()))
    return seen


def test_rollout_agrees_with_algorithm_1(box):
    rng = np.random.default_rng(6)
    seen = compare_with_rollout(WildLaw(box), [random_contact(box, kind, rng) for kind in KINDS for _ in range(70)])
    for kind in KINDS:  # all modes, and what the guards make of them
        assert {(kind, "static", "static"), (kind, "static", "dynamic"), (kind, "dynamic", "dynamic")} <= seen
        assert {(kind, "dynamic", "limited"), (kind, "detach", "detach"), (kind, "detach", "dynamic")} <= seen


def test_rollout_agrees_with_algorithm_1_for_planar_body(rectangle):
    rng = np.random.default_rng(7)
    law = WildLaw(rectangle)
    law.K[1:] = 0  # friction across the plane has no effect
    seen = compare_with_rollout(law, [random_contact(rectangle, kind, rng) for kind in KINDS[:2] for _ in range(20)])
    for kind in KINDS[:2]:
        assert {mode for where, _, mode in seen if where == kind} >= {"static", "dynamic", "detach"}


def cross_matrix(a) -> np.ndarray:
    return np.cross(np.eye(3), -np.asarray(a))


def two_links(box: Body, joint: str, kind: str, rng: np.random.Generator) -> tuple[Side, Side, Contact]:
    """A box in contact that a joint connects to a rod: by a ball joint to a rod that floats or hangs on another ball
    joint, or by a hinge to a rod that hangs on a parallel hinge."""
    contact = random_contact(box, kind, rng)
    arm, rod = rng.normal(0, 0.1, 3), np.array([0.3, 0.1, 0.4])
    J = np.hstack([np.eye(3), -cross_matrix(arm)])
    J_hat = np.hstack([np.eye(3), -cross_matrix(rod / 2)])
    M_hat = np.eye(6)
    M_hat[3:, 3:] = (rod @ rod * np.eye(3) - np.outer(rod, rod)) / 12 + 0.01 * np.eye(3)
    tau_hat = np.concatenate([GRAVITY, np.zeros(3)])
    if joint != "floating":
        hang = np.vstack([-cross_matrix(rod / 2), np.eye(3)])  # maps the rod's angular velocity to its twist
        if joint == "hinge":
            J = np.vstack([J, np.eye(6)[[3, 5]]])
            J_hat = np.vstack([J_hat, np.eye(6)[[3, 5]]])
            hang = hang[:, [1]]
        J_hat, M_hat, tau_hat = J_hat @ hang, hang.T @ M_hat @ hang, hang.T @ tau_hat
    v = contact.v - np.array([0, 0, 1, 0, 0, 0])  # most fall
    v_hat = np.linalg.pinv(J_hat) @ J @ v
    v -= np.linalg.pinv(J) @ (J @ v - J_hat @ v_hat)  # the joint holds at the start
    return Side(v, contact.tau, np.linalg.inv(contact.M_inverse), J), Side(v_hat, tau_hat, M_hat, J_hat), contact


def without_joint_force(distal: Side, upstream: Side) -> tuple[np.ndarray, np.ndarray]:
    """V_free, the distal body's twist after a step without contact, and L, its inverse inertia inside the system.

    From the mass matrix of both sides at once, with the joint as a constraint: nothing of Algorithm 2 is used.
    """
    n = len(upstream.v)
    M = np.block([[distal.M, np.zeros((6, n))], [np.zeros((n, 6)), upstream.M]])
    J = np.hstack([distal.J, -upstream.J])
    k = len(J)
    system = np.linalg.inv(np.block([[M, J.T], [J, np.zeros((k, k))]]))[: 6 + n, : 6 + n]
    momentum = M @ np.concatenate([distal.v, upstream.v]) + H * np.concatenate([distal.tau, upstream.tau])
    return (system @ momentum)[:6], system[:6, :6]


def viscous(patch: Patch, v1: np.ndarray) -> np.ndarray:
    return -0.1 * (friction_map(patch).T @ v1) * np.array([1, 1, 0.01])


@pytest.mark.parametrize("joint", ["floating", "ball", "hinge"])
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_algorithm_2_keeps_the_joint_and_solves_the_equation_without_it(box, joint, mode):
    rng = np.random.default_rng(8)
    solved = pressed = same = 0
    for kind in 2 * KINDS:
        distal, upstream, (*_, M_inverse, patch) = two_links(box, joint, kind, rng)
        step = algorithm2(distal, upstream, H, patch, lambda P, v1: mode, viscous, tolerance=1e-10)
        if not step.solved:  # where the guards switch, there may be no solution
            continue
        solved += 1
        pressed += step.p[2] > 0
        close = 1e-8 * np.abs(distal.v).max()
        np.testing.assert_allclose(distal.J @ step.v, upstream.J @ step.v_hat, atol=close)

        V_free, L = without_joint_force(distal, upstream)

        def mismatch(p, V_free=V_free, L=L, M_inverse=M_inverse, patch=patch):
            V1 = V_free + (L - M_inverse) @ p
            return algorithm1(V1, H, np.zeros(6), M_inverse, patch, lambda P, v1: mode, viscous) - p

        np.testing.assert_allclose(V_free + L @ step.p, step.v, atol=close)
        np.testing.assert_allclose(mismatch(step.p), 0, atol=1e-8 * np.abs(step.p).max())
        # The velocity is compared and not p, as there are impulses that do not move a rod that hangs.
        p = root(mismatch, np.zeros(6), method="hybr", tol=1e-12).x
        same += np.abs(V_free + L @ p - step.v).max() < close
    assert solved >= 4
    assert pressed >= 3
    assert same >= solved - 1  # Powell's method may fail or find another solution
