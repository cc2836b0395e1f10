#include "multibody/starting_point.hpp"

#include <algorithm>
#include <cmath>

#include "friction/points.hpp"

namespace stiction {
namespace {

constexpr int MAX_SWEEPS = 60;
constexpr double AT_REST = 1e-4;    // share of the greatest speed before, at which a point has stopped
constexpr double CONVERGED = 1e-7;  // change in a sweep, relative to the greatest load, that ends the sweeps

/// The impulse that brings a speed to rest; none without mobility.
double stopping(double impulse, double speed, double own) { return own > 0.0 ? impulse - speed * own : 0.0; }

}  // namespace

Vector StartingPoint::velocity(const Point& point, const double* twists) const {
    const double* v = twists + 6 * point.link;
    const auto [x, y, z] = point.place;
    return {v[0] + z * v[4] - y * v[5], v[1] - z * v[3] + x * v[5], v[2] + y * v[3] - x * v[4]};
}

/// Bring each point to rest, one after another, as far as friction and a push can; whether none had to change any more.
/// Size: of all twists, where the compiler may know it; else 0
template <int Size>
bool StartingPoint::sweep(std::span<const CoulombFriction> coulomb_estimate, std::span<const SlipProjection> slip_projection) {
    const int size = Size > 0 ? Size : static_cast<int>(twist_.size());
    double* twist = twist_.data();
    double most = 0.0, change = 0.0;
    for (Point& point : points_) {
        Vector& f = point.impulse;
        Vector v = velocity(point, twist);
        const double load = std::max(0.0, stopping(f.z, v.z, point.own.z)), push = load - f.z;
        v += push * point.pushed;
        const double x = stopping(f.x, v.x, point.own.x), y = stopping(f.y, v.y, point.own.y);
        const SlipProjection& felt = slip_projection[point.link];
        const auto& [mu_x, mu_y, round] = coulomb_estimate[point.link];
        const Along<double> felt_stop{felt.xx * x + felt.xy * y, felt.xy * x + felt.yy * y};
        const Along<double> now = limited(felt_stop, mu_x * load, mu_y * load, round);
        const double more_x = now.x - f.x, more_y = now.y - f.y;
        if (push != 0.0 || more_x != 0.0 || more_y != 0.0) {
            change = std::max({change, std::fabs(push), std::fabs(more_x), std::fabs(more_y)});
            f = {now.x, now.y, load};
            for (int k = 0; k < size; ++k)
                twist[k] = twist[k] + point.z[k] * push + point.x[k] * more_x + point.y[k] * more_y;
        }
        most = std::max(most, load);
    }
    return change <= CONVERGED * most;
}

bool StartingPoint::find(const Contacts& contacts, const double* V, const Matrix& L,
                         std::span<const CoulombFriction> coulomb_estimate, std::span<const SlipProjection> slip_projection) {
    const int n = contacts.size();
    twist_.assign(V, V + 6 * n);
    response_.resize(std::size_t(3) * MAX_POINTS * n * 6 * n);
    points_.clear();
    for (int i = 0; i < n; ++i)
        for_points(contacts[i], 1.0, 0.0, [&](int, const Vector& place) { add_point(i, place, L); });
    const Fastest before = fastest(-1.0);
    for (int k = 0; k < MAX_SWEEPS; ++k)
        if (n == 1 ? sweep<6>(coulomb_estimate, slip_projection) : sweep<0>(coulomb_estimate, slip_projection)) break;
    const Fastest after = fastest(0.0);
    friction_.assign(n, {});
    for (const Point& point : points_)
        friction_[point.link].add(point.place - contacts[point.link].centre, point.impulse);
    for (int i = 0; i < n; ++i) friction_[i] = slip_projection[i] * friction_[i];
    return after.along > AT_REST * std::max(before.up, before.along);
}

void StartingPoint::add_point(int link, const Vector& place, const Matrix& L) {
    const int size = L.rows();
    double* out = response_.data() + points_.size() * 3 * size;
    Point& point = points_.emplace_back(Point{link, place, {}, {}, {}, out, out + size, out + 2 * size});
    const auto [x, y, z] = place;
    const double *v_x = L[6 * link], *v_y = L[6 * link + 1], *v_z = L[6 * link + 2];
    const double *w_x = L[6 * link + 3], *w_y = L[6 * link + 4], *w_z = L[6 * link + 5];
    for (int k = 0; k < size; ++k) {
        point.x[k] = v_x[k] + z * w_y[k] - y * w_z[k];
        point.y[k] = v_y[k] - z * w_x[k] + x * w_z[k];
        point.z[k] = v_z[k] + y * w_x[k] - x * w_y[k];
    }
    point.pushed = velocity(point, point.z);
    const Vector own{velocity(point, point.x).x, velocity(point, point.y).y, point.pushed.z};
    point.own = {own.x > 0.0 ? 1.0 / own.x : 0.0, own.y > 0.0 ? 1.0 / own.y : 0.0, own.z > 0.0 ? 1.0 / own.z : 0.0};
}

/// Greatest speeds, upwards or downwards and along the ground, of points with more than the least load.
StartingPoint::Fastest StartingPoint::fastest(double least) const {
    Fastest out;
    for (const Point& point : points_)
        if (point.impulse.z > least) {
            const Vector v = velocity(point, twist_.data());
            out.up = std::max(out.up, std::fabs(v.z));
            out.along = std::max({out.along, std::fabs(v.x), std::fabs(v.y)});
        }
    return out;
}

}  // namespace stiction
