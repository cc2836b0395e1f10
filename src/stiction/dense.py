"""Small dense systems, solved where they stand: no arrays are made on the way."""

import numpy as np

from stiction.compiled import lean


@lean
def factor(A, n):
    """Cholesky factor of the first n rows and columns of a positive definite A, in place, in the lower triangle."""
    for k in range(n):
        for m in range(k):
            A[k, k] -= A[k, m] * A[k, m]
        A[k, k] = np.sqrt(A[k, k])
        for r in range(k + 1, n):
            for m in range(k):
                A[r, k] -= A[r, m] * A[k, m]
            A[r, k] /= A[k, k]


@lean
def solve_factored(A, n, x):
    """Solve in place with what `factor` has left in A: x (n,) holds the right side, then the solution."""
    for k in range(n):
        for m in range(k):
            x[k] -= A[k, m] * x[m]
        x[k] /= A[k, k]
    for k in range(n - 1, -1, -1):
        for m in range(k + 1, n):
            x[k] -= A[m, k] * x[m]
        x[k] /= A[k, k]


@lean
def solve_columns(A, n, X):
    """As `solve_factored`, for all columns of X (n, m) at once."""
    for k in range(n):
        for m in range(k):
            a = A[k, m]
            for c in range(X.shape[1]):
                X[k, c] -= a * X[m, c]
        for c in range(X.shape[1]):
            X[k, c] /= A[k, k]
    for k in range(n - 1, -1, -1):
        for m in range(k + 1, n):
            a = A[m, k]
            for c in range(X.shape[1]):
                X[k, c] -= a * X[m, c]
        for c in range(X.shape[1]):
            X[k, c] /= A[k, k]


@lean
def clear_matrix(A):
    """Fill with zeros."""
    for r in range(A.shape[0]):
        for k in range(A.shape[1]):
            A[r, k] = 0.0


@lean
def copy_matrix(A, out):
    """Write A into `out`."""
    for r in range(A.shape[0]):
        for k in range(A.shape[1]):
            out[r, k] = A[r, k]


@lean
def write_applied(A, x, out):
    """Write the product of a matrix and a vector into `out`."""
    for r in range(A.shape[0]):
        total = 0.0
        for k in range(A.shape[1]):
            total += A[r, k] * x[k]
        out[r] = total


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
