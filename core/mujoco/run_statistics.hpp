// Statistics of a run, from which src/stiction/mujoco/report.py makes its report: points, residuals, pairs of geoms, and time.
#pragma once

#include <chrono>
#include <unordered_map>

#include "mujoco/contact_point.hpp"

namespace stiction::mujoco {

/// The parts of a step in which time is spent.
enum class Phase { DETECTION, CONSTRAINTS, FREE_MOTION, SOLVING, INTEGRATION, RECOVERY };

/// Measures the time spent in each phase: a lap ends one, and the next begins. Only every 17th step is measured, because
/// reading the clock would otherwise take some percent of the shortest steps.
class PhaseClock {
  public:
    static constexpr int PHASES = 6, EVERY = 17;
    std::int64_t steps = 0, measured = 0;  ///< all steps, or sub-steps of them; those that were measured
    std::array<std::int64_t, PHASES> nanoseconds{};

    void start() {
        is_on_ = ++steps % EVERY == 0;
        if (is_on_) ++measured, last_ = now();
    }
    void lap(Phase phase) {
        if (!is_on_) return;
        const std::int64_t time = now();
        nanoseconds[static_cast<int>(phase)] += time - last_;
        last_ = time;
    }

  private:
    bool is_on_ = false;
    std::int64_t last_ = 0;

    static std::int64_t now() {
        using namespace std::chrono;
        return duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
    }
};

/// How many steps had a relative residual in each range: ten ranges for each power of ten.
class ResidualHistogram {
  public:
    static constexpr int PER_DECADE = 10, LEAST = -16, DECADES = 20;  ///< the first range is at 1e-16
    std::array<std::int64_t, PER_DECADE * DECADES> counts{};

    void add(double residual) {
        const double place = PER_DECADE * (std::log10(std::max(residual, 1e-300)) - LEAST);
        ++counts[static_cast<int>(std::clamp(place, 0.0, PER_DECADE * DECADES - 1.0))];  // NaN counts as the least
    }
};

/// Contacts between two geoms.
struct GeomPairStatistics {
    int geom1, geom2;
    std::int64_t steps = 0;     ///< in which they were in contact: time steps, or sub-steps of them
    std::int64_t unsolved = 0;  ///< of these, steps in which the guards set their impulses
    std::int64_t points = 0;    ///< summed over these steps
    double depth = 0.0;         ///< greatest penetration [m]
    double start_depth = 0.0;   ///< the same in the first step of the run with points [m]
};

class RunStatistics {
  public:
    std::int64_t steps = 0;                 ///< in which there were points: time steps, or sub-steps of them
    std::int64_t points = 0, most_points = 0;  ///< summed over these steps; the most in one
    double greatest_residual = 0.0;         ///< of unsolved steps, relative
    ResidualHistogram residuals;            ///< of the same steps
    std::vector<GeomPairStatistics> pairs;

    /// residual: relative, of a step that was not solved; 0: of one that was
    void add(std::span<const ContactPoint> all, double residual) {
        if (all.empty()) return;
        ++steps, points += static_cast<std::int64_t>(all.size());
        most_points = std::max(most_points, static_cast<std::int64_t>(all.size()));
        if (residual > 0.0) residuals.add(residual), greatest_residual = std::max(greatest_residual, residual);
        GeomPairStatistics* pair = nullptr;
        for (const ContactPoint& point : all) {  // those of a pair mostly follow each other
            if (!pair || pair->geom1 != point.geom1 || pair->geom2 != point.geom2) pair = &pair_of(point);
            const bool is_next = last_step_[pair - pairs.data()] != steps;
            last_step_[pair - pairs.data()] = steps;
            pair->steps += is_next, pair->unsolved += is_next && point.guarded, ++pair->points;
            pair->depth = std::max(pair->depth, -point.distance);
            if (steps == 1) pair->start_depth = pair->depth;
        }
    }

    void clear() { *this = {}; }
    /// Replace the statistics of all pairs.
    void set_pairs(std::vector<GeomPairStatistics> all) {
        pairs = std::move(all);
        numbers_.clear(), last_step_.assign(pairs.size(), -1);
        for (std::size_t k = 0; k < pairs.size(); ++k) numbers_[key(pairs[k].geom1, pairs[k].geom2)] = static_cast<int>(k);
    }

  private:
    std::unordered_map<std::int64_t, int> numbers_;  // of pairs of geoms in `pairs`
    std::vector<std::int64_t> last_step_;            // of each pair: when it was in contact last

    static std::int64_t key(int geom1, int geom2) { return (static_cast<std::int64_t>(geom1) << 32) + geom2; }
    GeomPairStatistics& pair_of(const ContactPoint& point) {
        const auto [found, is_new] = numbers_.try_emplace(key(point.geom1, point.geom2), static_cast<int>(pairs.size()));
        if (is_new) pairs.push_back({point.geom1, point.geom2}), last_step_.push_back(-1);
        return pairs[found->second];
    }
};

}  // namespace stiction::mujoco
