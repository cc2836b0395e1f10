// Time steps of one body or of many with a law.
//
// A step is v1 = v + h M^-1 tau, the contact impulse of Algorithm 1, v = v1 + M^-1 p, then positions with the new
// velocity and a penetration recovery, which moves the pose only and never enters the velocity.
#pragma once

#include "contact/contact.hpp"
#include "contact/frictionless_lcp.hpp"
#include "laws/law.hpp"

namespace stiction {

constexpr double RECOVERY_SHARE = 0.01;        ///< share of a vertex's depth that a step takes back, as in DART
constexpr double MAX_RECOVERY_SPEED = 1e-3;  ///< [m/s] the fastest correction, as in DART
constexpr double NEGLIGIBLE_DEPTH = 1e-9;     ///< [m] depths below it are left alone: a body at rest keeps its bits

/// A vertex touches below this height [m] where steps are cut at impacts. Far above that of whole steps, TOUCH: corners
/// that chatter within it count as one contact, or there would be no end of cuts.
constexpr double CUT_TOUCH = 1e-4;

/// What stays the same during a motion.
struct StepSettings {
    double timestep;    ///< [s]
    Vector gravity;     ///< [m/s^2]
    int substeps = 0;   ///< equal parts of a time step, which impacts cut further; 0: one step, no cuts
    bool limits_spin = false;  ///< whether a step of free flight adds no energy; in DART it may, where a body spins fast
};

/// The state of a body at its centre of mass.
struct BodyState {
    Vector position;
    Quaternion quaternion;
    Twist twist;
    std::int64_t impacts = 0;  ///< so far
};

/// The outcome of one time step for a body.
struct StepOutcome {
    Wrench impulse;
    Mode mode = Mode::NONE;
    Kind kind = Kind::NONE;
    bool unmoved = false;  ///< the body has ended at rest, and its pose has kept its bits
    bool is_taken = false; ///< this step was taken without the law: the body stays at rest
    bool settled = false;  ///< all later steps will be this one: none of them needs to be taken

    /// Note what follows from the step before. A body that two steps in a row have left where it was began the second
    /// one in the state in which it has ended it, so that the next one is the same, if the law gives the same answer.
    void follow(const StepOutcome& last, const Law& law) {
        settled = unmoved && last.unmoved && mode == Mode::STATIC && law.repeats_itself();
    }
};

/// Position and velocity of the origin of a body's frame, in which the centre of mass lies at `com`.
struct Origin {
    Vector position, velocity;

    Origin(const BodyState& moving, const Vector& com) {
        const Vector arm = moving.quaternion.matrix() * com;
        position = moving.position - arm;
        velocity = moving.twist.linear - cross(moving.twist.angular, arm);
    }
};

/// Where a motion is written, as states of the body's frame: arrays with one row a body. A row has `kept` + 1 states, one
/// for `every` time steps, and the outcome in between: impulses added up, mode and kind of the last step.
struct Record {
    double *position, *quaternion, *velocity, *spin, *impulse;  ///< 3, 4, 3, 3 numbers a state, 6 numbers in between
    std::int8_t *mode, *kind;
    int kept, every;
    Vector com;  ///< of the body, in its frame [m]

    int steps() const { return kept * every; }
    void write_state(int body, int state, const BodyState& moving);
    /// Time step t of a body: its outcome, and the state after it where that is kept. Steps must come in order.
    void write_step(int body, int t, const StepOutcome& outcome, const BodyState& after);
};

/// Line 1 of Algorithm 1 for one body, v1 = v + h M^-1 tau: gravity and the gyroscopic torque -w x I w.
Twist free_twist(const Hull& hull, const Rotation& rotation, const StepSettings& setting, const Twist& twist);

/// M^-1 at the centre of mass, world axes.
InverseInertia inverse_inertia_of(const Hull& hull, const Rotation& rotation);

/// Line 1 for body number `index`. If it touches, its contact is appended.
/// touch: a vertex touches when it lies below this height [m]
bool start_body(const StepSettings& setting, const Hull& hull, ContactMemory& memory, int index, BodyState& moving, double touch);

/// The next contact of `memory`, whose rotation and height are known already: if it touches, it is appended as one of
/// body number `index`, and lacks only its twist, time step and fall.
bool append_contact(ContactMemory& memory, const Hull& hull, int index, double touch);

/// The twist of penetration recovery, without friction. targets: speeds of vertices by their depth, with a limit
Twist penetration_recovery(const Contact& contact, double compliance, Targets targets);

/// Move a body by its new velocity, and by the correction of its depth.
void move_body(BodyState& moving, const Twist& correction, double timestep);

/// Some bodies of one shape that move by time steps, with a law.
struct Batch {
    Law& law;
    const StepSettings& setting;
    const Hull& hull;
    ContactMemory& memory;
    std::span<BodyState> bodies;
    int first;  ///< number of the first of them
};

/// One time step of all bodies of a batch that have not settled. outcome: of each body in the last step, then in this one
void time_step(const Batch& batch, std::span<StepOutcome> outcome);

/// The same for steps that are taken whole, as in the paper.
void whole_step(const Batch& batch, std::span<StepOutcome> outcome);

/// The same in parts that end where a corner reaches the ground: see cut_step.cpp.
void cut_step(const Batch& batch, std::span<StepOutcome> outcome);

/// Steps of all bodies of a batch, through all of the record.
/// pause: called now and then; it may throw to end the motion
void simulate(const Batch& batch, Record& record, const std::function<void()>& pause);

}  // namespace stiction
