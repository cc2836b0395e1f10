// The normal impulse of one body: closed forms, and the general methods of frictionless_lcp.hpp.
#include "contact/frictionless_lcp.hpp"

#include <optional>

namespace stiction {
namespace {

constexpr double ROUNDING = 1e-12;

Normal one_vertex(const Contact& c, const Twist& v, Targets targets) {
    const Vector p = c.point(0);
    const double missing = targets.of(c, 0, p) - v.normal_velocity(p.x, p.y);
    if (!(missing > 0.0)) return {};
    const double n = missing / c.inverse_inertia.normal_response(p.x, p.y, p.x, p.y);
    return {n, n * p.y, -n * p.x};
}

/// None where the two vertices respond too much alike for a closed form.
///
/// The unknowns are the sum of both loads, and that of the second, which moves a part of the sum by q - p: on the edge of
/// a thin plate the vertices are close together, and only the distance between them separates their responses.
std::optional<Normal> two_vertices(const Contact& c, const Twist& v, Targets targets) {
    const Vector p = c.point(0), q = c.point(1), way = q - p;
    const double up = v.normal_velocity(p.x, p.y), gained = way.y * v.angular.x - way.x * v.angular.y;
    const double target = targets.of(c, 0, p), other = targets.of(c, 1, q);
    const double a = target - up, more = other - target - gained;  // what is missing in the first, and more in the other
    const double slack = ROUNDING * std::max({std::fabs(up), std::fabs(up + gained), target, other});
    if (!(std::max(a, a + more) > slack)) return Normal{};
    const InverseInertia& W = c.inverse_inertia;
    const double own = W.normal_response(p.x, p.y, p.x, p.y), its = W.normal_response(q.x, q.y, q.x, q.y);
    const double both = W.tilt(p.x, p.y, way.x, way.y), between = W.tilt(way.x, way.y, way.x, way.y);
    const double determinant = own * between - both * both;
    if (!(determinant > 1e-9 * own * between)) return {};
    double sum = (a * between - more * both) / determinant, second = (more * own - a * both) / determinant;
    if (second < 0.0 || second > sum) {  // then one vertex alone carries, and lifts the other
        const bool first = a > 0.0 && more * own <= both * a;
        sum = first ? a / own : (a + more) / its;
        second = first ? 0.0 : sum;
    }
    return Normal{sum, sum * p.y + second * way.y, -sum * p.x - second * way.x};
}

/// Whether (x, y) lies on the inner side of the polygon of `number` contact points, corner(0), corner(1) ...
template <class Corner> bool is_within(double x, double y, int number, Corner corner) {
    Vector before = corner(number - 1);
    for (int k = 0; k < number; ++k) {
        const Vector now = corner(k);
        // Seen from above, the vertices of a face that looks down run clockwise.
        if (!((now.x - before.x) * (y - before.y) - (now.y - before.y) * (x - before.x) <= 0.0)) return false;
        before = now;
    }
    return true;
}

/// Whether (x, y) lies within the polygon of the patch's vertices; of many, within that of some of them.
bool is_within(const Contact& c, double x, double y) {
    const int n = static_cast<int>(c.count);
    if (n <= MANY) return is_within(x, y, n, [&](int k) { return c.point(k); });
    return is_within(x, y, FEW, [&](int k) { return c.corners[k]; }) ||
           is_within(x, y, MANY, [&](int k) { return c.calculated_point(k * n / MANY); });
}

/// A face that presses as a whole. None where part of it would have to pull, that is, where the centre of pressure is
/// outside of it, or where the targets are not linear.
std::optional<Normal> whole_face(const Contact& c, const Twist& before, Targets targets) {
    double u = before.linear.z, v = before.angular.x, w = before.angular.y;
    if (targets.rate > 0.0) {
        const DepthPlane depth(c);
        const Vector p = c.point(c.lowest(-depth.f, depth.e));  // where it is shallowest
        if (targets.rate * (depth.d + depth.e * p.y - depth.f * p.x) >= targets.cap) {
            u -= targets.cap;
        } else if (targets.rate * c.depth <= targets.cap) {
            u -= targets.rate * depth.d, v -= targets.rate * depth.e, w -= targets.rate * depth.f;
        } else {
            return {};
        }
    } else if (c.restitution.e0 > 0.0) {
        return {};
    }
    const Tensor& I = c.inverse_inertia.angular;
    const double determinant = I.xx * I.yy - I.xy * I.xy;
    const double p_z = -u / c.inverse_inertia.linear.z;
    const double m_x = (I.xy * w - I.yy * v) / determinant, m_y = (I.xy * v - I.xx * w) / determinant;
    if (p_z > 0.0 && is_within(c, -m_y / p_z, m_x / p_z)) return Normal{p_z, m_x, m_y};
    return {};
}

/// One body as the general methods see it.
class OneBody {
  public:
    OneBody(const Contact& contact, const Twist& v)
        : c_(contact), before_{v.linear.z, v.angular.x, v.angular.y} {
        const Tensor& I = c_.inverse_inertia.angular;
        W_[0][0] = c_.inverse_inertia.linear.z, W_[1][1] = I.xx, W_[2][2] = I.yy, W_[1][2] = W_[2][1] = I.xy;
    }
    int links() const { return 1; }
    const Contact* contact(int) const { return &c_; }
    int max_vertices() const { return static_cast<int>(c_.count); }
    int all_vertices() const { return static_cast<int>(c_.count); }
    const double* before(int) const { return before_; }
    double W(int r, int k) const { return W_[r][k]; }
    double response(const Vertex& a, const Vertex& b) const { return c_.inverse_inertia.normal_response(a.x, a.y, b.x, b.y); }

  private:
    const Contact& c_;
    double before_[3], W_[3][3] = {};
};

}  // namespace

Normal normal_impulse(const Contact& c, const Twist& before, double compliance, Targets targets) {
    if (compliance == 0.0) {
        std::optional<Normal> quick;
        if (c.count == 1)
            quick = one_vertex(c, before, targets);
        else if (c.count == 2)
            quick = two_vertices(c, before, targets);
        else if (c.face >= 0 && c.kind == Kind::SURFACE)
            quick = whole_face(c, before, targets);
        if (quick) return *quick;
    }
    thread_local FrictionlessLCP lcp{ActiveSet(MAX_ACTIVE), {}};  // only for its memory
    Normal normal;
    solve_frictionless(OneBody(c, before), targets, compliance, lcp, {&normal, 1});
    return normal;
}

}  // namespace stiction
