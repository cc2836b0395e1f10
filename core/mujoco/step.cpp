#include "mujoco/step.hpp"

namespace stiction::mujoco {

Step::Step(Engine engine_, Settings settings_, std::vector<PairLaw> laws, PairTable table, LinkSetup setup)
    : engine(std::move(engine_)), settings(settings_), kinematics_(engine), free_motion_(engine), forces_(engine),
      points(engine, kinematics_, free_motion_, std::move(laws), std::move(table), settings,
             [this] { roll_back(), integrate(); }),
      links(points.context(), points.points, std::move(setup)) {}

int substeps_of(double timestep, double max_substep) {
    constexpr double rounding = 1e-6;
    return max_substep > 0.0 ? std::max(1, static_cast<int>(std::ceil(timestep / max_substep - rounding))) : 1;
}

Outcome Step::step() {
    if (const Outcome why = engine.refusal(); why != Outcome::DONE) return why;
    struct Timestep {  // as it was, whatever happens
        double &now, whole;
        ~Timestep() { now = whole; }
    } timestep{*engine.model.timestep, *engine.model.timestep};
    const int count = substeps_of(timestep.whole, settings.max_substep);
    if (count > 1) timestep.now = timestep.whole / count;
    Outcome outcome = Outcome::DONE;
    is_unsolved_ = is_in_contact_ = false;
    for (int k = 0; k < count && (k == 0 || engine.is_finite()); ++k) {
        warnings_.emplace(engine);
        try {
            advance(k == 0);
        } catch (const BadAcceleration&) {
            if (engine.is_disabled(engine.constants.no_autoreset)) forces_.remove();
            forces_.forget();  // else MuJoCo has set all forces to zero
            reset();
            return Outcome::RESET;
        } catch (...) {  // a law or a callback in Python failed, or the user interrupted it: nothing has happened
            forces_.remove();
            if (!start_.empty()) {
                engine.set_state(start_);
                points.roll_back();
            }
            throw;
        }
        if (const Outcome now = warnings_->outcome(engine); now != Outcome::DONE) outcome = now;
    }
    return outcome;
}

/// The stages of a time step, or of one of the equal sub-steps into which a law may divide it.
void Step::advance(bool is_first) {
    ContactSet* const sets[] = {&links, &points};
    start_.clear();
    clock.start();
    engine.detect();                                                    // positions, inertia, collisions
    for (ContactSet* set : sets) set->find(is_first);                   // contacts with laws, which MuJoCo must not solve
    clock.lap(Phase::DETECTION);
    engine.constrain();                                                 // MuJoCo's other constraints, velocities
    clock.lap(Phase::CONSTRAINTS);
    if (links.is_empty() && points.is_empty())
        integrate();
    else
        converge();                                                     // free motion, impulses, integration
    if (forces_wanted) engine.run(engine.functions.rnePostConstraint);
    forces_.remove();
    for (ContactSet* set : sets) set->commit(is_first);                 // statistics, memory, sensors
    for (ContactSet* set : sets) set->recover_penetration();            // on positions only
    clock.lap(Phase::RECOVERY);
    count_once(is_in_contact_, !(points.points.empty() && links.touching.empty()), contact_steps);
    count_once(is_unsolved_, !(links.is_solved() && points.is_solved()), unsolved);
}

/// Find impulses of links and points that fit together, and integrate with them.
///
/// The points are solved for with the links' impulses as forces, and determine how the links respond to impulses; with this
/// response, Algorithm 2 finds the links' impulses. Both predict the velocities after the step. The loop ends when MuJoCo,
/// whose own constraints also respond, obtains the predicted ones: at once, if nothing else is in contact.
void Step::converge() {
    engine.get_state(start_);
    links.start(!points.is_empty());
    start_points();
    if (points.is_empty() && *engine.data.nefc == 0 && free_motion_.is_exact()) {
        links.solve_alone();
        return integrate();
    }
    for (int round = 1;; ++round) {
        points.solve();
        integrate();
        const bool is_last = round >= settings.max_rounds;
        if (points.converged() || is_last) {
            if (links.converged() || is_last) return;
            links.solve();
            roll_back();
            if (links.is_coupled()) start_points();
        } else {
            roll_back();
        }
    }
}

/// Start solving for the points in the free motion with the links' impulses.
void Step::start_points() {
    forces_.remove();
    links.apply(forces_);
    free_motion_.find();
    points.start();
    clock.lap(Phase::FREE_MOTION);
}

/// The second half of MuJoCo's step, with the impulses as they are now.
void Step::integrate() {
    clock.lap(Phase::SOLVING);
    ++rounds;
    forces_.remove();
    links.apply(forces_), points.apply(forces_);
    engine.run(engine.functions.step2);
    clock.lap(Phase::INTEGRATION);
    if (warnings_->outcome(engine) == Outcome::RESET) throw BadAcceleration{};
}

void Step::roll_back() {
    forces_.forget();  // the state at the start has none of them
    engine.set_state(start_);
}

void Step::reset() {
    points.reset();
    std::fill(links.last.begin(), links.last.end(), Wrench{});
}

void Step::reset_counts() {
    std::fill(points.statistics.begin(), points.statistics.end(), PairStatistics{});
    std::fill(points.uncovered.begin(), points.uncovered.end(), 0);
    std::fill(links.statistics.begin(), links.statistics.end(), LinkStatistics{});
    points.run.clear(), clock = {};
    unsolved = rounds = contact_steps = points.unsolved = points.contact_steps = points.newton_steps = 0;
}

}  // namespace stiction::mujoco
