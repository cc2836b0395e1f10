// A step of MuJoCo in which chosen pairs of geoms touch by laws of ours, at MuJoCo's own contact points.
//
// MuJoCo finds the contacts, and all that it would do without ours. Then one exact solver gives the impulses at all
// points with laws together with MuJoCo's other constraints, and the step goes on with them as applied forces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "friction/point_friction.hpp"
#include "mujoco/engine.hpp"
#include "mujoco/hand_moved.hpp"
#include "mujoco/pair_laws.hpp"
#include "mujoco/system_rows.hpp"
#include "mujoco/touch_sensors.hpp"
#include "mujoco/kinematic_trees.hpp"

namespace stiction::mujoco {

enum class Outcome { DONE, NO_NUMBERS, RESET, OTHER_INTEGRATOR, NO_TIMESTEP, SLEEP, BAD_CONTROL, OVERFULL };

/// What became of the contacts of one law: of the last step, then counts since the start.
struct PairNote {
    std::int64_t touching = 0, slipping = 0;  ///< points that press; of these, points that slip
    double force[3] = {}, moment[3] = {};     ///< impulse on the first body, its moment about the world's origin
    std::int64_t steps = 0, unsolved = 0, outside = 0;
    bool has_touched = false, is_unsolved = false, is_outside = false;  ///< in any part of this step

    /// Begin a step, or another part of one: impulses add up, points are those of the last part.
    void begin_part(bool is_first) {
        touching = slipping = 0;
        if (!is_first) return;
        std::fill_n(force, 3, 0.0), std::fill_n(moment, 3, 0.0);
        has_touched = is_unsolved = is_outside = false;
    }
};

/// An impulse of the last step, by which the next one begins.
struct Remembered {
    double geom1, geom2;
    double place[3];    ///< in the frame of the own body
    double impulse[3];  ///< in the world

    bool is_between(const TouchingPoint& point) const { return geom1 == point.geom1 && geom2 == point.geom2; }
};

/// How links follow impulses on them, with all that MuJoCo does and what holds at the points; twists are in world axes.
struct LinkResponse {
    std::vector<double> V;  ///< their twists now, (6 n,)
    Matrix R, L;            ///< how impulses change the velocities of the joints (dofs, 6 n), and their twists (6 n, 6 n)
    bool is_felt = false;   ///< whether any point or constraint answers to these impulses
};

class PointStep {
  public:
    PointStep(Engine engine, std::vector<PairLaw> laws, PairTable table, double softness);

    /// One step. After RESET, MuJoCo has begun anew by itself; after BAD_CONTROL, it took a step without controls; after
    /// OVERFULL, a step without some contacts or constraints; after all others but DONE nothing has happened.
    Outcome step();

    /// The parts of a step beside links with laws of their own, whose impulses are applied as forces on their bodies: begin,
    /// find_beside, then solve_beside, take_back and again with other forces, and end_beside.
    /// is_first: whether it is no later part of a step that is taken in parts
    Outcome begin(bool is_first);
    void find_beside();
    /// Solve for the points with the forces that are applied now, and advance.
    Outcome solve_beside();
    /// How bodies follow impulses on them, by what presses and acts after `solve_beside`.
    LinkResponse response(std::span<const int> bodies);
    /// Back to the begin of the step, with the forces of which `solve_beside` knew.
    void take_back();
    /// After `solve_beside`, where the forces have changed since, but no point feels that.
    Outcome advance_beside();
    /// Note what became of the step, and take our forces off; take_depth_back follows.
    Outcome end_beside();
    /// Move the positions by which the depth of the points gets less.
    void take_depth_back();

    void forget();
    /// Begin without what is remembered of the last step.
    void begin_anew();
    /// What contact gave to the motion in the last step [J].
    double work() const { return points.empty() ? 0.0 : work_; }
    /// Whether all positions and velocities are numbers that MuJoCo takes.
    bool is_finite() const;

    std::vector<PairNote> notes;               ///< of each law
    std::vector<std::int64_t> uncovered;       ///< of each body: steps in which it touched what its laws do not cover
    std::vector<Remembered> memory;
    std::vector<HandMoved> moved;              ///< bodies that the user moves
    std::vector<TouchingPoint> points;         ///< of the last step
    std::int64_t unsolved = 0, contact_steps = 0, newton_steps = 0, rounds = 0;
    bool forces_wanted = false;                ///< whether body forces (cfrc_ext and such) are to be found in each step
    std::vector<TouchSensor> touch_sensors;    ///< that are to feel our contacts
    Engine engine;
    const PointFriction& problem() const { return problem_; }

  private:
    /// Share of its mobility by which a point yields to what is new: where loads can be shared in many ways, that makes
    /// them unique. What yields more is easier to solve, and comes to the same when it is refined.
    static constexpr double FINE = 1e-7, COARSE = 1e-4;

    std::vector<PairLaw> laws_;
    PairTable table_;
    double softness_;
    std::vector<std::vector<int>> chains_;     // of each body, the dofs that move it, ascending
    TreeFactor inertia_, effective_;           // M; the same with damping, or as the integrator has it
    bool damped_ = false;                      // whether these differ
    std::vector<double> v_free_, v_before_, state_, scratch_;
    SystemRows rows_, white_, white_M_;        // of all points (z, x, y each), then of MuJoCo's constraints
    std::vector<TouchingPoint> found_;         // all points that may press, for `solve_beside`
    std::vector<TouchingPoint> waiting_;       // points that do not press
    std::vector<int> constraints_;             // numbers of the latter
    Trees trees_;
    /// Points that feel each other, and MuJoCo's constraints that they feel.
    struct Group {
        std::vector<TouchingPoint> points, waiting;
        std::vector<int> constraints;
        bool is_constrained = false;           // by these, or by cones
        int spent_steps = 0;                   // of Newton's method in this time step
    };
    std::vector<Group> groups_;
    bool constrained_ = false;                 // whether MuJoCo's constraints act on points
    double work_ = 0.0;                        // of contact in the last step [J]
    std::vector<double> lift_;                 // velocities by which depth is taken back ...
    bool lifts_ = false;                       // ... if any is
    bool has_touched_ = false, was_unsolved_ = false;  // in any part of this step
    int most_steps_ = 0, spent_steps_ = 0;     // of Newton's method, for the group at hand
    bool is_solved_ = true;                    // whether the impulses fulfil all laws
    std::vector<double> w_free_, w_before_, proximal_, previous_, mobility_;
    PointFriction problem_, normals_;
    using Warnings = std::array<int, 6>;       // how often MuJoCo gave each of those in Constants::warnings
    struct Applied {
        int body;
        std::array<double, 6> before;
    };
    std::vector<Applied> applied_;             // forces on bodies that are not ours, while ours are applied
    struct Before {
        Warnings warnings;
        double time;
    };
    Before before_{};                          // how the step began
    /// MuJoCo found a number that it does not take, and has mostly begun anew: nothing of the step is left.
    struct BadAcceleration {};

    void leave_out();
    void find_points();
    void look_at_moved_bodies();
    const HandMoved* moved_with(int body) const;
    bool is_movable(const TouchingPoint& point) const;
    Vector velocity_of(const TouchingPoint& point, const double* velocities) const;
    void choose_points();
    void form_groups();
    void solve_groups(bool first);
    void conclude();
    /// Whether the velocities may come out otherwise than is foreseen.
    bool is_uncertain() const { return constrained_ || *engine.model.integrator != engine.constants.euler; }
    bool pressed_before(const TouchingPoint& point) const;
    bool admit_waiting(bool all);
    void add_point(const EngineContact& contact, int law);
    void free_motion();
    void probe(Stage integrate);
    void write_rows();
    void write_point(const TouchingPoint& point);
    void write_constraint(int number);
    void write_problem();
    void write_constraint_problem(int k);
    void recall();
    Vector in_own_frame(const TouchingPoint& point) const;
    void limit_by_frictionless_loads();
    void set_yield(double share);
    void set_right_side();
    bool solve();
    bool solve_problem(double share = 1.0);
    bool bounces() const;
    bool solve_few();
    bool solve_many();
    bool solve_boldly(double yield, int most_steps);
    bool is_near_enough();
    void refine(bool coarse);
    bool solve_with_rebound();
    int parts() const;
    bool build_up(int parts);
    void guard();
    bool limit_friction(double share);
    void find_loads();
    bool is_moderate() const;
    void advance();
    bool has_leapt();
    void hold_energy();
    double kinetic_energy(const double* velocities);
    void go_back();
    bool solve_normals(const std::vector<double>& b);
    double yields(int row) const;
    double velocity_after(const std::vector<double>& x, int row) const;
    double gained(const std::vector<double>& x) const;
    void apply();
    void withdraw();
    double unforeseen();
    void finish();
    void remember();
    void lift();
    void slow_down(std::vector<double>& velocities) const;
    Outcome refusal() const;
    Outcome guarded(const std::function<void()>& work);
    void find_velocities();
    void look_for_pressing();
    void move();
    void conclude_step();
    void save_state();
    void write_twists(int body, SystemRows& rows) const;
    void write_held(const TouchingPoint& point, std::vector<double>& yields);
    int write_active_rows(std::span<const int> bodies, std::vector<double>& yields);
    Outcome outcome() const;
    Warnings warnings() const;
    double timestep() const { return *engine.model.timestep; }
    /// What meets impulses in the end.
    const TreeFactor& met() const { return damped_ ? effective_ : inertia_; }
    int point_rows() const { return static_cast<int>(3 * points.size()); }
};

}  // namespace stiction::mujoco
