// From an engine's joints to its links: where they are, and how their twists follow impulses on them.
//
// Twists of links and impulses on them are in the axes of the planes that they stand on: see ground.hpp. On level
// ground these are the world's.
//
// Everything is read from the engine's own arrays, which it changes in place. Names and layout are MuJoCo's: a body's
// numbers stand before those of the bodies it carries, and a joint's velocities ("dofs") likewise.
#pragma once

#include <span>
#include <vector>

#include "math/dense.hpp"
#include "math/vectors.hpp"

namespace stiction {

/// The engine's arrays; they belong to it.
struct EngineArrays {
    const double *xipos, *xmat;              ///< centres of mass of all bodies, 3 a body; their rotations, 9 a body
    const double *subtree_com;               ///< 3 a body
    const double *cdof;                      ///< motion of each dof (angular, linear) at subtree_com of its tree
    const double *M;                         ///< joint-space inertia, lower triangle: row r ends with its diagonal
    const int *M_rowadr, *M_colind;          ///< where row r of M begins; columns of its numbers
    std::span<double> qpos, qvel;
    const double *qacc;
    const double *qfrc_smooth, *qfrc_constraint;  ///< joint forces but for those of constraints, and these
    double *xfrc_applied;                    ///< forces on bodies (force, torque) about their centres of mass, 6 a body
    std::span<const double> dof_damping;
    std::vector<std::span<const double>> other_damping;  ///< has no closed form here where any of it is not zero
};

/// The engine's own constraints in this step: each is a spring on accelerations while its state says so.
struct EngineConstraints {
    int count = 0;
    const double* rows = nullptr;       ///< one after another: all columns, or if sparse those of the list
    const int *length = nullptr, *start = nullptr, *column = nullptr;  ///< of sparse rows: numbers, first, columns
    const double* stiffness = nullptr;  ///< of each
    const int* state = nullptr;         ///< of each
    bool sparse = false;
    int quadratic, cone;                ///< the state of one that is a spring now; of one that slides: not linear
};

/// A link with a law in the engine.
struct PlacedLink {
    int body;                ///< its number
    int root;                ///< the body whose subtree_com its dofs are about
    std::vector<int> dofs;   ///< the numbers of the dofs that move it
    Rotation frame;          ///< from its law's body frame to the engine's
    int plane = -1;          ///< number of the plane that it stands on, in this step; -1: none
    bool turned = false;     ///< whether the axes of this plane are not the world's
    Rotation axes{};         ///< if so: rows, the plane's axes in world axes
    Vector position{};       ///< of its centre of mass, z above the plane, in this step
    Rotation rotation{};     ///< from its body to the plane's axes, in this step

    /// A twist or an impulse in world axes, in those of the plane; and back.
    template <class T> T to_plane(const T& a) const { return turned ? T{axes * a.linear, axes * a.angular} : a; }
    template <class T> T to_world(const T& a) const {
        return turned ? T{axes.inverse(a.linear), axes.inverse(a.angular)} : a;
    }
};

/// The twist of a link with the present velocities of the joints.
Twist twist_of(const EngineArrays& engine, const PlacedLink& link);

/// How n links follow impulses on them in this step.
struct LinearStep {
    std::vector<double> V;   ///< their twists after the step with the forces applied now, (6 n,)
    Matrix R;                ///< how impulses on them change the velocities of the joints, (dofs, 6 n)
    Matrix L;                ///< how impulses change their own twists, (6 n, 6 n)

    /// False where the engine's step is not linear in impulses, or has no closed form: nothing is known then.
    /// damps: whether the engine takes joint damping implicitly, after its constraints
    bool find(const EngineArrays& engine, const EngineConstraints& constraints,
              std::span<const PlacedLink* const> links, double timestep, bool damps);
    /// Where they were found in world axes: turn them into those of the links' planes.
    void turn_to_planes(std::span<const PlacedLink* const> links);

  private:
    Matrix J_;                         // transposed: from the twists' directions to the joints', (dofs, 6 n)
    Matrix met_, met_later_, M_;       // what impulses and velocities meet, see `find`, (dofs, dofs)
    Matrix before_;
    std::vector<double> change_;
};

}  // namespace stiction
