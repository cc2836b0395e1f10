// Numbers side by side: one formula for one body and for as many as the processor takes at once.
//
// `Pack` wraps the vector extensions of gcc and clang. What they lack, square roots and fused multiply-adds, is written
// once below; a processor without fused multiply-add multiplies and adds instead, since the C library would take a
// hundred times as long, and its last bits may differ.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace stiction {

#if defined(__AVX2__)
constexpr int REGISTER = 32;  ///< bytes of a vector register
#else
constexpr int REGISTER = 16;
#endif

template <class Real, int Number> struct VectorOf;
template <> struct VectorOf<double, 2> { typedef double Type __attribute__((vector_size(16))); };
template <> struct VectorOf<double, 4> { typedef double Type __attribute__((vector_size(32))); };
template <> struct VectorOf<float, 4> { typedef float Type __attribute__((vector_size(16))); };
template <> struct VectorOf<float, 8> { typedef float Type __attribute__((vector_size(32))); };

template <class Real, int Number> class Pack {
  public:
    static constexpr int size = Number;
    using Values = typename VectorOf<Real, Number>::Type;
    using Mask = decltype(Values{} < Values{});

    Pack() : values{} {}
    Pack(Real all) : values(all - Values{}) {}
    Pack(Values values) : values(values) {}

    static Pack load(const Real* from) {
        Pack result;
        std::memcpy(&result.values, from, sizeof(Values));
        return result;
    }
    void store(Real* to) const { std::memcpy(to, &values, sizeof(Values)); }
    Real operator[](int lane) const { return values[lane]; }
    void set(int lane, Real value) { values[lane] = value; }

    friend Pack operator+(Pack a, Pack b) { return a.values + b.values; }
    friend Pack operator-(Pack a, Pack b) { return a.values - b.values; }
    friend Pack operator*(Pack a, Pack b) { return a.values * b.values; }
    friend Pack operator/(Pack a, Pack b) { return a.values / b.values; }
    friend Pack operator-(Pack a) { return -a.values; }
    Pack& operator+=(Pack b) { return *this = *this + b; }
    Pack& operator-=(Pack b) { return *this = *this - b; }
    friend Mask operator<(Pack a, Pack b) { return a.values < b.values; }
    friend Mask operator>(Pack a, Pack b) { return a.values > b.values; }
    friend Mask operator==(Pack a, Pack b) { return a.values == b.values; }
    friend Mask operator!=(Pack a, Pack b) { return a.values != b.values; }

    Values values;
};

constexpr int LANES = REGISTER / 8;  ///< contacts that are described side by side
using Wide = Pack<double, LANES>;

// The same words for single numbers and for packs.

inline double select(bool which, double a, double b) { return which ? a : b; }
inline Wide select(Wide::Mask which, Wide a, Wide b) { return which ? a.values : b.values; }

inline bool both(bool a, bool b) { return a && b; }
inline Wide::Mask both(Wide::Mask a, Wide::Mask b) { return a & b; }
inline bool either(bool a, bool b) { return a || b; }
inline Wide::Mask either(Wide::Mask a, Wide::Mask b) { return a | b; }

inline bool any(bool a) { return a; }
inline bool any(Wide::Mask a) {
    std::int64_t seen = 0;
    for (int k = 0; k < LANES; ++k) seen |= a[k];
    return seen != 0;
}

inline double magnitude(double a) { return std::fabs(a); }
inline Wide magnitude(Wide a) { return select(a < Wide(0.0), -a, a); }

inline double root(double a) { return std::sqrt(a); }
inline Wide root(Wide a) {
#if defined(__AVX2__)
    return Wide(_mm256_sqrt_pd(a.values));
#else
    for (int k = 0; k < LANES; ++k) a.values[k] = std::sqrt(a.values[k]);
    return a;
#endif
}

/// a b + c, rounded once where the processor can.
inline double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
}

template <class Real, int Number>
inline Pack<Real, Number> multiply_add(Pack<Real, Number> a, Pack<Real, Number> b, Pack<Real, Number> c) {
    using P = Pack<Real, Number>;
    [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
#if defined(__FMA__)
    if constexpr (is_double) return P(_mm256_fmadd_pd(a.values, b.values, c.values));
    if constexpr (!is_double) return P(_mm256_fmadd_ps(a.values, b.values, c.values));
#elif defined(__aarch64__)
    if constexpr (is_double) return P(vfmaq_f64(c.values, a.values, b.values));
    if constexpr (!is_double) return P(vfmaq_f32(c.values, a.values, b.values));
#else
    return P(a.values * b.values + c.values);
#endif
}

/// Number `lane` of those side by side.
inline double lane_of(double a, int) { return a; }
inline double lane_of(const Wide& a, int lane) { return a[lane]; }
inline void set_lane(double& a, int, double value) { a = value; }
inline void set_lane(Wide& a, int lane, double value) { a.set(lane, value); }
template <class T> constexpr int lanes_of = 1;
template <> inline constexpr int lanes_of<Wide> = LANES;

}  // namespace stiction
