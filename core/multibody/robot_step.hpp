// The part of an engine's step in which links touch the ground: what the engine would do without contact, Algorithm 2,
// and the forces that bring its impulses.
//
// An engine whose own constraints answer to the contact impulse needs several rounds: it is asked anew what it would do
// with the forces of the last round, until what was foreseen comes true.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "multibody/ground.hpp"
#include "multibody/joint_space.hpp"
#include "multibody/links.hpp"

namespace stiction {

constexpr int MOST_ROUNDS = 5;

/// What a round says. UNKNOWN: the engine's step is not linear, so that its V, R and L must be tried out.
enum class Progress { AGAIN = 0, DONE = 1, UNKNOWN = 2 };

/// What became of the contact of one link: of the last step, then counts since the start.
struct ContactNote {
    Mode mode = Mode::NONE;
    Kind kind = Kind::NONE;
    std::int64_t evaluations = 0, steps = 0, asked = 0, unsolved = 0, outside = 0;
    std::int64_t uncovered = 0;  ///< steps in which it touched what its law does not cover; whoever sees that counts
    Wrench impulse;              ///< world axes, like the next one
    Twist asked_at;              ///< V1, about which the law was asked last
    double pressed = 0.0;        ///< normal impulse of this step so far
    bool is_unsolved = false, is_outside = false;  ///< whether any part of this step was

    void begin_step() {
        mode = Mode::NONE, kind = Kind::NONE, evaluations = 0, impulse = {}, pressed = 0.0;
        is_unsolved = is_outside = false;
    }
    /// Add a part of a step: impulses add up, the greatest names mode and kind. normal: of the part's impulse
    void add(Mode its_mode, Kind its_kind, const Wrench& its_impulse, double normal) {
        const bool is_first = kind == Kind::NONE;
        steps += is_first;
        if (is_first || normal > 0.5 * pressed) mode = its_mode, kind = its_kind;
        impulse = is_first ? its_impulse : impulse + its_impulse;
        pressed += normal;
    }
};

class RobotStep {
  public:
    /// spins: places of quaternions in qpos, and of their spins in qvel
    RobotStep(std::shared_ptr<Links> links, const EngineArrays& engine, std::vector<PlacedLink> placed, Ground ground,
              double tolerance, std::vector<std::array<int, 2>> spins);

    /// Whether all positions and velocities of the joints are numbers that the engine takes.
    bool is_finite() const;
    /// Begin a step, or another part of one that is taken in parts: look where the links are; how many touch.
    /// timestep: of this part [s]
    int touch(double timestep, bool is_first = true);

    /// One round: find how the links follow impulses, solve Algorithm 2 and apply forces that bring its impulses.
    Progress contact_part(const EngineConstraints& constraints, double timestep, bool damps, int round);
    /// The three parts of a round, for another solver than Algorithm 2's or where the engine's step is not linear.
    bool find_linear(const EngineConstraints& constraints, double timestep, bool damps);
    /// Whether what the last round foresaw has come true; if not, `V_free` is known from here on.
    bool came_true(int round);
    void solve() { links_->solve(V_free_.data(), linear_.L, tolerance_); }
    /// Instead of a first round: apply forces that bring the impulses of the last step.
    void begin_with_last(double timestep);
    /// Whether the solution that Links has brings about what the forces that are applied now do.
    bool is_applied();
    /// Apply the solution that Links has. answers: whether anything of the engine answers to the impulses
    /// share: of the way to it from the impulses that are applied now, after the first round
    Progress apply(double timestep, bool answers, int round, double share = 1.0);
    /// After the last round: how what has sunk in is to rise.
    void plan_rise(double timestep);

    /// Take our forces off.
    void withdraw();
    /// After the engine's step: take our forces off, note what became of the links, and raise what has sunk in.
    ///
    /// Joint positions go once more from where they were, with a velocity that is never seen otherwise. Where some of
    /// them are quaternions that is left to the engine: true if it must. Then `before` and `rise` are what it needs,
    /// and `take_positions` follows.
    bool finish(double timestep);
    /// Take the positions in `before`. Spins of free and ball joints stay as they are in the world, though an engine
    /// keeps them in axes that have moved.
    void take_positions();
    void forget();

    Links& links() { return *links_; }
    const PlacedLink& placed(int link) const { return placed_[link]; }
    /// Contact points of a link that touches, world axes.
    std::vector<Vector> points(int link) const;
    LinearStep& linear() { return linear_; }
    /// The engine's step was tried out in world axes.
    void turn_linear() { linear_.turn_to_planes(touching_); }
    std::span<double> V_free() { return V_free_; }

    double error = 0.0;                  ///< by which what was foreseen did not come true, relative to what impulses change
    std::vector<ContactNote> notes;      ///< of each link
    std::vector<Wrench> last;            ///< of each link: its impulse in the last step or part of one, world axes
    std::vector<double> rise, before;    ///< velocity of the joints that raises what has sunk in; qpos before the step
    std::vector<double> foreseen;        ///< twists (6 n,) of the touching links after the step, axes of their planes

  private:
    std::shared_ptr<Links> links_;
    EngineArrays engine_;
    std::vector<PlacedLink> placed_;
    Ground ground_;
    double tolerance_;
    std::vector<std::array<int, 2>> spins_;
    LinearStep linear_;
    std::vector<const PlacedLink*> touching_;
    std::vector<double> V_free_, impulse_, scratch_;
    std::vector<std::array<double, 6>> applied_;  // forces on the links that are not ours, while ours are applied
    int evaluations_ = 0;

    void place(int link);
    double error_of(const std::vector<double>& twists) const;
    std::vector<double> foreseen_with(const std::vector<double>& impulse) const;
    void apply_impulses(double timestep, bool is_first);
};

}  // namespace stiction
