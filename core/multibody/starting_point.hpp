// Where Algorithm 2 starts: friction of all links together by approximate Coulomb laws, with a few Gauss-Seidel sweeps.
//
// The law of a light foot of a heavy robot sees only the foot's small momentum, so that its friction moves in small steps.
// Coulomb's law for the whole system does not have this problem, and starts the search near its end.
//
// Unknowns: of each point a normal impulse n and a friction f; the conditions are those of friction/point_friction.hpp, with
// limits of friction mu n. A sweep takes n <- max(0, n - w_z / A_zz), then f <- P(f - w_xy / A_xy) at each point. It works on
// the twists of the links instead of all points' velocities, which PointFriction does: there are fewer of them.
#pragma once

#include "contact/contact.hpp"
#include "multibody/coupled.hpp"
#include "math/dense.hpp"
#include "laws/law.hpp"

namespace stiction {

class StartingPoint {
  public:
    /// Find friction of all links; whether any point that carries load slides by it.
    ///
    /// V: twists without contact, (6 n,); L: see Balance::mobility
    /// coulomb_estimate, slip_projection: of each link
    bool find(const Contacts& contacts, const double* V, const Matrix& L, std::span<const CoulombFriction> coulomb_estimate,
              std::span<const SlipProjection> slip_projection);

    /// Friction at the centre of each patch.
    std::span<const Friction> friction() const { return friction_; }

  private:
    /// A point that stands for its patch, with others: see friction/points.hpp.
    struct Point {
        int link;
        Vector place;         // relative to the centre of mass
        Vector own;           // 1 / how fast it moves for a unit impulse along x, y and z; 0 without mobility
        Vector pushed;        // its velocity for a unit impulse along z
        Vector impulse;
        double *x, *y, *z;    // how all twists follow a unit impulse along x, y and z
    };
    template <int Size> struct Sweep;
    struct Fastest {
        double up = 0.0, along = 0.0;
    };

    std::vector<Point> points_;
    std::vector<double> twist_;     // of all links, with the impulses so far
    std::vector<double> response_;  // of all twists to all points
    std::vector<Friction> friction_;

    void add_point(int link, const Vector& place, const Matrix& L);
    static Vector velocity(const Point& point, const double* twists) {
        return twist_from(twists + 6 * point.link).at(point.place);
    }
    Fastest fastest(double least) const;
};

}  // namespace stiction
