// D(q): from a pose to the contact patch on the ground plane z = 0.
//
// The patch is the convex hull of the touching vertices. It is never copied out: it is a run of one face's loop, or a
// list where several faces touch, so that a face of a thousand corners costs no more than one of four.
#pragma once

#include "contact/contact.hpp"

namespace stiction {

/// A vertex touches when it lies below this height [m]: far above rounding, so that a resting patch keeps its kind, and
/// far below any motion that matters.
constexpr double TOUCH = 5e-9;

/// Fill the patch of a contact from its hull, rotation, height and touch; false when nothing touches.
/// found: memory for the numbers of the hull's vertices
bool detect(Contact& contact, std::int32_t* found);

}  // namespace stiction
