#include "multibody/starting_point.hpp"

#include "friction/points.hpp"

namespace stiction {
namespace {

constexpr struct {
    int max_sweeps = 60;
    double at_rest = 1e-4;    // share of the greatest speed before, at which a point has stopped
    double converged = 1e-7;  // change in a sweep, relative to the greatest load, that ends the sweeps
} SETTINGS;

/// The impulse that brings a speed to rest; none without mobility.
double stopping(double impulse, double speed, double own) { return own > 0.0 ? impulse - speed * own : 0.0; }

}  // namespace

/// A Gauss-Seidel sweep (gauss_seidel_sweep), load before friction.
/// Size: of all twists, where the compiler may know it; else 0
template <int Size> struct StartingPoint::Sweep {
    std::span<Point> points;
    std::vector<double>& twist;
    std::span<const CoulombFriction> coulomb_estimate;
    std::span<const SlipProjection> slip_projection;
    double greatest_load = 0.0, greatest_change = 0.0;
    // Of the present point: its velocity and load with the push, which the twists follow together with friction.
    Vector v{};
    double load = 0.0, push = 0.0;

    bool converged() const { return greatest_change <= SETTINGS.converged * greatest_load; }

    template <class Visit> void for_blocks(Visit visit) {
        for (int k = 0; k < static_cast<int>(points.size()); ++k) visit(NormalOf{k}), visit(FrictionOf{k});
    }

    double relaxed(NormalOf block) {
        const Point& point = points[block.point];
        v = velocity(point, twist.data());
        return stopping(point.impulse.z, v.z, point.own.z);
    }
    double project(NormalOf, double impulse) const { return std::max(0.0, impulse); }
    void move(NormalOf block, double impulse) {
        const Point& point = points[block.point];
        load = impulse, push = load - point.impulse.z;
        v += push * point.pushed;
    }

    Along<double> relaxed(FrictionOf block) const {
        const auto& [link, place, own, pushed, f, x, y, z] = points[block.point];
        return {stopping(f.x, v.x, own.x), stopping(f.y, v.y, own.y)};
    }
    Along<double> project(FrictionOf block, Along<double> f) const {
        const int link = points[block.point].link;
        const SlipProjection& P = slip_projection[link];
        const auto& [mu_x, mu_y, round] = coulomb_estimate[link];
        return limited<double>({P.xx * f.x + P.xy * f.y, P.xy * f.x + P.yy * f.y}, mu_x * load, mu_y * load, round);
    }
    void move(FrictionOf block, Along<double> now) {
        Point& point = points[block.point];
        greatest_load = std::max(greatest_load, load);
        const double more_x = now.x - point.impulse.x, more_y = now.y - point.impulse.y;
        if (push == 0.0 && more_x == 0.0 && more_y == 0.0) return;
        greatest_change = std::max({greatest_change, std::fabs(push), std::fabs(more_x), std::fabs(more_y)});
        point.impulse = {now.x, now.y, load};
        const int size = Size > 0 ? Size : static_cast<int>(twist.size());
        for (int k = 0; k < size; ++k)
            twist[k] = twist[k] + point.z[k] * push + point.x[k] * more_x + point.y[k] * more_y;
    }
};

bool StartingPoint::find(const Contacts& contacts, const double* V, const Matrix& L,
                         std::span<const CoulombFriction> coulomb_estimate, std::span<const SlipProjection> slip_projection) {
    const int n = contacts.size();
    twist_.assign(V, V + 6 * n);
    response_.resize(std::size_t(3) * MAX_POINTS * n * 6 * n);
    points_.clear();
    for (int i = 0; i < n; ++i)
        for_points(contacts[i], 1.0, 0.0, [&](int, const Vector& place) { add_point(i, place, L); });
    const Fastest before = fastest(-1.0);
    const auto sweep = [&]<int Size> {
        Sweep<Size> next{points_, twist_, coulomb_estimate, slip_projection};
        gauss_seidel_sweep(next);
        return next.converged();
    };
    for (int k = 0; k < SETTINGS.max_sweeps; ++k)
        if (n == 1 ? sweep.template operator()<6>() : sweep.template operator()<0>()) break;
    const Fastest after = fastest(0.0);
    friction_.assign(n, {});
    for (const Point& point : points_)
        friction_[point.link].add(point.place - contacts[point.link].centre, point.impulse);
    for (int i = 0; i < n; ++i) friction_[i] = slip_projection[i] * friction_[i];
    return after.along > SETTINGS.at_rest * std::max(before.up, before.along);
}

void StartingPoint::add_point(int link, const Vector& place, const Matrix& L) {
    const int size = L.rows();
    double* out = response_.data() + points_.size() * 3 * size;
    Point& point = points_.emplace_back(Point{link, place, {}, {}, {}, out, out + size, out + 2 * size});
    for (int k = 0; k < size; ++k) {
        double column[6];
        for (int d = 0; d < 6; ++d) column[d] = L[6 * link + d][k];
        const Vector v = twist_from(column).at(place);
        point.x[k] = v.x, point.y[k] = v.y, point.z[k] = v.z;
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
