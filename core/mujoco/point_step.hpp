// A step of MuJoCo in which chosen pairs of geoms touch by laws of ours, at MuJoCo's own contact points.
//
// MuJoCo finds the contacts, and all that it would do without ours. Then one exact solver gives the impulses at all
// points with laws together with MuJoCo's other constraints, and the step goes on with them as applied forces.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../point_friction.hpp"
#include "engine.hpp"
#include "hand_moved.hpp"
#include "pair_laws.hpp"
#include "system_rows.hpp"
#include "touch_sensors.hpp"
#include "trees.hpp"

namespace stiction::mujoco {

enum class Outcome { DONE = 0, NO_NUMBERS = 1, RESET = 2, OTHER_INTEGRATOR = 3, NO_TIMESTEP = 4, SLEEP = 5, BAD_CONTROL = 6, OVERFULL = 7 };

/// What became of the contacts of one law: of the last step, then counts since the start.
struct PairNote {
    std::int64_t touching = 0, slipping = 0;  ///< points that press; of these, points that slip
    double force[3] = {}, moment[3] = {};     ///< impulse on the first body, its moment about the world's origin
    std::int64_t steps = 0, unsolved = 0, outside = 0;
};

/// An impulse of the last step, by which the next one begins.
struct Remembered {
    double geom1, geom2;
    double place[3];    ///< in the frame of the own body
    double impulse[3];  ///< in the world
};

class PointStep {
  public:
    PointStep(Engine engine, std::vector<PairLaw> laws, PairTable table, double softness);

    /// One step. After RESET, MuJoCo has begun anew by itself; after BAD_CONTROL, it took a step without controls; after
    /// OVERFULL, a step without some contacts or constraints; after all others but DONE nothing has happened.
    Outcome step();
    void forget();
    /// Begin without what is remembered of the last step.
    void begin_anew();
    /// What contact gave to the motion in the last step [J].
    double work() const { return points.empty() ? 0.0 : gained(problem_.x); }
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
    TreeFactor inertia_, effective_;           // M; what meets impulses in the end, with damping
    bool damped_ = false;                      // whether these differ
    std::vector<double> v_free_, v_before_, state_, scratch_;
    SystemRows rows_, white_, white_M_;        // of all points (z, x, y each), then of MuJoCo's constraints
    std::vector<TouchingPoint> waiting_;       // points that do not press, and their rows along z
    SystemRows waiting_rows_;
    std::vector<int> constraints_;             // numbers of the latter
    Trees trees_;
    std::vector<char> feels_;                  // of each group of trees, whether points are among them
    bool cones_ = false;                       // whether constraints that are no such rows act on the points, too
    int most_steps_ = 0, spent_steps_ = 0;     // of Newton's method in a step
    bool is_solved_ = true;                    // whether the impulses fulfil all laws
    std::vector<double> w_free_, w_before_, proximal_, previous_, mobility_;
    PointFriction problem_, normals_;
    using Warnings = std::array<int, 6>;       // how often MuJoCo gave each of those in Constants::warnings
    struct Applied {
        int body;
        std::array<double, 6> before;
    };
    std::vector<Applied> applied_;             // forces on bodies that are not ours, while ours are applied

    void positions_and_velocities();
    void leave_out();
    void find_points();
    void look_at_moved_bodies();
    const HandMoved* moved_with(int body) const;
    bool is_movable(const TouchingPoint& point) const;
    void choose_points();
    bool pressed_before(const TouchingPoint& point) const;
    bool admit_waiting(bool all);
    void add_point(const EngineContact& contact, int law);
    void free_motion();
    void probe(Stage integrate);
    void write_rows();
    void write_point(const TouchingPoint& point);
    void write_constraint(int number);
    void connect_trees();
    bool acts_on_points(int number);
    int group_of(int dof) { return trees_.group((*engine.model.dof_treeid)[dof]); }
    void write_problem();
    void write_constraint_problem(int k);
    void recall();
    void limit_by_frictionless_loads();
    void set_yield(double share);
    void set_right_side();
    void solve();
    bool solve_problem(double share = 1.0);
    void refine(bool coarse);
    bool solve_with_rebound();
    void guard();
    bool limit_friction(double share);
    void find_loads();
    void hold_energy();
    double kinetic_energy(const double* velocities);
    void go_back();
    bool solve_normals(const std::vector<double>& b);
    double yields(int row) const;
    double velocity_after(const std::vector<double>& x, int row) const;
    double gained(const std::vector<double>& x) const;
    void apply();
    void withdraw();
    bool foreseen();
    void finish();
    void remember();
    void raise();
    void slow_down(std::vector<double>& velocities) const;
    Outcome refusal() const;
    Outcome whole_step();
    Outcome outcome(const Warnings& before) const;
    Warnings warnings() const;
    double timestep() const { return *engine.model.timestep; }
    int point_rows() const { return static_cast<int>(3 * points.size()); }
};

}  // namespace stiction::mujoco
