// A few points that represent a patch: how they share the normal impulse, and Coulomb friction at them by sweeps.
//
// All of it serves one contact (T = double) and several side by side (T = Wide).
#pragma once

#include "contact/contact.hpp"
#include "friction/point_equations.hpp"
#include "math/dense.hpp"
#include "laws/law.hpp"

namespace stiction {

/// A patch with more vertices is represented by the extreme ones in EXTREMES directions.
constexpr int MAX_POINTS = 5, EXTREMES = 4;
constexpr int MAX_SHARING = 8;  ///< points among which a load is shared, at most
constexpr double OVER_RELAXATION = 1.3;

template <class T> struct PatchPoint {
    Vec3<T> place;     ///< relative to the centre of mass [m]
    T load;            ///< its share of the frictionless normal impulse [N s]
    Vec3<T> velocity;  ///< without friction [m/s]
    Vec3<T> impulse;   ///< that it gets [N s]
    Vec3<T> relax;     ///< by how much an impulse must change for each unit of velocity
    T speed;           ///< of slip before contact, where it is needed [m/s]
};

/// How many points stand for the patch of a contact.
/// most: vertices of a patch that are all taken
inline int number_of_points(const Contact& c, int most = MAX_POINTS) {
    if (c.kind == Kind::POINT) return 1;
    return c.count <= most ? static_cast<int>(c.count) : EXTREMES;
}

/// Visit the points that stand for a patch, visit(number, place): all vertices, or the extreme ones of many.
/// x, y: direction in which the first of the extreme ones lies; where the load is, so that they can carry it
template <class Visit> void for_points(const Contact& c, double x, double y, Visit visit, int most = MAX_POINTS) {
    if (c.kind == Kind::POINT) return visit(0, c.centre);
    const int n = number_of_points(c, most);
    for (int d = 0; d < n; ++d) {
        if (c.count <= most) {
            visit(d, c.point(d));
        } else {
            visit(d, c.point(c.lowest(-x, -y)));
            const double quarter = x;  // a quarter turn on
            x = -y, y = quarter;
        }
    }
}

/// The direction from a patch's centre towards its centre of pressure; x where the two are one.
inline Along<double> towards_load(const Contact& c, const Normal& p) {
    constexpr double central = 1e-6;  // share of a patch's radius within which a load is in its centre
    const double x = -p.m_y / p.p_z - c.centre.x, y = p.m_x / p.p_z - c.centre.y;
    if (x * x + y * y > (central * c.radius) * (central * c.radius)) return {x, y};
    return {1.0, 0.0};
}

/// How fast a point moves along x, y and z for a unit impulse on it in that direction.
template <class T> Vec3<T> own_response(const InverseInertiaOf<T>& W, const Vec3<T>& p) {
    const Symmetric3<T>& I = W.angular;
    // The arm of a unit impulse along x is (0, z, -y), along y (-z, 0, x) and along z (y, -x, 0).
    return {W.linear.x + p.z * (I.yy * p.z - I.yz * p.y) - p.y * (I.yz * p.z - I.zz * p.y),
            W.linear.y + p.x * (I.zz * p.x - I.xz * p.z) - p.z * (I.xz * p.x - I.xx * p.z),
            W.linear.z + p.y * (I.xx * p.y - I.xy * p.x) - p.x * (I.xy * p.y - I.yy * p.x)};
}

/// Share a normal impulse (p_z, m_x, m_y) among points: loads that add up to it, none a pull.
///
/// Each load is weighted by the point's own response, as by a contact that yields a little: among all ways to share
/// the load among more than three points, the one that soft contacts take.
template <class T> void share_load(std::span<PatchPoint<T>> points, const InverseInertiaOf<T>& W, const Vec3<T>& normal) {
    const T nothing(0.0), small = T(1e-12) * normal.x;  // loads below are rounding
    const int k = static_cast<int>(points.size());
    if (k == 1) {
        points[0].load = select(normal.x > nothing, normal.x, nothing);
        return;
    }
    T weight[MAX_SHARING];
    for (int j = 0; j < k; ++j) {
        const auto [x, y, z] = points[j].place;
        const Symmetric3<T>& I = W.angular;
        weight[j] = T(1.0) / (W.linear.z + y * (I.xx * y - I.xy * x) - x * (I.xy * y - I.yy * x));
    }
    for (int round = 0; round < k; ++round) {
        Symmetric3<T> A{nothing, nothing, nothing, nothing, nothing, nothing};
        for (int j = 0; j < k; ++j) {  // sums over the points that push of weight a a^T, with a = (1, y, -x)
            const T x = points[j].place.x, y = points[j].place.y, w = weight[j];
            A.xx = A.xx + w, A.xy = A.xy + w * y, A.xz = A.xz - w * x;
            A.yy = A.yy + w * y * y, A.zz = A.zz + w * x * x, A.yz = A.yz - w * x * y;
        }
        const Vec3<T> s = solve(A, normal);
        T worst(-1.0), least = -small;
        for (int j = 0; j < k; ++j) {
            const T own = (s.x + s.y * points[j].place.y - s.z * points[j].place.x) * weight[j];
            points[j].load = select(own > small, own, nothing);
            const auto lower = own < least;
            worst = select(lower, T(1.0 * j), worst), least = select(lower, own, least);
        }
        if (!any(worst > T(-1.0))) break;
        for (int j = 0; j < k; ++j)  // who would have to pull most is left out
            weight[j] = select(worst == T(1.0 * j), nothing, weight[j]);
    }
}

/// Order points by their loads, heaviest first.
template <class T> void order_by_load(std::span<PatchPoint<T>> points) {
    const int k = static_cast<int>(points.size());
    for (int n = 1; n < k; ++n)
        for (int m = n; m > 0; --m) {
            PatchPoint<T>&a = points[m - 1], &b = points[m];
            const auto lighter = a.load < b.load;
            if (!any(lighter)) break;
            const T heavier = select(lighter, b.load, a.load);
            b.load = select(lighter, a.load, b.load), a.load = heavier;
            for (T Vec3<T>::* axis : {&Vec3<T>::x, &Vec3<T>::y, &Vec3<T>::z}) {
                const T p = a.place.*axis, q = b.place.*axis;
                a.place.*axis = select(lighter, q, p), b.place.*axis = select(lighter, p, q);
            }
        }
}

/// A friction brought into its limits along x and y: into a box, or along the line to the origin into an ellipse, where
/// a point without load has none.
template <class T> Along<T> limited(const Along<T>& f, const T& most_x, const T& most_y, bool round) {
    const T nothing(0.0);
    if (!round) {
        const auto between = [](const T& a, const T& most) {
            const T low = select(a > most, most, a);
            return select(low < -most, -most, low);
        };
        return {between(f.x, most_x), between(f.y, most_y)};
    }
    const T a = f.x * most_y, b = f.y * most_x, most = most_x * most_y, excess = a * a + b * b;
    T scale = select(excess > most * most, most / root(excess), T(1.0));
    scale = select(most > nothing, scale, nothing);
    return {f.x * scale, f.y * scale};
}

/// Coulomb's law at points by over-relaxed Gauss-Seidel sweeps (gauss_seidel_sweep), friction before load. Networks were
/// trained with their result as an input, so that order and rounding must stay.
template <class T> class FrictionSweep {
  public:
    /// points: with impulse and relax; velocity (3 k) and response (3 k, 3 k) of all points side by side
    FrictionSweep(std::span<PatchPoint<T>> points, T* velocity, const T* response, CoulombFriction friction)
        : points_(points), velocity_(velocity), response_(response), friction_(friction) {}

    /// Whether the first sweep would change any impulse.
    auto moves() const {
        auto changed = T(0.0) > T(0.0);
        for (int j = 0; j < size(); ++j) {
            const Vec3<T>& f = points_[j].impulse;
            const auto [x, y] = project(FrictionOf{j}, relaxed(FrictionOf{j}));
            const T z = project(NormalOf{j}, relaxed_load(j, velocity_[3 * j + 2]));
            changed = either(changed, either(either(x != f.x, y != f.y), z != f.z));
        }
        return changed;
    }

    template <class Visit> void for_blocks(Visit visit) {
        for (int j = 0; j < size(); ++j) visit(FrictionOf{j}), visit(NormalOf{j});
    }

    Along<T> relaxed(FrictionOf block) const {
        const int j = block.point;
        const PatchPoint<T>& p = points_[j];
        return {multiply_add(velocity_[3 * j], p.relax.x, p.impulse.x),
                multiply_add(velocity_[3 * j + 1], p.relax.y, p.impulse.y)};
    }
    /// A box is limited by the load without friction, a cone by the present one.
    Along<T> project(FrictionOf block, const Along<T>& f) const {
        const PatchPoint<T>& p = points_[block.point];
        const T load = friction_.round ? p.impulse.z : p.load;
        return limited(f, T(friction_.mu_x) * load, T(friction_.mu_y) * load, friction_.round);
    }
    /// The velocities follow together with those of the normal impulse, in one pass.
    void move(FrictionOf block, const Along<T>& f) {
        const Vec3<T>& now = points_[block.point].impulse;
        change_ = {f.x - now.x, f.y - now.y};
    }

    T relaxed(NormalOf block) const {
        const int j = block.point, n = 3 * size();
        const T* row = response_ + 3 * n * j;
        const T speed = multiply_add(row[n + 3 * j + 2], change_.y, velocity_[3 * j + 2]);
        return relaxed_load(j, multiply_add(row[3 * j + 2], change_.x, speed));
    }
    T project(NormalOf, const T& load) const { return select(load > T(0.0), load, T(0.0)); }
    void move(NormalOf block, const T& load) {
        const int j = block.point, n = 3 * size();
        const T* row = response_ + 3 * n * j;  // of all velocities to a unit along x, then y, then z
        Vec3<T>& f = points_[j].impulse;
        const T x = change_.x, y = change_.y, z = load - f.z;
        f.x += x, f.y += y, f.z += z;
        for (int m = 0; m < n; ++m) {
            T u = multiply_add(row[n + m], y, velocity_[m]);
            u = multiply_add(row[m], x, u);
            velocity_[m] = multiply_add(row[2 * n + m], z, u);
        }
    }

  private:
    std::span<PatchPoint<T>> points_;
    T* velocity_;
    const T* response_;
    CoulombFriction friction_;
    Along<T> change_;  // of the friction of the present point

    int size() const { return static_cast<int>(points_.size()); }
    T relaxed_load(int j, const T& speed) const { return multiply_add(speed, points_[j].relax.z, points_[j].impulse.z); }
};

}  // namespace stiction
