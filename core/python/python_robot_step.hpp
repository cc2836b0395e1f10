// A step of a robot as Python holds it: its parts come in their order, or it raises.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "python/python_links.hpp"
#include "multibody/robot_step.hpp"

namespace stiction {

/// An array that is looked at where it is: nothing is converted or copied.
template <class T> using Given = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

/// How far a step has come: what it finds in one part, the next one looks at.
enum class Stage { NONE, TOUCHED, LINEAR, FREE, APPLIED, PLANNED };

/// A RobotStep with all that it looks at, which must live as long. Its functions are those of RobotStep.
class PythonRobotStep {
  public:
    /// arrays: what owns the engine's arrays
    PythonRobotStep(nb::dict arrays, const EngineConstraints& constraints, std::shared_ptr<PythonLinks> links,
                    std::unique_ptr<RobotStep> robot)
        : links(std::move(links)), robot(std::move(robot)), arrays_(std::move(arrays)), constraints_(constraints) {}

    std::shared_ptr<PythonLinks> links;
    std::unique_ptr<RobotStep> robot;

    int touch(double timestep, bool is_first) {
        const int n = robot->touch(timestep, is_first);
        stage_ = Stage::TOUCHED, applied_ = false, touch_ = links->touches();
        constraints_.count = 0;
        return n;
    }

    /// The engine's own constraints in this step; they stay where they are until the engine begins its next step.
    /// layout: of sparse rows: how many numbers each has, where it begins, and the columns of all
    void set_constraints(const Given<double>& J, const Given<double>& D, const Given<int>& state,
                         const std::vector<Given<int>>& layout) {
        expect({Stage::TOUCHED, Stage::LINEAR, Stage::FREE, Stage::APPLIED});
        constraints_.count = 0;  // as long as it is not known that they fit
        const std::size_t count = D.size(), dofs = robot->rise.size();
        const bool sparse = constraints_.sparse = !layout.empty();
        if (state.size() < count || (!sparse && J.size() < count * dofs) || (sparse && layout.size() != 3))
            throw nb::value_error("The arrays of the constraints do not fit together.");
        constraints_.rows = J.data(), constraints_.stiffness = D.data(), constraints_.state = state.data();
        if (sparse) set_layout(layout, count, std::min(J.size(), layout[2].size()), static_cast<int>(dofs));
        constraints_.count = static_cast<int>(count);
        numbers_ = {J, D};
        integers_ = layout;
        integers_.push_back(state);
    }

    int contact_part(double timestep, bool damps, int round) {
        expect({Stage::TOUCHED, Stage::APPLIED}), expect_round(round);
        const Progress progress = robot->contact_part(constraints_, timestep, damps, round);
        if (progress != Progress::UNKNOWN) applied_ = true;
        if (progress == Progress::AGAIN) stage_ = Stage::APPLIED;
        if (progress == Progress::DONE) stage_ = Stage::PLANNED;
        return static_cast<int>(progress);
    }

    bool find_linear(double timestep, bool damps) {
        expect({Stage::TOUCHED, Stage::APPLIED});
        const bool is_linear = robot->find_linear(constraints_, timestep, damps);
        if (is_linear) stage_ = Stage::LINEAR;
        return is_linear;
    }

    void set_linear(const Input<double, -1>& V, const Input<double, -1, -1>& R, const Input<double, -1, -1>& L) {
        expect({Stage::TOUCHED, Stage::APPLIED});
        const std::size_t n = 6 * std::size_t(links->contacts().size()), dofs = robot->rise.size();
        if (V.shape(0) != n || R.shape(0) != dofs || R.shape(1) != n || L.shape(0) != n || L.shape(1) != n)
            throw nb::value_error("V, R and L must be of shapes (6 n,), (dofs, 6 n) and (6 n, 6 n).");
        LinearStep& linear = robot->linear();
        linear.V.assign(V.data(), V.data() + n);
        linear.R.resize(static_cast<int>(dofs), static_cast<int>(n));
        linear.L.resize(static_cast<int>(n), static_cast<int>(n));
        std::copy_n(R.data(), dofs * n, linear.R[0]);
        std::copy_n(L.data(), n * n, linear.L[0]);
        robot->turn_linear();
        stage_ = Stage::LINEAR;
    }

    void begin_with_last(double timestep) {
        expect({Stage::TOUCHED});
        robot->begin_with_last(timestep);
        stage_ = Stage::APPLIED, applied_ = true;
    }

    bool came_true(int round) {
        expect({Stage::LINEAR}), expect_round(round);
        const bool is_true = robot->came_true(round);
        stage_ = is_true ? Stage::APPLIED : Stage::FREE;
        return is_true;
    }

    void solve() {
        expect({Stage::FREE});
        robot->solve();
    }

    bool is_applied() {
        expect({Stage::FREE});
        expect_solution();
        const bool is_applied = robot->is_applied();
        if (is_applied) stage_ = Stage::APPLIED;
        return is_applied;
    }

    int apply(double timestep, int round, double share) {
        expect({Stage::FREE}), expect_round(round);
        expect_solution();
        const Progress progress = robot->apply(timestep, constraints_.count > 0, round, share);
        stage_ = Stage::APPLIED, applied_ = true;
        return static_cast<int>(progress);
    }

    void plan_rise(double timestep) {
        expect({Stage::FREE, Stage::APPLIED});
        expect_solution();
        robot->plan_rise(timestep);
        stage_ = Stage::PLANNED;
    }

    bool finish(double timestep) {
        expect({Stage::PLANNED});
        stage_ = Stage::NONE;
        return robot->finish(timestep);
    }

  private:
    nb::dict arrays_;
    EngineConstraints constraints_;
    std::vector<Given<double>> numbers_;  // arrays of the constraints, so that they live as long
    std::vector<Given<int>> integers_;
    Stage stage_ = Stage::NONE;
    bool applied_ = false;                // whether a round of this step has applied its forces
    std::int64_t touch_ = -1;             // number of the links' `touch` with which the step began

    /// Raise unless the step stands at one of these stages, and its links have not been asked to touch since it began.
    void expect(std::initializer_list<Stage> stages) const {
        if (std::find(stages.begin(), stages.end(), stage_) == stages.end() || links->touches() != touch_)
            throw nb::value_error("The parts of a step come in this order: touch, find_linear or set_linear, came_true, "
                                  "solve, apply, and again from find_linear on; plan_rise, finish.");
    }
    /// Raise unless this is a number of a round that fits: 0 before forces were applied, more afterwards.
    void expect_solution() const {
        if (!links->has_begun()) throw nb::value_error("There is no solution of this step yet: solve first.");
    }
    void expect_round(int round) const {
        if (round < 0 || round >= MOST_ROUNDS || (round > 0) != applied_)
            throw nb::value_error("Rounds of a step are counted from 0, and each but the last applies its forces.");
    }
    /// size: how many numbers all rows may have; dofs: how many columns
    void set_layout(const std::vector<Given<int>>& layout, std::size_t count, std::size_t size, int dofs) {
        if (layout[0].size() < count || layout[1].size() < count)
            throw nb::value_error("The arrays of the constraints do not fit together.");
        const int *lengths = layout[0].data(), *starts = layout[1].data(), *columns = layout[2].data();
        constraints_.length = lengths, constraints_.start = starts, constraints_.column = columns;
        for (std::size_t c = 0; c < count; ++c) {
            const int start = starts[c], length = lengths[c];
            if (start < 0 || length < 0 || std::size_t(start) + std::size_t(length) > size)
                throw nb::value_error("A row of the constraints does not end where it should.");
            const auto is_none = [dofs](int column) { return column < 0 || column >= dofs; };
            if (std::any_of(columns + start, columns + start + length, is_none))
                throw nb::value_error("A row of the constraints names a dof that is not there.");
        }
    }
};

}  // namespace stiction
