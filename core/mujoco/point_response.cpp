// A step beside links with laws of their own: points are solved for with the links' impulses as forces, as often as these
// change, and tell how the links follow impulses while they hold.
#include <algorithm>
#include <cmath>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double YIELD = 1e-6;       // share of its mobility by which a held point yields, so that many can share a load
constexpr double IMMOVABLE = 1e-15;  // what a point yields that cannot move, against the one that moves most

}  // namespace

void PointStep::find_beside() {
    find_velocities();
    found_ = points;
    save_state();  // where nothing is applied yet
}

Outcome PointStep::solve_beside() {
    return guarded([&] {
        points = found_;
        look_for_pressing();
        move();
    });
}

void PointStep::take_back() {
    remember();  // the next solution begins with this one
    withdraw();
    go_back();
}

Outcome PointStep::advance_beside() {
    return guarded([&] { advance(); });
}

Outcome PointStep::end_beside() {
    return guarded([&] { conclude_step(); });
}

/// Add the rows of a body's twist about its centre of mass: linear, then angular, world axes.
void PointStep::write_twists(int body, SystemRows& rows) const {
    const std::vector<int>& chain = chains_[body];
    const Vector arm = vector_from(*engine.data.xipos + 3 * body) -
                       vector_from(*engine.data.subtree_com + 3 * (*engine.model.body_rootid)[body]);
    for (int d = 0; d < 6; ++d) rows.add(chain);
    double* first = rows.numbers(rows.size() - 6);
    for (std::size_t k = 0; k < chain.size(); ++k) {
        const double* motion = *engine.data.cdof + 6 * chain[k];
        const Vector turns = vector_from(motion), moves = vector_from(motion + 3) + cross(turns, arm);
        const double all[6] = {moves.x, moves.y, moves.z, turns.x, turns.y, turns.z};
        for (int d = 0; d < 6; ++d) first[d * chain.size() + k] = all[d];
    }
}

/// Add rows along which a point that presses holds, and by how much each of them yields: one that sticks in all directions,
/// one that slips along its normal, and across its slip as friction turns with it.
void PointStep::write_held(const TouchingPoint& point, std::vector<double>& yields) {
    write_point(point);
    yields.resize(rows_.size(), 0.0);
    if (!point.slips) return;
    const Vector w = velocity_of(point, *engine.data.qvel);
    const double slip[2] = {dot(w, point.x), dot(w, point.y)}, speed = std::hypot(slip[0], slip[1]);
    const double friction = std::hypot(point.impulse.y, point.impulse.z);
    const int along_x = rows_.size() - 2;
    const bool turns = speed > 0.0 && friction > 0.0;
    double *x = rows_.numbers(along_x), *y = rows_.numbers(along_x + 1);
    for (std::size_t k = 0; turns && k < rows_.dofs(along_x).size(); ++k) x[k] = (slip[0] * y[k] - slip[1] * x[k]) / speed;
    rows_.drop(turns ? 1 : 2);
    yields.resize(rows_.size());
    if (turns) yields.back() = speed / friction;
}

/// Write the rows of the bodies' twists, of what holds at the points, and of MuJoCo's constraints that act; how many rows are
/// of points. yields: of each row
int PointStep::write_active_rows(std::span<const int> bodies, std::vector<double>& yields) {
    rows_.clear();
    for (const int body : bodies) write_twists(body, rows_);
    yields.assign(rows_.size(), 0.0);
    for (const TouchingPoint& point : points)
        if (point.presses()) write_held(point, yields);
    const int held = rows_.size() - static_cast<int>(6 * bodies.size());
    for (int k = 0; k < *engine.data.nefc; ++k) {
        if ((*engine.data.efc_state)[k] != engine.constants.quadratic) continue;
        write_constraint(k);
        yields.push_back((*engine.data.efc_R)[k]);
    }
    return held;
}

LinkResponse PointStep::response(std::span<const int> bodies) {
    const int nv = engine.model.nv, n = static_cast<int>(6 * bodies.size());
    std::vector<double> yields;
    const int held = write_active_rows(bodies, yields), all = rows_.size(), active = all - n;
    Matrix A(all, all), C(active, active), X(active, n);
    rows_.whiten(met(), nv, white_);
    white_.products(0, n + held, 0, all, 0, nv, A);
    if (damped_) rows_.whiten(inertia_, nv, white_M_);
    (damped_ ? white_M_ : white_).products(n + held, all, 0, all, 0, nv, A);  // their forces are found before damping acts
    double greatest = 0.0;
    for (int r = n; r < n + held; ++r) greatest = std::max(greatest, A[r][r]);
    LinkResponse out;
    for (int r = 0; r < active; ++r) {
        const double* row = A[n + r];
        std::copy(row + n, row + all, C[r]);
        C[r][r] += yields[n + r];
        if (r < held) C[r][r] += (YIELD + softness_) * row[n + r] + IMMOVABLE * greatest;
        for (int c = 0; c < n; ++c) X[r][c] = -row[c];
        out.is_felt = out.is_felt || std::any_of(row, row + n, [](double x) { return x != 0.0; });
    }
    if (active > 0) solve_by_elimination(C, X[0], n);
    out.V.resize(n), out.R.resize(nv, n), out.L.resize(n, n);
    for (int c = 0; c < n; ++c) {
        scratch_.assign(nv, 0.0);
        rows_.add_to(scratch_.data(), c, 1.0);
        for (int r = 0; r < active; ++r) rows_.add_to(scratch_.data(), n + r, X[r][c]);
        met().solve(scratch_.data());
        out.V[c] = rows_.dot(c, *engine.data.qvel);
        for (int dof = 0; dof < nv; ++dof) out.R[dof][c] = scratch_[dof];
        for (int r = 0; r < n; ++r) out.L[r][c] = rows_.dot(r, scratch_.data());
    }
    return out;
}

}  // namespace stiction::mujoco
