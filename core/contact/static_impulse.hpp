// SolveConstraint, line 5 of Algorithm 1: the impulse that stops a patch, which physics settles exactly.
//
// The patch has 3 degrees of freedom as a point, 5 as a line (it may turn about itself) and 6 as a surface. That of a soft
// material has more: a point also turns about the normal, and rolls.
#pragma once

#include "contact/contact.hpp"
#include "math/dense.hpp"

namespace stiction {

/// Rows S from a twist to the velocity of the patch: of its centre, then its turning.
struct PatchRows {
    double S[6][6] = {};
    int count;

    static int count_of(const Contact& c) {
        if (c.kind == Kind::SURFACE || c.grip == Grip::ALL) return 6;
        return c.kind == Kind::LINE ? 5 : c.grip == Grip::SPIN ? 4 : 3;
    }

    explicit PatchRows(const Contact& c) : count(count_of(c)) {
        const auto [x, y, z] = c.centre;
        for (int k = 0; k < 3; ++k) S[k][k] = 1.0;
        S[0][4] = z, S[0][5] = -y;
        S[1][3] = -z, S[1][5] = x;
        S[2][3] = y, S[2][4] = -x;
        if (count == 6) {
            for (int k = 3; k < 6; ++k) S[k][k] = 1.0;
        } else if (count == 4) {
            S[3][5] = 1.0;
        } else if (count == 5) {
            const Vector& a = c.axis;
            const double flat = norm(a.x, a.y);
            const double e0 = -a.y / flat, e1 = a.x / flat;  // horizontal and across the line
            S[3][3] = e0, S[3][4] = e1;
            S[4][3] = -a.z * e1, S[4][4] = a.z * e0, S[4][5] = a.x * e1 - a.y * e0;
        }
    }
};

namespace detail {

/// The impulse at the centre that stops it.
inline Wrench stop_point(const Contact& c) {
    const InverseInertia& W = c.inverse_inertia;
    const Tensor& I = W.angular;
    const auto [x, y, z] = c.centre;
    // How the centre's velocity responds: 1 / m - [r] I^-1 [r].
    const Tensor A{W.linear.x + z * (I.yy * z - I.yz * y) - y * (I.yz * z - I.zz * y),
                   z * (I.yz * x - I.xy * z) - y * (I.zz * x - I.xz * z),
                   z * (I.xy * y - I.yy * x) - y * (I.xz * y - I.yz * x),
                   W.linear.y - z * (I.xz * x - I.xx * z) + x * (I.zz * x - I.xz * z),
                   -z * (I.xx * y - I.xy * x) + x * (I.xz * y - I.yz * x),
                   W.linear.z + y * (I.xx * y - I.xy * x) - x * (I.xy * y - I.yy * x)};
    const Vector v = c.velocity.at(c.centre);
    return Wrench::at(c.centre, solve(A, Vector{-v.x, -v.y, -v.z}));
}

/// The impulse that stops the rows of a patch: of a line, all but its turning about itself.
template <int N> Wrench stop_rows(const Contact& c) {
    const PatchRows rows(c);
    double A[N][N], x[N], SW[N][6];
    const InverseInertia& W = c.inverse_inertia;
    double v[6];
    write(c.velocity, v);
    for (int r = 0; r < N; ++r) {
        write(W * wrench_from(rows.S[r]), SW[r]);
        x[r] = 0.0;
        for (int k = 0; k < 6; ++k) x[r] -= rows.S[r][k] * v[k];
    }
    for (int r = 0; r < N; ++r)
        for (int k = 0; k <= r; ++k) {
            A[r][k] = 0.0;
            for (int m = 0; m < 6; ++m) A[r][k] += SW[r][m] * rows.S[k][m];
        }
    bool free[N];
    solve_semidefinite(&A[0][0], N, x, free, N);
    double p[6] = {};
    for (int r = 0; r < N; ++r)
        for (int k = 0; k < 6; ++k) p[k] += rows.S[r][k] * x[r];
    return wrench_from(p);
}

/// The impulse that stops the whole body, -M v1.
inline Wrench stop_body(const Contact& c) {
    const InverseInertia& W = c.inverse_inertia;
    const Vector& v = c.velocity.linear;
    const Vector& w = c.velocity.angular;
    const Tensor& I = W.angular;
    const Tensor cofactors = cofactors_of(I);
    const double determinant = I.xx * cofactors.xx + I.xy * cofactors.xy + I.xz * cofactors.xz;
    const auto stop = [](double speed, double mobility) { return mobility > 0.0 ? -speed / mobility : 0.0; };
    return {{stop(v.x, W.linear.x), stop(v.y, W.linear.y), stop(v.z, W.linear.z)},
            cofactors * Vector{-w.x / determinant, -w.y / determinant, -w.z / determinant}};
}

}  // namespace detail

/// The impulse after which the patch does not move.
inline Wrench static_impulse(const Contact& c) {
    if (c.kind == Kind::SURFACE) return detail::stop_body(c);
    if (c.grip == Grip::ALL) return detail::stop_rows<6>(c);
    if (c.kind == Kind::LINE) return detail::stop_rows<5>(c);
    return c.grip == Grip::SPIN ? detail::stop_rows<4>(c) : detail::stop_point(c);
}

}  // namespace stiction
