// Numbers side by side: one formula for one body and for eight.
//
// `Pack` wraps the vector extensions of gcc and clang, which the compiler maps to whatever the processor has. What they
// lack, square roots and fused multiply-adds, is written once below; a processor without fused multiply-add multiplies
// and adds instead, since the C library would take a hundred times as long, and its last bits may differ.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stiction {

template <class Real, int Number> struct VectorOf;
template <> struct VectorOf<double, 8> { typedef double Type __attribute__((vector_size(64))); };
template <> struct VectorOf<float, 8> { typedef float Type __attribute__((vector_size(32))); };
template <> struct VectorOf<float, 16> { typedef float Type __attribute__((vector_size(64))); };

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

constexpr int LANES = 8;  ///< contacts that are described side by side
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
#if defined(__AVX512F__)
    return Wide((Wide::Values)_mm512_sqrt_pd((__m512d)a.values));
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

template <class Real, int Number> inline Pack<Real, Number> multiply_add(Pack<Real, Number> a, Pack<Real, Number> b,
                                                                         Pack<Real, Number> c) {
    using P = Pack<Real, Number>;
    [[maybe_unused]] typename P::Values result;
#if defined(__AVX512F__)
    if constexpr (sizeof(result) == 64 && sizeof(Real) == 8)
        return P((typename P::Values)_mm512_fmadd_pd((__m512d)a.values, (__m512d)b.values, (__m512d)c.values));
    else if constexpr (sizeof(result) == 64)
        return P((typename P::Values)_mm512_fmadd_ps((__m512)a.values, (__m512)b.values, (__m512)c.values));
    else
        return P((typename P::Values)_mm256_fmadd_ps((__m256)a.values, (__m256)b.values, (__m256)c.values));
#elif defined(__FMA__)
    typedef Real Half __attribute__((vector_size(32)));
    Half x, y, z;
    constexpr int halves = sizeof(result) / 32;
    for (int h = 0; h < halves; ++h) {
        std::memcpy(&x, reinterpret_cast<const char*>(&a.values) + 32 * h, 32);
        std::memcpy(&y, reinterpret_cast<const char*>(&b.values) + 32 * h, 32);
        std::memcpy(&z, reinterpret_cast<const char*>(&c.values) + 32 * h, 32);
        if constexpr (sizeof(Real) == 8)
            z = (Half)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
        else
            z = (Half)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
        std::memcpy(reinterpret_cast<char*>(&result) + 32 * h, &z, 32);
    }
    return P(result);
#elif defined(__aarch64__)
    for (int k = 0; k < Number; ++k) result[k] = std::fma(a.values[k], b.values[k], c.values[k]);
    return P(result);
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
