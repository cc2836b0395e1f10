#include "multibody/coupled.hpp"

#include "contact/algorithm1.hpp"
#include "contact/static_impulse.hpp"

namespace stiction {
namespace {

constexpr double STIFFENING = 1e-8;  // share of a link's own inverse inertia that regularises L
constexpr double IMMOBILE = 1e-9;    // a direction with less than this share of the free link's inverse inertia is immobile

/// Whether links can move in all directions: whether A, a copy of L, has a Cholesky factor, into which it is changed.
bool can_move_freely(const Contacts& contacts, Matrix& A) {
    const int n = A.rows();
    for (int k = 0; k < n; ++k) {
        if (!(A[k][k] > IMMOBILE * Dense6(contacts[k / 6].inverse_inertia)[k % 6][k % 6])) return false;
        const double root = std::sqrt(A[k][k]);
        double* pivot = A[k];  // its part right of the diagonal holds the column below it: A is symmetric
        for (int c = k + 1; c < n; ++c) pivot[c] /= root;
        for (int r = k + 1; r < n; ++r) {
            const double a = pivot[r];
            double* row = A[r];
            for (int c = r; c < n; ++c) row[c] -= a * pivot[c];
        }
    }
    return true;
}

/// InverseInertia of a patch along x and y, and in yaw.
struct SlideResponse {
    double xx, xy, yy, spin;

    /// b: first row and column of its link in W
    SlideResponse(const Matrix& W, int b, const Vector& centre) {
        const auto [x, y, z] = centre;
        // Along x the patch moves with v_x + z w_y - y w_z, along y with v_y - z w_x + x w_z.
        const auto along_x = [&](int k) { return W[b + k][b] + z * W[b + k][b + 4] - y * W[b + k][b + 5]; };
        const auto along_y = [&](int k) { return W[b + k][b + 1] - z * W[b + k][b + 3] + x * W[b + k][b + 5]; };
        xx = along_x(0) + z * along_x(4) - y * along_x(5);
        xy = along_x(1) - z * along_x(3) + x * along_x(5);
        yy = along_y(1) - z * along_y(3) + x * along_y(5);
        spin = W[b + 5][b + 5];
    }

    SlideResponse(const InverseInertia& W, const Vector& centre) : xy(0.0), spin(W.angular.zz) {
        const auto [x, y, z] = centre;
        const Tensor& I = W.angular;
        xx = W.linear.x + z * (z * I.yy - y * I.yz) - y * (z * I.yz - y * I.zz);
        yy = W.linear.y - z * (x * I.xz - z * I.xx) + x * (x * I.zz - z * I.xz);
    }
};

/// The links that slide, as the frictionless LCP sees them: see solve_frictionless.
struct SlidingLinks {
    const Contacts& contacts;
    const Matrix& L;
    const double* V;  // twists without loads, (6 n,)
    std::span<const Assumption> assumed;
    int vertices, most_vertices;  // of all patches, and of the largest

    int links() const { return contacts.size(); }
    const Contact* contact(int i) const { return assumed[i].is_static ? nullptr : &contacts[i]; }
    int max_vertices() const { return most_vertices; }
    int all_vertices() const { return vertices; }
    const double* before(int i) const { return V + 6 * i + 2; }
    double W(int r, int k) const { return L[6 * (r / 3) + 2 + r % 3][6 * (k / 3) + 2 + k % 3]; }
    double response(const Vertex& a, const Vertex& b) const {
        const int i = 6 * a.link + 2, j = 6 * b.link + 2;
        const auto follows = [&](const double* row) { return row[j] + row[j + 1] * b.y - row[j + 2] * b.x; };
        return follows(L[i]) + a.y * follows(L[i + 1]) - a.x * follows(L[i + 2]);
    }
};

}  // namespace

void StaticPatches::prepare(const Contacts& contacts, const Matrix& L, std::span<const Assumption> links) {
    const int n = static_cast<int>(links.size()), size = 6 * n;
    bool same = known_ && is_static_.size() == links.size(), all = true;
    is_static_.resize(links.size());
    for (int i = 0; i < n; ++i) {
        same = same && is_static_[i] == links[i].is_static;
        all = all && links[i].is_static;
        is_static_[i] = links[i].is_static;
    }
    if (same) return;
    known_ = true;
    rows_.clear();
    for (int i = 0; i < n; ++i) {
        if (!links[i].is_static) continue;
        const PatchRows patch(contacts[i]);
        for (int r = 0; r < patch.count; ++r) {
            Row& row = rows_.emplace_back();
            row.link = i;
            std::copy(patch.S[r], patch.S[r] + 6, row.S);
        }
    }
    const int count = static_cast<int>(rows_.size());
    speed_.resize(count);
    SL_.resize(count, size), K_.resize(count, count);
    for (int m = 0; m < count; ++m) {
        const auto& [link, S] = rows_[m];
        double* out = SL_[m];
        for (int j = 0; j < 6; ++j)
            if (const double s = S[j]; s != 0.0) {
                const double* row = L[6 * link + j];
                for (int k = 0; k < size; ++k) out[k] += s * row[k];
            }
    }
    for (int m = 0; m < count; ++m)
        for (int k = 0; k <= m; ++k) {
            const double *own = SL_[m] + 6 * rows_[k].link, *S = rows_[k].S;
            double total = 0.0;
            for (int j = 0; j < 6; ++j) total += own[j] * S[j];
            K_[m][k] = total;
        }
    factor(K_, count);
    if (all) return;
    grip_ = SL_;
    solve_factored(K_, count, grip_);
    rest_ = L;
    for (int k = 0; k < size; ++k)
        for (int m = 0; m < count; ++m) {
            const double a = SL_[m][k];
            const double* grip = grip_[m];
            double* out = rest_[k];
            for (int j = 0; j < size; ++j) out[j] -= a * grip[j];
        }
}

void StaticPatches::measure(const double* v) {
    for (std::size_t m = 0; m < rows_.size(); ++m) {
        const double* twist = v + 6 * rows_[m].link;
        double total = 0.0;
        for (int k = 0; k < 6; ++k) total += rows_[m].S[k] * twist[k];
        speed_[m] = total;
    }
}

void StaticPatches::stop(double* v) {
    measure(v);
    const int size = grip_.columns();
    for (std::size_t m = 0; m < rows_.size(); ++m) {
        const double* grip = grip_[static_cast<int>(m)];
        for (int k = 0; k < size; ++k) v[k] -= grip[k] * speed_[m];
    }
}

void StaticPatches::add_impulses(const double* v, double* p) {
    measure(v);
    solve_factored(K_, static_cast<int>(rows_.size()), speed_.data());
    for (std::size_t m = 0; m < rows_.size(); ++m)
        for (int k = 0; k < 6; ++k) p[6 * rows_[m].link + k] -= rows_[m].S[k] * speed_[m];
}

Balance::Balance(int most_links) : lcp_{ActiveSet(MAX_ACTIVE * most_links), {}} {}

void Balance::start(const Contacts& contacts, const double* V_free, const Matrix& L, double compliance) {
    const std::size_t n = static_cast<std::size_t>(contacts.size());
    contacts_ = contacts, V_free_ = V_free, L_ = &L, compliance_ = compliance;
    for (auto* vector : {&before_, &now_, &freed_}) vector->resize(6 * n);
    normal_.resize(n);
    vertices_ = most_vertices_ = 0;
    for (const Contact& c : contacts) {
        vertices_ += static_cast<int>(c.count);
        most_vertices_ = std::max(most_vertices_, static_cast<int>(c.count));
    }
    static_.forget();
    lcp_.active.clear();
    bounce_ = true;
    stiffen();
}

void Balance::stiffen() {
    regularised_ = *L_;
    share_ = 0.0;
    if (can_move_freely(contacts_, regularised_)) return;
    regularised_ = *L_;
    share_ = STIFFENING;
    for (int i = 0; i < contacts_.size(); ++i) {
        const Dense6 W(contacts_[i].inverse_inertia);
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c < 6; ++c)
                if (W[r][c] != 0.0) regularised_[6 * i + r][6 * i + c] += share_ * W[r][c];
    }
}

SlipProjection Balance::slip_projection(int link) const {
    if (share_ == 0.0) return {};
    const Contact& c = contacts_[link];
    const SlideResponse system(*L_, 6 * link, c.centre), own(c.inverse_inertia, c.centre);
    const double half = 0.5 * (system.xx + system.yy), skew = 0.5 * (system.xx - system.yy);
    const double split = std::sqrt(skew * skew + system.xy * system.xy);
    SlipProjection out;
    if (half - split <= IMMOBILE * (own.xx + own.yy)) {  // it slides along one line only; along x if it cannot at all
        const double x = split > 0.0 ? skew / split : 1.0, y = split > 0.0 ? system.xy / split : 0.0;
        out.xx = 0.5 + 0.5 * x, out.yy = 0.5 - 0.5 * x, out.xy = 0.5 * y;
    }
    out.spin = system.spin > IMMOBILE * own.spin ? 1.0 : 0.0;
    return out;
}

void Balance::solve(std::span<const Assumption> links, double* p) {
    const int n = static_cast<int>(links.size());
    if (share_ == 0.0) {
        std::copy(V_free_, V_free_ + 6 * n, before_.data());
        return settle(links, p);
    }
    for (int i = 0; i < n; ++i)
        write(links[i].is_static ? friction_wrench(contacts_[i].centre, links[i].friction) : Wrench{}, p + 6 * i);
    for (int round = 0; round < 2; ++round) {  // what the share has added is taken back
        for (int i = 0; i < n; ++i) {
            const Twist added = contacts_[i].inverse_inertia * wrench_from(p + 6 * i);
            write(twist_from(V_free_ + 6 * i) - share_ * added, before_.data() + 6 * i);
        }
        settle(links, p);
    }
}

void Balance::settle(std::span<const Assumption> links, double* p) {
    const Matrix& L = mobility();
    const int n = static_cast<int>(links.size()), size = 6 * n;
    std::copy(before_.begin(), before_.end(), now_.begin());  // becomes the twists after friction
    int stopped = 0;
    for (int i = 0; i < n; ++i) {
        double* q = p + 6 * i;
        if (links[i].is_static) {
            std::fill(q, q + 6, 0.0);
            ++stopped;
            continue;
        }
        write(friction_wrench(contacts_[i].centre, links[i].friction), q);
        for (int k = 0; k < 6; ++k)
            if (q[k] != 0.0) {
                const double* row = L[6 * i + k];
                for (int m = 0; m < size; ++m) now_[m] += row[m] * q[k];
            }
    }
    if (stopped > 0) static_.prepare(contacts_, L, links);
    if (stopped < n) {
        const double* V = now_.data();
        if (stopped > 0) {  // the others feel a system whose static patches do not move
            freed_ = now_;
            static_.stop(freed_.data());
            V = freed_.data();
        }
        solve_normal(stopped > 0 ? static_.rest() : L, V, links, {});
        for (int i = 0; i < n; ++i) {
            const Normal& own = normal_[i];
            p[6 * i + 2] += own.p_z, p[6 * i + 3] += own.m_x, p[6 * i + 4] += own.m_y;
            if (stopped == 0 || own.p_z == 0.0) continue;
            const double *z = L[6 * i + 2], *x = L[6 * i + 3], *y = L[6 * i + 4];
            for (int k = 0; k < size; ++k) now_[k] = now_[k] + z[k] * own.p_z + x[k] * own.m_x + y[k] * own.m_y;
        }
    }
    if (stopped > 0) static_.add_impulses(now_.data(), p);
}

void Balance::separate(Targets targets, double* p) {
    const int n = contacts_.size();
    sliding_.assign(contacts_.size(), {});
    std::fill(now_.begin(), now_.end(), 0.0);
    solve_normal(mobility(), now_.data(), sliding_, targets);
    std::fill(p, p + 6 * n, 0.0);
    for (int i = 0; i < n; ++i)
        p[6 * i + 2] = normal_[i].p_z, p[6 * i + 3] = normal_[i].m_x, p[6 * i + 4] = normal_[i].m_y;
}

void Balance::solve_normal(const Matrix& L, const double* V, std::span<const Assumption> links, Targets targets) {
    targets.bounce = bounce_;
    // Warm start: the vertices that carried load the last time, or all if they are not more than two.
    ActiveSet& active = lcp_.active;
    lcp_.last.clear();
    for (int k = 0; k < active.size(); ++k) lcp_.last.push_back(active.vertex(k));
    if (lcp_.last.empty() && vertices_ <= 2)
        for (int i = 0; i < static_cast<int>(links.size()); ++i)
            for (int k = 0; k < contacts_[i].count; ++k) {
                const Vector p = contacts_[i].point(k);
                lcp_.last.push_back({i, k, p.x, p.y});
            }
    const auto stands = [&](const Vertex& vertex) { return links[vertex.link].is_static; };
    if (std::any_of(lcp_.last.begin(), lcp_.last.end(), stands)) lcp_.last.clear();
    solve_frictionless(SlidingLinks{contacts_, L, V, links, vertices_, most_vertices_}, targets, compliance_, lcp_, normal_);
}

}  // namespace stiction
