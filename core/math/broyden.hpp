// Broyden's method for F(x) = 0 (Broyden, "A class of methods for solving nonlinear simultaneous equations", 1965).
//
// The inverse Jacobian B of F starts as a multiple of the identity and is updated after every step:
//
//     B <- B + (s - B y) s^T B / (s^T B y)      with the step s in x and the change y in F.
#pragma once

#include "math/dense.hpp"

namespace stiction {

class Broyden {
  public:
    /// The present x and F(x): written before `next` is called.
    std::vector<double> x, F;

    /// Start a search with this number of unknowns.
    void start(int size) {
        for (auto* vector : {&x, &F, &last_x_, &last_F_, &best_x_, &best_F_, &step_, &change_, &By_})
            vector->resize(size);
        best_ = std::numeric_limits<double>::infinity();
        shorten(1.0);
    }

    /// Reset B to -share times the identity.
    void shorten(double share) {
        const int size = static_cast<int>(x.size());
        B_.resize(size, size);
        for (int k = 0; k < size; ++k) B_[k][k] = -share;
        learns_ = false;
    }

    /// |F|
    double error() const {
        double total = 0.0;
        for (const double f : F) total += f * f;
        return std::sqrt(total);
    }

    /// Return whether |F| is the smallest so far; then `return_to_best` comes back to this x.
    bool improves() {
        const double now = error();
        if (!(now < best_)) return false;
        best_ = now, best_x_ = x, best_F_ = F;
        return true;
    }
    bool has_best() const { return best_ < std::numeric_limits<double>::infinity(); }
    void return_to_best() { x = best_x_, F = best_F_; }

    /// The next x.
    std::span<const double> next() {
        if (learns_) learn();
        learns_ = true;
        last_x_ = x, last_F_ = F;
        multiply(B_, F.data(), step_.data());
        for (std::size_t k = 0; k < x.size(); ++k) step_[k] = x[k] - step_[k];
        return step_;
    }

  private:
    Matrix B_;
    std::vector<double> last_x_, last_F_, best_x_, best_F_, step_, change_, By_;
    double best_ = std::numeric_limits<double>::infinity();
    bool learns_ = false;

    void learn() {
        const int size = static_cast<int>(x.size());
        double below = 0.0, square = 0.0;
        for (int k = 0; k < size; ++k) step_[k] = x[k] - last_x_[k], change_[k] = F[k] - last_F_[k];
        multiply(B_, change_.data(), By_.data());
        for (int k = 0; k < size; ++k) below += step_[k] * By_[k], square += step_[k] * step_[k];
        if (std::fabs(below) <= 1e-14 * square) return;
        std::vector<double>& sB = change_;  // which is spent
        std::fill(sB.begin(), sB.end(), 0.0);
        for (int r = 0; r < size; ++r)
            for (int k = 0; k < size; ++k) sB[k] += step_[r] * B_[r][k];
        for (int r = 0; r < size; ++r) {
            const double miss = step_[r] - By_[r];
            for (int k = 0; k < size; ++k) B_[r][k] += miss * sB[k] / below;
        }
    }
};

}  // namespace stiction
