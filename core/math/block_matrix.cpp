#include "math/block_matrix.hpp"

#include <set>

namespace stiction {
namespace {

/// C -= A B, with A (m, k), B (k, n).
template <int FIXED> void subtract_product(double* C, const double* A, const double* B, int m, int k, int n) {
    if constexpr (FIXED > 0) m = k = n = FIXED;
    for (int r = 0; r < m; ++r)
        for (int j = 0; j < k; ++j) {
            const double a = A[r * k + j];
            for (int c = 0; c < n; ++c) C[r * n + c] -= a * B[j * n + c];
        }
}

void subtract_product(double* C, const double* A, const double* B, int m, int k, int n) {
    constexpr int free_body = 6;
    if (m == free_body && k == free_body && n == free_body)
        subtract_product<free_body>(C, A, B, m, k, n);
    else
        subtract_product<0>(C, A, B, m, k, n);
}

/// Replace A (n, n) by its factors, and write its row exchanges; false if it is singular.
bool factor_dense(double* A, int* pivots, int n) {
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int r = k + 1; r < n; ++r)
            if (std::fabs(A[r * n + k]) > std::fabs(A[pivot * n + k])) pivot = r;
        pivots[k] = pivot;
        if (pivot != k) std::swap_ranges(A + k * n, A + (k + 1) * n, A + pivot * n);
        const double inverse = 1 / A[k * n + k];
        if (!std::isfinite(inverse)) return false;
        for (int r = k + 1; r < n; ++r) {
            const double share = A[r * n + k] *= inverse;
            if (share == 0.0) continue;
            for (int c = k + 1; c < n; ++c) A[r * n + c] -= share * A[k * n + c];
        }
    }
    return true;
}

/// X (n, columns) <- A^-1 X with the factors of A.
void solve_dense(const double* A, const int* pivots, int n, double* X, int columns) {
    for (int k = 0; k < n; ++k)
        if (pivots[k] != k) std::swap_ranges(X + k * columns, X + (k + 1) * columns, X + pivots[k] * columns);
    for (int k = 0; k < n; ++k) {
        for (int r = k + 1; r < n; ++r) {
            const double share = A[r * n + k];
            if (share == 0.0) continue;
            for (int c = 0; c < columns; ++c) X[r * columns + c] -= share * X[k * columns + c];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int m = k + 1; m < n; ++m) {
            const double share = A[k * n + m];
            if (share == 0.0) continue;
            for (int c = 0; c < columns; ++c) X[k * columns + c] -= share * X[m * columns + c];
        }
        const double inverse = 1 / A[k * n + k];
        for (int c = 0; c < columns; ++c) X[k * columns + c] *= inverse;
    }
}

}  // namespace

/// Order the nodes by their degree in what is left to eliminate. links: of each node, before; by rising position, after
void BlockMatrix::order(std::vector<std::vector<int>>& links) {
    const int n = static_cast<int>(links.size());
    std::set<std::pair<int, int>> queue;
    for (int a = 0; a < n; ++a) queue.insert({static_cast<int>(links[a].size()), a});
    order_.clear(), position_.assign(n, -1);
    std::vector<int> merged;
    while (!queue.empty()) {
        const int a = queue.begin()->second;
        queue.erase(queue.begin());
        position_[a] = static_cast<int>(order_.size());
        order_.push_back(a);
        for (const int b : links[a]) {
            queue.erase({static_cast<int>(links[b].size()), b});
            merged.clear();
            std::set_union(links[a].begin(), links[a].end(), links[b].begin(), links[b].end(), std::back_inserter(merged));
            std::erase_if(merged, [&](int c) { return c == a || c == b; });
            links[b].swap(merged);
            queue.insert({static_cast<int>(links[b].size()), b});
        }
    }
    for (std::vector<int>& one : links) {
        for (int& other : one) other = position_[other];
        std::sort(one.begin(), one.end());
    }
}

void BlockMatrix::set_pattern(std::span<const int> sizes, std::span<const std::pair<int, int>> pairs) {
    const int n = static_cast<int>(sizes.size());
    size_of_.assign(sizes.begin(), sizes.end());
    std::vector<std::vector<int>> links(n);
    for (const auto& [a, b] : pairs)
        if (a != b) links[a].push_back(b), links[b].push_back(a);
    for (std::vector<int>& one : links) {
        std::sort(one.begin(), one.end());
        one.erase(std::unique(one.begin(), one.end()), one.end());
    }
    order(links);
    first_.resize(n), diagonal_.resize(n), begin_.assign(1, 0), neighbours_.clear();
    size_ = 0;
    for (int a = 0; a < n; ++a) first_[a] = size_, size_ += sizes[a];
    int where = 0;
    for (const int a : order_) {
        diagonal_[a] = where, where += sizes[a] * sizes[a];
        for (const int position : links[a]) {
            const int block = sizes[a] * sizes[order_[position]];
            neighbours_.push_back({position, where, where + block});
            where += 2 * block;
        }
        begin_.push_back(static_cast<int>(neighbours_.size()));
    }
    values_.assign(where, 0.0), pivots_.resize(size_);
}

const BlockMatrix::Neighbour& BlockMatrix::neighbour(int position, int other) const {
    const auto first = neighbours_.begin() + begin_[position], last = neighbours_.begin() + begin_[position + 1];
    return *std::lower_bound(first, last, other, [](const Neighbour& one, int wanted) { return one.position < wanted; });
}

double* BlockMatrix::block(int a, int b) {
    if (a == b) return values_.data() + diagonal_[a];
    return at(position_[a], position_[b]);
}

/// The block at these positions in the order.
double* BlockMatrix::at(int row, int column) {
    if (row == column) return values_.data() + diagonal_[order_[row]];
    return values_.data() + (row < column ? neighbour(row, column).right : neighbour(column, row).below);
}

bool BlockMatrix::factor() {
    const int n = static_cast<int>(order_.size());
    for (int p = 0; p < n; ++p) {
        const int a = order_[p], d = size_of_[a];
        double* own = values_.data() + diagonal_[a];
        int* pivots = pivots_.data() + first_[a];
        if (!factor_dense(own, pivots, d)) return false;
        for (int k = begin_[p]; k < begin_[p + 1]; ++k)
            solve_dense(own, pivots, d, values_.data() + neighbours_[k].right, size_of_[order_[neighbours_[k].position]]);
        for (int k = begin_[p]; k < begin_[p + 1]; ++k) {
            const Neighbour& row = neighbours_[k];
            for (int m = begin_[p]; m < begin_[p + 1]; ++m) {
                const Neighbour& column = neighbours_[m];
                subtract_product(at(row.position, column.position), values_.data() + row.below,
                                 values_.data() + column.right, size_of_[order_[row.position]], d,
                                 size_of_[order_[column.position]]);
            }
        }
    }
    return true;
}

void BlockMatrix::solve(double* x) {
    const int n = static_cast<int>(order_.size());
    for (int p = 0; p < n; ++p) {
        const int a = order_[p], d = size_of_[a];
        double* own = x + first_[a];
        solve_dense(values_.data() + diagonal_[a], pivots_.data() + first_[a], d, own, 1);
        for (int k = begin_[p]; k < begin_[p + 1]; ++k) {
            const int b = order_[neighbours_[k].position];
            subtract_product<0>(x + first_[b], values_.data() + neighbours_[k].below, own, size_of_[b], d, 1);
        }
    }
    for (int p = n - 1; p >= 0; --p) {
        const int a = order_[p], d = size_of_[a];
        for (int k = begin_[p]; k < begin_[p + 1]; ++k) {
            const int b = order_[neighbours_[k].position];
            subtract_product<0>(x + first_[a], values_.data() + neighbours_[k].right, x + first_[b], d, size_of_[b], 1);
        }
    }
}

}  // namespace stiction
