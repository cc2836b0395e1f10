// Coulomb friction at every touching vertex, or at 24 of more, solved exactly: the reference law, the oracle of the tests.
//
// A box is the law of DART's Dantzig solver: |f_x| <= mu_x n0 and |f_y| <= mu_y n0 with n0 the frictionless normal
// impulse, world axes. A round cone is |(f_x / mu_x, f_y / mu_y)| <= n with the actual normal impulse n and friction of
// greatest dissipation; an ellipse where mu_x and mu_y differ.
#pragma once

#include <algorithm>
#include <vector>

#include "math/dense.hpp"
#include "laws/law.hpp"

namespace stiction {

class CoulombLaw final : public Law {
  public:
    CoulombLaw(RoughFriction friction, double softness_) : friction_(friction) { softness = softness_; }

    /// Solve each contact for its mode, and keep its friction.
    void classify(const Contacts& contacts) override;
    RoughFriction rough() const override { return friction_; }

  private:
    RoughFriction friction_;
};

/// At most so many vertices of a patch are solved for: the work grows with the cube of their number.
constexpr int MOST_SOLVED = 24;

/// The vertices of a patch that are solved for: all, or some that are spread evenly.
struct SolvedVertices {
    const Contact& contact;
    int count;

    explicit SolvedVertices(const Contact& c) : contact(c), count(static_cast<int>(std::min<std::int64_t>(c.count, MOST_SOLVED))) {}

    Vector point(int k) const { return contact.point(static_cast<int>(k * contact.count / count)); }
};

/// The problem of all vertices: rows J from the twist to the velocities of the m contact points (all z, then x and y of
/// one after another), response A = J M^-1 J^T, softened on its diagonal, and velocities b = J v1.
struct VertexProblem {
    Matrix J, A;
    std::vector<double> b;

    /// even: soften x and y alike, so that turning the contact about the vertical only turns the solution
    VertexProblem(const Contact& contact, double softness, bool even);
};

}  // namespace stiction
