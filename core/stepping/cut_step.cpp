// Time steps in parts that end where a corner reaches the ground: a law may ask for them, the paper does not.

#include "contact/algorithm1.hpp"
#include "contact/labels.hpp"
#include "stepping/step.hpp"

namespace stiction {
namespace {

/// Cuts at impacts in one time step after which a body that chatters bounces no more, until the next step.
constexpr int MAX_CUTS = 40;

/// Time until a corner above the ground reaches it, at most `longest` [s].
///
/// Linear in time: the curvature of the corner's path is left to the next, much shorter, cut.
/// height: of the centre of mass [m]; touch: corners below this height are on the ground [m]
double time_to_impact(const Hull& hull, const Rotation& R, double height, const Twist& twist, double touch, double longest) {
    double first = longest;
    for (const Vector& v : hull.vertices) {
        const double gap = height + dot(R.z, v) - hull.rounding;
        if (gap <= touch) continue;
        const double speed = twist.normal_velocity(dot(R.x, v), dot(R.y, v));
        if (speed < 0.0 && gap - 0.5 * touch < -speed * first) first = (gap - 0.5 * touch) / -speed;
    }
    return first;
}

/// Add the outcome of a part of a time step: impulses add up, the greatest names mode and kind.
void add(StepOutcome& sum, const Contact& c, Mode mode) {
    if (sum.kind == Kind::NONE || c.impulse.linear.z > 0.5 * sum.impulse.linear.z) sum.kind = c.kind, sum.mode = mode;
    sum.impulse = sum.impulse + c.impulse;
}

/// Slow a body's spin by what the gyroscopic torque of its step, which changes only its direction, has added.
void keep_spin_energy(const Hull& hull, const Rotation& R, const Twist& before, Twist& now) {
    if (hull.planar) return;
    const auto twice_energy = [&](const Twist& v) {
        const Vector spin = R.inverse(v.angular);
        return dot(spin, hull.inertia * spin);
    };
    const double was = twice_energy(before), is = twice_energy(now);
    if (is > was) now.angular = std::sqrt(was / is) * now.angular;
}

/// One body that moves in parts of time steps.
class PartwiseBody {
  public:
    PartwiseBody(Law& law, const StepSettings& setting, const Hull& hull, ContactMemory& memory, int index, BodyState& body)
        : law_(law), setting_(setting), hull_(hull), memory_(memory), index_(index), body_(body) {}

    /// One time step.
    StepOutcome step() {
        const double part = setting_.timestep / setting_.substeps;
        outcome_ = {};
        cuts_ = 0;
        double left = setting_.timestep;
        bool smooth = is_out_of_reach(left);
        while (left > 1e-9 * part) {
            // Flight and a face that slides are smooth; else, what a cut leaves of a part goes with the next one.
            const double longest = smooth || left < 1.001 * part ? left : part;
            const double taken = advance(longest);
            left -= taken;
            if (taken < longest) ++cuts_;
            smooth = taken == longest && slides_on_a_face();
        }
        return outcome_;
    }

  private:
    Law& law_;
    const StepSettings& setting_;
    const Hull& hull_;
    ContactMemory& memory_;
    const int index_;
    BodyState& body_;
    const double touch_ = std::min(CUT_TOUCH, law_.near_ground.touch_share * hull_.diameter);  // a vertex below it touches [m]
    StepOutcome outcome_;
    int cuts_ = 0;                // at impacts in this time step so far
    Contact* contact_ = nullptr;  // of the last part, if the body touched

    /// Whether no corner can reach the ground within `longest` [s]: a bound that looks at no corner at all.
    bool is_out_of_reach(double longest) const {
        const Twist& v = body_.twist;
        const double fastest =
            std::fabs(v.linear.z) + std::fabs(setting_.gravity.z) * longest + length(v.angular) * hull_.reach;
        return body_.position.z - hull_.rounding - hull_.reach - touch_ > longest * fastest;
    }

    /// Whether a whole face was on the ground, still is, and does not leave it.
    bool slides_on_a_face() const {
        if (contact_ == nullptr || !contact_->is_maximal()) return false;
        const auto& [v, w] = body_.twist;
        const double leaving = std::fabs(v.z) + (std::fabs(w.x) + std::fabs(w.y)) * hull_.diameter;
        return leaving < -0.2 * setting_.timestep * setting_.gravity.z;
    }

    /// Move on for `longest` [s], or until the next corner arrives; the time taken.
    double advance(double longest) {
        const Twist before = body_.twist;
        const bool may_cut = cuts_ < 3 * MAX_CUTS;
        double taken = longest;
        if (may_cut && !is_out_of_reach(longest)) {
            Twist fastest = before;  // as fast as it will be
            fastest.linear.z += longest * std::min(0.0, setting_.gravity.z);
            taken = time_to_impact(hull_, body_.quaternion.matrix(), body_.position.z, fastest, touch_, longest);
        }
        meet_ground(taken);
        if (contact_ != nullptr && may_cut) {
            // The impulse may send another corner down: then again, with a shorter step.
            const Contact& c = *contact_;
            const double sooner = time_to_impact(hull_, c.rotation, c.height, c.after(c.impulse), touch_, taken);
            if (sooner < 0.999 * taken) {
                taken = sooner;
                body_.twist = before;
                meet_ground(taken);
            }
        }
        Twist correction;
        if (contact_ != nullptr) {
            body_.twist = contact_->after(contact_->impulse);
            add(outcome_, *contact_, recorded_mode(*contact_, body_.twist, law_.compliance));
            const NearGround& near = law_.near_ground;
            correction = penetration_recovery(*contact_, law_.compliance, {near.recovery_share / taken, near.recovery_speed});
        } else {  // flight follows its parabola exactly
            body_.position = body_.position - (0.5 * taken * taken) * setting_.gravity;
            if (law_.drag > 0.0)  // and slows down on the way, not at its start
                body_.position = body_.position + (-0.5 * taken * std::expm1(-law_.drag * taken)) * before.linear;
        }
        move_body(body_, correction, taken);
        return taken;
    }

    /// Line 1 of Algorithm 1 for a step of `taken` [s], and the contact's impulse if there is a contact.
    void meet_ground(double taken) {
        if (law_.drag > 0.0) body_.twist = std::exp(-law_.drag * taken) * body_.twist;
        const Twist before = body_.twist;
        memory_.clear();
        Contact& c = memory_.next();
        const bool touches = start_body({taken, setting_.gravity}, hull_, memory_, index_, body_, touch_);
        keep_spin_energy(hull_, c.rotation, before, body_.twist);
        contact_ = touches ? &c : nullptr;
        if (!touches) return;
        c.velocity = body_.twist;
        if (cuts_ >= MAX_CUTS) c.fall = std::numeric_limits<double>::infinity();
        if (stays_at_rest(c, law_))
            c.mode = stop_patch(c, law_.compliance);
        else
            law_.respond(memory_.all());
        body_.impacts += c.is_impact;
    }
};

/// Whether a time step has left a body where it was: at rest, it will stay there.
bool has_settled(const BodyState& before, const BodyState& now) {
    const auto within = [](const Vector& v, double bound) {  // false for NaN
        return std::fabs(v.x) <= bound && std::fabs(v.y) <= bound && std::fabs(v.z) <= bound;
    };
    const Quaternion &p = before.quaternion, &q = now.quaternion;
    return p.w == q.w && p.x == q.x && p.y == q.y && p.z == q.z &&
           within(now.position - before.position, 1e-3 * NEGLIGIBLE_DEPTH) && within(now.twist.linear, NEGLIGIBLE_DEPTH) &&
           within(now.twist.angular, NEGLIGIBLE_DEPTH);
}

}  // namespace

void cut_step(const Batch& batch, std::span<StepOutcome> outcome) {
    const auto& [law, setting, hull, memory, bodies, first] = batch;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        if (outcome[i].settled) continue;
        BodyState& body = bodies[i];
        const BodyState before = body;
        PartwiseBody moves(law, setting, hull, memory, first + static_cast<int>(i), body);
        StepOutcome now = moves.step();
        if (now.mode == Mode::STATIC && has_settled(before, body)) {
            now.unmoved = true;
            body = before;
            body.twist = {};
        }
        now.follow(outcome[i], law);
        outcome[i] = now;
    }
}

}  // namespace stiction
