#include "contact/frictionless_lcp.hpp"

#include <numeric>

namespace stiction {

DepthPlane::DepthPlane(const Contact& c) {
    const int n = static_cast<int>(c.count);
    const Vector p = c.point(0), q = c.point(n / 3), r = c.point(2 * n / 3);
    const double area = (q.x - p.x) * (r.y - p.y) - (r.x - p.x) * (q.y - p.y);
    const double slope_x = ((q.z - p.z) * (r.y - p.y) - (r.z - p.z) * (q.y - p.y)) / area;
    const double slope_y = ((r.z - p.z) * (q.x - p.x) - (q.z - p.z) * (r.x - p.x)) / area;
    d = -2.0 * (p.z + c.height) + 2.0 * (slope_x * p.x + slope_y * p.y);  // contact points lie at mid-depth
    e = -2.0 * slope_y;
    f = 2.0 * slope_x;
}

/// Take out active vertex number `first`; the newcomer, number `size_`, moves up like all behind it.
void ActiveSet::drop(int first) {
    for (int k = first; k < size_; ++k) {
        load_[k] = load_[k + 1], vertex_[k] = vertex_[k + 1];
        std::copy_n(gram_[k + 1], size_ + 1, gram_[k]);
    }
    for (int k = 0; k < size_; ++k)
        for (int m = first; m < size_; ++m) gram_[k][m] = gram_[k][m + 1];
    --size_;
}

void Violation::look_at(const Contact& c, int link, const double (&v)[3], Targets targets, const ActiveSet& active) {
    const auto look = [&](int k, bool skip_active) {
        const Vector p = c.point(k);
        const double speed = v[0] + p.y * v[1] - p.x * v[2], target = targets.of(c, k, p);
        largest = std::max({largest, std::fabs(speed), target});
        if (speed - target < gap && !(skip_active && active.has(link, k)))
            gap = speed - target, vertex = {link, k, p.x, p.y};
    };
    if (c.count <= MANY || c.face < 0 || targets.bounces(c)) {
        for (int k = 0; k < c.count; ++k) look(k, true);
        return;
    }
    // Speed and target are linear along a face, but for the cap: only extreme vertices can be the worst. The patch is
    // rigid: an active vertex has reached its target, and is no violation.
    look(c.lowest(-v[2], v[1]), false);
    look(c.lowest(v[2], -v[1]), false);
    if (targets.rate > 0.0) {
        const DepthPlane depth(c);
        look(c.lowest(targets.rate * depth.f - v[2], v[1] - targets.rate * depth.e), false);
    }
}

namespace {

double product(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// g . v for three numbers of v that stand side by side.
double along(const Vertex& at, const double* v) { return v[0] + at.y * v[1] - at.x * v[2]; }

}  // namespace

void CompliantLCP::resize(int links) {
    springs_.clear();
    W.resize(3 * links, 3 * links);
    for (auto* part : {&s_, &before_, &change_, &residual_, &step_, &gradient_}) part->assign(3 * std::size_t(links), 0.0);
}

std::span<const double> CompliantLCP::solve(double compliance) {
    constexpr int max_rounds = 100;                          // far more than are ever needed
    constexpr double shortest = 1e-9, converged = 1e-14;     // share of a step; relative size of a step
    set_stiffness(compliance);
    update_residual();
    for (int round = 0; round < max_rounds; ++round) {
        find_step();
        multiply(W, step_.data(), gradient_.data());
        const double descent = product(gradient_, residual_);  // how fast the convex function falls along the step
        if (!(descent > 0.0)) break;                           // at the minimum, or the input was not finite
        before_ = s_;
        double share = 1.0;
        bool same = false;
        for (;; share *= 0.5) {
            for (std::size_t k = 0; k < s_.size(); ++k) s_[k] = before_[k] + share * step_[k];
            same = update_residual();
            if (product(gradient_, residual_) >= -1e-6 * descent || share < shortest) break;
        }
        if (same && share == 1.0) break;  // with the same active vertices, Newton's step was exact
        if (product(gradient_, step_) <= converged * converged * product(change_, s_)) break;
    }
    return s_;
}

void CompliantLCP::set_stiffness(double compliance) {
    double most = 0.0;
    for (Spring& spring : springs_) {
        const int i = 3 * spring.at.link;
        const double response[3] = {along(spring.at, W[i] + i), along(spring.at, W[i + 1] + i), along(spring.at, W[i + 2] + i)};
        spring.stiffness = along(spring.at, response);
        most = std::max(most, spring.stiffness);
    }
    for (Spring& spring : springs_) {
        const double own = spring.stiffness;
        spring.stiffness = own > IMMOBILE_SHARE * most ? 1.0 / (compliance * own) : 0.0;
    }
}

/// Write sum over k of n_k g_k, less s, and which vertices are active; whether these are the same as before.
bool CompliantLCP::update_residual() {
    multiply(W, s_.data(), change_.data());
    for (std::size_t k = 0; k < s_.size(); ++k) residual_[k] = -s_[k];
    bool same = true;
    for (Spring& spring : springs_) {
        const Vertex& at = spring.at;
        const double load = spring.stiffness * (spring.missing - along(at, change_.data() + 3 * at.link));
        const bool is_active = load > 0.0;
        same = same && is_active == spring.is_active;
        spring.is_active = is_active;
        if (!is_active) continue;
        double* sum = residual_.data() + 3 * at.link;
        sum[0] += load, sum[1] += load * at.y, sum[2] -= load * at.x;
    }
    return same;
}

/// Newton's step (1 + K W)^-1 residual, with K = sum of stiffness g g^T over the active vertices.
void CompliantLCP::find_step() {
    const int size = W.rows();
    A_.resize(size, size);
    for (const Spring& spring : springs_) {
        if (!spring.is_active) continue;
        const int i = 3 * spring.at.link;
        const double g[3] = {1.0, spring.at.y, -spring.at.x};
        for (int c = 0; c < size; ++c) {
            const double response = W[i][c] + spring.at.y * W[i + 1][c] - spring.at.x * W[i + 2][c];
            for (int r = 0; r < 3; ++r) A_[i + r][c] += spring.stiffness * g[r] * response;
        }
    }
    for (int k = 0; k < size; ++k) A_[k][k] += 1.0;
    step_ = residual_;
    solve_by_elimination(A_, step_.data());
}

}  // namespace stiction
