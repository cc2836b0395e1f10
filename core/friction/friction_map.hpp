// Friction at one point of contact, as a material has it.
//
//     mu(theta, v, N) = scale exp(D(theta) + S(ln v) + L(ln N)) + min(viscosity v / N, 10)
//
// theta: direction of slip, v: speed of slip at the start of the step [m/s], N: load of the point [N]. D is a Fourier
// series, S and L are cubic splines. Outside of the speeds and loads that were seen, S and L keep their last value.
// A soft contact also resists turning: by a torque of up to torsion N about the normal, and of up to rolling N about the axes
// across it.
#pragma once

#include "math/vectors.hpp"

namespace stiction {

/// A cubic B-spline over equidistant knots; without coefficients it is zero.
class Spline {
  public:
    struct Value {
        double value = 0.0, slope = 0.0;
    };

    Spline() = default;
    /// coefficients: none, or at least four; the spline covers begin to begin + (their number - 3) step
    Spline(double begin, double step, std::vector<double> coefficients, double low, double high)
        : begin_(begin), step_(step), coefficients_(std::move(coefficients)), low_(low), high_(high) {}

    bool exists() const { return !coefficients_.empty(); }
    /// Whether x was seen.
    bool covers(double x) const { return !exists() || (x >= low_ && x <= high_); }

    Value operator()(double x) const {
        if (!exists()) return {};
        const double held = x > low_ ? std::min(x, high_) : low_;  // NaN counts as the least
        const int last = static_cast<int>(coefficients_.size()) - 4;
        const double place = (held - begin_) / step_;
        const int k = place > 0.0 ? static_cast<int>(std::min(place, static_cast<double>(last))) : 0;
        const double t = place - k, s = 1 - t;
        const double* c = coefficients_.data() + k;
        const double value = (s * s * s * c[0] + (4 - 6 * t * t + 3 * t * t * t) * c[1] +
                              (4 - 6 * s * s + 3 * s * s * s) * c[2] + t * t * t * c[3]) * (1 / 6.0);
        if (held != x) return {value, 0.0};
        const double slope = (-s * s * c[0] + (-4 * t + 3 * t * t) * c[1] + (4 * s - 3 * s * s) * c[2] + t * t * c[3]) /
                             (2 * step_);
        return {value, slope};
    }

  private:
    double begin_ = 0.0, step_ = 1.0;
    std::vector<double> coefficients_;
    double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
};

/// D at one contact of a body with a texture: a Fourier series of the direction of slip.
struct TextureSeries {
    static constexpr int HARMONICS = 4;
    double mean = 0.0;
    std::array<double, HARMONICS> cosines{}, sines{};
};

class FrictionMap;

/// A point before its friction is solved.
struct SlidingPoint {
    const FrictionMap* map = nullptr;  ///< of its surfaces
    double speed = 0.0;        ///< of slip at the start of the step [m/s]
    double coefficient = 0.0;  ///< scale exp(S): without direction and load
    double viscous = 0.0;      ///< friction impulse that grows with speed alone [N s]
    const TextureSeries* texture = nullptr;  ///< of its contact, if the body has one
    double fixed = -1.0;       ///< the normal impulse that limits friction, if it is known; negative: the actual one [N s]
    double load_time = 1.0;    ///< over which its normal impulse acts, as a share of the step: the load is n over this time
};

/// The greatest friction impulse at a point [N s], and how it changes.
struct Limit {
    double size = 0.0;
    double by_load = 0.0;  ///< with the normal impulse
    double by_turn = 0.0;  ///< with the direction of slip [1 / rad]

    friend Limit operator*(double s, const Limit& a) { return {s * a.size, s * a.by_load, s * a.by_turn}; }
};

enum class Cone { ROUND, BOX };

class FrictionMap {
  public:
    double scale = 0.0;
    double stretch_x = 1.0, stretch_y = 1.0;   ///< of an elliptic cone: factors along the axes
    std::vector<double> cosines, sines;        ///< of D, from the first harmonic on
    Spline speed, load;                        ///< S and L
    double viscosity = 0.0;                    ///< [N s / m]
    Cone cone = Cone::ROUND;
    bool frictionless_limit = false;           ///< friction is limited by the normal impulse that there would be without it
    double torsion = 0.0, rolling = 0.0;       ///< [m]; negative: as the surfaces have it, which is none unless they say so
    /// Coefficients of D over the direction of slip b in the axes of the body: of the monomials x^i y^j z^k with k = 0 or 1 by
    /// their degree, 1 to 4 at most: those of lower degree come first, then k = 0, then falling i.
    std::vector<double> texture;

    /// Whatever the load, viscous friction adds no more than this to the coefficient: a point without load has none.
    static constexpr double MOST_VISCOUS = 10.0;

    /// Whether friction depends on anything at all.
    bool varies() const { return !cosines.empty() || !texture.empty() || speed.exists() || load.exists() || viscosity > 0.0; }

    /// n0: the point's frictionless normal impulse [N s]
    SlidingPoint at(double slip_speed, double n0, double timestep) const {
        SlidingPoint point;
        point.map = this;
        point.speed = slip_speed;
        point.coefficient = speed.exists() ? scale * std::exp(speed(std::log(std::max(slip_speed, 1e-300))).value) : scale;
        point.viscous = viscosity * slip_speed * timestep;
        if (frictionless_limit) point.fixed = std::max(0.0, n0);
        return point;
    }

    /// At a point with normal impulse n that slips along (c, s), a unit vector.
    Limit limit(const SlidingPoint& point, double n, double c, double s, double timestep) const {
        const bool fixed = point.fixed >= 0.0;
        const double pressing = fixed ? point.fixed : n;
        if (!(pressing > 0.0)) return {};
        double exponent = 0.0, turn = 0.0, power = 0.0;
        if (!cosines.empty()) add_direction(cosines, sines, c, s, exponent, turn);
        if (point.texture != nullptr) {
            exponent += point.texture->mean;
            add_direction(point.texture->cosines, point.texture->sines, c, s, exponent, turn);
        }
        if (load.exists()) {
            const auto [value, slope] = load(std::log(pressing / (point.load_time * timestep)));
            exponent += value, power = slope;
        }
        const double mu = exponent != 0.0 ? point.coefficient * std::exp(exponent) : point.coefficient;
        const double viscous = std::min(point.viscous, MOST_VISCOUS * pressing);
        Limit limit{mu * pressing + viscous, mu * (1 + power), mu * pressing * turn};
        if (viscous < point.viscous) limit.by_load += MOST_VISCOUS;
        if (fixed) limit.by_load = 0.0;
        return limit;
    }

    /// D at a contact whose axes x and y are these vectors of the body. On the circle of directions of slip, a polynomial of
    /// degree 4 is a Fourier series of 4 harmonics: 12 values determine it.
    TextureSeries texture_at(const Vector& x, const Vector& y) const {
        constexpr int values = 12;
        constexpr std::array<double, values> cosine{1, 0.86602540378443864676, 0.5, 0, -0.5, -0.86602540378443864676,
                                                    -1, -0.86602540378443864676, -0.5, 0, 0.5, 0.86602540378443864676};
        TextureSeries series;
        for (int n = 0; n < values; ++n) {
            const double c = cosine[n], s = cosine[(n + 9) % values];
            const double value = textured(c * x + s * y) / values;
            series.mean += value;
            for (int j = 1; j <= TextureSeries::HARMONICS; ++j) {
                series.cosines[j - 1] += 2 * value * cosine[j * n % values];
                series.sines[j - 1] += 2 * value * cosine[(j * n + 9) % values];
            }
        }
        return series;
    }

    /// Whether a point's speed and load were seen when the map was learned.
    bool covers(const SlidingPoint& point, double n, double timestep) const {
        const double pressing = point.fixed >= 0.0 ? point.fixed : n;
        return speed.covers(std::log(std::max(point.speed, 1e-300))) &&
               (!(pressing > 0.0) || load.covers(std::log(pressing / (point.load_time * timestep))));
    }

  private:
    /// D for a direction in the axes of the body.
    double textured(const Vector& b) const {
        double sum = 0.0;
        std::size_t at = 0;
        for (int degree = 1; at < texture.size(); ++degree)
            for (int k = 0; k <= 1; ++k)
                for (int i = degree - k; i >= 0; --i) {
                    double term = k == 1 ? b.z : 1.0;
                    for (int n = 0; n < i; ++n) term *= b.x;
                    for (int n = i; n < degree - k; ++n) term *= b.y;
                    sum += texture[at++] * term;
                }
        return sum;
    }

    /// Add D(theta) and its derivative for theta with this cosine and sine, harmonic by harmonic.
    static void add_direction(std::span<const double> cosine, std::span<const double> sine, double c, double s,
                              double& value, double& slope) {
        double a = c, b = s;  // cosine and sine of j theta
        for (std::size_t k = 0; k < cosine.size(); ++k) {
            const double j = static_cast<double>(k) + 1;
            value += cosine[k] * a + sine[k] * b;
            slope += j * (sine[k] * a - cosine[k] * b);
            const double next = a * c - b * s;
            b = a * s + b * c, a = next;
        }
    }
};

}  // namespace stiction
