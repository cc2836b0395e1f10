// Where bodies touch by laws: the points of a step, those that press and those that wait.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mujoco/point_step.hpp"

namespace stiction::mujoco {
namespace {

constexpr int UNSEEN = 3;                 // what MuJoCo's contact.exclude is for contacts that nothing acts on
constexpr double TOUCHING = 1e-4;         // [m] between rigid bodies that touch, at most: they rest without overlap
constexpr double SUNK = 1e-12;            // [m] by which a point that waits may sink in
constexpr double SAME_PLACE = 1e-6, SAME_NORMAL = 1e-3;  // [m], [rad] by which points differ that are one

/// Whether two points are one, found twice: as on the edge between two triangles of a surface.
bool is_twin(const TouchingPoint& a, const TouchingPoint& b) {
    const Vector apart = a.place - b.place, turned = a.z - b.z;
    return a.own == b.own && a.other == b.other && a.law == b.law && dot(apart, apart) < SAME_PLACE * SAME_PLACE &&
           dot(turned, turned) < SAME_NORMAL * SAME_NORMAL;
}

}  // namespace

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
                if (g >= 0 && table_.has_law(g))  // it has a law with others
                    scratch_[(*engine.model.geom_bodyid)[g]] = 1.0;
        }
    }
    for (int body = 0; body < engine.model.nbody; ++body)
        uncovered[body] += scratch_[body] > 0.0 && !chains_[body].empty();
}

void PointStep::look_at_moved_bodies() {
    for (HandMoved& one : moved) {
        const int body = static_cast<int>(one.body);
        const double *place = *engine.data.xpos + 3 * body, *turned = *engine.data.xquat + 4 * body;
        if (one.since == HandMoved::NOT_YET)
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

/// How the own surface of a point moves over the other while the dofs have these velocities [m/s].
Vector PointStep::velocity_of(const TouchingPoint& point, const double* velocities) const {
    Vector total = point.surface;
    for (const auto& [body, side] : {std::pair{point.own, 1.0}, std::pair{point.other, -1.0}}) {
        const Vector arm = point.place - vector_from(*engine.data.subtree_com + 3 * (*engine.model.body_rootid)[body]);
        Vector linear, angular;
        for (const int dof : chains_[body]) {
            const double* motion = *engine.data.cdof + 6 * dof;
            angular += velocities[dof] * vector_from(motion), linear += velocities[dof] * vector_from(motion + 3);
        }
        total += side * (linear + cross(angular, arm));
    }
    return total;
}

/// Solve only for points that press, or will: the others wait, and what cannot come together in this step is dropped.
void PointStep::choose_points() {
    const double h = timestep();
    std::vector<double> approach(points.size());
    double fastest = 0.0;
    for (std::size_t k = 0; k < points.size(); ++k) {
        approach[k] = -dot(velocity_of(points[k], v_free_.data()), points[k].z);
        fastest = std::max(fastest, approach[k]);
    }
    std::vector<TouchingPoint> pressing;
    waiting_.clear();
    for (std::size_t k = 0; k < points.size(); ++k) {
        const double distance = points[k].distance;
        // What touches may be needed to hold, even if it does not approach by itself.
        if (distance <= std::max(h * approach[k], TOUCHING) || pressed_before(points[k]))
            pressing.push_back(points[k]);
        else if (distance <= h * (approach[k] + fastest + 0.5))
            waiting_.push_back(points[k]);
    }
    points.swap(pressing);
}

/// Let those press that would sink in with the impulses so far, or all; whether there are any.
bool PointStep::admit_waiting(bool all) {
    if (waiting_.empty()) return false;
    std::vector<double> v(engine.model.nv, 0.0);
    for (int row = 0; row < rows_.size(); ++row) rows_.add_to(v.data(), row, problem_.x[row]);
    met().solve(v.data());
    for (int k = 0; k < engine.model.nv; ++k) v[k] += v_free_[k];
    const auto stays_apart = [&](const TouchingPoint& point) {
        return !all && point.distance + timestep() * dot(velocity_of(point, v.data()), point.z) >= -SUNK;
    };
    const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), stays_apart);
    if (first == waiting_.end()) return false;
    points.insert(points.end(), first, waiting_.end());
    waiting_.erase(first, waiting_.end());
    write_rows(), write_problem();
    return true;
}

}  // namespace stiction::mujoco
