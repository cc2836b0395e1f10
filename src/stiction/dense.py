"""Small dense systems, solved where they stand: no arrays are made on the way."""

import numpy as np

from stiction.compiled import lean


@lean
def factor(A):
    """Cholesky factor of a positive definite A, in place, in its lower triangle."""
    for k in range(len(A)):
        for m in range(k):
            A[k, k] -= A[k, m] * A[k, m]
        A[k, k] = np.sqrt(A[k, k])
        for r in range(k + 1, len(A)):
            for m in range(k):
                A[r, k] -= A[r, m] * A[k, m]
            A[r, k] /= A[k, k]


@lean
def solve_factored(A, x):
    """Solve in place with what `factor` has left in A: x (n,) holds the right side, then the solution."""
    for k in range(len(x)):
        for m in range(k):
            x[k] -= A[k, m] * x[m]
        x[k] /= A[k, k]
    for k in range(len(x) - 1, -1, -1):
        for m in range(k + 1, len(x)):
            x[k] -= A[m, k] * x[m]
        x[k] /= A[k, k]


@lean
def multiply(A, B, out):
    """Write the product of two matrices into `out`."""
    for r in range(A.shape[0]):
        for c in range(B.shape[1]):
            out[r, c] = 0.0
        for k in range(A.shape[1]):
            a = A[r, k]
            if a != 0.0:
                for c in range(B.shape[1]):
                    out[r, c] += a * B[k, c]
