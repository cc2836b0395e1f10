// Motions of bodies, for Python: whole rollouts, and one step a call.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "python/arrays.hpp"
#include "python/owned_contacts.hpp"
#include "stepping/step.hpp"
#include "stepping/threads.hpp"

namespace stiction {
namespace {

constexpr int CHUNK = 256;  // bodies stepped together, at most: enough to fill the processor, few enough for its cache
constexpr int FEWEST = 64;  // in a chunk of several threads, of which each is to have SHARES: one may be slower
constexpr int SHARES = 4;

int chunk_size(int bodies, int threads) {
    if (threads == 1) return CHUNK;
    return std::min(CHUNK, std::max(FEWEST, (bodies + SHARES * threads - 1) / (SHARES * threads)));
}

/// Whole motions of bodies whose centres of mass lie at `com` in their frames. Of the frames: position (n, kept + 1, 3),
/// quaternion, velocity and spin; impulse (n, kept, 6) about the centre of mass, mode and kind (n, kept).
nb::tuple rollout(std::shared_ptr<Law> law, std::shared_ptr<Hull> hull, Input<double, 3> com,
                  Input<double, -1, 3> position, Input<double, -1, 4> quaternion, Input<double, -1, 6> twist,
                  double timestep, Input<double, 3> gravity, int substeps, int steps, int every, int threads) {
    if (steps < 0 || every < 1 || steps % every || threads < 1)
        throw nb::value_error("steps must be a multiple of every, and there must be a thread.");
    std::vector<BodyState> bodies = states_from(position, quaternion, twist);
    threads = std::min(threads, std::max(1, static_cast<int>(bodies.size())));
    const std::size_t n = bodies.size(), kept = static_cast<std::size_t>(steps / every);
    Record record{};
    record.kept = static_cast<int>(kept), record.every = every;
    record.com = vector_from(com.data());
    auto positions = unfilled_array({n, kept + 1, 3}, &record.position);
    auto quaternions = unfilled_array({n, kept + 1, 4}, &record.quaternion);
    auto velocities = unfilled_array({n, kept + 1, 3}, &record.velocity);
    auto spins = unfilled_array({n, kept + 1, 3}, &record.spin);
    auto impulses = unfilled_array({n, kept, 6}, &record.impulse);
    auto modes = unfilled_array({n, kept}, &record.mode);
    auto kinds = unfilled_array({n, kept}, &record.kind);
    const StepSettings setting{timestep, vector_from(gravity.data()), substeps, true};
    {
        nb::gil_scoped_release unlocked;
        const int size = chunk_size(static_cast<int>(n), threads), chunks = (static_cast<int>(n) + size - 1) / size;
        const auto work = [&](int k, int, const std::function<void()>& pause) {
            const std::size_t first = std::size_t(k) * size, count = std::min<std::size_t>(size, n - first);
            auto memory = std::make_shared<ContactMemory>(static_cast<int>(count),
                                                          static_cast<int>(hull->vertices.size()), hull);
            simulate({*law, setting, *hull, *memory, std::span(bodies).subspan(first, count), static_cast<int>(first)},
                     record, pause);
        };
        share_out(chunks, threads, work, [] {
            nb::gil_scoped_acquire locked;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        });
    }
    return nb::make_tuple(positions, quaternions, velocities, spins, impulses, modes, kinds);
}

/// As long as it lives, nobody else steps: a law in Python lets other threads run in the middle of a step.
class Use {
  public:
    explicit Use(std::atomic_flag& flag) : flag_(flag) {
        if (flag_.test_and_set())
            throw Refusal("A Stepper is in the middle of a step, of another thread or asked by its own law: give each "
                          "thread a Stepper of its own.");
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { flag_.clear(); }

  private:
    std::atomic_flag& flag_;
};

/// Bodies that move by one time step a call.
class Stepper {
  public:
    Stepper(std::shared_ptr<Law> law, std::shared_ptr<Hull> hull, Input<double, -1, 3> position,
            Input<double, -1, 4> quaternion, Input<double, -1, 6> twist, double timestep, Input<double, 3> gravity,
            int substeps)
        : law_(std::move(law)), hull_(std::move(hull)), setting_{timestep, vector_from(gravity.data()), substeps, true},
          bodies_(states_from(position, quaternion, twist)),
          memory_(std::make_shared<ContactMemory>(static_cast<int>(bodies_.size()),
                                                  static_cast<int>(hull_->vertices.size()), hull_)) {
        outcome_.resize(bodies_.size());
    }

    void step() {
        const Use use(in_use_);
        time_step({*law_, setting_, *hull_, *memory_, bodies_, 0}, outcome_);
    }

    void set(Input<double, -1, 3> position, Input<double, -1, 4> quaternion, Input<double, -1, 6> twist) {
        const Use use(in_use_);
        std::vector<BodyState> bodies = states_from(position, quaternion, twist);
        if (bodies.size() != bodies_.size()) throw nb::value_error("The number of bodies must stay the same.");
        for (std::size_t i = 0; i < bodies.size(); ++i) bodies[i].impacts = bodies_[i].impacts;
        bodies_ = std::move(bodies);
        outcome_.assign(bodies_.size(), {});
    }

    nb::tuple state() const { return as_tuple(bodies_); }

    /// Take over the outcome of the last step, and the impacts so far, from another stepper.
    void remember(Input<double, -1, 6> impulse, Input<std::int8_t, -1> mode, Input<std::int8_t, -1> kind,
                  Input<std::int64_t, -1> impacts) {
        const Use use(in_use_);
        check_rows(bodies_.size(), impulse, mode, kind, impacts);
        for (std::size_t i = 0; i < bodies_.size(); ++i) {
            bodies_[i].impacts = impacts.data()[i];
            outcome_[i].impulse = wrench_from(impulse.data() + 6 * i);
            outcome_[i].mode = static_cast<Mode>(mode.data()[i]);
            outcome_[i].kind = static_cast<Kind>(kind.data()[i]);
        }
    }

    auto impulse() const {
        return rows_of(bodies_.size(), 6, [&](int i) { return Wrench{} + outcome_[i].impulse; });  // no negative zeros
    }
    auto mode() const {
        return values_of<std::int8_t>(outcome_.size(), [&](int i) { return outcome_[i].mode; });
    }
    auto kind() const {
        return values_of<std::int8_t>(outcome_.size(), [&](int i) { return outcome_[i].kind; });
    }
    auto impacts() const {
        return values_of<std::int64_t>(bodies_.size(), [&](int i) { return bodies_[i].impacts; });
    }

  private:
    std::shared_ptr<Law> law_;
    std::shared_ptr<Hull> hull_;
    StepSettings setting_;
    std::vector<BodyState> bodies_;
    std::shared_ptr<ContactMemory> memory_;
    std::vector<StepOutcome> outcome_;
    std::atomic_flag in_use_;
};

}  // namespace

void bind_step(nb::module_& m) {
    m.def("rollout", &rollout, "law"_a, "hull"_a, "com"_a, "position"_a, "quaternion"_a, "twist"_a, "timestep"_a, "gravity"_a,
          "substeps"_a, "steps"_a, "every"_a, "threads"_a,
          "Motions of bodies from states at their centres of mass, which lie at `com` in their frames: position, "
          "quaternion, velocity and spin of the frames, impulse, mode, kind.");
    nb::class_<Stepper>(m, "Stepper", "Bodies that move by one time step a call.")
        .def(nb::init<std::shared_ptr<Law>, std::shared_ptr<Hull>, Input<double, -1, 3>, Input<double, -1, 4>,
                      Input<double, -1, 6>, double, Input<double, 3>, int>())
        .def("step", &Stepper::step, "Move on by one time step.")
        .def("set", &Stepper::set, "Go on from other states, at the centres of mass.")
        .def("state", &Stepper::state, "Position, quaternion and twist at the centres of mass.")
        .def("remember", &Stepper::remember, "Take over impulses, modes and kinds of a last step, and the impacts so far.")
        .def("impulse", &Stepper::impulse, "Contact impulses of the last step, (n, 6).")
        .def("mode", &Stepper::mode, "Modes of the last step, (n,).")
        .def("kind", &Stepper::kind, "Kinds of the patches in the last step, (n,).")
        .def("impacts", &Stepper::impacts, "Number of impacts of each body so far, (n,).");
}

}  // namespace stiction
