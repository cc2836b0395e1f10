// The motion of a step without contacts and constraints, and the inertia that impulses act on.
#pragma once

#include "mujoco/engine.hpp"
#include "mujoco/tree_factor.hpp"

namespace stiction::mujoco {

class FreeMotion {
  public:
    explicit FreeMotion(const Engine& engine) : engine_(engine) {}

    /// Find the motion with the forces that are applied now.
    void find() {
        engine_.accelerate();
        const Model& m = engine_.model;
        const Data& d = engine_.data;
        const TreeFactor::Pattern pattern{*m.M_rowadr, *m.M_rownnz, *m.M_colind, m.nv};
        const double h = engine_.timestep();
        inertia_.take(pattern, *d.qLD, *d.qLDiagInv);
        velocity.resize(m.nv);
        before.assign(*d.qvel, *d.qvel + m.nv);
        damped_ = true;
        if (!engine_.is_euler() || m.has_nonlinear_damping()) {
            probe(engine_.is_euler() ? engine_.functions.Euler : engine_.functions.implicit, pattern);
            return;
        }
        const double* damping = *m.dof_damping;
        const bool damps = !engine_.is_disabled(engine_.constants.no_eulerdamp | engine_.constants.no_damper);
        damped_ = damps && std::any_of(damping, damping + m.nv, [](double x) { return x != 0.0; });
        if (damped_) {
            scratch_.assign(damping, damping + m.nv);
            for (double& x : scratch_) x *= h;
            effective_.factor(pattern, *d.M, scratch_);
            std::copy(*d.qfrc_smooth, *d.qfrc_smooth + m.nv, velocity.begin());
            effective_.solve(velocity.data());
        } else {
            std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, velocity.begin());
        }
        for (int k = 0; k < m.nv; ++k) velocity[k] = (*d.qvel)[k] + h * velocity[k];
    }

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

    /// Find it by MuJoCo's own integrator, whose step is then rolled back.
    void probe(Stage integrate, const TreeFactor::Pattern& pattern) {
        const Model& m = engine_.model;
        const Data& d = engine_.data;
        std::vector<double> state;
        engine_.get_state(state);
        std::copy(*d.qacc_smooth, *d.qacc_smooth + m.nv, *d.qacc);
        std::fill(*d.qfrc_constraint, *d.qfrc_constraint + m.nv, 0.0);
        engine_.run(integrate);
        std::copy(*d.qvel, *d.qvel + m.nv, velocity.begin());
        engine_.set_state(state);
        if (*m.integrator != engine_.constants.implicit) {
            effective_.take(pattern, *d.qH, *d.qHDiagInv);
            return;
        }
        // The matrix of the implicit integrator is not symmetric; the convergence loop corrects what its symmetric part lacks.
        const int size = m.nv > 0 ? pattern.first[m.nv - 1] + pattern.count[m.nv - 1] : 0;
        scratch_.assign(*d.M, *d.M + size);
        for (int k = 0; k < size; ++k) scratch_[k] -= engine_.timestep() * (*d.qDeriv)[(*m.mapD2M)[k]];
        effective_.factor(pattern, scratch_.data(), {});
        if (!effective_.is_positive()) effective_.take(pattern, *d.qLD, *d.qLDiagInv);  // fast spins can make it indefinite
    }
};

}  // namespace stiction::mujoco
