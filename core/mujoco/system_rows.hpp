// Sparse rows of a Jacobian on kinematic trees, and their products through an inverse inertia.
#pragma once

#include "math/dense.hpp"
#include "mujoco/tree_factor.hpp"

namespace stiction::mujoco {

/// Rows with values on some dofs only: each has all dofs of the chains that it acts on.
class SystemRows {
  public:
    void clear() {
        starts_.assign(1, 0);
        dofs_.clear(), values_.clear();
    }
    int size() const { return static_cast<int>(starts_.size()) - 1; }

    /// Add a row on these dofs (ascending); returns its values, to be written.
    double* add(std::span<const int> dofs) {
        dofs_.insert(dofs_.end(), dofs.begin(), dofs.end());
        values_.resize(dofs_.size(), 0.0);
        starts_.push_back(static_cast<int>(dofs_.size()));
        return values_.data() + starts_[starts_.size() - 2];
    }
    double* numbers(int row) { return values_.data() + starts_[row]; }
    const double* numbers(int row) const { return values_.data() + starts_[row]; }
    double squared_norm(int row) const {
        double total = 0.0;
        for (int k = starts_[row]; k < starts_[row + 1]; ++k) total += values_[k] * values_[k];
        return total;
    }
    /// Remove the last rows.
    void drop(int rows) {
        starts_.resize(starts_.size() - rows);
        dofs_.resize(starts_.back()), values_.resize(starts_.back());
    }
    std::span<const int> dofs(int row) const { return {dofs_.data() + starts_[row], length(row)}; }

    /// The product of a row and a vector over all dofs.
    double dot(int row, const double* y) const {
        double total = 0.0;
        for (int k = starts_[row]; k < starts_[row + 1]; ++k) total += values_[k] * y[dofs_[k]];
        return total;
    }

    /// y += factor row
    void add_to(double* y, int row, double factor) const {
        for (int k = starts_[row]; k < starts_[row + 1]; ++k) y[dofs_[k]] += factor * values_[k];
    }

    void scale(int row, double factor) {
        for (int k = starts_[row]; k < starts_[row + 1]; ++k) values_[k] *= factor;
    }

    /// Write the rows as `factor` whitens them.
    void whiten(const TreeFactor& factor, int nv, SystemRows& out) {
        out.starts_ = starts_, out.dofs_ = dofs_;
        out.values_.resize(values_.size());
        scattered_.assign(nv, 0.0);
        for (int row = 0; row < size(); ++row) {
            const std::span<const int> on = dofs(row);
            for (int k = starts_[row]; k < starts_[row + 1]; ++k) scattered_[dofs_[k]] = values_[k];
            factor.whiten(scattered_.data(), on);
            for (int k = starts_[row]; k < starts_[row + 1]; ++k) {
                out.values_[k] = scattered_[dofs_[k]];
                scattered_[dofs_[k]] = 0.0;
            }
        }
    }

    /// out[a][b] = the product of rows a and b, for a from `first` to `last` and b from `begin` to `end`.
    /// threes: the rows before this number come in threes with the same dofs, and begin is one of the first of three
    void products(int first, int last, int begin, int end, int threes, int nv, Matrix& out) {
        scattered_.assign(nv, 0.0);
        for (int a = first; a < last; ++a) {
            for (int k = starts_[a]; k < starts_[a + 1]; ++k) scattered_[dofs_[k]] = values_[k];
            int b = begin;
            for (; b < std::min(end, threes); b += 3) three_dots(b, out[a] + b);
            for (; b < end; ++b) out[a][b] = dot(b, scattered_.data());
            for (int k = starts_[a]; k < starts_[a + 1]; ++k) scattered_[dofs_[k]] = 0.0;
        }
    }

  private:
    std::vector<int> starts_{0}, dofs_;
    std::vector<double> values_, scattered_;

    /// The products of three rows with the same dofs and what is scattered.
    void three_dots(int row, double* out) const {
        const int n = static_cast<int>(length(row));
        const int* dof = dofs_.data() + starts_[row];
        const double *z = values_.data() + starts_[row], *x = z + n, *y = x + n;
        double total[3] = {};
        for (int k = 0; k < n; ++k) {
            const double value = scattered_[dof[k]];
            total[0] += z[k] * value, total[1] += x[k] * value, total[2] += y[k] * value;
        }
        std::copy(total, total + 3, out);
    }

    std::size_t length(int row) const { return static_cast<std::size_t>(starts_[row + 1] - starts_[row]); }
};

}  // namespace stiction::mujoco
