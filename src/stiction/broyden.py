"""The search of Algorithm 2 for the friction of sliding links: Broyden's method, on p_f alone.

What is sought is the zero of F(x), what the law wants less what it has been given; x and F are (5 n,), torques divided
by a radius.
"""

from stiction.compiled import lean
from stiction.dense import write_applied
from stiction.spatial import copy, dot


@lean
def mismatch(contacts, p, static, p_f, want, x, F):
    """Write the friction of the sliding links and how far the law wants it elsewhere, into x and F; a size back."""
    size = 0.0
    for i in range(len(static)):
        size += abs(p[6 * i + 2])
        for k in range(5):
            at, arm = 5 * i + k, 1.0 if k < 2 else _arm(contacts, i)
            x[at] = 0.0 if static[i] else p_f[i, k] / arm
            F[at] = 0.0 if static[i] else (want[i, k] - p_f[i, k]) / arm
            size += abs(x[at])
    return size


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
def copy_rows(source, out):
    """Write the rows of `source` into `out`."""
    for i in range(len(source)):
        copy(source[i], out[i])


@lean
def learn_jacobian(B, x, F, last_x, last_F, spare):
    """Broyden's update (1965) of the inverse Jacobian B from the last two places. spare: room, (3, 5 n)"""
    n = len(x)
    s, y, By = spare[0], spare[1], spare[2]
    for k in range(n):
        s[k], y[k] = x[k] - last_x[k], F[k] - last_F[k]
    write_applied(B, y, By)
    below = dot(s, By)
    if abs(below) <= 1e-14 * dot(s, s):
        return
    sB = y  # which is spent
    for k in range(n):
        sB[k] = 0.0
        for r in range(n):
            sB[k] += s[r] * B[r, k]
    for r in range(n):
        for k in range(n):
            B[r, k] += (s[r] - By[r]) * sB[k] / below


@lean
def advance(contacts, B, x, F, p_f, spare):
    """Move the friction p_f (n, 5) from x by a quasi-Newton step."""
    step = spare[0]
    write_applied(B, F, step)
    for i in range(len(p_f)):
        for k in range(5):
            arm = 1.0 if k < 2 else _arm(contacts, i)
            p_f[i, k] = arm * (x[5 * i + k] - step[5 * i + k])
