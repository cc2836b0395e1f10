"""The search of Algorithm 2 for the friction of sliding links: Broyden's method, on p_f alone.

What is sought is the zero of F(x), what the law wants less what it has been given; x and F are (5 n,), torques divided
by a radius.
"""

import numpy as np

from stiction.compiled import compiled
from stiction.spatial import apply, copy, dot


@compiled
def mismatch(contacts, p, static, p_f, want):
    """Friction of the sliding links, how far the law wants it elsewhere (5 n, each; torques per radius), and a size."""
    n = len(static)
    x, F = np.zeros(5 * n), np.zeros(5 * n)
    size = 0.0
    for i in range(n):
        size += abs(p[6 * i + 2])
        if not static[i]:
            for k in range(5):
                arm = 1.0 if k < 2 else _arm(contacts, i)
                x[5 * i + k] = p_f[i, k] / arm
                F[5 * i + k] = (want[i, k] - p_f[i, k]) / arm
                size += abs(x[5 * i + k])
    return x, F, size


@compiled
def _arm(contacts, i):
    """A length that makes torques comparable to forces [m]."""
    c = contacts.record[i]
    return max(c.radius, 0.01 * c.diameter)


@compiled
def first_jacobian(n, share):
    """The inverse Jacobian of F with which the search begins: go that share of the way to what the law wants."""
    B = np.zeros((5 * n, 5 * n))
    for k in range(5 * n):
        B[k, k] = -share
    return B


@compiled
def copy_rows(source, out):
    """Write the rows of `source` into `out`."""
    for i in range(len(source)):
        copy(source[i], out[i])


@compiled
def learn_jacobian(B, x, F, last_x, last_F):
    """Broyden's update (1965) of the inverse Jacobian B from the last two places."""
    n = len(x)
    s, y = np.empty(n), np.empty(n)
    for k in range(n):
        s[k], y[k] = x[k] - last_x[k], F[k] - last_F[k]
    By = apply(B, y)
    below = dot(s, By)
    if abs(below) <= 1e-14 * dot(s, s):
        return
    sB = np.zeros(n)
    for r in range(n):
        for k in range(n):
            sB[k] += s[r] * B[r, k]
    for r in range(n):
        for k in range(n):
            B[r, k] += (s[r] - By[r]) * sB[k] / below


@compiled
def advance(contacts, B, x, F, p_f):
    """Move the friction p_f (n, 5) from x by a quasi-Newton step."""
    step = apply(B, F)
    for i in range(len(p_f)):
        for k in range(5):
            arm = 1.0 if k < 2 else _arm(contacts, i)
            p_f[i, k] = arm * (x[5 * i + k] - step[5 * i + k])
