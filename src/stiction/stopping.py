"""The impulse that stops a patch, which physics settles exactly."""

import numpy as np

from stiction.bodies.state import Kind
from stiction.compiled import inlined, lean
from stiction.semidefinite import solve_in_place, solve_three
from stiction.spatial import dot


@inlined
def write_static_impulse(contacts, i, p):
    """SolveConstraint: the impulse p (6,) after which the patch's twist is zero.

    The patch has 3 degrees of freedom as a point, 5 as a line (it may turn about itself), 6 as a surface.
    """
    c = contacts.record[i]
    if c.kind == Kind.SURFACE:
        _stop_body(c, p)
    elif c.kind == Kind.POINT:
        _stop_point(c, p)
    else:
        _stop_line(c, contacts.room, p)


@lean
def _stop_line(c, room, p):
    """Write the impulse p (6,) that stops a line, but for its turning about itself."""
    S, SW, A = room[:30].reshape(5, 6), room[30:60].reshape(5, 6), room[60:85].reshape(5, 5)
    x, free = room[85:90], room[90:91].view(np.bool_)
    write_patch_rows(c, S)
    for r in range(5):
        _times_inverse_inertia(c.inverse_inertia, S[r], SW[r])
    for r in range(5):
        x[r] = -dot(S[r], c.velocity)
        for k in range(5):
            A[r, k] = dot(SW[r], S[k])
    solve_in_place(A, x, free, 5)
    for k in range(6):
        p[k] = 0.0
        for r in range(5):
            p[k] += S[r, k] * x[r]


@inlined
def _stop_point(c, p):
    """Write the impulse p (6,) that stops the patch's centre."""
    W, v = c.inverse_inertia, c.velocity
    x, y, z = c.centre
    # How the centre's velocity (rows) turns with the body: r x, and A = 1 / m - [r] I^-1 [r].
    a, b, d, e, f, g = W[3, 3], W[3, 4], W[3, 5], W[4, 4], W[4, 5], W[5, 5]
    xx = W[0, 0] + z * (e * z - f * y) - y * (f * z - g * y)
    xy = z * (f * x - b * z) - y * (g * x - d * z)
    xz = z * (b * y - e * x) - y * (d * y - f * x)
    yy = W[1, 1] - z * (d * x - a * z) + x * (g * x - d * z)
    yz = -z * (a * y - b * x) + x * (d * y - f * x)
    zz = W[2, 2] + y * (a * y - b * x) - x * (b * y - e * x)
    u = -(v[0] + z * v[4] - y * v[5])
    s = -(v[1] - z * v[3] + x * v[5])
    t = -(v[2] + y * v[3] - x * v[4])
    p[0], p[1], p[2] = solve_three(xx, xy, xz, yy, yz, zz, u, s, t)
    p[3], p[4], p[5] = y * p[2] - z * p[1], z * p[0] - x * p[2], x * p[1] - y * p[0]


@inlined
def _stop_body(c, p):
    """Write the impulse p (6,) that stops the whole body, -M v1."""
    W, v = c.inverse_inertia, c.velocity
    for k in range(3):
        p[k] = -v[k] / W[k, k] if W[k, k] > 0.0 else 0.0
    a, b, d, e, f, g = W[3, 3], W[3, 4], W[3, 5], W[4, 4], W[4, 5], W[5, 5]
    A, B, D = e * g - f * f, d * f - b * g, b * f - d * e  # cofactors
    E, F, G = a * g - d * d, b * d - a * f, a * e - b * b
    determinant = a * A + b * B + d * D
    x, y, z = -v[3] / determinant, -v[4] / determinant, -v[5] / determinant
    p[3], p[4], p[5] = A * x + B * y + D * z, B * x + E * y + F * z, D * x + F * y + G * z


@lean
def _times_inverse_inertia(W, p, out):
    """Write M^-1 p of a free body into `out` (6,)."""
    for k in range(3):
        out[k] = W[k, k] * p[k]
        out[3 + k] = W[3 + k, 3] * p[3] + W[3 + k, 4] * p[4] + W[3 + k, 5] * p[5]


@lean
def write_patch_rows(c, S):
    """Write rows S that map a twist at the centre of mass to the patch's velocity at its centre and its turning; their
    number back."""
    n = np.int64(6) if c.kind == Kind.SURFACE else np.int64(5) if c.kind == Kind.LINE else np.int64(3)
    x, y, z = c.centre
    for k in range(n):
        for m in range(6):
            S[k, m] = 1.0 if k == m and k < 3 else 0.0
    S[0, 4], S[0, 5] = z, -y
    S[1, 3], S[1, 5] = -z, x
    S[2, 3], S[2, 4] = y, -x
    if n == 6:
        for k in range(3):
            S[3 + k, 3 + k] = 1.0
    elif n == 5:
        a = c.axis
        flat = np.hypot(a[0], a[1])
        e0, e1 = -a[1] / flat, a[0] / flat  # horizontal and across the line
        S[3, 3], S[3, 4] = e0, e1
        S[4, 3], S[4, 4], S[4, 5] = -a[2] * e1, a[2] * e0, a[0] * e1 - a[1] * e0
    return n
