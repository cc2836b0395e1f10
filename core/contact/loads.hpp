// Which vertices carry load, and how much: a dual active-set method for the frictionless contact problem
// (Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex quadratic programs", 1983).
//
//     load_k >= 0,   gap_k = speed_k - target_k >= 0,   load_k gap_k = 0   for each vertex k
//
// The vertex that falls short most is admitted: it is loaded until its gap closes, and vertices whose load falls to zero
// on the way are dropped. A rigid patch never needs more than three, however many vertices it has.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "math/dense.hpp"

namespace stiction {

/// A vertex that can carry load: of which link (0 where there is one body), its number in the patch, and its place.
struct Vertex {
    int link = 0, number = 0;
    double x = 0.0, y = 0.0;

    friend bool operator==(const Vertex& a, const Vertex& b) { return a.link == b.link && a.number == b.number; }
};

/// The vertices that carry load. Most: at most so many at once; 0: as many as the constructor says.
template <int Most> class Loads {
  public:
    explicit Loads(int most = Most) : most_(most) {
        if constexpr (Most == 0) {
            const std::size_t m = static_cast<std::size_t>(most) + 1;
            for (auto* part : {&load_, &coupling_, &relief_}) part->assign(m, 0.0);
            gram_.assign(m * m, 0.0), system_.assign(m * m, 0.0);
            free_ = std::make_unique<bool[]>(m), vertex_.assign(m, {});
        }
    }

    int size() const { return size_; }
    void forget() { size_ = 0; }
    double load(int k) const { return load_[k]; }
    const Vertex& vertex(int k) const { return vertex_[k]; }
    bool has(int link, int number) const {
        for (int k = 0; k < size_; ++k)
            if (vertex_[k].link == link && vertex_[k].number == number) return true;
        return false;
    }

    /// Load a vertex whose gap is negative until the gap closes.
    /// response(a, b): how fast vertex a rises for a unit push on vertex b
    /// softness: share of a vertex's own response by which it yields under load; 0 is a rigid contact
    template <class Response> void admit(const Vertex& vertex, double gap, double softness, Response response) {
        note(size_, vertex, response);
        load_[size_] = 0.0;
        while (true) {
            const double own = (1 + softness) * gram(size_, size_);
            for (int k = 0; k < size_; ++k) coupling_[k] = relief_[k] = gram(k, size_);
            soften(softness);
            solve_semidefinite(&system_[0], most_ + 1, &relief_[0], &free_[0], size_);
            double stiffness = own;  // how fast the newcomer rises for a unit of load while the others stay where they are
            double lost = 0.0;
            for (int k = 0; k < size_; ++k) lost += coupling_[k] * relief_[k];
            stiffness -= lost;
            double step = std::numeric_limits<double>::infinity();
            if (stiffness > NO_MOBILITY * own && size_ < most_) step = -gap / stiffness;
            int first = -1;  // whose load falls to zero first
            for (int k = 0; k < size_; ++k)
                if (relief_[k] > 0 && load_[k] < step * relief_[k]) first = k, step = load_[k] / relief_[k];
            if (!std::isfinite(step)) return;  // only when the input was not finite: leave the newcomer out
            for (int k = 0; k < size_; ++k) load_[k] = std::max(0.0, load_[k] - step * relief_[k]);
            load_[size_] += step;
            if (first < 0) {
                ++size_;
                return;
            }
            gap += step * std::max(0.0, stiffness);
            drop(first);
        }
    }

    /// Whether some vertices close their gaps together, without a pull; if so, they carry the load from here on.
    /// missing(vertex): by how much its speed falls short
    template <class Response, class Missing>
    bool carry(const std::vector<Vertex>& vertices, double softness, Response response, Missing missing) {
        size_ = 0;
        if (static_cast<int>(vertices.size()) > most_) return false;
        for (const Vertex& vertex : vertices) {
            note(size_, vertex, response);
            load_[size_++] = missing(vertex);
        }
        soften(softness);
        solve_semidefinite(&system_[0], most_ + 1, &load_[0], &free_[0], size_);
        for (int k = 0; k < size_; ++k)
            if (!(free_[k] && 0.0 <= load_[k] && load_[k] < std::numeric_limits<double>::infinity())) {
                size_ = 0;
                return false;
            }
        return true;
    }

  private:
    static constexpr int N = Most + 1;
    template <class T, int Size> using Array = std::conditional_t<(Most > 0), std::array<T, Size>, std::vector<T>>;

    int most_, size_ = 0;
    Array<double, N> load_, coupling_, relief_;
    Array<double, N * N> gram_, system_;
    std::conditional_t<(Most > 0), std::array<bool, N>, std::unique_ptr<bool[]>> free_;
    Array<Vertex, N> vertex_;

    double& gram(int r, int c) { return gram_[r * (most_ + 1) + c]; }

    template <class Response> void note(int at, const Vertex& vertex, Response response) {
        vertex_[at] = vertex;
        for (int k = 0; k <= at; ++k) gram(k, at) = gram(at, k) = response(vertex_[k], vertex);
    }

    void soften(double softness) {
        for (int k = 0; k < size_; ++k) {
            for (int m = 0; m <= k; ++m) system_[k * (most_ + 1) + m] = gram(k, m);
            system_[k * (most_ + 1) + k] *= 1 + softness;
        }
    }

    /// Take out vertex number `first`; the newcomer, number `size_`, moves up like all behind it.
    void drop(int first) {
        for (int k = first; k < size_; ++k) {
            load_[k] = load_[k + 1], vertex_[k] = vertex_[k + 1];
            for (int m = 0; m <= size_; ++m) gram(k, m) = gram(k + 1, m);
        }
        for (int k = 0; k < size_; ++k)
            for (int m = first; m < size_; ++m) gram(k, m) = gram(k, m + 1);
        --size_;
    }
};

/// Whom a contact problem is asked about next: the vertex that falls short most, by how much, and the largest speed.
struct Violation {
    Vertex vertex;
    double gap = std::numeric_limits<double>::infinity();
    double largest = 0.0;
};

/// Solve a frictionless contact problem from the loads that are there already.
/// most_violated(loads): the Violation under these loads, vertices that carry load aside
template <class Loads, class MostViolated, class Response>
void solve_frictionless(Loads& loads, double softness, int vertices, MostViolated most_violated, Response response) {
    constexpr int most = 440;  // few are needed, however many vertices there are; absurd speeds may lead in circles
    double scale = 0.0;
    for (int round = 0; round < std::min(4 * vertices + 40, most); ++round) {
        const Violation worst = most_violated(loads);
        scale = std::max(scale, worst.largest);
        if (!(worst.gap < -1e-12 * scale)) return;
        loads.admit(worst.vertex, worst.gap, softness, response);
    }
}

}  // namespace stiction
