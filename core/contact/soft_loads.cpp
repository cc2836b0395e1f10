#include "contact/soft_loads.hpp"

#include <algorithm>
#include <numeric>

namespace stiction {
namespace {

constexpr int MOST_ROUNDS = 100;     // far more than are ever needed: see tests/test_normal_impulse.py
constexpr double SHORTEST = 1e-9;    // share of a step below which it is not halved any more
constexpr double SETTLED = 1e-14;    // relative size of a step that changes nothing

double product(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

void SoftLoads::begin(int links) {
    springs_.clear();
    W.resize(3 * links, 3 * links);
    for (auto* part : {&s_, &before_, &rise_, &lack_, &step_, &climb_}) part->assign(3 * std::size_t(links), 0.0);
}

void SoftLoads::add(int link, double x, double y, double missing) { springs_.push_back({link, x, y, missing}); }

std::span<const double> SoftLoads::solve(double softness) {
    stiffen(softness);
    compare();
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        find_step();
        multiply(W, step_.data(), climb_.data());
        const double descends = product(climb_, lack_);  // how fast the convex function falls along the step
        if (!(descends > 0.0)) break;                    // it is where it should be, or what was given is no number
        before_ = s_;
        double share = 1.0;
        bool same = false;
        for (;; share *= 0.5) {
            for (std::size_t k = 0; k < s_.size(); ++k) s_[k] = before_[k] + share * step_[k];
            same = compare();
            if (product(climb_, lack_) >= -1e-6 * descends || share < SHORTEST) break;
        }
        if (same && share == 1.0) break;  // the same springs push: then Newton's step was exact
        if (product(climb_, step_) <= SETTLED * SETTLED * product(rise_, s_)) break;
    }
    return s_;
}

/// Of each spring, the stiffness that softness gives it.
void SoftLoads::stiffen(double softness) {
    double most = 0.0;
    for (Spring& spring : springs_) {
        const int i = 3 * spring.link;
        const auto follows = [&](const double* row) { return row[i] + spring.y * row[i + 1] - spring.x * row[i + 2]; };
        spring.stiffness = follows(W[i]) + spring.y * follows(W[i + 1]) - spring.x * follows(W[i + 2]);
        most = std::max(most, spring.stiffness);
    }
    for (Spring& spring : springs_) {
        const double own = spring.stiffness;
        spring.stiffness = own > NO_MOBILITY * most ? 1.0 / (softness * own) : 0.0;
    }
}

/// Write the impulse that the springs have more than s at s, and which of them push; whether these are the same as before.
bool SoftLoads::compare() {
    multiply(W, s_.data(), rise_.data());
    for (std::size_t k = 0; k < s_.size(); ++k) lack_[k] = -s_[k];
    bool same = true;
    for (Spring& spring : springs_) {
        const double* v = rise_.data() + 3 * spring.link;
        const double load = spring.stiffness * (spring.missing - (v[0] + spring.y * v[1] - spring.x * v[2]));
        const bool pushes = load > 0.0;
        same = same && pushes == spring.pushes;
        spring.pushes = pushes;
        if (!pushes) continue;
        double* sum = lack_.data() + 3 * spring.link;
        sum[0] += load, sum[1] += load * spring.y, sum[2] -= load * spring.x;
    }
    return same;
}

/// Newton's step (1 + K W)^-1 lack, with K the stiffness of all springs that push.
void SoftLoads::find_step() {
    const int size = W.rows();
    A_.resize(size, size);
    for (const Spring& spring : springs_) {
        if (!spring.pushes) continue;
        const int i = 3 * spring.link;
        const double g[3] = {1.0, spring.y, -spring.x};
        for (int c = 0; c < size; ++c) {
            const double follows = W[i][c] + spring.y * W[i + 1][c] - spring.x * W[i + 2][c];
            for (int r = 0; r < 3; ++r) A_[i + r][c] += spring.stiffness * g[r] * follows;
        }
    }
    for (int k = 0; k < size; ++k) A_[k][k] += 1.0;
    step_ = lack_;
    solve_by_elimination(A_, step_.data());
}

}  // namespace stiction
