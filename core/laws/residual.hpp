// A small network for what the parameters of an impact law leave: corrections of friction and restitution.
//
// Inputs describe the contact relative to the direction of its slip, so that turning the world turns nothing else.
// Mirrored across the slip, a contact must do the mirror image: the network is asked about both, and what must be even
// (friction, restitution) is their mean, what must be odd (the direction of friction) half their difference.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "../contact.hpp"

namespace stiction {

/// What the network changes.
struct Correction {
    double log_friction = 0.0;
    double turn = 0.0;  ///< of friction [rad]
    double log_restitution = 0.0;
};

class ResidualNetwork {
  public:
    static constexpr int INPUTS = 10, OUTPUTS = 3;

    ResidualNetwork() = default;
    /// inner: weights and bias of each unit, (units, INPUTS + 1); outer: (OUTPUTS, units)
    ResidualNetwork(std::vector<double> inner, std::vector<double> outer)
        : inner_(std::move(inner)), outer_(std::move(outer)), units_(static_cast<int>(inner_.size()) / (INPUTS + 1)) {}

    bool empty() const { return units_ == 0; }

    /// approach: speed of the contact's fastest vertex towards the ground before the step [m/s]
    Correction correction(const Contact& contact, const Normal& normal, double approach) const {
        std::array<double, INPUTS> x = inputs(contact, normal, approach);
        for (double& value : x) value = std::clamp(value, -3.0, 3.0);
        const Correction seen = evaluate(x);
        for (int k = ODD; k < INPUTS; ++k) x[k] = -x[k];
        const Correction mirrored = evaluate(x);
        const auto bounded = [](double sum) { return std::clamp(0.5 * sum, -LARGEST, LARGEST); };
        return {bounded(seen.log_friction + mirrored.log_friction), bounded(seen.turn - mirrored.turn),
                bounded(seen.log_restitution + mirrored.log_restitution)};
    }

  private:
    static constexpr int ODD = 7;            // inputs from here on change their sign in the mirror
    static constexpr double LARGEST = 0.5;   // answers stay within this: the network corrects, it does not decide

    std::vector<double> inner_, outer_;
    int units_ = 0;

    /// Of a contact, each of order one.
    static std::array<double, INPUTS> inputs(const Contact& c, const Normal& normal, double approach) {
        const double N = normal.p_z, half = 0.5 * c.diameter;
        const double mass = c.mobility.linear.x > 0.0 ? 1.0 / c.mobility.linear.x : 1.0;
        const Twist& v = c.in_system ? c.free : c.velocity;
        const Vector at{-normal.m_y / N, normal.m_x / N, c.centre.z}, slip = v.at(at);
        const Vector& w = v.angular;
        const double s = std::sqrt(slip.x * slip.x + slip.y * slip.y);
        const double ex = s > 1e-9 ? slip.x / s : 1.0, ey = s > 1e-9 ? slip.y / s : 0.0;
        return {std::log10(std::max(s, 0.01) / 0.3),
                std::log10(N / mass / 0.1 + 1e-3),
                (ex * at.x + ey * at.y) / half,
                -at.z / half - 0.8,
                c.radius / half,
                std::log10(std::max(approach, 0.003) / 0.1),
                (ex * w.y - ey * w.x) * half / 0.5,  // rolling on in the direction of the slip
                (ex * at.y - ey * at.x) / half,
                (ex * w.x + ey * w.y) * half / 0.5,
                w.z * half / 0.5};
    }

    Correction evaluate(const std::array<double, INPUTS>& x) const {
        Correction sum;
        for (int u = 0; u < units_; ++u) {
            const double* weights = inner_.data() + u * (INPUTS + 1);
            double a = weights[INPUTS];
            for (int k = 0; k < INPUTS; ++k) a += weights[k] * x[k];
            a = std::tanh(a);
            sum.log_friction += outer_[u] * a;
            sum.turn += outer_[units_ + u] * a;
            sum.log_restitution += outer_[2 * units_ + u] * a;
        }
        return sum;
    }
};

}  // namespace stiction
