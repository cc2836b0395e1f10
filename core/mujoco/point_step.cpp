#include "point_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../step.hpp"

namespace stiction::mujoco {
namespace {

constexpr double GREATEST = 1e10;         // MuJoCo takes no greater number in a state
constexpr int UNSEEN = 3;                 // what MuJoCo's contact.exclude is for contacts that nothing acts on
constexpr double TOUCHING = 1e-4;         // [m] between rigid bodies that touch, at most: they rest without overlap
constexpr double COARSE = 1e-4, FINE = 1e-7;  // share of its mobility by which a point yields to what is new, at first and then
constexpr int MOST_ROUNDS = 4;            // in which what was not foreseen is corrected
constexpr double FORESEEN = 1e-9;         // relative error of the velocities after the step that ends the rounds
constexpr double EXACT_SPEED = 1e-13;     // [m/s] by which a held point may yield in the end
constexpr int MOST_REFINED = 3;           // times
constexpr int MOST_PASSES = 4;            // in which points that waited come to press
constexpr double SUNK = 1e-12;            // [m] by which a point that waits may sink in
constexpr double SAME_PLACE = 1e-6, SAME_NORMAL = 1e-3;  // [m], [rad] by which points differ that are one
constexpr int MOST_STEPS = 90, LEAST_STEPS = 40;  // of Newton's method in a time step ...
constexpr int FEW_STEPS = 12;             // after these are spent
constexpr int STEPPED_ROWS = 3600;        // ... the fewer, the more rows there are: no step may take very long

/// Whether two points are one, found twice: as on the edge between two triangles of a surface.
bool is_twin(const TouchingPoint& a, const TouchingPoint& b) {
    const Vector apart = a.place - b.place, turned = a.z - b.z;
    return a.own == b.own && a.other == b.other && a.law == b.law && dot(apart, apart) < SAME_PLACE * SAME_PLACE &&
           dot(turned, turned) < SAME_NORMAL * SAME_NORMAL;
}

std::vector<int> chain_of(const Model& model, int body) {
    std::vector<int> dofs;
    for (int b = body; b > 0; b = (*model.body_parentid)[b])
        for (int k = (*model.body_dofnum)[b] - 1; k >= 0; --k) dofs.push_back((*model.body_dofadr)[b] + k);
    std::sort(dofs.begin(), dofs.end());
    return dofs;
}

}  // namespace

PointStep::PointStep(Engine engine_, std::vector<PairLaw> laws, PairTable table, double softness)
    : notes(laws.size()), uncovered(engine_.model.nbody), engine(engine_), laws_(std::move(laws)),
      table_(std::move(table)), softness_(softness) {
    for (int body = 0; body < engine.model.nbody; ++body) chains_.push_back(chain_of(engine.model, body));
    state_.resize(engine.state_size);
    begin_anew();
}

void PointStep::begin_anew() {
    memory.clear(), points.clear(), moved.clear();
    for (int body = 0; body < engine.model.nbody; ++body)
        if ((*engine.model.body_mocapid)[body] >= 0) moved.push_back({static_cast<double>(body), {}, {}, -1.0, 0.0, {}, {}});
}

void PointStep::forget() {
    std::fill(notes.begin(), notes.end(), PairNote{});
    std::fill(uncovered.begin(), uncovered.end(), 0);
    begin_anew();
    unsolved = contact_steps = newton_steps = rounds = 0;
}

/// Why no step can be taken, or DONE.
Outcome PointStep::refusal() const {
    if (!is_finite()) return Outcome::NO_NUMBERS;
    const int integrator = *engine.model.integrator;
    const Constants& known = engine.constants;
    if (integrator != known.euler && integrator != known.implicit && integrator != known.implicitfast) return Outcome::OTHER_INTEGRATOR;
    if (!(timestep() > 0.0 && timestep() < GREATEST)) return Outcome::NO_TIMESTEP;
    return *engine.model.enableflags & known.sleep ? Outcome::SLEEP : Outcome::DONE;
}

Outcome PointStep::step() {
    if (const Outcome why = refusal(); why != Outcome::DONE) return why;
    try {
        return whole_step();
    } catch (...) {
        withdraw();
        throw;
    }
}

Outcome PointStep::whole_step() {
    const Warnings before = warnings();
    for (PairNote& note : notes) note.touching = note.slipping = 0, std::fill_n(note.force, 3, 0.0), std::fill_n(note.moment, 3, 0.0);
    positions_and_velocities();
    look_at_moved_bodies();
    find_points();
    if (!points.empty()) {
        engine.run(engine.functions.fwdActuation), engine.run(engine.functions.fwdAcceleration);
        free_motion();
        write_rows();
        choose_points();
    }
    if (points.empty()) {
        memory.clear();
        engine.run(engine.functions.step2);
        if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
        return outcome(before);
    }
    spent_steps_ = 0;
    write_problem();
    ++contact_steps;
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        ++rounds;
        solve();
        for (int pass = 1; pass <= MOST_PASSES && is_solved_ && admit_waiting(pass == MOST_PASSES); ++pass) solve();
        apply();
        engine.run(engine.functions.step2);
        if (!is_solved_ && !(constraints_.empty() && !cones_)) hold_energy();
        if (outcome(before) == Outcome::RESET) {
            applied_.clear();  // all forces are gone
            return Outcome::RESET;
        }
        if (round == MOST_ROUNDS - 1 || !is_solved_ || foreseen()) break;  // the guards' impulses are taken as they are
        go_back();
    }
    if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
    withdraw();
    finish();
    raise();
    return outcome(before);
}

/// The first half of MuJoCo's step, as mj_step1 does it, but for the contacts with laws, which are left out.
void PointStep::positions_and_velocities() {
    const Functions& f = engine.functions;
    const bool energy = *engine.model.enableflags & engine.constants.energy;
    for (const Stage stage : {f.fwdKinematics, f.makeM, f.factorM, f.collision}) engine.run(stage);
    leave_out();
    for (const Stage stage : {f.makeConstraint, f.island, f.projectConstraint, f.transmission, f.sensorPos}) engine.run(stage);
    if (energy) engine.run(f.energyPos);
    engine.run(f.fwdVelocity), engine.run(f.sensorVel);
    if (energy) engine.run(f.energyVel);
    if (*f.control && !(*engine.model.disableflags & engine.constants.no_actuation)) engine.run(*f.control);
}

/// Keep MuJoCo from solving the contacts with laws and from seeing those that it would not have listed by itself, and
/// count what laws do not cover.
void PointStep::leave_out() {
    scratch_.assign(engine.model.nbody, 0.0);
    for (int k = 0; k < *engine.data.ncon; ++k) {
        const EngineContact contact = engine.contact(k);
        const int g1 = contact.geom()[0], g2 = contact.geom()[1];
        const bool hard = g1 >= 0 && g2 >= 0, ours = hard && table_.law(g1, g2) >= 0;
        if (hard && contact.dist() - contact.includemargin() > table_.gap(g1, g2) + (ours ? TOUCHING : 0.0)) {
            contact.exclude() = UNSEEN;  // or it would stick by adhesion
        } else if (ours) {
            contact.exclude() = 1;
        } else if (!contact.exclude()) {
            for (const int g : {g1, g2})  // below zero: of something soft
                if (g >= 0 && table_.class_of[g] > 0) scratch_[(*engine.model.geom_bodyid)[g]] = 1.0;  // it has a law with others
        }
    }
    for (int body = 0; body < engine.model.nbody; ++body) uncovered[body] += scratch_[body] > 0.0 && !chains_[body].empty();
}

void PointStep::look_at_moved_bodies() {
    for (HandMoved& one : moved) {
        const int body = static_cast<int>(one.body);
        const double *place = *engine.data.xpos + 3 * body, *turned = *engine.data.xquat + 4 * body;
        if (one.since < 0.0)  // seen for the first time
            one.stand_at(place, turned);
        else
            one.look(place, turned, timestep());
    }
}

/// The body that the user moves, if that carries this one.
const HandMoved* PointStep::moved_with(int body) const {
    const int root = (*engine.model.body_rootid)[body];
    if (moved.empty() || (*engine.model.body_mocapid)[root] < 0) return nullptr;
    const auto found = std::find_if(moved.begin(), moved.end(), [&](const HandMoved& one) { return one.body == root; });
    return found != moved.end() && found->period > 0.0 ? &*found : nullptr;
}

void PointStep::find_points() {
    points.clear();
    for (int k = 0; k < *engine.data.ncon; ++k) {
        const EngineContact contact = engine.contact(k);
        const int g1 = contact.geom()[0], g2 = contact.geom()[1];
        if (g1 < 0 || g2 < 0) continue;
        if (const int law = table_.law(g1, g2); law >= 0) add_point(contact, law);
    }
}

void PointStep::add_point(const EngineContact& contact, int law) {
    const int *geom = contact.geom(), *body = *engine.model.geom_bodyid;
    const bool second = law % 2;
    TouchingPoint point{};
    point.law = law / 2;
    point.geom1 = geom[0], point.geom2 = geom[1];
    point.own = body[geom[second]], point.other = body[geom[!second]];
    if (chains_[point.own].empty() && chains_[point.other].empty()) return;
    const double side = second ? 1.0 : -1.0, *frame = contact.frame();  // MuJoCo's normal points from first to second
    point.distance = contact.dist() - contact.includemargin();  // a margin makes surfaces thicker
    point.place = vector_from(contact.pos());
    point.z = side * vector_from(frame);
    const double* runs = contact.surfacevel();
    point.surface = side * (runs[0] * vector_from(frame + 3) + runs[1] * vector_from(frame + 6));
    for (const auto& [of, sign] : {std::pair{point.own, 1.0}, std::pair{point.other, -1.0}}) {
        const HandMoved* mover = moved_with(of);
        if (!mover) continue;
        const Vector moves = sign * mover->velocity_at(point.place);
        point.surface += moves;
        point.distance += mover->since * timestep() * dot(moves, point.z);  // where it is since it was moved last
    }
    if (laws_[point.law].body_axes) {
        const double* R = *engine.data.xmat + 9 * point.own;
        set_axes(point, {R[0], R[3], R[6]}, {R[1], R[4], R[7]});
    } else {
        set_axes(point, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0});
    }
    if (!is_movable(point)) return;
    for (TouchingPoint& twin : points) {
        if (!is_twin(point, twin)) continue;
        if (point.distance < twin.distance) twin = point;
        return;
    }
    points.push_back(point);
}

/// Find the velocities after a step without our contacts and without MuJoCo's constraints, and what meets impulses.
void PointStep::free_motion() {
    const Model& m = engine.model;
    const Data& d = engine.data;
    const TreeFactor::Pattern pattern{*m.M_rowadr, *m.M_rownnz, *m.M_colind, m.nv};
    const double h = timestep();
    inertia_.take(pattern, *d.qLD, *d.qLDiagInv);
    engine.functions.getState(engine.model_address, engine.data_address, state_.data(), engine.constants.integration);
    v_free_.resize(m.nv);
    v_before_.assign(*d.qvel, *d.qvel + m.nv);
    damped_ = true;
    const bool euler = *m.integrator == engine.constants.euler;
    if (!euler || m.has_curved_damping()) {
        probe(euler ? engine.functions.Euler : engine.functions.implicit);
        return;
    }
    const double* damping = *m.dof_damping;
    const bool damps = !(*m.disableflags & (engine.constants.no_eulerdamp | engine.constants.no_damper));
    damped_ = damps && std::any_of(damping, damping + m.nv, [](double x) { return x != 0.0; });
    if (damped_) {
        scratch_.assign(damping, damping + m.nv);
        for (double& x : scratch_) x *= h;
        effective_.factor(pattern, *d.M, scratch_);
        std::copy(*d.qfrc_smooth, *d.qfrc_smooth + m.nv, v_free_.begin());
        effective_.solve(v_free_.data());
    } else {
        std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, v_free_.begin());
    }
    for (int k = 0; k < m.nv; ++k) v_free_[k] = (*d.qvel)[k] + h * v_free_[k];
}

/// The same by MuJoCo's own integrator, which is then taken back.
void PointStep::probe(Stage integrate) {
    const Model& m = engine.model;
    const Data& d = engine.data;
    std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, *d.qacc);
    std::fill(*d.qfrc_constraint, *d.qfrc_constraint + m.nv, 0.0);
    engine.run(integrate);
    std::copy(*d.qvel, *d.qvel + m.nv, v_free_.begin());
    engine.functions.setState(engine.model_address, engine.data_address, state_.data(), engine.constants.integration);
    const TreeFactor::Pattern pattern{*m.M_rowadr, *m.M_rownnz, *m.M_colind, m.nv};
    if (*m.integrator != engine.constants.implicit) {
        effective_.take(pattern, *d.qH, *d.qHDiagInv);
        return;
    }
    // The implicit integrator's own matrix is not symmetric; what its symmetric part leaves is corrected in rounds.
    const int numbers = m.nv > 0 ? pattern.first[m.nv - 1] + pattern.count[m.nv - 1] : 0;
    scratch_.assign(*d.M, *d.M + numbers);
    for (int k = 0; k < numbers; ++k) scratch_[k] -= timestep() * (*d.qDeriv)[(*m.mapD2M)[k]];
    const std::vector<double> H = scratch_;
    effective_.factor(pattern, H.data(), {});
}

void PointStep::write_rows() {
    rows_.clear();
    for (const TouchingPoint& point : points) write_point(point);
    constraints_.clear();
    cones_ = false;
    if (*engine.data.nefc == 0) return;
    connect_trees();
    for (int k = 0; k < *engine.data.nefc; ++k) {
        if (!acts_on_points(k)) continue;
        if ((*engine.data.efc_type)[k] == engine.constants.elliptic)
            cones_ = true;
        else
            write_constraint(k);
    }
}

/// Find which trees feel the points, so that constraints among others need not be solved for.
void PointStep::connect_trees() {
    if (engine.model.ntree == 1) return;
    trees_.begin(engine.model.ntree);
    int tree = -1;
    const auto connect = [&](int dof) {
        const int next = (*engine.model.dof_treeid)[dof];
        if (tree >= 0 && next != tree) trees_.connect(tree, next);
        tree = next;
    };
    for (int row = 0; row < point_rows(); row += 3, tree = -1)
        for (const int dof : rows_.dofs(row)) connect(dof);
    for (int k = 0; k < *engine.data.nefc; ++k, tree = -1) engine.look_at_row(k, [&](int dof, double) { connect(dof); });
    feels_.assign(engine.model.ntree, 0);
    for (int row = 0; row < point_rows(); row += 3) feels_[group_of(rows_.dofs(row).front())] = 1;
}

bool PointStep::acts_on_points(int number) {
    if (engine.model.ntree == 1) return true;
    bool acts = false;
    engine.look_at_row(number, [&](int dof, double) { acts = acts || feels_[group_of(dof)]; });
    return acts;
}

/// How a point of the own body moves over the other, along z, x and y.
void PointStep::write_point(const TouchingPoint& point) {
    const std::vector<int>&own = chains_[point.own], &other = chains_[point.other];
    std::vector<int> dofs;
    std::set_union(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(dofs));
    std::vector<Vector> velocity(dofs.size());
    for (const auto& [chain, body, side] : {std::tuple{&own, point.own, 1.0}, std::tuple{&other, point.other, -1.0}}) {
        const Vector arm = point.place - vector_from(*engine.data.subtree_com + 3 * (*engine.model.body_rootid)[body]);
        std::size_t k = 0;
        for (const int dof : *chain) {
            while (dofs[k] != dof) ++k;
            const double* motion = *engine.data.cdof + 6 * dof;
            velocity[k] = velocity[k] + side * (vector_from(motion + 3) + cross(vector_from(motion), arm));
        }
    }
    for (const Vector* axis : {&point.z, &point.x, &point.y}) {
        double* row = rows_.add(dofs);
        for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = dot(*axis, velocity[k]);
    }
}

/// A row of MuJoCo's, with all dofs that carry one of its own.
void PointStep::write_constraint(int number) {
    const Model& m = engine.model;
    scratch_.assign(m.nv, std::numeric_limits<double>::quiet_NaN());
    engine.look_at_row(number, [&](int dof, double value) {
        scratch_[dof] = value;
        for (int up = (*m.dof_parentid)[dof]; up >= 0 && std::isnan(scratch_[up]); up = (*m.dof_parentid)[up]) scratch_[up] = 0.0;
    });
    std::vector<int> dofs;
    for (int dof = 0; dof < m.nv; ++dof)
        if (!std::isnan(scratch_[dof])) dofs.push_back(dof);
    double* row = rows_.add(dofs);
    for (std::size_t k = 0; k < dofs.size(); ++k) row[k] = scratch_[dofs[k]];
    constraints_.push_back(number);
}

/// Whether any dof moves the surfaces over each other, beyond rounding: none does where a link overlaps with the one that
/// carries it, at the very joint between them.
bool PointStep::is_movable(const TouchingPoint& point) const {
    constexpr double rounding = 1e-12;  // of the square of a motion, against that of its parts
    double moves = 0.0, parts = 0.0;
    for (const auto& [body, rest] : {std::pair{point.own, point.other}, std::pair{point.other, point.own}}) {
        const Vector arm = point.place - vector_from(*engine.data.subtree_com + 3 * (*engine.model.body_rootid)[body]);
        for (const int dof : chains_[body]) {
            if (std::binary_search(chains_[rest].begin(), chains_[rest].end(), dof)) continue;  // it moves both alike
            const double* motion = *engine.data.cdof + 6 * dof;
            const Vector linear = vector_from(motion + 3), turned = cross(vector_from(motion), arm), all = linear + turned;
            moves += dot(all, all), parts += dot(linear, linear) + dot(turned, turned);
        }
    }
    return moves > rounding * parts;
}

/// Solve only for points that press, or will: the others wait, and what cannot come together in this step is dropped.
void PointStep::choose_points() {
    const double h = timestep();
    std::vector<double> approach(points.size());
    double fastest = 0.0;
    for (std::size_t k = 0; k < points.size(); ++k) {
        approach[k] = -rows_.dot(static_cast<int>(3 * k), v_free_.data()) - dot(points[k].surface, points[k].z);
        fastest = std::max(fastest, approach[k]);
    }
    std::vector<TouchingPoint> pressing;
    waiting_.clear(), waiting_rows_.clear();
    for (std::size_t k = 0; k < points.size(); ++k) {
        const double distance = points[k].distance;
        if (distance <= std::max(h * approach[k], 0.0) || pressed_before(points[k])) {
            pressing.push_back(points[k]);
        } else if (distance <= h * (approach[k] + fastest + 0.5)) {
            const int row = static_cast<int>(3 * k);
            const std::span<const double> values = rows_.values(row);
            std::copy(values.begin(), values.end(), waiting_rows_.add(rows_.dofs(row)));
            waiting_.push_back(points[k]);
        }
    }
    if (pressing.size() == points.size()) return;
    points = pressing;
    if (!points.empty()) write_rows();
}

/// Whether these geoms pressed against each other in the last step.
bool PointStep::pressed_before(const TouchingPoint& point) const {
    return std::any_of(memory.begin(), memory.end(), [&](const Remembered& old) { return old.geom1 == point.geom1 && old.geom2 == point.geom2; });
}

/// Let those press that would sink in with the impulses so far, or all; whether there are any.
bool PointStep::admit_waiting(bool all) {
    if (waiting_.empty()) return false;
    std::vector<double> v(engine.model.nv, 0.0);
    for (int row = 0; row < rows_.size(); ++row) rows_.add_to(v.data(), row, problem_.x[row]);
    (damped_ ? effective_ : inertia_).solve(v.data());
    for (int k = 0; k < engine.model.nv; ++k) v[k] += v_free_[k];
    const std::size_t before = points.size();
    for (std::size_t k = 0; k < waiting_.size(); ++k) {
        TouchingPoint& point = waiting_[k];
        const double w = waiting_rows_.dot(static_cast<int>(k), v.data()) + dot(point.surface, point.z);
        if (point.law >= 0 && (all || point.distance + timestep() * w < -SUNK)) {
            points.push_back(point);
            point.law = -1;  // it does not wait any more
        }
    }
    if (points.size() == before) return false;
    write_rows(), write_problem();
    return true;
}

void PointStep::write_problem() {
    const int n = point_rows(), all = rows_.size(), nv = engine.model.nv;
    const double h = timestep(), *v = *engine.data.qvel;
    problem_.resize(n / 3, all - n);
    problem_.timestep = h;
    most_steps_ = std::clamp(STEPPED_ROWS / all, LEAST_STEPS, MOST_STEPS);
    normals_.most_steps = LEAST_STEPS / 2;
    problem_.symmetric = !(damped_ && all > n);
    rows_.whiten(damped_ ? effective_ : inertia_, nv, white_);
    Matrix& A = problem_.A;
    for (int r = 0; r < n; r += 3) white_.products(r, r + 3, 0, r + 3, n, nv, A);  // the rest by symmetry
    for (int r = 0; r < n; ++r)
        for (int c = r + 1; c < n; ++c) A[r][c] = A[c][r];
    if (all > n) {
        white_.products(0, n, n, all, n, nv, A);
        if (damped_) rows_.whiten(inertia_, nv, white_M_);
        (damped_ ? white_M_ : white_).products(n, all, 0, all, n, nv, A);
    }
    w_free_.resize(n), w_before_.resize(n), proximal_.assign(n, 0.0), previous_.assign(n, 0.0), mobility_.assign(n, 0.0);
    for (int row = 0; row < n; ++row) w_free_[row] = rows_.dot(row, v_free_.data()), w_before_[row] = rows_.dot(row, v);
    for (std::size_t k = 0; k < points.size(); ++k) {
        TouchingPoint& point = points[k];
        const std::size_t z = 3 * k;
        for (std::vector<double>* w : {&w_free_, &w_before_})
            for (int d = 0; d < 3; ++d) (*w)[z + d] += dot(point.surface, point.axis(d));
        w_free_[z] += point.unforeseen.x, w_free_[z + 1] += point.unforeseen.y, w_free_[z + 2] += point.unforeseen.z;
        const PairLaw& law = laws_[point.law];
        const double slip = std::hypot(w_before_[z + 1], w_before_[z + 2]);
        problem_.points[k] = law.map.at(slip, 0.0, h);
        // It comes back if it arrives within the step.
        if (law.restitution.e0 > 0.0 && point.distance + h * w_free_[z] < 0.0)
            point.rebound = law.restitution.rebound(-w_before_[z], std::max(0.0, w_before_[z] - w_free_[z]));
    }
    for (int k = n; k < all; ++k) write_constraint_problem(k);
    recall();
    double greatest = 0.0;
    for (int row = 0; row < n; ++row) greatest = std::max(greatest, A[row][row]);
    for (int row = 0; row < n; ++row) {
        double& own = problem_.A[row][row];
        if (row % 3 == 0) {  // a point that cannot move along its normal, or not at all, yields a little
            const double all = own + problem_.A[row + 1][row + 1] + problem_.A[row + 2][row + 2];
            own = std::max({own, 1e-9 * all, 1e-15 * greatest});
        }
        mobility_[row] = own;
    }
    set_yield(COARSE);
    limit_by_frictionless_loads();
}

/// One of MuJoCo's constraints: a spring on accelerations, with bounds on its force.
void PointStep::write_constraint_problem(int k) {
    const Data& d = engine.data;
    const int number = constraints_[k - point_rows()], kind = (*d.efc_type)[number];
    const double h = timestep(), infinite = std::numeric_limits<double>::infinity();
    const double aref = (*d.efc_aref)[number];
    problem_.A[k][k] += (*d.efc_R)[number];
    problem_.b[k] = h * (rows_.dot(k, *d.qacc_smooth) - aref);
    Bounds bounds{0.0, infinite};
    if (kind == engine.constants.equality) bounds.low = -infinite;
    if (kind == engine.constants.friction_dof || kind == engine.constants.friction_tendon)
        bounds.high = h * (*d.efc_frictionloss)[number], bounds.low = -bounds.high;
    problem_.bounded[k - point_rows()] = bounds;
    // It begins with its force in the last step.
    const double force = -(*d.efc_D)[number] * (rows_.dot(k, *d.qacc_warmstart) - aref);
    problem_.x[k] = std::clamp(h * force, bounds.low, bounds.high);
}

/// Begin with the impulses of the last step, each at the point of the same geoms that is nearest.
void PointStep::recall() {
    for (std::size_t k = 0; k < points.size(); ++k) {
        const TouchingPoint& point = points[k];
        const double *R = *engine.data.xmat + 9 * point.own, *at = *engine.data.xipos + 3 * point.own;
        const Remembered* nearest = nullptr;
        double least = std::numeric_limits<double>::infinity();
        const Vector r = point.place - vector_from(at);
        const double local[3] = {R[0] * r.x + R[3] * r.y + R[6] * r.z, R[1] * r.x + R[4] * r.y + R[7] * r.z,
                                 R[2] * r.x + R[5] * r.y + R[8] * r.z};
        for (const Remembered& old : memory) {
            if (old.geom1 != point.geom1 || old.geom2 != point.geom2) continue;
            double far = 0.0;
            for (int j = 0; j < 3; ++j) far += (local[j] - old.place[j]) * (local[j] - old.place[j]);
            if (far < least) least = far, nearest = &old;
        }
        if (!nearest) continue;
        const Vector impulse = vector_from(nearest->impulse);
        previous_[3 * k] = std::max(0.0, dot(impulse, point.z));
        previous_[3 * k + 1] = dot(impulse, point.x), previous_[3 * k + 2] = dot(impulse, point.y);
    }
    for (std::size_t k = 0; k < points.size(); ++k) {
        const Vector& p = points[k].impulse;  // of an earlier pass
        const bool is_new = p.x == 0.0;
        if (is_new)
            std::copy_n(&previous_[3 * k], 3, &problem_.x[3 * k]);
        else
            write(p, &problem_.x[3 * k]);
    }
}

/// Where a law limits friction by the load that there would be without friction, find these loads.
void PointStep::limit_by_frictionless_loads() {
    const auto is_limited = [&](const TouchingPoint& point) { return laws_[point.law].map.frictionless_limit; };
    if (std::none_of(points.begin(), points.end(), is_limited)) return;
    std::vector<double> b(points.size());
    for (std::size_t k = 0; k < points.size(); ++k) b[k] = w_free_[3 * k] + std::max(points[k].distance, 0.0) / timestep();
    solve_normals(b);
    for (std::size_t k = 0; k < points.size(); ++k)
        if (is_limited(points[k])) problem_.points[k].fixed = std::max(0.0, normals_.x[k]);
}

/// Solve for normal impulses alone, beside MuJoCo's constraints. b: velocities along the normals without them
bool PointStep::solve_normals(const std::vector<double>& b) {
    const int m = static_cast<int>(points.size()), n = point_rows(), others = rows_.size() - n;
    normals_.resize(0, m + others);
    normals_.timestep = timestep();
    normals_.symmetric = problem_.symmetric;
    const auto row = [&](int k) { return k < m ? 3 * k : n + k - m; };
    for (int r = 0; r < m + others; ++r) {
        for (int c = 0; c < m + others; ++c) normals_.A[r][c] = problem_.A[row(r)][row(c)];
        normals_.bounded[r] = r < m ? Bounds{0.0, std::numeric_limits<double>::infinity()} : problem_.bounded[r - m];
        normals_.b[r] = r < m ? b[r] : problem_.b[row(r)];
        normals_.x[r] = problem_.x[row(r)];
    }
    return normals_.solve();
}

/// Velocities without impulses, less those that are wanted. Points yield to what differs from `previous_`.
void PointStep::set_right_side() {
    for (int row = 0; row < point_rows(); ++row) {
        problem_.b[row] = w_free_[row] - proximal_[row] * previous_[row];
        if (row % 3 == 0) problem_.b[row] += std::max(points[row / 3].distance, 0.0) / timestep();
    }
}

/// Let each point yield by this share of its mobility to what differs from `previous_`.
void PointStep::set_yield(double share) {
    for (int row = 0; row < point_rows(); ++row) {
        proximal_[row] = share * mobility_[row];
        problem_.A[row][row] = (1 + softness_) * mobility_[row] + proximal_[row];
    }
    set_right_side();
}

/// Solve again, for points that yield far less, and only to what differs from the solution so far; where all is held, once
/// more, until they hardly yield at all.
void PointStep::refine() {
    for (int time = 0; time < MOST_REFINED; ++time) {
        double yielded = 0.0;
        for (int row = 0; row < point_rows(); ++row)
            yielded = std::max(yielded, proximal_[row] * std::fabs(problem_.x[row] - previous_[row]));
        bool slips = false;
        for (int k = 0; k < problem_.size(); ++k) slips = slips || (problem_.slips(k) && problem_.x[3 * k] > 0.0);
        if (yielded < EXACT_SPEED || (slips && time > 0)) return;
        const std::vector<double> found = problem_.x;
        std::copy_n(found.begin(), point_rows(), previous_.begin());
        set_yield(FINE);
        if (!solve_problem()) {
            problem_.x = found;
            return;
        }
    }
}

/// Solve the problem as it stands, with as many steps of Newton's method as are left in this time step, or a few.
bool PointStep::solve_problem() {
    problem_.most_steps = std::max(most_steps_ - spent_steps_, FEW_STEPS);
    const bool solved = problem_.solve();
    spent_steps_ += problem_.steps(), newton_steps += problem_.steps();
    return solved;
}

/// Solve for the impulses at all points.
void PointStep::solve() {
    set_yield(COARSE);
    const auto rebounds = [](const TouchingPoint& point) { return point.rebound > 0.0; };
    const bool bounces = std::any_of(points.begin(), points.end(), rebounds);
    bool solved = bounces ? solve_with_rebound() : solve_problem();
    if (!solved && !bounces) {
        // Impulses of the last step may press points against each other more than friction can now hold: begin with none.
        std::fill(previous_.begin(), previous_.end(), 0.0);
        set_right_side();
        solved = solve_problem();
    }
    if (!solved) {
        guard();
        // What the guards leave is near enough to a solution that Newton's method mostly finds it from there.
        const std::vector<double> guarded = problem_.x;
        solved = !bounces && solve_problem();
        if (!solved) problem_.x = guarded;
    }
    if (solved && !bounces) refine();
    for (std::size_t k = 0; k < points.size(); ++k) {
        points[k].impulse = vector_from(&problem_.x[3 * k]);
        points[k].slips = problem_.slips(static_cast<int>(k)) && points[k].impulse.x > 0.0;
    }
    is_solved_ = solved;
}

/// By how much a row yields more than it truly does, so that its impulse is unique.
double PointStep::yields(int row) const { return proximal_[row] + softness_ * mobility_[row]; }

/// The velocities after the step along the rows of all points.
double PointStep::velocity_after(const std::vector<double>& x, int row) const {
    double w = w_free_[row] - yields(row) * x[row];
    for (int c = 0; c < rows_.size(); ++c) w += problem_.A[row][c] * x[c];
    return w;
}

/// What impulses at the points give to the motion that there is without them [J].
double PointStep::gained(const std::vector<double>& x) const {
    double total = 0.0;
    const int n = point_rows();
    for (int r = 0; r < n; ++r) {
        if (x[r] == 0.0) continue;
        double change = -yields(r) * x[r];
        for (int c = 0; c < n; ++c) change += problem_.A[r][c] * x[c];
        total += x[r] * (velocity_after(x, r) - 0.5 * change);
    }
    return total;
}

/// Bounce as much as takes no more energy than there is: somewhere between no bounce at all and all that is wanted.
bool PointStep::solve_with_rebound() {
    const int n = point_rows();
    bool solved = solve_problem();
    const std::vector<double> still = problem_.x;
    for (std::size_t k = 0; k < points.size(); ++k)
        if (points[k].rebound > 0.0) problem_.b[3 * k] -= std::max(points[k].distance, 0.0) / timestep() + points[k].rebound;
    solved = solve_problem() && solved;
    if (gained(problem_.x) <= 0.0) return solved;
    const std::vector<double> all = problem_.x;
    double share = 0.0;
    for (double part = 0.5; part > 1e-3; part *= 0.5) {
        std::vector<double> mixed = still;
        for (int r = 0; r < n; ++r) mixed[r] += (share + part) * (all[r] - still[r]);
        if (gained(mixed) <= 0.0) share += part;
    }
    for (std::size_t r = 0; r < still.size(); ++r) problem_.x[r] = still[r] + share * (all[r] - still[r]);
    return solved;
}

/// Keep friction within a share of its limits; whether some was beyond.
bool PointStep::limit_friction(double share) {
    bool was_beyond = false;
    for (std::size_t k = 0; k < points.size(); ++k) {
        const int z = static_cast<int>(3 * k);
        const FrictionMap& map = laws_[points[k].law].map;
        double* f = &problem_.x[z + 1];
        const double gx = f[0] / map.stretch_x, gy = f[1] / map.stretch_y, size = norm(gx, gy);
        if (size == 0.0) continue;
        const double most = share * map.limit(problem_.points[k], problem_.x[z], -gx / size, -gy / size, timestep()).size;
        if (size <= most) continue;
        was_beyond = true;
        f[0] *= most / size, f[1] *= most / size;
    }
    return was_beyond;
}

/// Find the loads that keep the bodies apart beside the friction that there is.
void PointStep::find_loads() {
    std::vector<double> b(points.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
        const int z = static_cast<int>(3 * k);
        b[k] = problem_.b[z];
        for (std::size_t j = 0; j < points.size(); ++j)
            b[k] += problem_.A[z][3 * j + 1] * problem_.x[3 * j + 1] + problem_.A[z][3 * j + 2] * problem_.x[3 * j + 2];
    }
    solve_normals(b);
    for (std::size_t k = 0; k < points.size(); ++k) problem_.x[3 * k] = std::max(0.0, normals_.x[k]);
    std::copy(normals_.x.begin() + points.size(), normals_.x.end(), problem_.x.begin() + point_rows());
}

/// Where no solution was found: as much of the best friction as takes energy, under loads that keep the bodies apart.
void PointStep::guard() {
    const std::vector<double> best = problem_.x;
    for (double share : {1.0, 0.3, 0.0}) {
        problem_.x = best;
        limit_friction(share);
        for (int pass = 0; pass < 2; ++pass) {  // the second for loads that the first has changed
            find_loads();
            if (!limit_friction(1.0)) break;
        }
        if (gained(problem_.x) <= 0.0) return;
    }
    // Not even the loads were found: then as much of them as gains nothing.
    const std::vector<double> all = problem_.x;
    for (double share = 0.5; gained(problem_.x) > 0.0; share = share > 1e-3 ? 0.5 * share : 0.0)
        for (int r = 0; r < point_rows(); ++r) problem_.x[r] = share * all[r];
}

/// What the guards foresaw may be far from what MuJoCo's own constraints do. Where there is more motion than before, take
/// as much of the impulses as leaves no more than there is without them.
void PointStep::hold_energy() {
    if (kinetic_energy(*engine.data.qvel) <= kinetic_energy(v_before_.data())) return;
    const std::vector<TouchingPoint> guarded = points;
    double without = -1.0;
    for (const double share : {0.0, 1.0, 0.3, 0.1, 0.0}) {
        for (std::size_t k = 0; k < points.size(); ++k) points[k].impulse = share * guarded[k].impulse;
        go_back();
        apply();
        engine.run(engine.functions.step2);
        const double energy = kinetic_energy(*engine.data.qvel);
        if (without < 0.0)
            without = energy;
        else if (energy <= without)
            return;
    }
}

double PointStep::kinetic_energy(const double* velocities) {
    scratch_.resize(engine.model.nv);
    engine.functions.mulM(engine.model_address, engine.data_address, scratch_.data(), velocities);
    double total = 0.0;
    for (int dof = 0; dof < engine.model.nv; ++dof) total += 0.5 * scratch_[dof] * velocities[dof];
    return total;
}

/// To the begin of the step.
void PointStep::go_back() {
    engine.functions.setState(engine.model_address, engine.data_address, state_.data(), engine.constants.integration);
}

/// Forces on the bodies that bring the impulses within the step.
void PointStep::apply() {
    withdraw();
    const double per_time = 1 / timestep();
    for (const TouchingPoint& point : points) {
        const Vector& p = point.impulse;
        const Vector force = per_time * (p.x * point.z + p.y * point.x + p.z * point.y);
        if (force.x == 0.0 && force.y == 0.0 && force.z == 0.0) continue;
        for (const auto& [body, side] : {std::pair{point.own, 1.0}, std::pair{point.other, -1.0}}) {
            if (chains_[body].empty()) continue;
            double* now = *engine.data.xfrc_applied + 6 * body;
            const auto is_body = [&, b = body](const Applied& one) { return one.body == b; };
            if (std::none_of(applied_.begin(), applied_.end(), is_body)) {
                applied_.push_back({body, {}});
                std::copy(now, now + 6, applied_.back().before.begin());
            }
            const Vector f = side * force, moment = cross(point.place - vector_from(*engine.data.xipos + 3 * body), f);
            now[0] += f.x, now[1] += f.y, now[2] += f.z;
            now[3] += moment.x, now[4] += moment.y, now[5] += moment.z;
        }
    }
}

void PointStep::withdraw() {
    for (const Applied& one : applied_) std::copy(one.before.begin(), one.before.end(), *engine.data.xfrc_applied + 6 * one.body);
    applied_.clear();
}

/// Whether the velocities came out as was foreseen; if not, the difference is taken into account for the next round.
bool PointStep::foreseen() {
    if (constraints_.empty() && !cones_ && *engine.model.integrator == engine.constants.euler) return true;
    const int n = point_rows();
    double wrong = 0.0, size = 0.0;
    scratch_.assign(n, 0.0);
    for (int r = 0; r < n; ++r) {
        const TouchingPoint& point = points[r / 3];
        const double w = rows_.dot(r, *engine.data.qvel) + dot(point.surface, point.axis(r % 3));
        const double expected = velocity_after(problem_.x, r);
        scratch_[r] = w - expected;
        wrong = std::max(wrong, std::fabs(scratch_[r])), size = std::max(size, std::fabs(expected - w_free_[r]));
    }
    if (wrong <= FORESEEN * size) return true;
    for (int r = 0; r < n; ++r) w_free_[r] += scratch_[r];
    for (std::size_t k = 0; k < points.size(); ++k) points[k].unforeseen = points[k].unforeseen + vector_from(&scratch_[3 * k]);
    return false;
}

/// Note what became of the contacts.
void PointStep::finish() {
    std::vector<char> touched(notes.size()), outside(notes.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
        const TouchingPoint& point = points[k];
        if (!(point.impulse.x > 0.0)) continue;
        PairNote& note = notes[point.law];
        ++note.touching, note.slipping += point.slips, touched[point.law] = 1;
        const Vector p = point.impulse.x * point.z + point.impulse.y * point.x + point.impulse.z * point.y;
        const Vector moment = cross(point.place, p);
        note.force[0] += p.x, note.force[1] += p.y, note.force[2] += p.z;
        note.moment[0] += moment.x, note.moment[1] += moment.y, note.moment[2] += moment.z;
        if (point.slips && !laws_[point.law].map.covers(problem_.points[k], point.impulse.x, timestep())) outside[point.law] = 1;
    }
    unsolved += !is_solved_;
    for (std::size_t k = 0; k < notes.size(); ++k) {
        notes[k].steps += touched[k], notes[k].outside += outside[k];
        notes[k].unsolved += touched[k] && !is_solved_;
    }
    if (!(*engine.model.disableflags & engine.constants.no_sensor)) tell_touch_sensors(touch_sensors, points, engine);
    remember();
}

void PointStep::remember() {
    memory.clear();
    for (const TouchingPoint& point : points) {
        if (!(point.impulse.x > 0.0)) continue;
        const double *R = *engine.data.xmat + 9 * point.own, *at = *engine.data.xipos + 3 * point.own;
        const Vector r = point.place - vector_from(at);
        const Vector p = point.impulse.x * point.z + point.impulse.y * point.x + point.impulse.z * point.y;
        memory.push_back({static_cast<double>(point.geom1), static_cast<double>(point.geom2),
                          {R[0] * r.x + R[3] * r.y + R[6] * r.z, R[1] * r.x + R[4] * r.y + R[7] * r.z,
                           R[2] * r.x + R[5] * r.y + R[8] * r.z},
                          {p.x, p.y, p.z}});
    }
}

/// Keep the greatest velocity of each tree at 1 m/s or 1 rad/s: what lies deep near a joint's axis must not turn it far.
void PointStep::slow_down(std::vector<double>& velocities) const {
    std::vector<double> fastest(engine.model.ntree, 1.0);
    const int* tree = *engine.model.dof_treeid;
    for (int dof = 0; dof < engine.model.nv; ++dof) fastest[tree[dof]] = std::max(fastest[tree[dof]], std::fabs(velocities[dof]));
    for (int dof = 0; dof < engine.model.nv; ++dof) velocities[dof] /= fastest[tree[dof]];
}

/// Take back some of the depth to which bodies overlap: their positions move apart, their velocities stay.
void PointStep::raise() {
    // What is less than 1 mm deep rises as slowly as in a rollout and in DART; what is deeper, as it may be at the start,
    // a tenth in a step, but at no more than 0.1 m/s.
    constexpr double shallow = 1e-3, share = 0.1, fastest = 0.1, settled = 1e-9;
    constexpr double yield = 0.01;  // of a point's mobility: what cannot move, or is wedged in, is not forced
    const auto is_deep = [](const TouchingPoint& point) { return point.distance < -settled; };
    if (std::none_of(points.begin(), points.end(), is_deep)) return;
    const double h = timestep();
    const int m = static_cast<int>(points.size());
    normals_.resize(0, m);
    normals_.symmetric = true;
    for (int r = 0; r < m; ++r) {
        const double distance = points[r].distance;
        for (int c = 0; c < m; ++c) normals_.A[r][c] = problem_.A[3 * r][3 * c];
        for (int d = 0; d < 3; ++d) normals_.A[r][r] += yield * problem_.A[3 * r + d][3 * r + d];
        const double depth = -distance, deep = std::min(share * std::max(depth - shallow, 0.0) / h, fastest);
        normals_.b[r] = is_deep(points[r]) ? -std::max(std::min(CORRECTION * depth / h, CORRECTION_SPEED), deep) : std::max(distance, 0.0) / h;
        normals_.bounded[r] = {0.0, std::numeric_limits<double>::infinity()};
    }
    normals_.solve();
    scratch_.assign(engine.model.nv, 0.0);
    for (int r = 0; r < m; ++r) rows_.add_to(scratch_.data(), 3 * r, normals_.x[r]);
    (damped_ ? effective_ : inertia_).solve(scratch_.data());
    slow_down(scratch_);
    engine.functions.integratePos(engine.model_address, *engine.data.qpos, scratch_.data(), h);
}

bool PointStep::is_finite() const {
    const auto all_below = [](const double* values, int n) {
        return std::all_of(values, values + n, [](double x) { return std::fabs(x) <= GREATEST; });
    };
    return all_below(*engine.data.qpos, engine.model.nq) && all_below(*engine.data.qvel, engine.model.nv);
}

PointStep::Warnings PointStep::warnings() const {
    Warnings counts;
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] = engine.data.warning[2 * engine.constants.warnings[k] + 1];
    return counts;
}

/// What MuJoCo has warned of since.
Outcome PointStep::outcome(const Warnings& before) const {
    const Warnings now = warnings();
    if (now == before) return Outcome::DONE;
    for (int k = 0; k < 3; ++k)
        if (now[k] != before[k]) return Outcome::RESET;
    return now[3] != before[3] ? Outcome::BAD_CONTROL : Outcome::OVERFULL;
}

}  // namespace stiction::mujoco
