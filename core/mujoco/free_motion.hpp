// The motion of a step without contacts and constraints, and the inertia that impulses act on.
#pragma once

#include <vector>

#include "mujoco/engine.hpp"
#include "mujoco/tree_factor.hpp"

namespace stiction::mujoco {

class FreeMotion {
  public:
    explicit FreeMotion(const Engine& engine) : engine_(engine) {}

    /// Find the motion with the forces that are applied now.
    void find();

    /// M: the inertia that MuJoCo's constraint forces act on.
    const TreeFactor& inertia() const { return inertia_; }
    /// The inertia that impulses change the final velocities through: M with implicit damping, or as the integrator has it.
    const TreeFactor& effective_inertia() const { return damped_ ? effective_ : inertia_; }
    /// Whether these two differ.
    bool is_damped() const { return damped_; }
    /// Whether the effective inertia is exact: the matrices of the implicit integrators are not symmetric.
    bool is_exact() const { return engine_.is_euler(); }

    std::vector<double> velocity;  ///< v_free: joint velocities after the step without contacts and constraints
    std::vector<double> before;    ///< joint velocities at the start of the step

  private:
    const Engine& engine_;
    TreeFactor inertia_, effective_;
    bool damped_ = false;
    std::vector<double> scratch_;

    void probe(Stage integrate, const TreeFactor::Pattern& pattern);
};

}  // namespace stiction::mujoco
