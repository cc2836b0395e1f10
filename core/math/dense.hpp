// Small dense linear systems, solved where they stand.
#pragma once

#include "math/vectors.hpp"
#include "math/simd.hpp"

namespace stiction {

constexpr double IMMOBILE_SHARE = 1e-12;  ///< share of a direction's own response that is only rounding

/// A dense matrix with its own memory, row by row; resizing keeps the memory.
class Matrix {
  public:
    Matrix() = default;
    Matrix(int rows, int columns) { resize(rows, columns); }

    void resize(int rows, int columns) {
        rows_ = rows, columns_ = columns;
        values_.assign(static_cast<std::size_t>(rows) * columns, 0.0);
    }
    int rows() const { return rows_; }
    int columns() const { return columns_; }
    double* operator[](int row) { return values_.data() + static_cast<std::size_t>(row) * columns_; }
    const double* operator[](int row) const { return values_.data() + static_cast<std::size_t>(row) * columns_; }

  private:
    int rows_ = 0, columns_ = 0;
    std::vector<double> values_;
};

/// out = A x
inline void multiply(const Matrix& A, const double* x, double* out) {
    for (int r = 0; r < A.rows(); ++r) {
        double total = 0.0;
        for (int k = 0; k < A.columns(); ++k) total += A[r][k] * x[k];
        out[r] = total;
    }
}

/// Solve a symmetric positive semidefinite system of three unknowns; directions without mobility get nothing.
template <class T> inline Vec3<T> solve(Symmetric3<T> A, Vec3<T> b) {
    const T nothing(0.0), yy_own = A.yy, zz_own = A.zz;
    const T per_x = select(A.xx > nothing, T(1.0) / A.xx, nothing);
    const T lxy = A.xy * per_x, lxz = A.xz * per_x;
    A.yy = A.yy - lxy * lxy * A.xx;
    A.yz = A.yz - lxy * lxz * A.xx;
    A.zz = A.zz - lxz * lxz * A.xx;
    b.y = b.y - lxy * b.x;
    b.z = b.z - lxz * b.x;
    b.x = b.x * per_x;
    const T per_y = select(A.yy > T(IMMOBILE_SHARE) * yy_own, T(1.0) / A.yy, nothing);
    const T lyz = A.yz * per_y;
    A.zz = A.zz - lyz * lyz * A.yy;
    b.z = b.z - lyz * b.y;
    b.y = b.y * per_y;
    b.z = select(A.zz > T(IMMOBILE_SHARE) * zz_own, b.z / A.zz, nothing);
    b.y = b.y - lyz * b.z;
    return {b.x - lxy * b.y - lxz * b.z, b.y, b.z};
}

/// Solve A x = b for a positive semidefinite A (n, n), of which the lower triangle is read and overwritten; directions
/// without mobility get nothing.
///
/// stride: numbers from one row of A to the next; x: b before, the solution after; free: which unknowns have mobility
inline void solve_semidefinite(double* A, int stride, double* x, bool* free, int n) {
    for (int k = 0; k < n; ++k) {
        double* row = A + k * stride;
        const double own = row[k];
        free[k] = true;
        for (int m = 0; m < k; ++m)
            if (free[m]) {
                row[k] -= row[m] * row[m] * A[m * stride + m];
                x[k] -= row[m] * x[m];
            }
        if (!(row[k] > IMMOBILE_SHARE * own)) {
            free[k] = false;
            continue;
        }
        for (int r = k + 1; r < n; ++r) {
            double* other = A + r * stride;
            for (int m = 0; m < k; ++m)
                if (free[m]) other[k] -= other[m] * row[m] * A[m * stride + m];
            other[k] /= row[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        x[k] = free[k] ? x[k] / A[k * stride + k] : 0.0;
        for (int r = k + 1; r < n; ++r)
            if (free[k] && free[r]) x[k] -= A[r * stride + k] * x[r];
    }
}

/// Solve A x = b for any regular A (n, n), which is overwritten; x: b before, the solution after. Where there are several
/// right sides, they are the columns of x (n, columns).
inline void solve_by_elimination(Matrix& A, double* x, int columns = 1) {
    const int n = A.rows();
    const auto row = [x, columns](int k) { return x + static_cast<std::size_t>(k) * columns; };
    const auto subtract = [columns](double* from, double share, const double* what) {
        for (int c = 0; c < columns; ++c) from[c] -= share * what[c];
    };
    for (int k = 0; k < n; ++k) {
        int pivot = k;  // the row with the greatest number in this column
        for (int r = k + 1; r < n; ++r)
            if (std::fabs(A[r][k]) > std::fabs(A[pivot][k])) pivot = r;
        if (pivot != k) {
            std::swap_ranges(A[k] + k, A[k] + n, A[pivot] + k);
            std::swap_ranges(row(k), row(k) + columns, row(pivot));
        }
        for (int r = k + 1; r < n; ++r) {
            if (A[r][k] == 0.0) continue;
            const double share = A[r][k] / A[k][k];
            for (int c = k + 1; c < n; ++c) A[r][c] -= share * A[k][c];
            subtract(row(r), share, row(k));
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int c = k + 1; c < n; ++c) subtract(row(k), A[k][c], row(c));
        for (int c = 0; c < columns; ++c) row(k)[c] /= A[k][k];
    }
}

/// Replace a positive definite A, of which the lower triangle of the first n rows is read, by its Cholesky factor, and
/// the upper triangle by the factor's transpose: a solution goes along rows in both directions.
inline void factor(Matrix& A, int n) {
    for (int k = 0; k < n; ++k) {
        double* pivot = A[k];
        pivot[k] = std::sqrt(pivot[k]);
        for (int r = k + 1; r < n; ++r) pivot[r] = A[r][k] /= pivot[k];
        for (int r = k + 1; r < n; ++r) {
            double* row = A[r];
            const double a = pivot[r];
            for (int c = k + 1; c <= r; ++c) row[c] -= a * pivot[c];
        }
    }
}

/// Solve with what `factor` left in A: x holds the right side before, the solution after.
inline void solve_factored(const Matrix& A, int n, double* x) {
    for (int k = 0; k < n; ++k) {
        const double* row = A[k];
        x[k] /= row[k];
        for (int r = k + 1; r < n; ++r) x[r] -= row[r] * x[k];
    }
    for (int k = n - 1; k >= 0; --k) {
        const double* row = A[k];
        x[k] /= row[k];
        for (int r = 0; r < k; ++r) x[r] -= row[r] * x[k];
    }
}

/// As above, for all columns of X at once.
inline void solve_factored(const Matrix& A, int n, Matrix& X) {
    const int columns = X.columns();
    for (int k = 0; k < n; ++k) {
        for (int m = 0; m < k; ++m)
            for (int c = 0; c < columns; ++c) X[k][c] -= A[k][m] * X[m][c];
        for (int c = 0; c < columns; ++c) X[k][c] /= A[k][k];
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int m = k + 1; m < n; ++m)
            for (int c = 0; c < columns; ++c) X[k][c] -= A[m][k] * X[m][c];
        for (int c = 0; c < columns; ++c) X[k][c] /= A[k][k];
    }
}

}  // namespace stiction
