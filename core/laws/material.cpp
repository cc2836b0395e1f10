#include "laws/material.hpp"

#include "contact/frictionless_lcp.hpp"
#include "contact/static_impulse.hpp"
#include "friction/dantzig.hpp"
#include "friction/points.hpp"

namespace stiction {
namespace {

constexpr int MOST = MAX_REFERENCE_POINTS;
constexpr double SLACK = 1e-9;  // share of the whole load that is only rounding in the share of a point

/// The least compliance of several points: with none, their loads are not unique. Torques are softer: else friction and torques
/// may act against each other at nearly no cost, and rolling took twice the time to solve.
constexpr double MIN_COMPLIANCE = 1e-9, TORQUE_COMPLIANCE = 1e-6;

/// The friction of all impulses at the patch's centre.
Friction friction_of(const Contact& c, const PatchImpulses& impulses) {
    Friction sum;
    for (const auto& [place, f] : impulses.all()) sum.add(place - c.centre, f);
    sum.m_x += impulses.torque.x, sum.m_y += impulses.torque.y, sum.m_z += impulses.torque.z;
    return sum;
}

/// Whether the impulses leave all points at rest, and the turning that they grip, but for the compliance of their problem.
///
/// A compliant contact does not stop exactly; but a slow body that rests on a surface is stopped, as by a rigid one.
bool stops(const Contact& c, const PatchImpulses& impulses, double compliance) {
    constexpr double still = 1e-7;  // a point that keeps less than this share of the greatest speed has stopped
    constexpr double slow = 0.1;    // [m/s] below this speed, a body that comes to rest on a soft surface is stopped
    if (compliance > 0.0 && !c.is_maximal()) return false;
    Wrench p{{}, impulses.torque};
    for (const auto& [place, impulse] : impulses.all()) p = p + Wrench::at(place, impulse);
    const Twist after = c.after(p);
    double fast_before = 0.0, fast_after = 0.0;
    const auto note_turning = [&](const Vector& before, const Vector& now) {
        fast_before = std::max(fast_before, c.diameter * greatest_size(before));
        fast_after = std::max(fast_after, c.diameter * greatest_size(now));
    };
    if (c.grip == Grip::ALL) note_turning(c.velocity.angular, after.angular);
    if (c.grip == Grip::SPIN) note_turning({0.0, 0.0, c.velocity.angular.z}, {0.0, 0.0, after.angular.z});
    for (const auto& point : impulses.all()) {
        fast_before = std::max(fast_before, greatest_size(c.velocity.at(point.place)));
        fast_after = std::max(fast_after, greatest_size(after.at(point.place)));
    }
    if (compliance > 0.0 && fast_before > slow) return false;
    const double softest = c.grip == Grip::POINTS ? compliance : std::max(compliance, TORQUE_COMPLIANCE);
    return fast_after <= std::max(still, 20 * softest) * fast_before;
}

/// The points at which a patch is solved.
PatchImpulses places_of(const Contact& c, double compliance, bool reference) {
    PatchImpulses places;
    const auto add = [&](int, const Vector& place) { places.points[places.count++] = {place, {}}; };
    if (reference) {
        const int count = std::min(static_cast<int>(c.count), MAX_REFERENCE_POINTS);
        for (int k = 0; k < count; ++k) add(k, c.point(static_cast<int>(k * c.count / count)));
        return places;
    }
    Along<double> load{1.0, 0.0};
    if (c.count > MAX_MATERIAL_POINTS)
        if (const Normal p = normal_impulse(c, c.velocity, compliance); p.p_z > 0.0) load = towards_load(c, p);
    for_points(c, load.x, load.y, add, MAX_MATERIAL_POINTS);
    return places;
}

/// The axis from which directions of slip are measured: x of the contact, or the body's x axis seen from above.
Along<double> first_axis(const Contact& c, bool body_axes) {
    if (!body_axes) return {1.0, 0.0};
    const Rotation& R = c.rotation;
    double x = R.x.x, y = R.y.x;
    if (x * x + y * y < 0.01) x = R.x.y, y = R.y.y;  // the body's x axis stands upright
    const double size = std::sqrt(x * x + y * y);
    return {x / size, y / size};
}

/// Share an impulse that stops the patch among its points, as slightly compliant contacts do. A torque of a soft point counts
/// as a force with its coefficient as its lever.
/// levers: about x, y and z [m]; torques: of each point; none of hard points
template <bool SOFT>
void share(const Contact& c, const Wrench& p, std::span<PointImpulse> points, std::array<double, 3> levers = {},
           Vector* torques = nullptr) {
    if (points.size() == 1) {
        points[0].impulse = p.linear;
        if constexpr (SOFT) {
            const Vector rest = p.angular - cross(points[0].place, p.linear);
            torques[0] = c.grip == Grip::ALL ? rest : Vector{0.0, 0.0, rest.z};
        }
        return;
    }
    constexpr int ROWS = SOFT ? 6 : 3;
    double rows[ROWS * MOST][6], weight[ROWS * MOST], A[6][6] = {};
    double multiplier[6] = {p.linear.x, p.linear.y, p.linear.z, p.angular.x, p.angular.y, p.angular.z};
    const int forces = static_cast<int>(3 * points.size()), n = SOFT ? 2 * forces : forces;
    for (int r = forces; r < n; ++r) {
        const int axis = 3 + r % 3;
        const Vector own = own_response(c.inverse_inertia, points[(r - forces) / 3].place);
        const double lever = levers[r % 3];
        std::fill(rows[r], rows[r] + 6, 0.0);
        rows[r][axis] = lever;
        weight[r] = 2 / (own.x + own.y);
        A[axis][axis] += weight[r] * lever * lever;
    }
    for (int r = 0; r < forces; ++r) {
        const auto [x, y, z] = points[r / 3].place;
        double* J = rows[r];
        std::fill(J, J + 6, 0.0);
        J[r % 3] = 1.0;
        if (r % 3 == 0) J[4] = z, J[5] = -y;
        if (r % 3 == 1) J[3] = -z, J[5] = x;
        if (r % 3 == 2) J[3] = y, J[4] = -x;
        const Vector own = own_response(c.inverse_inertia, points[r / 3].place);
        const double response = r % 3 == 2 ? own.z : 0.5 * (own.x + own.y);
        weight[r] = response > 0.0 ? 1 / response : 0.0;
        for (int i = 0; i < 6; ++i)
            for (int k = 0; k <= i; ++k) A[i][k] += weight[r] * J[i] * J[k];
    }
    bool free[6];
    solve_semidefinite(&A[0][0], 6, multiplier, free, 6);
    for (int r = 0; r < n; ++r) {
        double f = 0.0;
        for (int k = 0; k < 6; ++k) f += rows[r][k] * multiplier[k];
        Vector& impulse = SOFT && r >= forces ? torques[(r - forces) / 3] : points[r / 3].impulse;
        if (SOFT && r >= forces) f *= levers[r % 3];
        (r % 3 == 0 ? impulse.x : r % 3 == 1 ? impulse.y : impulse.z) = weight[r] * f;
    }
}

/// Whether a point holds an impulse: n is no pull, and friction f (along the axes) lies within its limits.
/// slack: impulse that is only rounding
bool holds(const FrictionMap& map, const SlidingPoint& point, double n, Along<double> f, double slack, double timestep) {
    if (n < -slack) return false;
    if (map.cone == Cone::BOX) {
        const double x = f.x > 0 ? -1.0 : 1.0, y = f.y > 0 ? -1.0 : 1.0;  // of slip
        return std::fabs(f.x) <= slack + map.stretch_x * map.limit(point, n, x, 0.0, timestep).size &&
               std::fabs(f.y) <= slack + map.stretch_y * map.limit(point, n, 0.0, y, timestep).size;
    }
    const double x = f.x / map.stretch_x, y = f.y / map.stretch_y, size = std::sqrt(x * x + y * y);
    return size <= slack || size <= slack + map.limit(point, n, -x / size, -y / size, timestep).size;
}

/// Share an impulse that stops a patch of soft points; whether each of them can hold its torque.
/// loads: that limit friction, if the map has it so
bool share_softly(const Contact& c, const Wrench& p, const FrictionMap& map, PatchImpulses& impulses,
                  const std::array<double, MOST>& loads) {
    std::array<Vector, MOST> torques;
    const double torsion = std::max(0.0, map.torsion), rolling = std::max(0.0, map.rolling), slack = SLACK * p.linear.z;
    share<true>(c, p, impulses.all(), {rolling, rolling, torsion}, torques.data());
    bool holds = true;
    impulses.torque = {};
    for (int k = 0; k < impulses.count; ++k) {
        const Vector& torque = torques[k];
        const double pressing = std::max(0.0, map.frictionless_limit ? loads[k] : impulses.points[k].impulse.z) + slack;
        holds = holds && std::fabs(torque.z) <= torsion * pressing && norm(torque.x, torque.y) <= rolling * pressing;
        impulses.torque += torque;
    }
    return holds;
}

/// The loads of all points of a rigid patch without friction.
std::array<double, MOST> frictionless_loads(const Contact& c, std::span<const PointImpulse> points) {
    const Normal p = normal_impulse(c, c.velocity);
    std::array<PatchPoint<double>, MOST> sharing;
    const std::size_t m = points.size();
    for (std::size_t k = 0; k < m; ++k) sharing[k].place = points[k].place;
    share_load(std::span(sharing.data(), m), c.inverse_inertia, {p.p_z, p.m_x, p.m_y});
    std::array<double, MOST> loads{};
    for (std::size_t k = 0; k < m; ++k) loads[k] = sharing[k].load;
    return loads;
}

/// The same of compliant points: the normal rows of their problem by themselves.
std::array<double, MOST> frictionless_loads(const PointFriction& problem) {
    const int m = problem.size();
    Matrix A(m, m);
    std::vector<double> b(m), none(m, 0.0), unlimited(m, std::numeric_limits<double>::infinity());
    for (int r = 0; r < m; ++r) {
        b[r] = problem.b[3 * r];
        for (int k = 0; k < m; ++k) A[r][k] = problem.A[3 * r][3 * k];
    }
    const std::vector<double> loads = boxed_lcp(A, b, none, unlimited);
    std::array<double, MOST> result{};
    std::copy(loads.begin(), loads.end(), result.begin());
    return result;
}

/// The rows of torques of soft points: about the normal, and about the axes across it.
void add_torques(PointFriction& problem, const Contact& c, const FrictionMap& map, std::span<const PointImpulse> points,
                 Along<double> e, double compliance, std::span<double> arms) {
    const Vector axes[3] = {{0.0, 0.0, 1.0}, {e.x, e.y, 0.0}, {-e.y, e.x, 0.0}};
    const int m = static_cast<int>(points.size());
    for (int k = 0; k < m; ++k) {
        if (map.torsion > 0.0) problem.add_torque(k, 1, map.torsion);
        if (map.rolling > 0.0) problem.add_torque(k, 2, map.rolling);
    }
    const auto axis_of = [&](const TorqueRows& torque, int row) { return axes[torque.count == 1 ? 0 : 1 + row - torque.first]; };
    for (const TorqueRows& torque : problem.torques)
        for (int row = torque.first; row < torque.end(); ++row) {
            const Vector axis = axis_of(torque, row);
            const Twist response = c.inverse_inertia * Wrench{{}, axis};
            problem.b[row] = dot(axis, c.velocity.angular);
            for (int j = 0; j < m; ++j)
                for (int d = 0; d < 3; ++d)
                    problem.A[row][3 * j + d] = problem.A[3 * j + d][row] = dot(axes[d], response.at(points[j].place));
            for (const TorqueRows& other : problem.torques)
                for (int r = other.first; r < other.end(); ++r)
                    problem.A[row][r] = dot(axis_of(other, r), response.angular);
        }
    const double softer = m > 1 ? std::max(compliance, TORQUE_COMPLIANCE) : compliance;
    for (std::size_t t = 0; t < problem.torques.size(); ++t) {
        arms[t] = problem.balance(problem.torques[t]);
        for (int row = problem.torques[t].first; row < problem.torques[t].end(); ++row) problem.A[row][row] *= 1 + softer;
    }
}

/// Set up the velocities of the points without impulses, and their response to impulses along the axes.
/// Along x and y of a round cone the compliance is the same, so that turning the contact about the vertical only turns the
/// solution.
/// arms: lengths by which the torques of soft points are measured, see PointSystem::balance [m]
void set_up(PointFriction& problem, const Contact& c, const FrictionMap& map, std::span<const PointImpulse> points,
            Along<double> e, double compliance, std::span<double> arms) {
    const int m = static_cast<int>(points.size());
    const bool even = map.cone == Cone::ROUND;
    problem.resize(m, 0, m * ((map.torsion > 0.0) + 2 * (map.rolling > 0.0)));
    problem.timestep = c.timestep;
    const auto along = [&](const Vector& v) { return std::array{v.z, e.x * v.x + e.y * v.y, e.x * v.y - e.y * v.x}; };
    const Vector axes[3] = {{0.0, 0.0, 1.0}, {e.x, e.y, 0.0}, {-e.y, e.x, 0.0}};
    for (int k = 0; k < m; ++k) {
        const auto b = along(c.velocity.at(points[k].place));
        std::copy(b.begin(), b.end(), &problem.b[3 * k]);
        if (c.restitution.e0 > 0.0) problem.b[3 * k] -= Targets::rebound(c, points[k].place);
        for (int d = 0; d < 3; ++d) {
            const Twist response = c.inverse_inertia * Wrench::at(points[k].place, axes[d]);
            for (int j = 0; j < m; ++j) {
                const auto w = along(response.at(points[j].place));
                std::copy(w.begin(), w.end(), problem.A[3 * k + d] + 3 * j);
            }
        }
    }
    for (int k = 0; k < m; ++k) {
        double &z = problem.A[3 * k][3 * k], &x = problem.A[3 * k + 1][3 * k + 1], &y = problem.A[3 * k + 2][3 * k + 2];
        const double mean = 0.5 * (x + y);
        z += compliance * z, x += compliance * (even ? mean : x), y += compliance * (even ? mean : y);
    }
    if (c.grip != Grip::POINTS) add_torques(problem, c, map, points, e, compliance, arms);
}

}  // namespace

void MaterialLaw::classify(const Contacts& contacts) {
    PointFriction& problem = contacts.workspace().friction;
    for (Contact& c : contacts) {
        c.found = {};
        c.mode = Mode::DETACH;
        PatchImpulses impulses = solve(c, problem);
        if (impulses.count == 0) continue;
        c.mode = impulses.stop || stops(c, impulses, compliance) ? Mode::STATIC : Mode::DYNAMIC;
        c.outside = c.outside && c.mode == Mode::DYNAMIC;
        if (grip != Grip::POINTS && c.mode == Mode::STATIC && !impulses.stop)
            share_softly(c, static_impulse(c), map_, impulses, {});
        c.found = friction_of(c, impulses);
    }
}

PatchImpulses MaterialLaw::solve(Contact& c, PointFriction& problem) {
    c.restitution = restitution_;
    c.grip = grip;
    c.outside = false;
    if (c.lowest_separation(c.velocity) >= 0.0) return {};
    PatchImpulses impulses = places_of(c, compliance, options_.reference);
    const std::span<PointImpulse> points = impulses.all();
    const Along<double> e = first_axis(c, options_.body_axes);
    const auto slip_speed = [&](const Vector& place) {
        const Vector v = c.before.at(place);
        return std::sqrt(v.x * v.x + v.y * v.y);
    };
    TextureSeries texture;
    const Rotation& R = c.rotation;
    if (!map_.texture.empty()) texture = map_.texture_at(R.inverse({e.x, e.y, 0.0}), R.inverse({-e.y, e.x, 0.0}));
    const auto point_at = [&](const Vector& place, double load) {
        SlidingPoint point = map_.at(slip_speed(place), load, c.timestep);
        if (!map_.texture.empty()) point.texture = &texture;
        return point;
    };
    std::array<double, MOST> loads{};
    const bool by_dantzig = options_.reference && map_.cone == Cone::BOX;  // which finds the loads by itself
    if (compliance == 0.0 && !by_dantzig) {
        if (map_.frictionless_limit) loads = frictionless_loads(c, points);
        // Most contacts stick: one linear solve, if every point can hold its share.
        const Wrench stop = static_impulse(c);
        impulses.stop = restitution_.e0 == 0.0 && stop.linear.z > 0.0;
        if (impulses.stop && grip == Grip::POINTS) share<false>(c, stop, points);
        if (impulses.stop && grip != Grip::POINTS) impulses.stop = share_softly(c, stop, map_, impulses, loads);
        for (int k = 0; k < impulses.count && impulses.stop; ++k) {
            const auto& [x, y, n] = points[k].impulse;
            impulses.stop = holds(map_, point_at(points[k].place, loads[k]), n,
                                  {e.x * x + e.y * y, e.x * y - e.y * x}, SLACK * stop.linear.z, c.timestep);
        }
        if (impulses.stop) return impulses;
    }
    impulses.torque = {};
    std::array<double, 2 * MOST> arms;
    const bool is_unique = grip != Grip::POINTS && impulses.count == 1;
    set_up(problem, c, map_, points, e, std::max(compliance, is_unique ? 0.0 : MIN_COMPLIANCE), arms);
    if (by_dantzig) {
        problem.x = dantzig_friction(problem.A, problem.b, options_.coulomb_estimate.mu_x, options_.coulomb_estimate.mu_y);
    } else {
        if (map_.frictionless_limit && compliance > 0.0) loads = frictionless_loads(problem);
        for (int k = 0; k < impulses.count; ++k) {
            problem.points[k] = point_at(points[k].place, loads[k]);
            problem.x[3 * k] = loads[k];
        }
        if (!problem.solve()) ++unsolved_;
    }
    for (int k = 0; k < impulses.count; ++k) {
        const double n = problem.x[3 * k], x = problem.x[3 * k + 1], y = problem.x[3 * k + 2];
        points[k].impulse = {e.x * x - e.y * y, e.y * x + e.x * y, n};
        c.outside = c.outside || (problem.slips(k) && !map_.covers(problem.points[k], n, c.timestep));
    }
    for (std::size_t t = 0; t < problem.torques.size(); ++t) {
        const TorqueRows& torque = problem.torques[t];
        const double x = arms[t] * problem.x[torque.first], y = arms[t] * problem.x[torque.end() - 1];
        impulses.torque += torque.count == 1 ? Vector{0.0, 0.0, x} : Vector{e.x * x - e.y * y, e.y * x + e.x * y, 0.0};
    }
    return impulses;
}

}  // namespace stiction
