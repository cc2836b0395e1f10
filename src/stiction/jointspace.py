"""From an engine's joints to its links: where they are, and how their twists follow impulses on them.

All in compiled code on the engine's own arrays, which it changes in place. Names are MuJoCo's, whose layout this is: a
body's numbers stand before those of the bodies it carries, and a joint's velocities ("dofs") likewise.
"""

from typing import NamedTuple

import numpy as np

from stiction.compiled import lean
from stiction.dense import clear_matrix, factor, multiply, solve_columns, solve_factored


class Joints(NamedTuple):
    """The engine's arrays, views.

    xipos: centres of mass of all bodies, (bodies, 3); xmat: their rotations, (bodies, 9)
    cdof: each dof's motion (angular, linear) at subtree_com of the tree it belongs to, (dofs, 6)
    M: joint-space inertia, lower triangle, row r at M_rowadr[r] up to its diagonal, columns in M_colind
    qfrc_smooth, qfrc_constraint: joint forces but for those of constraints, and these
    xfrc_applied: forces on bodies (force, torque) about their centres of mass, (bodies, 6)
    dof_damping: of each dof; others: damping that has no closed form here where one of them is not zero
    """

    xipos: np.ndarray
    xmat: np.ndarray
    subtree_com: np.ndarray
    cdof: np.ndarray
    M: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    qacc: np.ndarray
    qfrc_smooth: np.ndarray
    qfrc_constraint: np.ndarray
    xfrc_applied: np.ndarray
    M_rowadr: np.ndarray
    M_colind: np.ndarray
    dof_damping: np.ndarray
    dof_dampingpoly: np.ndarray
    actuator_damping: np.ndarray
    actuator_dampingpoly: np.ndarray


class Springs(NamedTuple):
    """The engine's own constraints in this step, each a spring on accelerations while its state says so.

    rows: one after another, with all columns, or if they are `sparse` with length[c] of them from start[c] on, whose
        numbers are in `column`
    stiffness: of each; state: of each, `quadratic` if it is a spring now, `cone` if it slides, which is not linear
    """

    rows: np.ndarray
    length: np.ndarray
    start: np.ndarray
    column: np.ndarray
    stiffness: np.ndarray
    state: np.ndarray
    sparse: bool
    quadratic: int
    cone: int


class Placed(NamedTuple):
    """The n links with a law in the engine.

    body: number of each; root: of the body whose subtree_com its dofs are about
    dofs: numbers of the dofs that move it, (n, dofs), the first count[i] of them
    turn: from its law's body frame to the engine's, (n, 3, 3); reach: greatest distance of a vertex [m]
    position: of its centre of mass above the ground, (n, 3); rotation: body to world, (n, 3, 3); both for this step
    """

    body: np.ndarray
    root: np.ndarray
    dofs: np.ndarray
    count: np.ndarray
    turn: np.ndarray
    reach: np.ndarray
    position: np.ndarray
    rotation: np.ndarray


@lean
def place_links(xipos, xmat, links, ground):
    """Write where the links are and how they are turned; False if all are too high above `ground` [m] to touch it."""
    near = False
    for i in range(len(links.body)):
        b = links.body[i]
        for r in range(3):
            links.position[i, r] = xipos[b, r]
            for k in range(3):
                total = 0.0
                for m in range(3):
                    total += xmat[b, 3 * r + m] * links.turn[i, m, k]
                links.rotation[i, r, k] = total
        links.position[i, 2] -= ground
        near = near or links.position[i, 2] <= links.reach[i]
    return near


class Linear(NamedTuple):
    """How n links follow impulses on them in this step.

    V: their twists after the step with the forces applied now, (6 n,)
    R: how impulses on them change the velocities of the joints, (dofs, 6 n)
    L: how impulses change their own twists, (6 n, 6 n)
    J: from the velocities of the joints to these twists, (6 n, dofs)
    A, late, M: what impulses and velocities meet, see `linearise`, (dofs, dofs); free, change: room to find R and V
    """

    V: np.ndarray
    R: np.ndarray
    L: np.ndarray
    J: np.ndarray
    A: np.ndarray
    late: np.ndarray
    M: np.ndarray
    free: np.ndarray
    change: np.ndarray


def new_linear(links: int, dofs: int) -> Linear:
    """Room for so many links and velocities of joints."""
    n = 6 * links
    return Linear(
        V=np.zeros(n),
        R=np.zeros((dofs, n)),
        L=np.zeros((n, n)),
        J=np.zeros((n, dofs)),
        A=np.zeros((dofs, dofs)),
        late=np.zeros((dofs, dofs)),
        M=np.zeros((dofs, dofs)),
        free=np.zeros((dofs, n)),
        change=np.zeros(dofs),
    )


@lean
def linearise(joints, springs, links, rows, timestep, damps, out):
    """Whether the engine's step is linear in impulses on the links; if so, how, into `out`, a Linear.

    rows: numbers of the links; damps: whether the engine takes joint damping implicitly, after its constraints
    """
    n, size = 6 * len(rows), len(joints.qvel)
    V, R, L, J, A = out.V, out.R, out.L, out.J, out.A
    if _has_no_closed_form(joints, springs):
        return False
    clear_matrix(J)
    for k in range(len(rows)):
        _write_jacobian(joints, links, rows[k], J[6 * k : 6 * k + 6])
    damped = damps and _any(joints.dof_damping)
    any_spring = False
    clear_matrix(A)  # what the impulses meet: inertia and springs, or inertia and damping
    _add_inertia(joints, A)
    for c in range(len(springs.stiffness)):
        if springs.state[c] == springs.quadratic:
            _add_spring(springs, c, A)
            any_spring = True
    # What meets velocities in the end: inertia and damping. Constraint forces come from M alone, damping acts on what
    # is left: (M + h D)^-1 M (M + C)^-1.
    twice = damped and any_spring
    late = out.late if twice else A
    if twice:
        clear_matrix(late)
        _add_inertia(joints, late)
    if damped:
        _add_damping(joints, timestep, late)
    factor(A, size)
    for r in range(n):
        for k in range(size):
            R[k, r] = J[r, k]
    solve_columns(A, size, R)
    if twice:
        clear_matrix(out.M)
        _add_inertia(joints, out.M)
        for k in range(size):
            for r in range(n):
                out.free[k, r] = R[k, r]
        multiply(out.M, out.free, R)
        factor(late, size)
        solve_columns(late, size, R)
    change = out.change
    for k in range(size):
        change[k] = joints.qfrc_smooth[k] + joints.qfrc_constraint[k] if damped else joints.qacc[k]
    if damped:
        solve_factored(late, size, change)
    for r in range(n):
        V[r] = 0.0
        for k in range(size):
            V[r] += J[r, k] * (joints.qvel[k] + timestep * change[k])
    multiply(J, R, L)
    return True


@lean
def _any(values):
    for k in range(len(values)):
        if values[k] != 0.0:
            return True
    return False


@lean
def _has_no_closed_form(joints, springs):
    """Whether there is damping that is not linear, or a contact that slides."""
    for k in range(len(joints.dof_dampingpoly)):
        for m in range(joints.dof_dampingpoly.shape[1]):
            if joints.dof_dampingpoly[k, m] != 0.0:
                return True
    for k in range(len(joints.actuator_damping)):
        if joints.actuator_damping[k] != 0.0:
            return True
        for m in range(joints.actuator_dampingpoly.shape[1]):
            if joints.actuator_dampingpoly[k, m] != 0.0:
                return True
    for c in range(len(springs.state)):
        if springs.state[c] == springs.cone:
            return True
    return False


@lean
def _write_jacobian(joints, links, i, J):
    """Write the rows J (6, dofs) from the joints' velocities to the twist of link `i`; J is zero before."""
    at, about = joints.xipos[links.body[i]], joints.subtree_com[links.root[i]]
    x, y, z = at[0] - about[0], at[1] - about[1], at[2] - about[2]
    for k in range(links.count[i]):
        d = links.dofs[i, k]
        w_x, w_y, w_z = joints.cdof[d, 0], joints.cdof[d, 1], joints.cdof[d, 2]
        J[0, d] = joints.cdof[d, 3] + (w_y * z - w_z * y)
        J[1, d] = joints.cdof[d, 4] + (w_z * x - w_x * z)
        J[2, d] = joints.cdof[d, 5] + (w_x * y - w_y * x)
        J[3, d], J[4, d], J[5, d] = w_x, w_y, w_z


@lean
def _add_inertia(joints, A):
    """Add the joint-space inertia to A (dofs, dofs)."""
    for r in range(len(A)):
        k = joints.M_rowadr[r]
        while joints.M_colind[k] < r:
            c = joints.M_colind[k]
            A[r, c] += joints.M[k]
            A[c, r] += joints.M[k]
            k += 1
        A[r, r] += joints.M[k]


@lean
def _add_damping(joints, timestep, A):
    for k in range(len(A)):
        A[k, k] += timestep * joints.dof_damping[k]


@lean
def _add_spring(springs, c, A):
    """Add row^T stiffness row of constraint `c` to A (dofs, dofs)."""
    size = len(A)
    first = springs.start[c] if springs.sparse else c * size
    count = springs.length[c] if springs.sparse else size
    for k in range(first, first + count):
        row = springs.column[k] if springs.sparse else k - first
        a = springs.stiffness[c] * springs.rows[k]
        if a != 0.0:
            for m in range(first, first + count):
                column = springs.column[m] if springs.sparse else m - first
                A[row, column] += a * springs.rows[m]
