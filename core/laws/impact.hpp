// A contact law for real bodies: impacts bounce, and friction follows the slip while an impact builds up.
//
// Within Algorithm 1, C sets the restitution of the vertices and returns dynamic unless the body comes to rest, and R is
// the friction of greatest dissipation of the patch as a whole.
#pragma once

#include "laws/law.hpp"
#include "friction/friction_map.hpp"
#include "math/vectors.hpp"

namespace stiction {

struct Sliding;

/// How body and ground touch. Usual values are in laws/impact.py.
struct ImpactMaterial {
    Restitution restitution;
    double restitution_lever;  ///< relative growth of restitution where a push mostly turns the body
    double friction;         ///< coefficient without load, at a slip of 0.3 m/s
    double friction_loaded;  ///< ... and under infinite load
    double friction_load;    ///< force at which the coefficient has come half the way from one to the other [N]
    double friction_rise;    ///< relative growth of `friction` with each factor of ten in slip speed
    double spin;             ///< radius of friction against spinning, relative to the patch's radius
    double lag;              ///< share of an impact by which friction follows the slip late
    int parts;               ///< in which an impact builds up
};

/// How the bodies of a batch differ from each other: a row for each of them, or one row for all.
class BodyFactors {
  public:
    /// values: rows of `columns` numbers: factors of friction and of restitution, then turns of friction [rad]
    BodyFactors(std::vector<double> values, int columns)
        : values_(std::move(values)), columns_(columns), rows_(static_cast<int>(values_.size()) / columns) {}

    double friction(std::int64_t body) const { return row(body)[0]; }
    double restitution(std::int64_t body) const { return row(body)[1]; }
    /// By how much friction is turned in a body's impact of this number [rad]; one turn alone stands for none.
    double turn(std::int64_t body, std::int64_t impact) const {
        const int turns = columns_ - 2;
        return turns < 2 ? 0.0 : row(body)[2 + impact % turns];
    }

  private:
    std::vector<double> values_;
    int columns_, rows_;

    const double* row(std::int64_t body) const { return values_.data() + (body % rows_) * columns_; }
};

/// Factors of friction and of restitution, as a material has them, beside the parameters of an impact law.
struct Residual {
    FrictionMap friction;  ///< its coefficient is the factor of friction
    Spline restitution;    ///< logarithm of the factor of restitution, by that of the approach speed [m/s]

    /// The factor of friction for a slip, at `speed` with its spin, under a normal impulse that acts for `duration`.
    double of_friction(const Vector& slip, double speed, double impulse, double duration) const {
        if (!friction.varies()) return friction.scale;
        const double size = std::sqrt(slip.x * slip.x + slip.y * slip.y);
        const double c = size > 0.0 ? slip.x / size : 0.0, s = size > 0.0 ? slip.y / size : 0.0;  // no slip, no direction
        return friction.limit(friction.at(speed, impulse, duration), impulse, c, s, duration).size / impulse;
    }

    /// approach: speed of the contact's fastest vertex towards the ground before the step [m/s]
    double of_restitution(double approach) const {
        return restitution.exists() ? std::exp(restitution(std::log(std::max(approach, 1e-300))).value) : 1.0;
    }
};

class ImpactLaw final : public Law {
  public:
    ImpactLaw(const ImpactMaterial& material, BodyFactors each, Residual residual);

    /// Solves each contact for its mode and, on the way, for its friction.
    void classify(const Contacts& contacts) override;
    bool bounces() const override { return material_.restitution.e0 > 0.0; }
    CoulombFriction coulomb_estimate() const override { return {material_.friction, material_.friction, true}; }

  private:
    ImpactMaterial material_;
    BodyFactors each_;
    Residual residual_;

    /// What friction depends on, beside the slip.
    struct Load {
        double duration;      ///< in which the normal impulse acts [s]
        int parts;            ///< in which it comes
        double factor;        ///< of the coefficient of friction
        double turn;          ///< of friction [rad]
        double normal = 0.0;  ///< the normal impulse [N s]
        double radius = 0.0;  ///< of friction against spinning [m]
    };

    Mode solve(Contact& contact) const;
    Vector set_pressure(const Contact& contact, const Normal& normal, Load& load) const;
    bool can_stop(Contact& contact, Load load) const;
    double coefficient(const Vector& slip, const Load& load) const;
    /// Friction (p_x, p_y, m_z) at the centre of pressure of a normal impulse that comes in parts.
    Vector build_up(const Sliding& sliding, const Load& load) const;
};

}  // namespace stiction
