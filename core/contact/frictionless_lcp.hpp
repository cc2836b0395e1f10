// The frictionless contact problem of one body or of several links: which vertices carry load, and how much.
//
// Unknowns: the load n_k >= 0 [N s] of each touching vertex k. A vertex at (x, y) of a link, relative to its centre of
// mass, has g_k = (1, y, -x): it moves up with g_k . (v_z, w_x, w_y), and its load adds n_k g_k to the link's normal
// impulse (p_z, m_x, m_y). With s the normal impulses of all links and W the inverse inertia in these coordinates,
//
//     v = v_before + W s,   s = sum over k of n_k g_k,   gap_k = g_k . v - target_k + compliance own_k n_k,
//     n_k >= 0,   gap_k >= 0,   n_k gap_k = 0           where own_k = g_k . W g_k
//
// This is line 10 of Algorithm 1, FrictionlessLCP. The loads may not be unique, s is.
//
// `ActiveSet`: a dual active-set method (Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex
// quadratic programs", 1983). The vertex with the most negative gap is activated: it is loaded until its gap closes, and
// vertices whose load falls to zero on the way leave the set. A rigid patch never needs more than three.
//
// `CompliantLCP`: for compliant patches of more vertices than the active set holds, since all of them may carry load at
// once. The loads are eliminated, n_k = max(0, target_k - g_k . v) / (compliance own_k), and Newton's method with a line
// search finds s, three numbers a link, as the minimum of a convex function.
#pragma once

#include "contact/contact.hpp"
#include "math/dense.hpp"

namespace stiction {

/// Vertices of one patch in an active set, at most: three suffice for a rigid one.
constexpr int MAX_ACTIVE = 8;

/// Speeds at which vertices are to separate [m/s].
struct Targets {
    double rate = 0.0, cap = 0.0;  ///< rate > 0: min(rate * depth, cap) [1/s, m/s]; else as the vertex bounces
    bool bounce = true;            ///< whether it does

    /// The target of the k-th vertex, at p.
    double of(const Contact& c, int k, const Vector& p) const {
        if (rate > 0.0) return std::min(rate * std::max(0.0, -c.height_of(c.vertex(k))), cap);
        return bounces(c) ? rebound(c, p) : 0.0;
    }
    bool bounces(const Contact& c) const { return bounce && c.restitution.e0 > 0.0; }

    /// The speed at which a vertex leaves again after its approach.
    static double rebound(const Contact& c, const Vector& p) {
        return c.restitution.rebound(c.approach(p.x, p.y), c.gained(p.x, p.y));
    }
};

/// Depths of the vertices of a patch on a face: depth = d + e y - f x.
struct DepthPlane {
    double d, e, f;
    explicit DepthPlane(const Contact& c);
};

/// A vertex: its link (0 where there is one body), its number in the patch, and its place.
struct Vertex {
    int link = 0, number = 0;
    double x = 0.0, y = 0.0;
};

/// The vertices that carry load.
class ActiveSet {
  public:
    explicit ActiveSet(int capacity)
        : capacity_(capacity), vertex_(capacity + 1), load_(capacity + 1), coupling_(capacity + 1), relief_(capacity + 1),
          free_(std::make_unique<bool[]>(capacity + 1)), gram_(capacity + 1, capacity + 1), system_(gram_) {}

    int size() const { return size_; }
    void clear() { size_ = 0; }
    double load(int k) const { return load_[k]; }
    const Vertex& vertex(int k) const { return vertex_[k]; }
    bool has(int link, int number) const {
        for (int k = 0; k < size_; ++k)
            if (vertex_[k].link == link && vertex_[k].number == number) return true;
        return false;
    }

    /// Load a vertex whose gap is negative until the gap closes.
    /// response(a, b): upward speed of vertex a for a unit load on vertex b
    template <class Response> void activate(const Vertex& vertex, double gap, double compliance, Response response) {
        note(size_, vertex, response);
        load_[size_] = 0.0;
        while (true) {
            const double own = (1 + compliance) * gram_[size_][size_];
            for (int k = 0; k < size_; ++k) coupling_[k] = relief_[k] = gram_[k][size_];
            set_system(compliance);
            solve_semidefinite(system_[0], capacity_ + 1, relief_.data(), free_.get(), size_);
            double lost = 0.0;
            for (int k = 0; k < size_; ++k) lost += coupling_[k] * relief_[k];
            const double stiffness = own - lost;  // of the newcomer's gap, while the gaps of the others stay closed
            double step = std::numeric_limits<double>::infinity();
            if (stiffness > IMMOBILE_SHARE * own && size_ < capacity_) step = -gap / stiffness;
            int first = -1;  // whose load falls to zero first
            for (int k = 0; k < size_; ++k)
                if (relief_[k] > 0 && load_[k] < step * relief_[k]) first = k, step = load_[k] / relief_[k];
            if (!std::isfinite(step)) return;  // only when the input was not finite: the newcomer stays out
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

    /// Warm start: return whether these vertices close their gaps together with loads >= 0; if so, they are the active set.
    /// missing(vertex): target speed less speed without loads
    template <class Response, class Missing>
    bool warm_start(const std::vector<Vertex>& vertices, double compliance, Response response, Missing missing) {
        size_ = 0;
        if (static_cast<int>(vertices.size()) > capacity_) return false;
        for (const Vertex& vertex : vertices) {
            note(size_, vertex, response);
            load_[size_++] = missing(vertex);
        }
        set_system(compliance);
        solve_semidefinite(system_[0], capacity_ + 1, load_.data(), free_.get(), size_);
        for (int k = 0; k < size_; ++k)
            if (!(free_[k] && 0.0 <= load_[k] && load_[k] < std::numeric_limits<double>::infinity())) {
                size_ = 0;
                return false;
            }
        return true;
    }

  private:
    int capacity_, size_ = 0;
    std::vector<Vertex> vertex_;
    std::vector<double> load_, coupling_, relief_;
    std::unique_ptr<bool[]> free_;
    Matrix gram_, system_;  // responses of the active vertices to each other; with compliance, overwritten by its factor

    template <class Response> void note(int at, const Vertex& vertex, Response response) {
        vertex_[at] = vertex;
        for (int k = 0; k <= at; ++k) gram_[k][at] = gram_[at][k] = response(vertex_[k], vertex);
    }
    void set_system(double compliance) {
        for (int k = 0; k < size_; ++k) {
            std::copy_n(gram_[k], k + 1, system_[k]);
            system_[k][k] *= 1 + compliance;
        }
    }
    void drop(int first);
};

/// The vertex with the most negative gap, and the largest speed that was seen.
struct Violation {
    Vertex vertex;
    double gap = std::numeric_limits<double>::infinity();
    double largest = 0.0;

    /// Look at the patch of a link; active vertices are left out. v: (v_z, w_x, w_y) of the link
    void look_at(const Contact& c, int link, const double (&v)[3], Targets targets, const ActiveSet& active);
};

/// Newton's method for compliant patches of many vertices.
class CompliantLCP {
  public:
    /// W: inverse inertia, (3 n, 3 n); to be filled by the caller
    Matrix W;
    void resize(int links);
    /// Add a vertex. missing: target speed less speed without loads [m/s]
    void add(const Vertex& vertex, double missing) { springs_.push_back({vertex, missing}); }
    /// (p_z, m_x, m_y) of each link, (3 n,).
    std::span<const double> solve(double compliance);

  private:
    struct Spring {
        Vertex at;
        double missing;
        double stiffness = 0.0;  // load for each m/s of negative gap; 0: the vertex cannot move, and carries nothing
        bool is_active = false;
    };
    std::vector<Spring> springs_;
    std::vector<double> s_, before_, change_, residual_, step_, gradient_;
    Matrix A_;

    void set_stiffness(double compliance);
    bool update_residual();
    void find_step();
};

/// Memory of the solver.
struct FrictionlessLCP {
    ActiveSet active;
    CompliantLCP compliant;
    std::vector<Vertex> last{};  ///< active vertices of the last solution, if the next problem may start with them
};

/// Solve the problem: write the normal impulse of each link.
///
/// System: links(); contact(i), or null where link i takes no part; max_vertices() of a patch, and all_vertices();
/// before(i), its (v_z, w_x, w_y) without loads; W(r, k), r and k from 0 to 3 links(); response(a, b) of vertices
template <class System>
void solve_frictionless(const System& system, Targets targets, double compliance, FrictionlessLCP& lcp, std::span<Normal> normal) {
    const int n = system.links();
    const auto missing = [&](const Vertex& vertex) {
        const double* v = system.before(vertex.link);
        const double target = targets.of(*system.contact(vertex.link), vertex.number, {vertex.x, vertex.y, 0.0});
        return target - (v[0] + vertex.y * v[1] - vertex.x * v[2]);
    };
    if (compliance > 0.0 && system.max_vertices() > MAX_ACTIVE) {
        lcp.compliant.resize(n);
        for (int r = 0; r < 3 * n; ++r)
            for (int k = 0; k < 3 * n; ++k) lcp.compliant.W[r][k] = system.W(r, k);
        for (int i = 0; i < n; ++i)
            if (const Contact* c = system.contact(i))
                for (int k = 0; k < c->count; ++k) {
                    const Vector p = c->point(k);
                    lcp.compliant.add({i, k, p.x, p.y}, missing({i, k, p.x, p.y}));
                }
        const std::span<const double> s = lcp.compliant.solve(compliance);
        for (int i = 0; i < n; ++i) normal[i] = {s[3 * i], s[3 * i + 1], s[3 * i + 2]};
        return;
    }
    ActiveSet& active = lcp.active;
    const auto response = [&](const Vertex& a, const Vertex& b) { return system.response(a, b); };
    if (lcp.last.empty() || !active.warm_start(lcp.last, compliance, response, missing)) active.clear();
    const auto sum_loads = [&] {
        std::fill(normal.begin(), normal.end(), Normal{});
        for (int k = 0; k < active.size(); ++k) {
            const Vertex& at = active.vertex(k);
            const double load = active.load(k);
            Normal& sum = normal[at.link];
            sum.p_z += load, sum.m_x += load * at.y, sum.m_y -= load * at.x;
        }
    };
    // Few rounds are needed, however many vertices there are; absurd speeds may lead in circles.
    const int max_rounds = std::min(4 * system.all_vertices() + 40, 440);
    double scale = 0.0;
    for (int round = 0; round < max_rounds; ++round) {
        sum_loads();
        Violation worst;
        for (int i = 0; i < n; ++i) {
            const Contact* c = system.contact(i);
            if (c == nullptr) continue;
            double v[3];
            for (int k = 0; k < 3; ++k) {
                double total = 0.0;
                for (int j = 0; j < n; ++j)
                    if (const Normal& p = normal[j]; p.p_z != 0.0)
                        total = total + system.W(3 * i + k, 3 * j) * p.p_z + system.W(3 * i + k, 3 * j + 1) * p.m_x +
                                system.W(3 * i + k, 3 * j + 2) * p.m_y;
                v[k] = total + system.before(i)[k];
            }
            worst.look_at(*c, i, v, targets, active);
        }
        scale = std::max(scale, worst.largest);
        if (!(worst.gap < -1e-12 * scale)) return;
        active.activate(worst.vertex, worst.gap, compliance, response);
    }
    sum_loads();
}

/// FrictionlessLCP, line 10 of Algorithm 1, for one body: the normal impulse after which every touching vertex separates at its
/// target speed or faster. Patches of one or two vertices, and faces that press as a whole, have closed forms.
///
/// before: twist before the normal impulse; compliance: see Law
Normal normal_impulse(const Contact& contact, const Twist& before, double compliance = 0.0, Targets targets = {});

}  // namespace stiction
