"""Small semidefinite systems, of which directions without mobility get nothing."""

import numpy as np

from stiction.compiled import compiled, lean
from stiction.lanes import where

_TINY = 1e-12  # share of a direction's own response that rounding leaves


@lean
def solve_three(a, b, c, d, e, f, x, y, z):
    """Solve the semidefinite system with rows (a, b, c), (b, d, e), (c, e, f) for the right side (x, y, z), floats or
    lanes; directions without mobility get nothing."""
    d_own, f_own = d, f
    per_a = where(a > 0.0, 1.0 / a, 0.0)
    b, c = b * per_a, c * per_a
    d, e, f = d - b * b * a, e - b * c * a, f - c * c * a
    y, z, x = y - b * x, z - c * x, x * per_a
    per_d = where(d > _TINY * d_own, 1.0 / d, 0.0)
    e = e * per_d
    f, z, y = f - e * e * d, z - e * y, y * per_d
    z = where(f > _TINY * f_own, z / f, 0.0)
    y = y - e * z
    return x - b * y - c * z, y, z


@compiled
def solve_semidefinite(A, b):
    """Solve A x = b for a positive semidefinite A; directions without mobility get no impulse. A is overwritten."""
    x = b.copy()
    solve_in_place(A, x, np.empty(len(b), dtype=np.bool_), len(b))
    return x


@lean
def solve_in_place(A, x, free, n):
    """As `solve_semidefinite`, for the first n rows and columns of A; x (n,) holds b, then the solution.

    free: room, (n,) of bool
    """
    for k in range(n):
        own = A[k, k]
        free[k] = True
        for m in range(k):
            if free[m]:
                A[k, k] -= A[k, m] * A[k, m] * A[m, m]
                x[k] -= A[k, m] * x[m]
        if not A[k, k] > _TINY * own:
            free[k] = False
            continue
        for r in range(k + 1, n):
            for m in range(k):
                if free[m]:
                    A[r, k] -= A[r, m] * A[k, m] * A[m, m]
            A[r, k] /= A[k, k]
    for k in range(n - 1, -1, -1):
        x[k] = x[k] / A[k, k] if free[k] else 0.0
        for r in range(k + 1, n):
            if free[k] and free[r]:
                x[k] -= A[r, k] * x[r]
