#include "mujoco/link_contacts.hpp"

namespace stiction::mujoco {

LinkContacts::LinkContacts(const PointContext& context, const std::vector<ContactPoint>& points, LinkSetup setup)
    : statistics(setup.placed.size()), last(setup.placed.size()), context_(context), points_(points), setup_(std::move(setup)) {
    const Model& model = context.engine.model;
    for (const std::vector<int>& geoms : setup_.plane_geoms) {
        is_in_plane_.emplace_back(model.ngeom);
        for (const int geom : geoms) is_in_plane_.back()[geom] = 1;
    }
    link_of_geom_.assign(model.ngeom, -1);
    for (int geom = 0; geom < model.ngeom; ++geom)
        for (int link = 0; link < size(); ++link)
            if (setup_.placed[link].body == (*model.geom_bodyid)[geom]) link_of_geom_[geom] = link;
}

void LinkContacts::find(bool is_first) {
    touching.clear(), touching_.clear(), bodies_.clear();
    is_solved_ = true;
    if (size() == 0) return;
    const Data& d = context_.engine.data;
    links().set_timestep(context_.engine.timestep());
    position_before_.assign(*d.qpos, *d.qpos + context_.engine.model.nq);
    for (int i = 0; i < size(); ++i) {
        if (is_first) statistics[i].start();
        place(i);
    }
    links().touch([&](int i) -> const Vector& { return setup_.placed[i].position; },
                  [&](int i) -> const Rotation& { return setup_.placed[i].rotation; });
    std::vector<Wrench> kept(size());
    for (Contact& c : links().contacts()) {
        const PlacedLink& link = setup_.placed[c.index];
        kept[c.index] = last[c.index];
        touching.push_back(static_cast<int>(c.index)), touching_.push_back(&link), bodies_.push_back(link.body);
        c.before = link.to_plane(context_.kinematics.twist(link.body, *d.qvel));
    }
    last.swap(kept);  // a link that does not touch has none
    exclude();
}

/// Find where a link is, and on which plane it stands.
void LinkContacts::place(int i) {
    PlacedLink& link = setup_.placed[i];
    const Data& d = context_.engine.data;
    link.rotation = rotation_from(*d.xmat + 9 * link.body) * link.frame;
    link.position = vector_from(*d.xipos + 3 * link.body);
    link.plane = setup_.ground.touched(i, links().hull(i), link.position, link.rotation);
    link.turned = false;
    if (link.plane < 0) {
        link.position.z = std::numeric_limits<double>::infinity();  // above everything that it could touch
        return;
    }
    const GroundPlane& plane = setup_.ground.plane(link.plane);
    if (!plane.level) {
        link.turned = true;
        link.axes = plane.axes;
        link.position = plane.axes * link.position;
        link.rotation = plane.axes * link.rotation;
    }
    link.position.z -= plane.height;
}

/// Exclude MuJoCo's contacts of links with the planes on which they stand in this step.
void LinkContacts::exclude() {
    const auto stands_on = [&](int geom, int other) {
        const int link = geom < 0 || other < 0 ? -1 : link_of_geom_[geom];
        return link >= 0 && setup_.placed[link].plane >= 0 && is_in_plane_[setup_.placed[link].plane][other];
    };
    for (int k = 0; k < *context_.engine.data.ncon; ++k) {
        const EngineContact contact = context_.engine.contact(k);
        const int g1 = contact.geom()[0], g2 = contact.geom()[1];
        if (stands_on(g1, g2) || stands_on(g2, g1)) contact.exclude() = 1;
    }
}

/// Count links that touch something by MuJoCo's own contact.
void LinkContacts::count_uncovered() {
    std::vector<char> is_uncovered(size());
    for (int k = 0; k < *context_.engine.data.ncon; ++k) {
        const EngineContact contact = context_.engine.contact(k);
        if (contact.exclude()) continue;
        for (const int geom : {contact.geom()[0], contact.geom()[1]})
            if (geom >= 0 && link_of_geom_[geom] >= 0) is_uncovered[link_of_geom_[geom]] = 1;
    }
    for (int i = 0; i < size(); ++i) statistics[i].uncovered += is_uncovered[i];
}

void LinkContacts::start(bool from_last) {
    if (is_empty()) return;
    impulse_.assign(6 * touching_.size(), 0.0);
    const Contacts contacts = links().contacts();
    for (std::size_t i = 0; from_last && i < touching_.size(); ++i)
        write(touching_[i]->to_plane(last[contacts[static_cast<int>(i)].index]), &impulse_[6 * i]);
    evaluations_ = 0;
    error_ = std::numeric_limits<double>::infinity(), step_ = 1.0;
    is_coupled_ = true, has_prediction_ = false;
}

/// Find how the links respond to impulses, in the axes of their planes; V_free: without the impulses that are applied now.
void LinkContacts::find_response(const double* velocities) {
    response_.find(context_, bodies_, points_, velocities);
    for (std::size_t i = 0; i < touching_.size(); ++i) {
        const PlacedLink& link = *touching_[i];
        if (!link.turned) continue;
        const int first = 6 * static_cast<int>(i);
        const auto turn = [&](double* six) { write(link.to_plane(twist_from(six)), six); };
        turn(response_.V.data() + first);
        for (int d = 0; d < response_.R.rows(); ++d) turn(response_.R[d] + first);
        for (int r = 0; r < response_.L.rows(); ++r) turn(response_.L[r] + first);  // its columns, then its rows
        for (int c = 0; c < response_.L.columns(); ++c) {
            double column[6];
            for (int k = 0; k < 6; ++k) column[k] = response_.L[first + k][c];
            turn(column);
            for (int k = 0; k < 6; ++k) response_.L[first + k][c] = column[k];
        }
    }
}

/// Algorithm 2 for the twists that the links would have without their impulses.
void LinkContacts::ask_laws() {
    if (setup_.solver)
        setup_.solver(V_free, response_.L);
    else
        links().solve(V_free.data(), response_.L, context_.settings.tolerance);
    evaluations_ += solution().evaluations;
}

void LinkContacts::solve_alone() {
    find_response(context_.free_motion.velocity.data());
    V_free = response_.V;
    ask_laws();
    impulse_ = solution().impulse;
    predicted = predict(impulse_);
    is_coupled_ = false;
}

bool LinkContacts::converged() {
    if (is_empty() || !is_coupled_) return true;
    const double last_error = error_;
    find_response(*context_.engine.data.qvel);
    const bool converged = fits();
    if (has_prediction_ && error_ > context_.settings.slow * last_error)
        step_ = std::max(0.5 * step_, context_.settings.min_step);
    is_solved_ = converged || points_.empty() || error_ <= sliding_error();
    return converged;
}

/// Whether the velocities that were obtained are the predicted ones, or the laws give the same impulses for them again.
bool LinkContacts::fits() {
    if (has_prediction_) {
        error_ = error_of(predicted);
        const auto slides = [](Mode mode) { return mode == Mode::DYNAMIC; };
        const bool any_slides = std::any_of(solution().mode.begin(), solution().mode.end(), slides);
        // Friction is known to the tolerance of Algorithm 2 only: where points respond to it, more cannot be expected.
        if (error_ <= (any_slides && !points_.empty() ? sliding_error() : context_.settings.converged)) return true;
    }
    std::vector<double> change(response_.V.size());
    multiply(response_.L, impulse_.data(), change.data());
    V_free = response_.V;
    for (std::size_t k = 0; k < V_free.size(); ++k) V_free[k] -= change[k];
    ask_laws();
    return error_of(predict(solution().impulse)) <= context_.settings.converged;
}

void LinkContacts::solve() {
    // Constraints that are not active yet may become so.
    is_coupled_ = response_.is_coupled || *context_.engine.data.nefc > 0 || !context_.free_motion.is_exact();
    const double share = is_coupled_ && has_prediction_ ? step_ : 1.0;
    const std::vector<double>& wanted = solution().impulse;
    for (std::size_t k = 0; k < impulse_.size(); ++k)
        impulse_[k] = share == 1.0 ? wanted[k] : impulse_[k] + share * (wanted[k] - impulse_[k]);
    predicted = predict(impulse_);
    has_prediction_ = true;
    if (!is_coupled_) is_solved_ = true;
}

/// Twists of the touching links after the step with these impulses, (6 n,).
std::vector<double> LinkContacts::predict(const std::vector<double>& impulse) const {
    std::vector<double> twists(impulse.size());
    multiply(response_.L, impulse.data(), twists.data());
    for (std::size_t k = 0; k < twists.size(); ++k) twists[k] += V_free[k];
    return twists;
}

/// Greatest difference of twists (6 n,) from those obtained, relative to their change by impulses.
double LinkContacts::error_of(const std::vector<double>& twists) const {
    double error = 0.0, change = 0.0;
    for (std::size_t k = 0; k < twists.size(); ++k) {
        error = std::max(error, std::fabs(response_.V[k] - twists[k]));
        change = std::max(change, std::fabs(response_.V[k] - V_free[k]));
    }
    return error > 0.0 ? error / change : 0.0;
}

void LinkContacts::apply(AppliedForces& forces) const {
    const double per_time = 1 / context_.engine.timestep();
    for (std::size_t i = 0; i < touching_.size(); ++i) {
        const Wrench p = touching_[i]->to_world(wrench_from(&impulse_[6 * i]));
        forces.add(touching_[i]->body, per_time * p.linear, per_time * p.angular);
    }
}

void LinkContacts::commit(bool is_first) {
    if (is_first && size() > 0) count_uncovered();
    if (is_empty()) return;
    const Contacts contacts = links().contacts();
    for (int i = 0; i < contacts.size(); ++i) {
        const Contact& c = contacts[i];
        LinkStatistics& one = statistics[c.index];
        one.add(solution().mode[i], c.kind, touching_[i]->to_world(wrench_from(&impulse_[6 * i])), impulse_[6 * i + 2]);
        one.evaluations += evaluations_, one.all_evaluations += evaluations_;
        count_once(one.is_unsolved, !solution().solved, one.unsolved);
        count_once(one.is_outside, solution().outside[i] != 0, one.outside);
        one.last_query = touching_[i]->to_world(c.velocity);
        last[c.index] = touching_[i]->to_world(wrench_from(&solution().impulse[6 * i]));
    }
    is_solved_ = is_solved_ && solution().solved;
}

/// Positions move once more from where they were, with a velocity that is never seen otherwise.
void LinkContacts::recover_penetration() {
    if (is_empty()) return;
    double deepest = 0.0;
    for (const Contact& c : links().contacts()) deepest = std::max(deepest, c.depth);
    if (deepest < NEGLIGIBLE_DEPTH) return;
    const Engine& engine = context_.engine;
    const double h = engine.timestep();
    std::vector<double> impulse(impulse_.size()), velocity(engine.model.nv);
    links().algorithm2().balance().separate({RECOVERY_SHARE / h, MAX_RECOVERY_SPEED}, impulse.data());
    multiply(response_.R, impulse.data(), velocity.data());
    if (std::all_of(velocity.begin(), velocity.end(), [](double v) { return v == 0.0; })) return;
    double *qpos = *engine.data.qpos, *qvel = *engine.data.qvel;
    for (int dof = 0; dof < engine.model.nv; ++dof) velocity[dof] += qvel[dof];
    engine.functions.integratePos(engine.model_address, position_before_.data(), velocity.data(), h);
    // Spins of free and ball joints stay as they are in the world, though MuJoCo keeps them in axes that have moved.
    for (const auto& [address, dof] : setup_.spins) {
        const Rotation old = quaternion_from(&qpos[address]).matrix(), now = quaternion_from(&position_before_[address]).matrix();
        write(now.inverse(old * vector_from(&qvel[dof])), &qvel[dof]);
    }
    std::copy(position_before_.begin(), position_before_.end(), qpos);
}

std::vector<Vector> LinkContacts::points(int link) const {
    std::vector<Vector> found;
    const PlacedLink& placed = setup_.placed[link];
    for (const Contact& c : setup_.links->contacts())
        for (int k = 0; c.index == link && k < c.count; ++k) {
            Vector p = placed.position + c.point(k);
            p.z += setup_.ground.plane(placed.plane).height;
            found.push_back(placed.turned ? placed.axes.inverse(p) : p);
        }
    return found;
}

}  // namespace stiction::mujoco
