// ALGORITHM 1 of the paper: the contact impulse of a rigid body, for any law, and the guards that keep it safe.
#pragma once

#include "contact/contact.hpp"
#include "laws/law.hpp"

namespace stiction {

/// Algorithm 1, p = H(q, v1, P): the impulse of each contact about the centre of mass, and the mode that it realises.
/// Line 1, v1 = v + h M^-1 tau, is already in the contacts' velocities.
void algorithm1(Law& law, const Contacts& contacts);

/// Guard: whether a body at rest stays at rest without any friction, so that its patch is static for every law. Its twist
/// is zero, and the frictionless impulse on its surface (a line, if it is planar) stops it: its centre of mass lies over it.
bool stays_at_rest(const Contact& contact, const Law& law);

/// Lines 4-6: the impulse that stops the patch. Guard: if it would pull anywhere, only its friction part is kept.
Mode stop_patch(Contact& contact, double compliance);

/// Lines 9-11 for a given friction. Guards: no friction without normal impulse, and contact never adds energy
/// (energy.hpp).
Mode slide_patch(Contact& contact, const Friction& friction, double compliance);

/// A law's friction, or none where it is not finite or absurdly large beside the momentum of the body: the guard on energy
/// squares it, and would overflow.
Friction within_reason(const Contact& contact, const Friction& friction);

/// T_f p_f: the wrench about the centre of mass of a friction at `centre`; zero where it is not finite.
Wrench friction_wrench(const Vector& centre, const Friction& friction, double scale = 1.0);

/// The friction at the patch's centre of an impulse that stops the patch.
Friction friction_part(const Contact& contact, const Wrench& p);

/// Return whether the centre of pressure of an impulse lies inside the contact patch.
bool presses_within(const Contact& contact, const Wrench& p);

/// The same friction with the torques (m_x, m_y) that its spin has on a line whose ends lie at unequal depths.
Friction tilted(const Contact& contact, Friction friction);

}  // namespace stiction
