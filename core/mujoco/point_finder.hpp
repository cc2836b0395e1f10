// Finds the points where bodies touch by laws of pairs, among MuJoCo's contacts.
#pragma once

#include <vector>

#include "mujoco/kinematics.hpp"
#include "mujoco/point_memory.hpp"
#include "mujoco/settings.hpp"
#include "mujoco/user_moved.hpp"

namespace stiction::mujoco {

class PointFinder {
  public:
    PointFinder(const Engine& engine, const Kinematics& kinematics, const std::vector<PairLaw>& laws, PairTable table,
                const Settings& settings)
        : engine_(engine), kinematics_(kinematics), laws_(laws), table_(std::move(table)), settings_(settings) {}

    /// Exclude contacts with laws from MuJoCo's solver, and those that are listed only because the gap was raised.
    /// Returns for each body whether it has a law, but touches something by MuJoCo's own contact.
    std::vector<char> exclude() const;

    /// All points with laws that MuJoCo lists.
    std::vector<ContactPoint> find(const UserMovedBodies& moved) const;

    /// Points to solve for, and points that may have to be added.
    struct Choice {
        std::vector<ContactPoint> pressing, waiting;
    };
    /// Choose the points that press or will: others wait, and those that cannot close their gap in this step are dropped.
    Choice choose(const std::vector<ContactPoint>& points, const double* free_velocity, const PointMemory& memory) const;

  private:
    const Engine& engine_;
    const Kinematics& kinematics_;
    const std::vector<PairLaw>& laws_;
    PairTable table_;
    const Settings& settings_;

    ContactPoint point_of(const EngineContact& contact, int law, const UserMovedBodies& moved) const;
    bool is_same(const ContactPoint& a, const ContactPoint& b) const;
};

}  // namespace stiction::mujoco
