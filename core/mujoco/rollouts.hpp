// Many motions of one model, in threads: each worker has its own data.
#pragma once

#include "stepping/threads.hpp"
#include "mujoco/step.hpp"

namespace stiction::mujoco {

/// Inputs and outputs, row by row; all memory belongs to the caller.
struct Motions {
    int count, steps;
    int state_kind, state_size;      ///< parts of a state that are given and recorded, for getState; size
    int control_kind, control_size;
    int sensor_size;
    const double* initial;           ///< (count, state_size)
    const double* warmstart;         ///< (count, dofs), or null
    const double* control;           ///< (count, steps, control_size), or null
    double* state;                   ///< (count, steps, state_size)
    double* sensors;                 ///< (count, steps, sensor_size)
};

inline void run_motion(const Motions& all, int k, Step& worker, const std::function<void()>& pause) {
    const Engine& e = worker.engine;
    const std::ptrdiff_t number = k;
    const double* initial = all.initial + number * all.state_size;
    e.run(e.functions.resetData);
    e.functions.setState(e.model_address, e.data_address, initial, all.state_kind);
    if (all.warmstart) std::copy_n(all.warmstart + number * e.model.nv, e.model.nv, *e.data.qacc_warmstart);
    worker.reset();
    int step = 0;
    for (; step < all.steps; ++step) {
        if (step % 64 == 0) pause();
        const std::ptrdiff_t row = number * all.steps + step;
        if (all.control)
            e.functions.setState(e.model_address, e.data_address, all.control + row * all.control_size, all.control_kind);
        if (const Outcome outcome = worker.step(); outcome != Outcome::DONE && outcome != Outcome::OVERFLOW) break;
        e.functions.getState(e.model_address, e.data_address, all.state + row * all.state_size, all.state_kind);
        std::copy_n(*e.data.sensordata, all.sensor_size, all.sensors + row * all.sensor_size);
    }
    for (; step < all.steps; ++step) {  // a motion that is not finite any more keeps its last state
        const std::ptrdiff_t row = number * all.steps + step;
        double *state = all.state + row * all.state_size, *sensors = all.sensors + row * all.sensor_size;
        std::copy_n(step > 0 ? state - all.state_size : initial, all.state_size, state);
        if (step > 0)
            std::copy_n(sensors - all.sensor_size, all.sensor_size, sensors);
        else
            std::fill_n(sensors, all.sensor_size, 0.0);
    }
}

/// Run all motions, in one thread for each worker; results do not depend on which worker takes which.
template <class Check> void run_motions(const Motions& all, const std::vector<Step*>& workers, Check check) {
    const auto work = [&](int k, int thread, const std::function<void()>& pause) { run_motion(all, k, *workers[thread], pause); };
    share_out(all.count, static_cast<int>(workers.size()), work, check);
}

}  // namespace stiction::mujoco
