// Small value types of rigid-body mechanics: vectors, rotations, twists, wrenches and what an impulse does to a body.
//
// Types that are templates serve one body (T = double) and several side by side (T = Wide, see simd.hpp) with the
// same formulas in the same order, so that both give the same bits. Twists and wrenches are taken at the centre of
// mass in world axes.
//
// Nearly all files of the core include this one, directly or not, and with it the standard headers that most of them use.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stiction {

/// The length of the vector (a, b). Plain, unlike std::hypot: it is exact to a rounding error between 1e-150 and 1e150,
/// and becomes 0 or infinite far beyond. The C library's function would tie the core to the newest versions of it.
inline double norm(double a, double b) { return std::sqrt(a * a + b * b); }

/// A friction or a direction along the ground.
template <class T> struct Along {
    T x, y;
};

/// A vector of three components.
template <class T> struct Vec3 {
    T x{}, y{}, z{};

    friend Vec3 operator+(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
    friend Vec3 operator-(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
    friend Vec3 operator*(const T& s, const Vec3& a) { return {s * a.x, s * a.y, s * a.z}; }
    Vec3& operator+=(const Vec3& b) { return *this = *this + b; }
};
using Vector = Vec3<double>;

template <class T> inline T dot(const Vec3<T>& a, const Vec3<T>& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

template <class T> inline Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

inline double length(const Vector& a) { return std::sqrt(dot(a, a)); }
/// |x| + |y| + |z|
inline double sum_of_sizes(const Vector& a) { return std::fabs(a.x) + std::fabs(a.y) + std::fabs(a.z); }
/// The greatest of |x|, |y| and |z|.
inline double greatest_size(const Vector& a) { return std::max({std::fabs(a.x), std::fabs(a.y), std::fabs(a.z)}); }

/// A symmetric 3 x 3 matrix.
template <class T> struct Symmetric3 {
    T xx{}, xy{}, xz{}, yy{}, yz{}, zz{};

    friend Vec3<T> operator*(const Symmetric3& A, const Vec3<T>& v) {
        return {A.xx * v.x + A.xy * v.y + A.xz * v.z, A.xy * v.x + A.yy * v.y + A.yz * v.z,
                A.xz * v.x + A.yz * v.y + A.zz * v.z};
    }
};
using Tensor = Symmetric3<double>;

/// The cofactors of a tensor: its inverse times its determinant, which is the product of their first rows.
inline Tensor cofactors_of(const Tensor& A) {
    return {A.yy * A.zz - A.yz * A.yz, A.xz * A.yz - A.xy * A.zz, A.xy * A.yz - A.xz * A.yy,
            A.xx * A.zz - A.xz * A.xz, A.xy * A.xz - A.xx * A.yz, A.xx * A.yy - A.xy * A.xy};
}

/// A rotation matrix, body to world, by its rows.
struct Rotation {
    Vector x, y, z;

    /// A vector in body axes, expressed in world axes.
    Vector operator*(const Vector& v) const { return {dot(x, v), dot(y, v), dot(z, v)}; }
    /// A vector in world axes, expressed in body axes.
    Vector inverse(const Vector& v) const {
        return {x.x * v.x + y.x * v.y + z.x * v.z, x.y * v.x + y.y * v.y + z.y * v.z,
                x.z * v.x + y.z * v.y + z.z * v.z};
    }
    /// A rotation from other axes to these body axes, followed by this one.
    Rotation operator*(const Rotation& R) const {
        const auto row = [&](const Vector& a) { return a.x * R.x + a.y * R.y + a.z * R.z; };
        return {row(x), row(y), row(z)};
    }
    /// R A R^T: a tensor in body axes, expressed in world axes.
    Tensor turned(const Tensor& A) const {
        const Vector a = A * x, b = A * y, c = A * z;
        return {dot(a, x), dot(b, x), dot(c, x), dot(b, y), dot(c, y), dot(c, z)};
    }
};

/// A unit quaternion, body to world.
struct Quaternion {
    double w{1}, x{}, y{}, z{};

    Rotation matrix() const {
        return {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    }

    /// Turn by a rotation vector in world axes [rad].
    void turn(const Vector& by) {
        const double s = 0.25 * dot(by, by);  // the square of half the angle
        double a, half;                       // its cosine, and its sine over the whole angle
        if (s < 0.01) {  // as in nearly every step: series to the last digit, the same on all machines
            a = 1 - s * (1 / 2.0) * (1 - s * (1 / 12.0) * (1 - s * (1 / 30.0) * (1 - s * (1 / 56.0) * (1 - s * (1 / 90.0)))));
            half = 0.5 * (1 - s * (1 / 6.0) * (1 - s * (1 / 20.0) * (1 - s * (1 / 42.0) * (1 - s * (1 / 72.0)))));
        } else {
            const double angle = std::sqrt(s);
            a = std::cos(angle), half = 0.5 * std::sin(angle) / angle;
        }
        const double b = half * by.x, c = half * by.y, d = half * by.z;
        const Quaternion q{a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
                           a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w};
        // One Newton step to unit length: it has no effect at all on a body at rest.
        const double scale = 1.5 - 0.5 * (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
        *this = {q.w * scale, q.x * scale, q.y * scale, q.z * scale};
    }
};

/// Velocity of a body: of its centre of mass [m/s], and its angular velocity [rad/s].
template <class T> struct TwistOf {
    Vec3<T> linear, angular;

    friend TwistOf operator+(const TwistOf& a, const TwistOf& b) {
        return {a.linear + b.linear, a.angular + b.angular};
    }
    friend TwistOf operator-(const TwistOf& a, const TwistOf& b) {
        return {a.linear - b.linear, a.angular - b.angular};
    }
    friend TwistOf operator*(const T& s, const TwistOf& a) { return {s * a.linear, s * a.angular}; }

    /// Velocity of the body's point at r, relative to its centre of mass.
    Vec3<T> at(const Vec3<T>& r) const {
        return {linear.x + r.z * angular.y - r.y * angular.z, linear.y - r.z * angular.x + r.x * angular.z,
                linear.z + r.y * angular.x - r.x * angular.y};
    }
    /// Upward speed of the body's points above (x, y).
    T normal_velocity(const T& x, const T& y) const { return linear.z + y * angular.x - x * angular.y; }
};
using Twist = TwistOf<double>;

/// An impulse on a body [N s] and its torque about the centre of mass [N m s].
template <class T> struct WrenchOf {
    Vec3<T> linear, angular;

    friend WrenchOf operator+(const WrenchOf& a, const WrenchOf& b) {
        return {a.linear + b.linear, a.angular + b.angular};
    }
    friend WrenchOf operator-(const WrenchOf& a, const WrenchOf& b) {
        return {a.linear - b.linear, a.angular - b.angular};
    }
    friend WrenchOf operator*(const T& s, const WrenchOf& a) { return {s * a.linear, s * a.angular}; }

    /// The wrench of an impulse f on the body's point at r.
    static WrenchOf at(const Vec3<T>& r, const Vec3<T>& f) { return {f, cross(r, f)}; }
};
using Wrench = WrenchOf<double>;

/// Work of a wrench on a twist.
template <class T> inline T dot(const WrenchOf<T>& p, const TwistOf<T>& v) {
    return p.linear.x * v.linear.x + p.linear.y * v.linear.y + p.linear.z * v.linear.z + p.angular.x * v.angular.x +
           p.angular.y * v.angular.y + p.angular.z * v.angular.z;
}

/// M^-1 of a free body: the change of its twist for a unit impulse. At the centre of mass, force and rotation decouple. A planar body has zeros in
/// the directions in which it cannot move.
template <class T> struct InverseInertiaOf {
    Vec3<T> linear;          ///< 1 / mass, along x, y and z
    Symmetric3<T> angular;   ///< inverse of the inertia

    friend TwistOf<T> operator*(const InverseInertiaOf& W, const WrenchOf<T>& p) {
        return {{W.linear.x * p.linear.x, W.linear.y * p.linear.y, W.linear.z * p.linear.z}, W.angular * p.angular};
    }
    /// Upward velocity of points above (x, y) for a unit impulse upwards at (a, b).
    T normal_response(const T& x, const T& y, const T& a, const T& b) const { return linear.z + tilt(x, y, a, b); }
    /// The part of it that comes from rotation, which is linear in both places.
    T tilt(const T& x, const T& y, const T& a, const T& b) const {
        return y * (angular.xx * b - angular.xy * a) - x * (angular.xy * b - angular.yy * a);
    }
};
using InverseInertia = InverseInertiaOf<double>;

/// The inverse inertia as a matrix (6, 6).
class Dense6 {
  public:
    explicit Dense6(const InverseInertia& W) {
        const Symmetric3<double>& I = W.angular;
        const double angular[3][3] = {{I.xx, I.xy, I.xz}, {I.xy, I.yy, I.yz}, {I.xz, I.yz, I.zz}};
        rows_[0][0] = W.linear.x, rows_[1][1] = W.linear.y, rows_[2][2] = W.linear.z;
        for (int k = 0; k < 3; ++k) std::copy_n(angular[k], 3, rows_[3 + k] + 3);
    }
    const double* operator[](int row) const { return rows_[row]; }

  private:
    double rows_[6][6] = {};
};

// Numbers side by side in memory, as arrays have them: 3 for a vector, 6 for a twist or a wrench, linear part first.
inline Vector vector_from(const double* x) { return {x[0], x[1], x[2]}; }
inline Twist twist_from(const double* x) { return {vector_from(x), vector_from(x + 3)}; }
inline Wrench wrench_from(const double* x) { return {vector_from(x), vector_from(x + 3)}; }
inline Rotation rotation_from(const double* x) { return {vector_from(x), vector_from(x + 3), vector_from(x + 6)}; }
inline Quaternion quaternion_from(const double* x) { return {x[0], x[1], x[2], x[3]}; }
inline void write(const Vector& v, double* out) { out[0] = v.x, out[1] = v.y, out[2] = v.z; }
inline void write(const Twist& v, double* out) { write(v.linear, out), write(v.angular, out + 3); }
inline void write(const Wrench& v, double* out) { write(v.linear, out), write(v.angular, out + 3); }
inline void write(const Quaternion& q, double* out) { out[0] = q.w, out[1] = q.x, out[2] = q.y, out[3] = q.z; }

}  // namespace stiction
