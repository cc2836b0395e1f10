// Contacts of one kind in a step: points with materials (point_contacts.hpp), or links with learned laws (link_contacts.hpp).
#pragma once

#include "mujoco/engine.hpp"

namespace stiction::mujoco {

class ContactSet {
  public:
    virtual ~ContactSet() = default;

    /// Find the contacts of this step, and exclude them from MuJoCo's solver.
    /// is_first: whether it is not a later sub-step of a step
    virtual void find(bool is_first) = 0;
    virtual bool is_empty() const = 0;
    /// Solve for the impulses of these contacts, while those of the other set stay as they are.
    virtual void solve() = 0;
    /// Apply forces that bring these impulses within the step.
    virtual void apply(AppliedForces& forces) const = 0;
    /// After MuJoCo has integrated with these forces: whether it obtained the velocities that were predicted. Links evaluate
    /// their laws at the velocities obtained; `solve` then steps toward the laws' impulses.
    virtual bool converged() = 0;
    /// Add the step to the statistics, and remember what the next step needs.
    virtual void commit(bool is_first) = 0;
    /// Move positions, but not velocities, so that penetration becomes less.
    virtual void recover_penetration() = 0;
};

}  // namespace stiction::mujoco
