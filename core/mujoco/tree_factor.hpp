// The factors of a joint-space inertia of kinematic trees, H = L^T D L, which are as sparse as H (Featherstone, "Rigid Body
// Dynamics Algorithms", 2008, section 6.5): row r of L is zero except for the dofs on the way from dof r to the root.
#pragma once

#include "math/vectors.hpp"

namespace stiction::mujoco {

class TreeFactor {
  public:
    /// Where the numbers of a row are: first, how many (the last is the diagonal), and their columns.
    struct Pattern {
        const int *first, *count, *column;
        int rows;
    };

    /// Take over factors: L below the diagonal, and 1 / D.
    void take(const Pattern& pattern, const double* L, const double* inverse) {
        pattern_ = pattern, L_ = L;
        root_.resize(pattern.rows);
        for (int r = 0; r < pattern.rows; ++r) root_[r] = std::sqrt(inverse[r]);
    }

    /// Factor H, of which the numbers are given in the pattern, plus `added` on its diagonal.
    void factor(const Pattern& pattern, const double* H, std::span<const double> added) {
        pattern_ = pattern;
        const int n = pattern.rows;
        own_.assign(H, H + (n > 0 ? pattern.first[n - 1] + pattern.count[n - 1] : 0));
        root_.resize(n);
        if (!added.empty())
            for (int r = 0; r < n; ++r) own_[diagonal(r)] += added[r];
        for (int r = n - 1; r >= 0; --r) {
            const int first = pattern.first[r], last = diagonal(r);
            const double D = own_[last];
            for (int k = last - 1; k >= first; --k) {
                const double share = own_[k] / D;
                double* row = own_.data() + pattern.first[pattern.column[k]];  // it has the columns of r up to its own
                for (int j = first; j <= k; ++j) row[j - first] -= share * own_[j];
                own_[k] = share;
            }
            root_[r] = 1 / std::sqrt(D);
        }
        L_ = own_.data();
    }

    /// Whether the factored matrix is positive definite.
    bool is_positive() const {
        return std::all_of(root_.begin(), root_.end(), [](double x) { return std::isfinite(x); });
    }

    /// y <- D^-1/2 L^-T y, so that the dot product of two such is that of the originals through H^-1.
    /// dofs: ascending, with all that carry one of them; elsewhere y is zero and stays so
    void whiten(double* y, std::span<const int> dofs) const {
        for (auto at = dofs.rbegin(); at != dofs.rend(); ++at) {
            const int r = *at, last = diagonal(r);
            const double value = y[r];
            for (int k = pattern_.first[r]; k < last; ++k) y[pattern_.column[k]] -= L_[k] * value;
            y[r] = value * root_[r];
        }
    }

    /// y <- L^-1 D^-1/2 y, the second half of H^-1 y after `whiten`, for all dofs.
    void finish(double* y) const {
        for (int r = 0; r < pattern_.rows; ++r) {
            double total = y[r] * root_[r];
            for (int k = pattern_.first[r]; k < diagonal(r); ++k) total -= L_[k] * y[pattern_.column[k]];
            y[r] = total;
        }
    }

    /// y <- D^1/2 L y: the dot product with a whitened vector is that of y with the original one.
    void unwhiten(double* y) const {
        for (int r = pattern_.rows - 1; r >= 0; --r) {  // rows of dofs above do not use those below
            double total = y[r];
            for (int k = pattern_.first[r]; k < diagonal(r); ++k) total += L_[k] * y[pattern_.column[k]];
            y[r] = total / root_[r];
        }
    }

    /// y <- H^-1 y
    void solve(double* y) const {
        for (int r = pattern_.rows - 1; r >= 0; --r) {
            const double value = y[r];
            for (int k = pattern_.first[r]; k < diagonal(r); ++k) y[pattern_.column[k]] -= L_[k] * value;
            y[r] = value * root_[r];
        }
        finish(y);
    }

  private:
    Pattern pattern_{};
    const double* L_ = nullptr;
    std::vector<double> own_, root_;  // factors of our own; D^-1/2

    int diagonal(int r) const { return pattern_.first[r] + pattern_.count[r] - 1; }
};

}  // namespace stiction::mujoco
