// The law of a material: friction at the points of a patch, by a friction map, and how vertices bounce.
//
// It belongs to two surfaces that touch, not to a body: the same map holds for every shape, mass and time step.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "laws/law.hpp"
#include "friction/point_friction.hpp"
#include "friction/friction_map.hpp"
#include "friction/point_impulses.hpp"

namespace stiction {

/// Of a patch with more than so many vertices, a few stand for all.
constexpr int MATERIAL_POINTS = 8;

/// Impulses at the points of a patch, as many as there are.
struct PatchImpulses {
    std::array<PointImpulse, MATERIAL_POINTS> points;
    int count = 0;
    bool stop = false;  ///< whether they are known to stop the patch

    std::span<PointImpulse> all() { return {points.data(), static_cast<std::size_t>(count)}; }
    std::span<const PointImpulse> all() const { return {points.data(), static_cast<std::size_t>(count)}; }
};

class MaterialLaw final : public Law {
  public:
    /// body_axes: directions of slip are told in the axes of the body, by its x axis seen from above; else in the world's
    MaterialLaw(FrictionMap map, Restitution restitution, bool body_axes, double softness_, RoughFriction rough)
        : map_(std::move(map)), restitution_(restitution), body_axes_(body_axes), rough_(rough) {
        softness = softness_;
    }

    /// Solve each contact for its mode, and keep its friction.
    bool bounces() const override { return restitution_.e0 > 0.0; }
    void classify(const Contacts& contacts) override;
    bool outside(const Contacts& contacts, int i) override { return contacts[i].outside; }
    RoughFriction rough() const override { return rough_; }

    /// The impulses at the points of a contact's patch; none where nothing approaches the ground. Notes in the contact how
    /// it bounces, and whether it lies outside of what the map has seen.
    PatchImpulses solve(Contact& contact, PointFriction& problem);

    /// Contacts so far for which no solution was found.
    std::int64_t unsolved() const { return unsolved_; }

  private:
    FrictionMap map_;
    Restitution restitution_;
    bool body_axes_;
    RoughFriction rough_;
    std::atomic<std::int64_t> unsolved_ = 0;

};

}  // namespace stiction
