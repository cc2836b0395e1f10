"""The search of Algorithm 2 for the friction of sliding links: Broyden's method, on p_f alone.

What is sought is the zero of F(x), what the law wants less what it has been given; x and F are (5 n,), torques divided
by a radius. `s` is a searching.Search.
"""

import numpy as np

from stiction.compiled import lean
from stiction.dense import copy_matrix, write_applied
from stiction.spatial import copy, dot


@lean
def mismatch(contacts, s):
    """Write the friction of the sliding links and how far the law wants it elsewhere, into x and F; |F| and a size to
    compare it with back."""
    size = 0.0
    static, p, p_f, want, x, F = s.static, s.p, s.p_f, s.want, s.x, s.F
    for i in range(len(static)):
        size += abs(p[6 * i + 2])
        for k in range(5):
            at, arm = 5 * i + k, 1.0 if k < 2 else _arm(contacts, i)
            x[at] = 0.0 if static[i] else p_f[i, k] / arm
            F[at] = 0.0 if static[i] else (want[i, k] - p_f[i, k]) / arm
            size += abs(x[at])
    return np.sqrt(dot(F, F)), size


@lean
def _arm(contacts, i):
    """A length that makes torques comparable to forces [m]."""
    c = contacts.record[i]
    return max(c.radius, 0.01 * c.diameter)


@lean
def first_jacobian(B, share):
    """Write the inverse Jacobian of F with which the search begins: go that share of the way to what the law wants."""
    for r in range(len(B)):
        for k in range(len(B)):
            B[r, k] = -share if r == k else 0.0


@lean
def keep_best(s):
    """Keep where the search is, as where F was least."""
    copy(s.x, s.best_x)
    copy(s.F, s.best_F)
    copy_matrix(s.p_f, s.best_f)


@lean
def return_to_best(s):
    """Go on from where F was least."""
    copy(s.best_x, s.x)
    copy(s.best_F, s.F)


@lean
def take_wanted(s):
    """Give the sliding links the friction that the law wants."""
    for i in range(len(s.static)):
        if not s.static[i]:
            copy(s.want[i], s.p_f[i])


@lean
def learn_jacobian(s):
    """Broyden's update (1965) of the inverse Jacobian B from the last two places."""
    B, x, F, last_x, last_F, n = s.B, s.x, s.F, s.last_x, s.last_F, len(s.x)
    step, y, By = s.spare[0], s.spare[1], s.spare[2]
    for k in range(n):
        step[k], y[k] = x[k] - last_x[k], F[k] - last_F[k]
    write_applied(B, y, By)
    below = dot(step, By)
    if abs(below) <= 1e-14 * dot(step, step):
        return
    sB = y  # which is spent
    for k in range(n):
        sB[k] = 0.0
        for r in range(n):
            sB[k] += step[r] * B[r, k]
    for r in range(n):
        for k in range(n):
            B[r, k] += (step[r] - By[r]) * sB[k] / below


@lean
def advance(contacts, s):
    """Move the friction p_f from x by a quasi-Newton step; where it was is kept as the last place."""
    x, p_f, step = s.x, s.p_f, s.spare[0]
    copy(x, s.last_x)
    copy(s.F, s.last_F)
    write_applied(s.B, s.F, step)
    for i in range(len(p_f)):
        for k in range(5):
            arm = 1.0 if k < 2 else _arm(contacts, i)
            p_f[i, k] = arm * (x[5 * i + k] - step[5 * i + k])
