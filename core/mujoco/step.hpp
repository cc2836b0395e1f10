// A time step of MuJoCo in which chosen contacts follow laws.
//
// MuJoCo does everything else. Its step is divided into stages, between which the impulses of contacts with laws are found;
// they enter as applied forces. See Step::advance.
#pragma once

#include <optional>

#include "mujoco/link_contacts.hpp"
#include "mujoco/point_contacts.hpp"

namespace stiction::mujoco {

class Step {
  public:
    Step(Engine engine, Settings settings, std::vector<PairLaw> laws, PairTable table, LinkSetup links);
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    /// One time step. After RESET, MuJoCo has reset its data; after BAD_CONTROL, it took a step without controls; after
    /// OVERFLOW, a step without some contacts or constraints; after all others but DONE nothing has happened.
    Outcome step();

    /// Forget what is remembered of the last step.
    void reset();
    /// Set all counts and statistics to zero.
    void reset_counts();

    Engine engine;
    Settings settings;
    std::int64_t unsolved = 0;   ///< steps without an exact solution
    std::int64_t rounds = 0;     ///< integrations of all steps
    std::int64_t contact_steps = 0;  ///< steps in which points or links were in contact
    PhaseClock clock;            ///< time spent in each phase of all steps
    bool forces_wanted = false;  ///< whether MuJoCo's forces on bodies (cfrc_ext and others) are found in each step

  private:
    Kinematics kinematics_;
    FreeMotion free_motion_;
    AppliedForces forces_;
    std::optional<WarningCounts> warnings_;
    std::vector<double> start_;  // the state at the start of the step or sub-step
    bool is_unsolved_ = false, is_in_contact_ = false;  // in any sub-step of this step

  public:
    PointContacts points;
    LinkContacts links;

  private:
    /// MuJoCo found a value in its accelerations that is not finite, and has mostly reset its data.
    struct BadAcceleration {};

    void advance(bool is_first);
    void converge();
    void start_points();
    void integrate();
    void roll_back();
};

/// Into how many equal sub-steps a step is divided, so that none is longer than max_substep [s]; 0: no limit.
int substeps_of(double timestep, double max_substep);

}  // namespace stiction::mujoco
