"""Algorithms 1 and 2 of the paper in plain NumPy: to be read beside it, and to test the fast code against.

The paper is "Data-Augmented Contact Model for Rigid Body Simulation" (Jiang, Sun, Liu, L4DC 2022). Comments give its
line and equation numbers. Its vertical axis is y; here it is z, and the ground is the plane z = 0. A twist is a
velocity and an angular velocity [m/s, rad/s]; an impulse is a linear impulse and a torque impulse [N s, N m s]. Both
have shape (6,), are taken at the centre of mass and are written in world axes. So friction is p_f = (p_x, p_y, m_z),
and the normal impulse is p_n = (p_z, m_x, m_y). The paper's q-dot is v here, its q-dot^(1) is v1, and a hat is `_hat`.

The paper trusts its classifier C and its regressor R. The guards below keep contact physical for any C and R.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.linalg import inv, norm, pinv
from scipy.optimize import nnls, root

Array = np.ndarray  # of float64
ROUNDING = 1e-12  # relative rounding error
SAME = 1e-9  # relative difference below which two impulses are the same
SCALE_STEP = 1e-10  # relative tolerance of the scale of friction


@dataclass(frozen=True)
class Patch:
    """The contact patch P, which is the convex hull of its contact points."""

    points: Array  # [m] relative to the centre of mass, world axes, shape (k, 3)
    kind: Literal["point", "line", "surface"]

    @property
    def centre(self) -> Array:
        """The mean of the contact points, where friction acts, shape (3,)."""
        return self.points.mean(axis=0)

    @property
    def axis(self) -> Array:
        """The unit vector along a line patch, shape (3,)."""
        return np.linalg.svd(self.points - self.centre)[2][0]

    @property
    def N(self) -> Array:  # noqa: N802
        """Column i is the p_n of a unit normal impulse at point i, (3, k). N^T (v_z, w_x, w_y): normal velocities."""
        return np.array([np.ones(len(self.points)), self.points[:, 1], -self.points[:, 0]])


Classifier = Callable[[Patch, Array], str]  # C(P, v1) is "static", "dynamic" or "detach"
Regressor = Callable[[Patch, Array], Array]  # R(P, v1) is the friction p_f at the patch's centre, shape (3,)


def algorithm1(v: Array, h: float, tau: Array, M_inverse: Array, patch: Patch, C: Classifier, R: Regressor) -> Array:
    """Algorithm 1, the contact handler H: the contact impulse p of a rigid body in one time step, shape (6,).

    v: twist at the start of the step. h: time step [s]. M_inverse: inverse of the mass matrix, shape (6, 6).
    tau: applied force and torque [N, N m], shape (6,). They include gravity and the gyroscopic torque -w x I w.
    """
    v1 = v + h * M_inverse @ tau  # line 1
    fall = np.append((v1 - v)[:3], np.zeros(3))  # h g; the gyroscopic torque does no work
    c = "static" if stays_at_rest(v, v1, M_inverse, patch) else C(patch, v1)  # line 2, with a guard
    if c == "detach" and still_approaches(v1, patch):  # guard
        c = "dynamic"
    if c == "static":  # line 3
        S = patch_velocity(patch)  # line 4: the constraint S (v1 + M^-1 p) = 0, which acts by impulses p = S^T x
        p = S.T @ pinv(S @ M_inverse @ S.T, ROUNDING) @ -(S @ v1)  # line 5; a planar body has a singular matrix here
        if not only_pushes(p, v1, M_inverse, patch):  # guard
            p = limited_impulse(friction_of(p, patch), fall, v1, M_inverse, patch)
    elif c == "dynamic":  # line 7; line 6 is done, as no constraint is kept
        p_f = R(patch, v1)  # line 8
        p = limited_impulse(p_f, fall, v1, M_inverse, patch)  # lines 9-11, with three guards
    else:  # line 12
        p = np.zeros(6)  # line 13
    return p  # line 15


def dynamic_impulse(p_f: Array, v1: Array, M_inverse: Array, patch: Patch) -> Array:
    """Lines 9-11: the impulse p of a patch that slides with the friction impulse p_f, shape (6,)."""
    T_f, T_n = friction_map(patch), np.eye(6)[:, 2:5]
    v2 = v1 + M_inverse @ T_f @ p_f  # line 9
    p_n = frictionless_lcp(v2, M_inverse, patch)  # line 10
    return T_n @ p_n + T_f @ p_f  # line 11


def frictionless_lcp(v2: Array, M_inverse: Array, patch: Patch) -> Array:
    """The normal impulse p_n = (p_z, m_x, m_y) that prevents penetration at all contact points.

    Unknowns: the normal impulses n_i of the points. With u = (v_z, w_x, w_y) of v2 and W its block of M^-1, their
    normal velocities after the step are s = N^T u + N^T W N n. Conditions: 0 <= n, 0 <= s, n^T s = 0. These are the KKT
    conditions of the non-negative least-squares problem min |F^T N n + F^T W^-1 u| over n >= 0, with W = F F^T. Its
    solution n may not be unique, but p_n = N n is.
    """
    u, W, N = v2[2:5], M_inverse[2:5, 2:5], patch.N
    eigenvalues, Q = np.linalg.eigh(W)
    F = Q * np.sqrt(np.maximum(eigenvalues, 0.0))
    n, _ = nnls(F.T @ N, -F.T @ pinv(W, ROUNDING) @ u)
    return N @ n


def patch_velocity(patch: Patch) -> Array:
    """S, which maps a twist to the motion of the patch: 3 rows for a point, 5 for a line, 6 for a surface.

    The first three rows are the velocity of its centre, the others its rotation. A line may rotate about itself.
    """
    x, y, z = patch.centre
    rows = [[1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x], [0, 0, 1, y, -x, 0]]
    if patch.kind == "surface":
        rows.extend(np.eye(6)[3:])
    elif patch.kind == "line":
        across = np.cross([0, 0, 1], patch.axis)
        rows.extend([0, 0, 0, *axis / norm(across)] for axis in (across, np.cross(patch.axis, across)))
    return np.array(rows)


def friction_map(patch: Patch) -> Array:
    """T_f, shape (6, 3), which maps friction at the patch's centre to an impulse at the centre of mass.

    A line cannot carry a torque along itself. If its ends differ in depth, its m_z comes with some m_x and m_y.
    """
    T_f = patch_velocity(patch)[:3].T
    T_f[:, 2] = [0, 0, 0, 0, 0, 1]
    if patch.kind == "line":
        a = patch.axis
        T_f[3:5, 2] = -a[2] * a[:2] / (a[:2] @ a[:2])
    return T_f


def friction_of(p: Array, patch: Patch) -> Array:
    """The friction p_f at the patch's centre that an impulse p contains, shape (3,)."""
    x, y, _ = patch.centre
    return np.array([p[0], p[1], p[5] - x * p[1] + y * p[0]])


def still_approaches(v1: Array, patch: Patch) -> bool:
    """Guard: a patch with an approaching point cannot detach, because that point would penetrate the ground."""
    return bool(np.min(patch.N.T @ v1[2:5]) < 0)


def stays_at_rest(v: Array, v1: Array, M_inverse: Array, patch: Patch) -> bool:
    """Guard: a body at rest on a surface that the frictionless impulse alone stops is static; C is not asked."""
    is_maximal = patch.kind == "surface" or (patch.kind == "line" and M_inverse[1, 1] == 0)  # a planar body
    if not is_maximal or np.any(v):
        return False
    return bool(norm(v1 + M_inverse @ dynamic_impulse(np.zeros(3), v1, M_inverse, patch)) <= SAME * norm(v1))


def only_pushes(p: Array, v1: Array, M_inverse: Array, patch: Patch) -> bool:
    """Guard: an impulse p that stops the patch is kept only if it does not pull, because the ground cannot pull.

    It does not if p_z > 0 and the centre of pressure lies in the patch. Then the frictionless LCP gives the same p_n.
    """
    difference = np.abs(dynamic_impulse(friction_of(p, patch), v1, M_inverse, patch) - p)[2:5]
    arm = np.abs(patch.points).max()
    return bool(p[2] > 0 and np.all(difference <= SAME * p[2] * np.array([1, arm, arm])))


def limited_impulse(p_f: Array, fall: Array, v1: Array, M_inverse: Array, patch: Patch) -> Array:
    """Three guards: `dynamic_impulse`, with the friction p_f scaled down until all hold. The scale is in [0, 1].

    v+ = v1 + M^-1 p is the velocity after the step, v' = v1 - fall that without contact and weight, p_0 the impulse
    without friction, f the wrench of the friction. Norms are those of M for velocities, of M^-1 for impulses.

    1. The normal impulse is positive, because there is no friction without load.
    2. Contact adds no mechanical energy, height included: p . v+ - |v+ - v'|^2 / 2 <= 0. It adds no kinetic energy to
       v1 either: p . (v1 + v+) / 2 <= 0.
    3. Friction dissipates energy: it leaves no more kinetic energy than p_0, f . v+ <= (|p|^2 - |p_0|^2) / 2, or its
       work at the mean slip is not positive, f . (v1 + v+) / 2 <= 0.

    The normal impulse does no work, so that friction with f . v+ <= 0 fulfils 2 and 3, and a scale of 0 does so, too.
    Divided by the scale, what friction adds rises with it. The root is bracketed by 0 (low) and 1 (high); regula falsi
    and bisection alternate. Friction that is not finite counts as zero.
    """
    p_f = p_f if np.isfinite(p_f).all() else np.zeros(3)
    f = friction_map(patch) @ p_f
    lost = fall @ pinv(M_inverse, ROUNDING) @ fall / 2  # energy that a step without contact takes
    p_0 = dynamic_impulse(np.zeros(3), v1, M_inverse, patch)
    v_0 = v1 + M_inverse @ p_0

    def gain(scale: float) -> float:  # added energy [J], minus rounding; that of friction is divided by the scale
        p = dynamic_impulse(scale * p_f, v1, M_inverse, patch)
        v_plus = v1 + M_inverse @ p
        of_step = p @ (v1 + v_plus) / 2 + max(0.0, -p @ fall - lost) - ROUNDING * np.abs(p) @ np.abs(v1)
        beyond_p_0 = f @ v_plus - (p - p_0) @ M_inverse @ (p + p_0) / (2 * scale)
        return float(max(of_step, min(beyond_p_0, f @ (v1 + v_plus) / 2))) if p[2] > 0 else np.inf

    low, high, gain_low, gain_high = 0.0, 1.0, np.inf, gain(1.0)
    if p_0[2] > 0:
        gain_low = float(min(f @ v_0, f @ (v1 + v_0) / 2) + ROUNDING * np.abs(f) @ np.abs(v1))
    if gain_high <= 0:
        return dynamic_impulse(p_f, v1, M_inverse, patch)
    turn, step = 0, 1.0
    while gain_low < 0 and high - low > SCALE_STEP * high and step > SCALE_STEP * low:
        share = gain_low / (gain_low - gain_high) if turn % 2 == 0 and gain_high < np.inf else 0.5
        middle = low + share * (high - low)
        gain_middle = gain(middle)
        if gain_middle <= 0:
            low, gain_low, step = middle, gain_middle, middle - low
        else:
            high, gain_high = middle, gain_middle
        turn += 1
    return dynamic_impulse(low * p_f, v1, M_inverse, patch)


class Side(NamedTuple):
    """One side of a joint: the distal body, where n = 6 and v is its twist, or the upstream system."""

    v: Array  # generalized velocity at the start of the step, shape (n,)
    tau: Array  # generalized applied force, shape (n,)
    M: Array  # mass matrix, shape (n, n)
    J: Array  # maps v to the k velocities that the joint makes equal on both sides, shape (k, n)


class Step(NamedTuple):
    """The result of Algorithm 2. Positions are left to the caller (its lines 9 and 11)."""

    v: Array  # twist of the distal body after the step, shape (6,)
    v_hat: Array  # generalized velocity of the upstream system after the step, shape (n,)
    p: Array  # contact impulse of the distal body, shape (6,)
    f_j: Array  # joint force on the distal body [N, N m], shape (k,)
    solved: bool  # whether G(f_j) is zero to the tolerance; if not, the joint does not hold


def algorithm2(
    distal: Side, upstream: Side, h: float, patch: Patch, C: Classifier, R: Regressor, *, tolerance: float = 0.005
) -> Step:
    """Algorithm 2: one time step of a distal body in contact and the upstream system that a joint connects it to.

    tolerance: relative, 0.5 % as in the paper.

    An equivalent form without joint forces suits any physics engine. Let V_free be the distal body's twist
    after a step without contact, and L = M^-1 - M^-1 J^T (A / h)^-1 J M^-1 its inverse inertia inside the system. Then
    p solves p = H(V1) with V1 = V_free + (L - M^-1) p, and the twist after the step is V_free + L p. V1 is H's v1.
    """
    (v, tau, M, J), (v_hat, tau_hat, M_hat, J_hat) = distal, upstream  # line 2
    M_inverse, M_hat_inverse = inv(M), inv(M_hat)
    free, free_hat = v + h * M_inverse @ tau, v_hat + h * M_hat_inverse @ tau_hat  # without joint and contact
    A_hat = h * J_hat @ M_hat_inverse @ J_hat.T
    A, c = h * J @ M_inverse @ J.T + A_hat, J @ free - J_hat @ free_hat

    def H(f_j: Array) -> Array:  # noqa: N802
        # The guards on energy compare with V1 alone: the change by the joint force is no fall of the distal body.
        return algorithm1(free + h * M_inverse @ J.T @ f_j, h, np.zeros(6), M_inverse, patch, C, R)

    def G(f_j: Array) -> Array:  # noqa: N802
        return A @ f_j + J @ M_inverse @ H(f_j) + c  # Eq. 6

    guess = pinv(A_hat, ROUNDING) @ J_hat @ free_hat  # line 1, Eq. 7, where the matrix may have no inverse
    f_j = root(G, guess, method="hybr", tol=tolerance).x  # lines 3-6, Powell's hybrid method
    p = H(f_j)  # line 7
    # Guard: to the whole system, friction adds no energy either. The joint force follows from Eq. 6.
    response = h * M_inverse @ J.T @ pinv(A, ROUNDING)
    V_free, L = free - response @ c, M_inverse - response @ J @ M_inverse
    p_f, slip = friction_of(p, patch), friction_map(patch).T @ (V_free + L @ p)
    is_limited = False
    if p_f @ slip > SAME * np.abs(p_f) @ np.abs(friction_map(patch).T @ V_free):
        limited = limited_impulse(p_f, V_free - v, V_free, L, patch)
        is_limited = norm(L @ (limited - p)) > tolerance * norm(L @ p)
        if is_limited:
            p, f_j = limited, -pinv(A, ROUNDING) @ (J @ M_inverse @ limited + c)
    v_next = free + M_inverse @ (h * J.T @ f_j + p)  # line 8, Eq. 3
    v_hat_next = free_hat - h * M_hat_inverse @ J_hat.T @ f_j  # line 10
    # The solver's success flag is unreliable: check the residual, the velocity difference at the joint.
    gap, size = norm(J @ v_next - J_hat @ v_hat_next), norm(J @ free) + norm(J @ M_inverse @ p)
    return Step(v_next, v_hat_next, p, f_j, bool(gap <= tolerance * size and not is_limited))  # line 12
