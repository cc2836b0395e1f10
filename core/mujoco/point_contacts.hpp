// Contacts at MuJoCo's own contact points, between geoms whose pairs have a material.
#pragma once

#include "mujoco/contact_set.hpp"
#include "mujoco/point_finder.hpp"
#include "mujoco/point_problem.hpp"
#include "mujoco/run_statistics.hpp"

namespace stiction::mujoco {

/// Statistics of the contacts of one law: of the last step, then counts since the start.
struct PairStatistics {
    std::int64_t n_pressing = 0, n_slipping = 0;  ///< points that press; those of them that slip
    Vector force, moment;                         ///< impulse on the first body, its moment about the world's origin
    std::int64_t steps = 0, unsolved = 0, outside = 0;
    bool has_pressed = false, is_unsolved = false, is_outside = false;  ///< in any sub-step of this step

    /// Start a step or a sub-step: impulses add up, points are those of the last sub-step.
    void start(bool is_first) {
        n_pressing = n_slipping = 0;
        if (!is_first) return;
        force = moment = {};
        has_pressed = is_unsolved = is_outside = false;
    }
};

/// A sensor that sums the normal forces of all contacts of its body whose normal meets its site.
struct TouchSensor {
    int address;  ///< of its value in sensordata
    int site, body, shape;
    double cutoff;  ///< [N]; 0 is none
};

class PointContacts final : public ContactSet {
  public:
    /// repeat: rolls back and integrates again, with the impulses as they are
    PointContacts(const Engine& engine, const Kinematics& kinematics, const FreeMotion& free_motion,
                  std::vector<PairLaw> laws, PairTable table, const Settings& settings, std::function<void()> repeat);

    void find(bool is_first) override;
    bool is_empty() const override { return found_.empty(); }
    /// Choose the points that press in the free motion as it is now, and form groups of points that act on each other.
    void start();
    void solve() override;
    void apply(AppliedForces& forces) const override;
    bool converged() override;
    void commit(bool is_first) override;
    void recover_penetration() override;

    /// Forget the impulses of the last step and the velocities of bodies that the user moves.
    void reset();
    /// The step is rolled back: remember what was remembered at its start.
    void roll_back() { memory.impulses = memory_at_start_; }
    PointContext context() const { return {engine_, kinematics_, free_motion_, laws_, memory, settings_}; }
    bool is_solved() const { return is_solved_; }
    /// Kinetic energy that contact added in the last step [J].
    double work() const { return points.empty() ? 0.0 : work_; }
    PointProblem* last_problem() const { return n_groups_ ? groups_[n_groups_ - 1].get() : nullptr; }

    std::vector<PairStatistics> statistics;   ///< of each key
    std::vector<std::int64_t> uncovered;      ///< of each body: steps in which it touched something that its laws do not cover
    std::int64_t unsolved = 0, contact_steps = 0, newton_steps = 0;
    RunStatistics run;
    PointMemory memory;
    UserMovedBodies moved;
    std::vector<ContactPoint> points;         ///< that are solved for
    std::vector<TouchSensor> touch_sensors;   ///< that are to measure these contacts

  private:
    const Engine& engine_;
    const Kinematics& kinematics_;
    const FreeMotion& free_motion_;
    std::vector<PairLaw> laws_;               // of all keys, then the same without friction
    const Settings& settings_;
    PointFinder finder_;
    std::function<void()> repeat_;
    std::vector<ContactPoint> found_;         // all points with laws
    std::vector<std::unique_ptr<PointProblem>> groups_;  // the first n_groups_ are in use
    int n_groups_ = 0;
    std::vector<RememberedImpulse> memory_at_start_;
    bool is_pending_ = false;                 // whether impulses were not compared with the motion yet
    bool is_solved_ = true;                   // whether the impulses fulfil all laws
    double work_ = 0.0;
    double residual_ = 0.0;                   // of the groups that were not solved, relative
    int rounds_ = 0;                          // since `start`
    std::vector<ContactPoint> best_;          // of the earlier rounds
    double least_error_ = 0.0;
    bool has_pressed_ = false, was_unsolved_ = false;  // in any sub-step of this step

    void form_groups(PointFinder::Choice choice);
    double prediction_error();
    bool has_gained_energy() const;
    void limit_energy();
    void add_statistics();
};

}  // namespace stiction::mujoco
