// Tolerances and limits of a step in MuJoCo.
#pragma once

namespace stiction::mujoco {

struct Settings {
    // Set by the user: see stiction.mujoco.Simulation.
    double softness = 0.0;     ///< share of its own inverse effective inertia by which a loaded point yields; 0 is rigid
    double tolerance = 1e-3;   ///< of Algorithm 2's friction impulse, relative; a law's own error is not less
    double max_substep = 0.0;  ///< longest step that a law with sub-steps takes [s]; 0: steps are taken whole

    // The convergence loop.
    int max_rounds = 12;                  ///< integrations of a step; at most a third in a row for points before links are updated
    double converged = 1e-9;              ///< relative error of predicted velocities that ends the loop
    double converged_sliding = 0.1;       ///< share of `tolerance` that will do where links slide beside points
    double slow = 0.7;                    ///< a round that leaves more of the error than this halves the length of the next step
    double min_step = 0.25;               ///< shortest such step, as a share of the whole one

    // Finding contact points.
    double touching = 1e-4;               ///< [m] bodies at rest may be this far apart
    double nearby = 0.5;                  ///< [m/s] a point that pressed stays active while it could be closed this fast
    double sinking = 1e-12;               ///< [m] by which an inactive point may penetrate
    double same_position = 1e-6;          ///< [m] within which two points are one, found twice
    double same_normal = 1e-3;            ///< [rad] likewise

    double face = 1e-5;                   ///< compliance of an evenly pressed face, as a share of its inverse effective inertia

    // Solving for impulses at points.
    int dense_rows = 24;                  ///< groups of up to this many rows are solved with the dense Delassus operator first ...
    int dense_newton = 20;                ///< ... in at most this many Newton steps
    int max_stalled = 8;                  ///< successive interior-point steps that may not reduce the residual
    double fine = 1e-7, coarse = 1e-2;    ///< least and greatest proximal term, as shares of a point's inverse effective inertia
    double torques = 30.0;                ///< the same of torques is this much larger: a heap of soft bodies takes 3/4 of the time
    double exact_speed = 1e-13;           ///< [m/s] by which the proximal term may let a held point move
    int max_refinements = 3;              ///< repeated solutions with the proximal term centred on the last one
    double usable = 1e-4;                 ///< relative residual of impulses that are better than what the guards find
    double acceptable = 1e-8;             ///< relative residual of a sub-impact that is accepted
    double scaled_guarded = 1e-2;         ///< share that may be lost of what the guards find, before they try less friction
    double at_rest = 1e-9;                ///< [m/s] a slower point sticks
    int max_activations = 4;              ///< passes in which inactive points may be activated
};

}  // namespace stiction::mujoco
