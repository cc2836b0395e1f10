// FrictionlessLCP, line 10 of Algorithm 1: the normal impulse of one body.
//
// The problem is stated in frictionless_lcp.hpp. Patches of one or two vertices, and faces that press as a whole, have
// closed forms; all others are solved by the methods given there.
#pragma once

#include "contact/contact.hpp"
#include "contact/frictionless_lcp.hpp"

namespace stiction {

/// The normal impulse after which every touching vertex separates at its target speed or faster.
///
/// before: twist before the normal impulse
/// compliance: see Law
Normal normal_impulse(const Contact& contact, const Twist& before, double compliance = 0.0, Targets targets = {});

}  // namespace stiction
