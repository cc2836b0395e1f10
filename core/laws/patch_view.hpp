// A contact as it is seen from its patch, while it is being described: see describe.hpp for what the numbers mean.
//
// One template for one contact (T = double) and for several of one kind side by side (T = Wide).
#pragma once

#include "laws/describe.hpp"
#include "friction/points.hpp"

namespace stiction {

constexpr int SWEEPS = 20;           // of the guess
constexpr double SMALL_LOAD = 1e-9;  // share of N0 below which a point does not count as loaded
constexpr double TINY = 1e-300;

/// A linear map of the horizontal plane: a rotation or a reflection.
template <class T> struct Turn {
    T q, r, s, t;  // rows (q, r), (s, t)

    T mirror() const { return q * t - r * s; }  // -1 for a reflection, in which what turns, turns the other way
    void apply(T& x, T& y) const {
        const T a = q * x + r * y, b = s * x + t * y;
        x = a, y = b;
    }
    void apply(T& xx, T& xy, T& yy) const {
        const T a = q * xx + r * xy, b = q * xy + r * yy;
        const T c = s * xx + t * xy, d = s * xy + t * yy;
        const T new_xx = q * a + r * b, new_xy = s * a + t * b, new_yy = s * c + t * d;
        xx = new_xx, xy = new_xy, yy = new_yy;
    }
};

template <class T> T squeeze(const T& a, const T& scale) { return a / (scale + magnitude(a)); }

/// A contact, or several of one kind and equally many points side by side, while they are being described.
template <class T> class PatchView {
  public:
    TwistOf<T> twist;        // v1, then what the normal impulse leaves of it
    InverseInertiaOf<T> W;
    Vec3<T> centre;
    Vec3<T> normal;          // (p_z, m_x, m_y)
    T length;                // L
    PatchPoint<T> points[MAX_POINTS];
    Turn<T> turn;
    Vec3<T> guessed;         // friction (x, y, spin) in units of N0 and L
    T features[MAX_FEATURES];
    T absolute[10];          // load [N s] and speed before the step [m/s]: of the patch, then of single points

    void describe(const Recipe& recipe, Kind kind, int number) {
        k = number;
        share_load(std::span(points, k), W, normal);
        order_by_load(std::span(points, k));
        if (recipe.absolute) note_speeds();
        push_up();
        respond_to_friction();
        fold(recipe.fold, kind);
        set_points();
        if (recipe.guess && !recipe.material) sweep(recipe.friction);
        note_guess();
        const T mass(recipe.mass);
        T* next = whole_patch(features, kind, mass, recipe.friction);
        if (kind == Kind::POINT) return;
        next = pressure(next);
        single_points(next, kind, mass, recipe.absolute);
    }

  private:
    int k;                     // number of points
    Vec3<T> slip;              // u
    Symmetric3<T> response;    // C, of (x, y, L yaw)
    Vec3<T> sensitivity;       // S: how the whole load changes with friction
    T velocity[3 * MAX_POINTS];
    T responses[9 * MAX_POINTS * MAX_POINTS];

    /// Note the load of the patch, and how fast it and its points slip before contact.
    void note_speeds() {
        const auto slip_speed = [&](const Vec3<T>& place) {
            const Vec3<T> v = twist.at(place);
            return root(v.x * v.x + v.y * v.y);
        };
        absolute[0] = normal.x, absolute[1] = slip_speed(centre);
        for (int j = 0; j < k; ++j) points[j].speed = slip_speed(points[j].place);
    }

    /// Apply the normal impulse to the twist, and note u.
    void push_up() {
        const Symmetric3<T>& I = W.angular;
        twist.linear.z = twist.linear.z + W.linear.z * normal.x;
        twist.angular.x = twist.angular.x + I.xx * normal.y + I.xy * normal.z;
        twist.angular.y = twist.angular.y + I.xy * normal.y + I.yy * normal.z;
        twist.angular.z = twist.angular.z + I.xz * normal.y + I.yz * normal.z;
        slip = tangent(twist);
    }

    /// The tangent velocity (x, y, L yaw) of the centre.
    Vec3<T> tangent(const TwistOf<T>& v) const {
        const Vec3<T> u = v.at(centre);
        return {u.x, u.y, length * v.angular.z};
    }

    /// Note C, how the tangent velocity of the centre responds to friction while the loaded points stay down, and S.
    void respond_to_friction() {
        const Symmetric3<T>& I = W.angular;
        const T nothing(0.0), mass = W.linear.z, L = length;
        const auto [x, y, z] = centre;
        // Turning for a unit friction along x, with arm (0, z, -y), along y, with arm (-z, 0, x), and of yaw.
        const T a = I.xy * z - I.xz * y, b = I.yy * z - I.yz * y, c = I.yz * z - I.zz * y;
        const T d = I.xz * x - I.xx * z, f = I.zz * x - I.xz * z;
        Symmetric3<T> C{W.linear.x + z * b - y * c, x * c - z * a, L * c, W.linear.y + x * f - z * d, L * f,
                        L * L * I.zz};
        Vec3<T> S{nothing, nothing, nothing};
        T total = nothing;
        for (int j = 0; j < k; ++j) total = total + points[j].load;
        // Rows (1, y, -x) of the loaded points, made independent one by one; three fix all that can be fixed.
        T number = nothing;
        Vec3<T> first{nothing, nothing, nothing}, second{nothing, nothing, nothing};
        T own_first(1.0), own_second(1.0);
        const auto pushed = [&](const Vec3<T>& r) {
            return Vec3<T>{mass * r.x, I.xx * r.y + I.xy * r.z, I.xy * r.y + I.yy * r.z};
        };
        for (int j = 0; j < k; ++j) {
            Vec3<T> r{T(1.0), points[j].place.y, T(0.0) - points[j].place.x};
            Vec3<T> g = pushed(r);
            const T whole = dot(r, g);
            const T part = dot(first, g) / own_first, other = dot(second, g) / own_second;
            r = {r.x - part * first.x, r.y - part * first.y, r.z - part * first.z};
            r = {r.x - other * second.x, r.y - other * second.y, r.z - other * second.z};
            g = pushed(r);
            const T own = dot(r, g);
            const auto holds = both(both(points[j].load > T(SMALL_LOAD) * total, number < T(3.0)), own > T(1e-9) * whole);
            const T share = select(holds, T(1.0) / own, nothing);
            const T yaw = I.xz * r.y + I.yz * r.z;
            const Vec3<T> t{z * g.z - y * yaw, x * yaw - z * g.y, L * yaw};
            C.xx = C.xx - t.x * t.x * share, C.xy = C.xy - t.x * t.y * share, C.yy = C.yy - t.y * t.y * share;
            C.xz = C.xz - t.x * t.z * share, C.yz = C.yz - t.y * t.z * share, C.zz = C.zz - t.z * t.z * share;
            S.x = S.x - r.x * t.x * share, S.y = S.y - r.x * t.y * share, S.z = S.z - r.x * t.z * share;
            const auto is_first = both(holds, number == nothing), is_second = both(holds, number == T(1.0));
            first = {select(is_first, r.x, first.x), select(is_first, r.y, first.y), select(is_first, r.z, first.z)};
            second = {select(is_second, r.x, second.x), select(is_second, r.y, second.y),
                      select(is_second, r.z, second.z)};
            own_first = select(is_first, own, own_first), own_second = select(is_second, own, own_second);
            number = select(holds, number + T(1.0), number);
        }
        response = C, sensitivity = S;
    }

    /// The rotation or reflection that brings the tangent velocity u into its standard sector.
    Turn<T> standard_turn(Fold fold, Kind kind) const {
        const T nothing(0.0), one(1.0);
        if (fold == Fold::MIRROR || fold == Fold::MIRROR_SWAP) {
            const T q = select(slip.x < nothing, -one, one), t = select(slip.y < nothing, -one, one);
            if (fold == Fold::MIRROR) return {q, nothing, nothing, t};
            const auto swap = magnitude(slip.y) > magnitude(slip.x);
            return {select(swap, nothing, q), select(swap, t, nothing), select(swap, q, nothing),
                    select(swap, nothing, t)};
        }
        if (fold == Fold::HEADING) {
            const T size = root(slip.x * slip.x + slip.y * slip.y);
            const auto slides = size > nothing;
            const T x = select(slides, slip.x / size, one), y = select(slides, slip.y / size, nothing);
            // The yaw chooses one of two mirror images, or for a point, which has none, its skew response.
            T skew = slip.z;
            if (kind == Kind::POINT) skew = x * y * (response.yy - response.xx) + (x * x - y * y) * response.xy;
            const T side = select(skew < nothing, -one, one);
            return {x, y, nothing - side * y, side * x};
        }
        return {one, nothing, nothing, one};
    }

    /// Turn and mirror everything to the standard sector.
    void fold(Fold by, Kind kind) {
        turn = standard_turn(by, kind);
        const T m = turn.mirror();
        const Turn<T> axial{m * turn.q, m * turn.r, m * turn.s, m * turn.t};  // of what turns
        turn.apply(slip.x, slip.y), turn.apply(sensitivity.x, sensitivity.y), turn.apply(centre.x, centre.y);
        turn.apply(twist.linear.x, twist.linear.y), axial.apply(twist.angular.x, twist.angular.y);
        axial.apply(response.xz, response.yz);
        slip.z = m * slip.z, sensitivity.z = m * sensitivity.z, twist.angular.z = m * twist.angular.z;
        for (int j = 0; j < k; ++j) turn.apply(points[j].place.x, points[j].place.y);
        turn.apply(response.xx, response.xy, response.yy);
        turn.apply(W.angular.xx, W.angular.xy, W.angular.yy);
        turn.apply(W.angular.xz, W.angular.yz);
    }

    /// Set the state of the points at the start of the sweeps.
    void set_points() {
        const T nothing(0.0);
        const auto relaxed = [&](const T& own) { return select(own > nothing, T(-OVER_RELAXATION) / own, nothing); };
        for (int j = 0; j < k; ++j) {
            PatchPoint<T>& p = points[j];
            p.velocity = twist.at(p.place);
            velocity[3 * j] = p.velocity.x, velocity[3 * j + 1] = p.velocity.y, velocity[3 * j + 2] = p.velocity.z;
            p.impulse = {nothing, nothing, p.load};
            const Vec3<T> own = own_response(W, p.place);
            p.relax = {relaxed(own.x), relaxed(own.y), relaxed(own.z)};
        }
    }

    /// Find the guessed impulses of the points, and the velocities that they leave.
    void sweep(const CoulombFriction& friction) {
        FrictionSweep<T> sweeps(std::span(points, k), velocity, responses, friction);
        if (!any(sweeps.moves())) return;
        set_responses();
        for (int s = 0; s < SWEEPS; ++s) gauss_seidel_sweep(sweeps);
    }

    /// Note how fast all points move for a unit impulse on each of them.
    void set_responses() {
        const Symmetric3<T>& I = W.angular;
        const T nothing(0.0);
        T* row = responses;
        for (int j = 0; j < k; ++j) {
            const auto [x, y, z] = points[j].place;
            const TwistOf<T> unit[3] = {
                {{W.linear.x, nothing, nothing}, {I.xy * z - I.xz * y, I.yy * z - I.yz * y, I.yz * z - I.zz * y}},
                {{nothing, W.linear.y, nothing}, {I.xz * x - I.xx * z, I.yz * x - I.xy * z, I.zz * x - I.xz * z}},
                {{nothing, nothing, W.linear.z}, {I.xx * y - I.xy * x, I.xy * y - I.yy * x, I.xz * y - I.yz * x}}};
            for (const TwistOf<T>& v : unit)
                for (int m = 0; m < k; ++m) {
                    const Vec3<T> u = v.at(points[m].place);
                    *row++ = u.x, *row++ = u.y, *row++ = u.z;
                }
        }
    }

    /// Note the guessed friction at the centre, in units of N0 and L.
    void note_guess() {
        const T share = T(1.0) / normal.x;
        T x(0.0), y(0.0), spin(0.0);
        for (int j = 0; j < k; ++j) {
            const PatchPoint<T>& p = points[j];
            const T f_x = p.impulse.x * share, f_y = p.impulse.y * share;
            x = x + f_x, y = y + f_y;
            spin = spin + ((p.place.x - centre.x) * f_y - (p.place.y - centre.y) * f_x);
        }
        guessed = {x, y, spin / length};
    }

    /// The tangent velocity of the centre after the guessed impulses.
    Vec3<T> slip_left() const {
        const T nothing(0.0);
        WrenchOf<T> sum{{nothing, nothing, nothing}, {nothing, nothing, nothing}};
        for (int j = 0; j < k; ++j) {
            const PatchPoint<T>& p = points[j];
            const Vec3<T> f{p.impulse.x, p.impulse.y, p.impulse.z - p.load};
            sum.linear.x = sum.linear.x + f.x, sum.linear.y = sum.linear.y + f.y;
            sum.angular = sum.angular + cross(p.place, f);
        }
        TwistOf<T> v = twist;
        v.linear.x = v.linear.x + W.linear.x * sum.linear.x, v.linear.y = v.linear.y + W.linear.y * sum.linear.y;
        v.angular = v.angular + W.angular * sum.angular;
        return tangent(v);
    }

    /// Write two or three components; where the next ones go.
    static T* put(T* out, int d, const Vec3<T>& v) {
        out[0] = v.x, out[1] = v.y;
        if (d == 3) out[2] = v.z;
        return out + d;
    }

    /// Features of the patch as a whole.
    T* whole_patch(T* out, Kind kind, const T& mass, const CoulombFriction& friction) {
        const T N0 = normal.x, nothing(0.0);
        const int d = kind == Kind::POINT ? 2 : 3;
        const T yaw(kind == Kind::POINT ? 0.0 : 1.0);  // a point has none
        const Vec3<T> u{slip.x, slip.y, yaw * slip.z};
        const T speed = root(u.x * u.x + u.y * u.y + u.z * u.z + T(TINY));
        const Symmetric3<T>& C = response;
        const Vec3<T> q = solve(Symmetric3<T>{C.xx, C.xy, yaw * C.xz, C.yy, yaw * C.yz, yaw * C.zz},
                                Vec3<T>{nothing - u.x, nothing - u.y, nothing - u.z});
        const Vec3<T> left = slip_left();
        const T per_speed = T(1.0) / speed;
        const auto squeezed = [&](const Vec3<T>& v) {
            return Vec3<T>{squeeze(v.x, N0), squeeze(v.y, N0), squeeze(v.z, N0)};
        };
        out = put(out, d, squeezed(q));
        out = put(out, d, squeezed(mass * u));
        out = put(out, d, {u.x * per_speed, u.y * per_speed, u.z * per_speed});
        out = put(out, d, sensitivity);
        out = put(out, d, guessed);
        out = put(out, d, squeezed(mass * left));
        *out++ = mass * C.xx, *out++ = mass * C.xy, *out++ = mass * C.yy;
        if (d == 3) *out++ = mass * C.xz, *out++ = mass * C.yz, *out++ = mass * C.zz;
        T used = nothing, fastest = nothing;
        for (int j = 0; j < k; ++j) {
            const PatchPoint<T>& p = points[j];
            const T a = magnitude(squeeze(p.impulse.x, T(friction.mu_x) * p.load + T(TINY)));
            const T b = magnitude(squeeze(p.impulse.y, T(friction.mu_y) * p.load + T(TINY)));
            used = select(a > used, a, used);
            used = select(b > used, b, used);
            const T square = velocity[3 * j] * velocity[3 * j] + velocity[3 * j + 1] * velocity[3 * j + 1];
            fastest = select(square > fastest, square, fastest);
        }
        fastest = root(fastest);
        *out++ = used;
        *out++ = squeeze(mass * fastest, N0);
        *out++ = fastest / (speed + T(1e-12)) + T(1e-9);  // of which the logarithm is taken later
        return out;
    }

    /// Centre of pressure and second moments of load and shape, in units of L.
    T* pressure(T* out) const {
        const T per_load = T(1.0) / normal.x, per_length = T(1.0) / length, even(1.0 / k);
        T sums[8];
        for (T& sum : sums) sum = T(0.0);
        for (int j = 0; j < k; ++j) {
            const PatchPoint<T>& p = points[j];
            const T a = (p.place.x - centre.x) * per_length, b = (p.place.y - centre.y) * per_length;
            const T share = p.load * per_load;
            sums[0] += share * a, sums[1] += share * b;
            sums[2] += share * a * a, sums[3] += share * b * b, sums[4] += share * a * b;
            sums[5] += a * a * even, sums[6] += a * b * even, sums[7] += b * b * even;
        }
        for (const T& sum : sums) *out++ = sum;
        return out;
    }

    /// Load, place, slip and guessed friction of two points of a line (by load) or four of a surface (by direction).
    void single_points(T* out, Kind kind, const T& mass, bool with_speeds) {
        T* next = with_speeds ? absolute + 2 : nullptr;
        const auto describe_one = [&](int begin, int end, double a, double b) {
            describe_point(out, begin, end, a, b, mass, next);
            out += 9;
            if (next != nullptr) next += 2;
        };
        if (kind == Kind::LINE) {
            describe_one(0, 1, 0.0, 0.0);
            describe_one(std::min(1, k - 1), std::min(2, k), 0.0, 0.0);
            return;
        }
        describe_one(0, k, 1.0, 1.0);  // at 45, 135, 225, 315 degrees
        describe_one(0, k, -1.0, 1.0);
        describe_one(0, k, -1.0, -1.0);
        describe_one(0, k, 1.0, -1.0);
    }

    /// Nine features of that point from `begin` to `end` which lies farthest from the centre along (a, b).
    /// noted: where its load and speed go, or null
    void describe_point(T* out, int begin, int end, double a, double b, const T& mass, T* noted) const {
        const T nothing(0.0), N0 = normal.x;
        T farthest(-std::numeric_limits<double>::infinity());
        T n = nothing, arm_x = nothing, arm_y = nothing, u_x = nothing, u_y = nothing, f_x = nothing, f_y = nothing;
        for (int j = begin; j < end; ++j) {
            const PatchPoint<T>& p = points[j];
            const T r_x = p.place.x - centre.x, r_y = p.place.y - centre.y;
            const T reach = r_x * T(a) + r_y * T(b);
            const auto farther = reach > farthest;
            farthest = select(farther, reach, farthest);
            n = select(farther, p.load, n), arm_x = select(farther, r_x, arm_x), arm_y = select(farther, r_y, arm_y);
            u_x = select(farther, p.velocity.x, u_x), u_y = select(farther, p.velocity.y, u_y);
            f_x = select(farther, p.impulse.x, f_x), f_y = select(farther, p.impulse.y, f_y);
            if (noted != nullptr) noted[1] = select(farther, p.speed, j == begin ? nothing : noted[1]);
        }
        if (noted != nullptr) noted[0] = n;
        const T per_load = T(1.0) / N0, per_length = T(1.0) / length;
        const T per_speed = T(1.0) / root(u_x * u_x + u_y * u_y + T(TINY));
        out[0] = n * per_load;
        out[1] = arm_x * per_length, out[2] = arm_y * per_length;
        out[3] = u_x * per_speed, out[4] = u_y * per_speed;
        out[5] = squeeze(mass * u_x, N0), out[6] = squeeze(mass * u_y, N0);
        out[7] = squeeze(f_x, n + T(TINY)), out[8] = squeeze(f_y, n + T(TINY));
    }
};

}  // namespace stiction
