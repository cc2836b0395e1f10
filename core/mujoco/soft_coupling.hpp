// How slip and spin of a soft contact share its friction.
//
// Under a soft contact of load n each element of its area slips along the sum of the slip v of the contact and of the velocity
// by its spin w about the normal (Contensou 1963; Howe and Cutkosky, "Practical force-motion models for sliding manipulation",
// 1996: an ellipsoid as the limit surface, which is also MuJoCo's elliptic cone):
//
//     f = -n mu (mu v) / r,   m = -n tau (tau w) / r,   r = |(mu v, tau w)|,   mu: friction, tau: torsion.
//
// A contact that spins resists slow slip like a viscous liquid, so that it creeps under any force: that is what turns a tippe
// top over. Slip does the same to slow spin. The friction solver has separate limits for f and m. Each is therefore given r of
// the start of the step, and is solved for
//
//     as a compliance v = c f with c = r / (mu^2 n), up to the whole limit, where it is slower than the other or may stop within
//         the step: this cannot overshoot, and a contact comes to rest exactly inside of the ellipsoid;
//     else as friction with the share mu v / r of the coefficient, and a compliance by the other's speed below it.
//
// Both give the force above at the speeds of the start. At rest, both limits hold separately.
#pragma once

#include "friction/point_friction.hpp"

namespace stiction::mujoco {

struct SharedFriction {
    double share = 1.0;       ///< of the coefficient that is left
    double compliance = 0.0;  ///< velocity per impulse before it slips

    /// own, other: speeds times coefficients; change: of `own` by the limit in this step; limit: greatest impulse
    static SharedFriction of(double own, double other, double change, double limit, double coefficient) {
        if (!(limit > 0.0 && coefficient > 0.0 && other > 0.0)) return {};
        const double r = norm(own, other), per_speed = coefficient * limit;
        if (own <= std::max(other, change)) return {1.0, r / per_speed};
        return {own / r, std::sqrt(2.0) * other / per_speed};
    }
};

/// Let slip and spin share the friction of points that resist spinning about their normals.
/// before: velocities of all rows before the step; loads: an estimate of each row's impulse; mobility: its inverse
/// effective inertia; at_rest: slower points stick [m/s];
/// compliance: of each row, to be increased
inline void share_friction(PointFriction& friction, const std::vector<double>& before, const std::vector<double>& loads,
                           const std::vector<double>& mobility, double at_rest, std::vector<double>& compliance) {
    for (std::size_t t = 0; t < friction.torques.size(); ++t) {
        TorqueRows& torque = friction.torques[t];
        const int z = 3 * torque.point, row = torque.first;
        const double load = loads[z], x = before[z + 1], y = before[z + 2], slip = norm(x, y);
        if (torque.count != 1 || !(load > 0.0)) continue;
        SlidingPoint& point = friction.points[torque.point];
        const double c = slip > 0.0 ? x / slip : 1.0, s = slip > 0.0 ? y / slip : 0.0;
        const double limit = point.map->limit(point, load, c, s, friction.timestep).size, mu = limit / load;
        const double tau = torque.coefficient, v = mu * slip, w = tau * std::fabs(before[row]);
        if (norm(v, w) <= mu * at_rest) continue;
        const double moved = mu * limit * std::max(mobility[z + 1], mobility[z + 2]);
        const SharedFriction slipping = SharedFriction::of(v, w, moved, limit, mu);
        const SharedFriction spinning = SharedFriction::of(w, v, tau * tau * load * mobility[row], tau * load, tau);
        point.coefficient *= slipping.share, point.viscous *= slipping.share;
        compliance[z + 1] += slipping.compliance, compliance[z + 2] += slipping.compliance;
        torque.coefficient *= spinning.share;
        compliance[row] += spinning.compliance;
    }
}

}  // namespace stiction::mujoco
