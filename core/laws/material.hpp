// The law of a material: friction at the points of a patch, by a friction map, and how vertices bounce.
//
// It belongs to two surfaces that touch, not to a body: the same map holds for every shape, mass and time step.
#pragma once

#include <atomic>

#include "laws/law.hpp"
#include "friction/point_friction.hpp"
#include "friction/friction_map.hpp"

namespace stiction {

/// A patch with more vertices is represented by 4 extreme ones, and in the reference law by 24 that are evenly spread.
constexpr int MAX_MATERIAL_POINTS = 8, MAX_REFERENCE_POINTS = 24;

/// An impulse (f_x, f_y, n) [N s] on a point of a patch.
struct PointImpulse {
    Vector place;  ///< relative to the centre of mass [m]
    Vector impulse;
};

/// Impulses at the points of a patch.
struct PatchImpulses {
    std::array<PointImpulse, MAX_REFERENCE_POINTS> points;
    int count = 0;
    bool stop = false;  ///< whether they are known to stop the patch
    Vector torque;      ///< of all soft points together: rolling about x and y, spin about z [N m s]

    std::span<PointImpulse> all() { return {points.data(), static_cast<std::size_t>(count)}; }
    std::span<const PointImpulse> all() const { return {points.data(), static_cast<std::size_t>(count)}; }
};

class MaterialLaw final : public Law {
  public:
    struct Options {
        bool body_axes = false;     ///< directions of slip are measured from the body's x axis seen from above, not the world's
        double compliance = 0.0;      ///< compliance, see Law
        CoulombFriction coulomb_estimate;        ///< Coulomb friction that approximates the map
        /// The reference law `CoulombLaw`: solved at every vertex, up to 24; a box by the rule of DART's Dantzig solver.
        bool reference = false;
    };
    MaterialLaw(FrictionMap map, Restitution restitution, const Options& options)
        : map_(std::move(map)), restitution_(restitution), options_(options) {
        compliance = options.compliance;
        grip = map_.rolling > 0.0 ? Grip::ALL : map_.torsion > 0.0 ? Grip::SPIN : Grip::POINTS;
    }

    /// Solve each contact for its mode, and keep its friction.
    bool bounces() const override { return restitution_.e0 > 0.0; }
    void classify(const Contacts& contacts) override;
    bool outside(const Contacts& contacts, int i) override { return contacts[i].outside; }
    CoulombFriction coulomb_estimate() const override { return options_.coulomb_estimate; }

    /// The impulses at the points of a contact's patch; none where nothing approaches the ground. Notes in the contact how
    /// it bounces, and whether it is outside of the map's training range.
    PatchImpulses solve(Contact& contact, PointFriction& problem);

    /// Contacts so far for which no solution was found.
    std::int64_t unsolved() const { return unsolved_; }

  private:
    FrictionMap map_;
    Restitution restitution_;
    Options options_;
    std::atomic<std::int64_t> unsolved_ = 0;
};

}  // namespace stiction
