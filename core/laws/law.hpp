// A contact law: the classifier C and the regressor R of the paper.
#pragma once

#include "contact/contact.hpp"

namespace stiction {

/// Coefficients of a Coulomb law that approximates a given law, where a search may start. Negative: unknown.
struct CoulombFriction {
    double mu_x = -1.0, mu_y = -1.0;
    bool round = true;  ///< the cone: round (elliptic), or a box along the axes
};

/// How corners near the ground are treated in steps that are cut at impacts. There, a touching corner sinks only because
/// its path is curved, by micrometres in a step, which can be taken back at once.
struct NearGround {
    double touch_share = 1e-3;      ///< a vertex touches below this share of the diameter, and below CUT_TOUCH
    double recovery_share = 1.0;    ///< of a vertex's depth, in each part of a step
    double recovery_speed = 1e-2;   ///< [m/s] the fastest correction
};

class Law {
  public:
    virtual ~Law() = default;

    /// C(q, v1): write the mode of each contact.
    virtual void classify(const Contacts& contacts) = 0;
    /// R(q, v1): write the friction of each contact whose mode is DYNAMIC, after `classify`. By default the friction that
    /// `classify` found on its way to the modes.
    virtual void friction(const Contacts& contacts) {
        for (Contact& c : contacts)
            if (c.mode == Mode::DYNAMIC) c.friction = c.found;
    }
    /// Write impulse and mode of each contact: Algorithm 1, unless a law predicts whole impulses.
    virtual void respond(const Contacts& contacts);
    /// Whether contact i, as classified last, is outside of the law's training range.
    virtual bool outside(const Contacts& /*contacts*/, int /*i*/) { return false; }
    virtual CoulombFriction coulomb_estimate() const { return {}; }
    /// Whether contacts may bounce: then `classify` writes their restitution, which must not depend on v1 of links.
    virtual bool bounces() const { return false; }
    /// Whether `respond` predicts whole impulses, without Algorithm 1 and its guards.
    virtual bool predicts_impulses() const { return false; }
    /// Whether equal contacts always get equal answers.
    virtual bool repeats_itself() const { return true; }

    /// Compliance: the diagonal of the Delassus operator is scaled by 1 + compliance; 0 is rigid and exact. `softness` in
    /// Python.
    double compliance = 0.0;
    /// Rate at which the medium slows a body and its spin [1/s]; only for steps that are cut at impacts.
    double drag = 0.0;
    /// What its static contacts hold.
    Grip grip = Grip::POINTS;
    NearGround near_ground;
};

}  // namespace stiction
