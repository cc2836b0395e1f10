// The inputs of a learned law: a contact as seen from its patch, dimensionless and folded by symmetry.
//
// The frictionless normal impulse N0 is known. Tangent coordinates at the patch's centre are (x, y, L yaw) with L the
// patch's radius; u is the tangent velocity after N0, C the response to friction while the loaded points stay down, and
// q = -C^-1 u the friction that would stop the patch. Impulses are divided by N0 and squeezed by a / (1 + |a|).
#pragma once

#include "contact/contact.hpp"
#include "friction/points.hpp"

namespace stiction {

/// Symmetry of a friction law about the vertical by which contacts are folded into one sector.
enum class Fold { NONE, MIRROR, MIRROR_SWAP, HEADING };

/// Which numbers describe a contact: as it looks from its patch, or the body's state with its orientation written so.
enum class Inputs { CONTACT, MATRIX, QUATERNION, EULER, AXIS_ANGLE };

/// How many numbers describe a contact of a kind as it looks from its patch, but for the absolute ones.
constexpr int features_of(Kind kind) { return kind == Kind::POINT ? 18 : kind == Kind::LINE ? 53 : 71; }
/// Loads and speeds: of the whole patch, of two points of a line and of four of a surface.
constexpr int absolute_features_of(Kind kind) { return kind == Kind::POINT ? 2 : kind == Kind::LINE ? 6 : 10; }

struct Recipe {
    Fold fold = Fold::MIRROR_SWAP;
    CoulombFriction friction{0.5, 0.5, false};  ///< of the Coulomb guess
    bool guess = true;                        ///< whether there is one
    bool scaled = true;   ///< impulses in units of the frictionless normal impulse, or of the mass
    Inputs inputs = Inputs::CONTACT;
    bool centre = true, slip = true;          ///< the paper's two redundant features, of the state
    double mass = 1.0;                        ///< of the body [kg]
    bool absolute = false;                    ///< also loads [N] and speeds [m/s], on which the other inputs do not depend
    std::shared_ptr<Law> material;            ///< whose friction is the guess, instead of the one above
};

/// Describe every contact that needs a normal impulse. With a material, its modes are written into the contacts, its
/// impulses too, and its friction is what they `found`. One that needs none, since nothing approaches, gets no
/// description: it detaches.
void describe(const Contacts& contacts, const Recipe& recipe);

/// The friction at the patch's centre for what a regressor adds to the guess.
Friction friction_from(const Description& description, const double* output);
/// What a regressor should add to the guess for an observed impulse; the inverse of `friction_from`.
void target_of(const Contact& contact, const Wrench& p, double* out);
/// The whole impulse from its standard form at the patch, six numbers.
Wrench impulse_from(const Contact& contact, const double* output);
/// The standard form of an observed impulse; the inverse of `impulse_from`.
void whole_target(const Contact& contact, const Wrench& p, double* out);

}  // namespace stiction
