// What the data decides: the classifier C and the regressor R of the paper.
#pragma once

#include "contact/contact.hpp"

namespace stiction {

/// A Coulomb law that is roughly a given law: a place to begin a search. Negative: none is known.
struct RoughFriction {
    double mu_x = -1.0, mu_y = -1.0;
    bool round = true;  ///< the cone: round (elliptic), or a box along the axes
};

class Law {
  public:
    virtual ~Law() = default;

    /// C(q, v1): write the mode of each contact.
    virtual void classify(const Contacts& contacts) = 0;
    /// R(q, v1): write the friction of each contact whose mode is DYNAMIC. `classify` was asked about them before; what
    /// it found on its way to the modes is taken, unless a law says otherwise.
    virtual void friction(const Contacts& contacts) {
        for (Contact& c : contacts)
            if (c.mode == Mode::DYNAMIC) c.friction = c.found;
    }
    /// Impulse and mode of each contact: Algorithm 1, unless a law answers with whole impulses by itself.
    virtual void respond(const Contacts& contacts);
    /// Whether contact i, as classified last, lies outside of what the law was trained on.
    virtual bool outside(const Contacts& /*contacts*/, int /*i*/) { return false; }
    virtual RoughFriction rough() const { return {}; }
    /// Whether contacts may bounce: then `classify` writes how, which must not depend on v1 of links in a system.
    virtual bool bounces() const { return false; }
    /// Whether a contact that rests gets the same answer whenever it is asked about again.
    virtual bool repeats_itself() const { return true; }

    /// Share of its own response by which a loaded contact yields; 0 is rigid and exact.
    double softness = 0.0;
    /// Rate at which what a body moves in slows it and its spin [1/s]; only for steps that are cut at impacts.
    double drag = 0.0;
};

}  // namespace stiction
