#include "laws/describe.hpp"

#include "contact/algorithm1.hpp"
#include "contact/frictionless_lcp.hpp"
#include "laws/patch_view.hpp"

namespace stiction {
namespace {

/// The unit of length L [m]; a point has no radius of its own.
double unit_length(const Contact& c) { return c.kind == Kind::POINT ? 0.1 * c.diameter : c.radius; }

/// Fill a lane of a view with a contact.
template <class T> void gather(const Contact& c, PatchView<T>& view, int lane) {
    const auto set = [&](T& target, double value) { set_lane(target, lane, value); };
    const auto set3 = [&](Vec3<T>& target, const Vector& v) { set(target.x, v.x), set(target.y, v.y), set(target.z, v.z); };
    set3(view.twist.linear, c.velocity.linear), set3(view.twist.angular, c.velocity.angular);
    set3(view.W.linear, c.inverse_inertia.linear);
    const Tensor& I = c.inverse_inertia.angular;
    set(view.W.angular.xx, I.xx), set(view.W.angular.xy, I.xy), set(view.W.angular.xz, I.xz);
    set(view.W.angular.yy, I.yy), set(view.W.angular.yz, I.yz), set(view.W.angular.zz, I.zz);
    set3(view.centre, c.centre);
    const double* P = c.description.normal;
    set3(view.normal, {P[0], P[1], P[2]});
    set(view.length, unit_length(c));
    Along<double> load{1.0, 0.0};
    if (c.count > MAX_POINTS) load = towards_load(c, {P[0], P[1], P[2]});
    for_points(c, load.x, load.y, [&](int j, const Vector& place) { set3(view.points[j].place, place); });
}

constexpr double LEAST_LOAD = 1e-3, LEAST_SPEED = 1e-4;  // [N], [m/s]: what is less counts as so much in logarithms

/// Take the material's friction, which the contact's impulse has, for the guess.
void guess_by_material(Contact& c) {
    // Its whole impulse does not tell the torques of a soft patch from those of its loads.
    const bool holds_softly = c.mode == Mode::STATIC && c.grip != Grip::POINTS;
    if (c.mode != Mode::DYNAMIC && !holds_softly) c.found = friction_part(c, c.impulse);
    Description& d = c.description;
    std::fill(d.guess, d.guess + 3, 0.0);
    target_of(c, Wrench{{c.found.p_x, c.found.p_y, 0.0}, {0.0, 0.0, friction_wrench(c.centre, c.found).angular.z}}, d.guess);
    const Twist after = c.after(c.impulse);
    const Vector v = after.at(c.centre);
    const double yaw = (d.turn[0] * d.turn[3] - d.turn[1] * d.turn[2]) * unit_length(c) * after.angular.z;
    const double left[3] = {d.turn[0] * v.x + d.turn[1] * v.y, d.turn[2] * v.x + d.turn[3] * v.y, yaw};
    const int n = c.kind == Kind::POINT ? 2 : 3;
    for (int k = 0; k < n; ++k) {
        d.features[4 * n + k] = d.guess[k];
        d.features[5 * n + k] = squeeze(left[k] / c.inverse_inertia.linear.z, d.normal[0]);
    }
}

/// Write the description in a lane into its contact.
template <class T> void scatter(const PatchView<T>& view, int lane, const Recipe& recipe, Contact& c) {
    Description& d = c.description;
    for (int m = 0; m < features_of(c.kind); ++m) d.features[m] = lane_of(view.features[m], lane);
    double& ratio = d.features[c.kind == Kind::POINT ? 17 : 26];
    ratio = std::log10(ratio);
    if (recipe.absolute)
        for (int m = 0; m < absolute_features_of(c.kind); m += 2) {
            double* out = d.features + features_of(c.kind) + m;
            out[0] = std::log10(lane_of(view.absolute[m], lane) / c.timestep + LEAST_LOAD);
            out[1] = std::log10(lane_of(view.absolute[m + 1], lane) + LEAST_SPEED);
        }
    const double N0 = lane_of(view.normal.x, lane), L = lane_of(view.length, lane);
    d.guess[0] = lane_of(view.guessed.x, lane);
    d.guess[1] = lane_of(view.guessed.y, lane);
    d.guess[2] = lane_of(view.guessed.z, lane);
    d.unit_impulse = N0, d.unit_length = L;
    if (!recipe.scaled) {
        d.unit_impulse = recipe.mass, d.unit_length = c.diameter;
        for (double& guess : d.guess) guess *= N0 / recipe.mass;
        d.guess[2] *= L / c.diameter;
    }
    d.turn[0] = lane_of(view.turn.q, lane), d.turn[1] = lane_of(view.turn.r, lane);
    d.turn[2] = lane_of(view.turn.s, lane), d.turn[3] = lane_of(view.turn.t, lane);
}

/// Describe contacts of one kind and equally many points, alone or side by side; lanes left over repeat the first.
template <class T> void describe_alike(const Contacts& contacts, const std::int32_t* list, int count, const Recipe& recipe) {
    PatchView<T> view;
    for (int lane = 0; lane < lanes_of<T>; ++lane) gather(contacts[list[lane < count ? lane : 0]], view, lane);
    const Contact& first = contacts[list[0]];
    view.describe(recipe, first.kind, number_of_points(first));
    for (int lane = 0; lane < count; ++lane) {
        Contact& c = contacts[list[lane]];
        scatter(view, lane, recipe, c);
        if (recipe.material) guess_by_material(c);
    }
}

// The paper's own inputs: orientation, written in one of four ways that the paper compares, twist and two redundant features,
// in world axes and as they are; impulses are not divided by the load.

/// The unit quaternion of a rotation matrix, w >= 0.
Quaternion quaternion_of(const Rotation& R) {
    const double xx = R.x.x, yy = R.y.y, zz = R.z.z;
    const double w2 = 1 + xx + yy + zz, x2 = 1 + xx - yy - zz, y2 = 1 - xx + yy - zz, z2 = 1 - xx - yy + zz;
    const double a = R.z.y - R.y.z, b = R.x.z - R.z.x, c = R.y.x - R.x.y;
    const double d = R.x.y + R.y.x, e = R.x.z + R.z.x, f = R.y.z + R.z.y;
    // The greatest of the four is found without a loss of digits, the others from it.
    const double best = std::max({w2, x2, y2, z2}), s = 0.5 / std::sqrt(best);
    Quaternion q;
    if (best == w2)
        q = {s * w2, s * a, s * b, s * c};
    else if (best == x2)
        q = {s * a, s * x2, s * d, s * e};
    else if (best == y2)
        q = {s * b, s * d, s * y2, s * f};
    else
        q = {s * c, s * e, s * f, s * z2};
    return q.w < 0.0 ? Quaternion{-q.w, -q.x, -q.y, -q.z} : q;
}

/// Write an orientation in its numbers; the place after them back.
double* write_orientation(const Rotation& R, Inputs how, double* x) {
    const auto write = [&x](const auto&... numbers) { ((*x++ = numbers), ...); };
    if (how == Inputs::MATRIX) {
        write(R.x.x, R.x.y, R.x.z, R.y.x, R.y.y, R.y.z, R.z.x, R.z.y, R.z.z);
    } else if (how == Inputs::EULER) {  // turns about x, then y, then z of the world
        write(std::atan2(R.z.y, R.z.z), -std::asin(std::clamp(R.z.x, -1.0, 1.0)), std::atan2(R.y.x, R.x.x));
    } else {
        const Quaternion q = quaternion_of(R);
        if (how == Inputs::QUATERNION) {
            write(q.w, q.x, q.y, q.z);
        } else {
            const double sine = length({q.x, q.y, q.z});
            const double factor = sine > 1e-12 ? 2 * std::atan2(sine, q.w) / sine : 2.0;
            write(factor * q.x, factor * q.y, factor * q.z);
        }
    }
    return x;
}

/// Describe a contact by the state of its body, impulses in units of its mass and lengths of its diameter.
void describe_state(Contact& c, const Recipe& recipe) {
    Description& d = c.description;
    double* x = write_orientation(c.rotation, recipe.inputs, d.features);
    const auto write = [&x](const Vector& v) { *x++ = v.x, *x++ = v.y, *x++ = v.z; };
    *x++ = c.height;
    write(c.velocity.linear);
    write(c.velocity.angular);
    if (recipe.centre) write(c.rotation.inverse(c.centre));
    if (recipe.slip) write(c.velocity.at(c.centre));
    std::fill(d.guess, d.guess + 3, 0.0);
    d.unit_impulse = recipe.mass;
    d.unit_length = c.diameter;
    d.turn[0] = d.turn[3] = 1.0;
    d.turn[1] = d.turn[2] = 0.0;
}

/// A number for the kind and the number of points of a contact.
int group_of(const Contact& c) { return 8 * (static_cast<int>(c.kind) - 1) + number_of_points(c) - 1; }
constexpr int GROUPS = 24;

}  // namespace

void describe(const Contacts& contacts, const Recipe& recipe) {
    const int n = contacts.size();
    if (recipe.material) recipe.material->respond(contacts);
    std::vector<std::int32_t>& list = contacts.workspace().list;
    list.clear();
    for (int i = 0; i < n; ++i) {
        Contact& c = contacts[i];
        const Normal P = normal_impulse(c, c.velocity);
        Description& d = c.description;
        d.unit_impulse = 0.0;
        if (!(P.p_z > 0.0)) continue;
        d.normal[0] = P.p_z, d.normal[1] = P.m_x, d.normal[2] = P.m_y;
        if (recipe.inputs == Inputs::CONTACT) {
            list.push_back(i);
            continue;
        }
        describe_state(c, recipe);
        if (recipe.scaled) d.unit_impulse = P.p_z, d.unit_length = unit_length(c);
    }
    if (list.size() == 1) return describe_alike<double>(contacts, list.data(), 1, recipe);
    std::int32_t alike[GROUPS][LANES];
    int count[GROUPS] = {};
    const auto flush = [&](int g) {
        if (count[g] == 1)
            describe_alike<double>(contacts, alike[g], 1, recipe);
        else if (count[g] > 1)
            describe_alike<Wide>(contacts, alike[g], count[g], recipe);
        count[g] = 0;
    };
    for (std::int32_t i : list) {
        const int g = group_of(contacts[i]);
        alike[g][count[g]++] = i;
        if (count[g] == LANES) flush(g);
    }
    for (int g = 0; g < GROUPS; ++g) flush(g);
}

namespace {

/// Units of impulse and torque of a description (a reflection turns torques around), and its axes.
struct Units {
    double impulse, torque, q, r, s, t;

    explicit Units(const Description& d) : impulse(d.unit_impulse), q(d.turn[0]), r(d.turn[1]), s(d.turn[2]), t(d.turn[3]) {
        torque = (q * t - r * s) * d.unit_length * impulse;
    }
};

}  // namespace

Friction friction_from(const Description& d, const double* output) {
    const Units unit(d);
    const double x = unit.impulse * (d.guess[0] + output[0]), y = unit.impulse * (d.guess[1] + output[1]);
    return {unit.q * x + unit.s * y, unit.r * x + unit.t * y, unit.torque * (d.guess[2] + output[2])};
}

void target_of(const Contact& c, const Wrench& p, double* out) {
    const Units unit(c.description);
    const double* guess = c.description.guess;
    out[0] = (unit.q * p.linear.x + unit.r * p.linear.y) / unit.impulse - guess[0];
    out[1] = (unit.s * p.linear.x + unit.t * p.linear.y) / unit.impulse - guess[1];
    out[2] = (p.angular.z - (c.centre.x * p.linear.y - c.centre.y * p.linear.x)) / unit.torque - guess[2];
}

Wrench impulse_from(const Contact& c, const double* output) {
    const Units unit(c.description);
    const Vector f{unit.impulse * (unit.q * output[0] + unit.s * output[1]),
                   unit.impulse * (unit.r * output[0] + unit.t * output[1]), unit.impulse * output[2]};
    const Vector m{unit.torque * (unit.q * output[3] + unit.s * output[4]),
                   unit.torque * (unit.r * output[3] + unit.t * output[4]), unit.torque * output[5]};
    return {f, m + cross(c.centre, f)};
}

void whole_target(const Contact& c, const Wrench& p, double* out) {
    const Units unit(c.description);
    const Vector m = p.angular - cross(c.centre, p.linear);
    out[0] = (unit.q * p.linear.x + unit.r * p.linear.y) / unit.impulse;
    out[1] = (unit.s * p.linear.x + unit.t * p.linear.y) / unit.impulse;
    out[2] = p.linear.z / unit.impulse;
    out[3] = (unit.q * m.x + unit.r * m.y) / unit.torque, out[4] = (unit.s * m.x + unit.t * m.y) / unit.torque;
    out[5] = m.z / unit.torque;
}

}  // namespace stiction
