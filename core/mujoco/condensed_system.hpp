// The Delassus operator of a group of contacts as a product of sparse rows, and linear systems with it.
//
// In coordinates in which the effective inertia is the unit matrix ("white", see TreeFactor), impulses x change the joint
// velocities by y = W^T x, and the velocities along the rows are
//
//     w = U y + b + C x.
//
// W has the rows of points, of their torques and of MuJoCo's constraints; C is a diagonal compliance. U = W, except for
// constraints of a model with implicit damping, which respond through the inertia without it. A = U W^T + C is never formed.
// Where the conditions of each block of rows, of a point or of a constraint, are linearised as dx = g - G (U dy), Newton's step is
//
//     (1 + W^T G U) dy = W^T g,
//
// a system over the joint velocities with a block for each kinematic tree, and one for each two trees that touch: its cost
// grows linearly with the number of contacts at a fixed number of neighbours.
#pragma once

#include "friction/point_equations.hpp"
#include "math/block_matrix.hpp"
#include "mujoco/system_rows.hpp"

namespace stiction::mujoco {

/// A point with its torques, or one of MuJoCo's constraints: rows with the same dofs.
struct RowBlock {
    static constexpr int MAX_ROWS = 6;
    int count = 0;
    std::array<int, MAX_ROWS> rows{};
    int point = -1;                 ///< -1: a constraint
    std::array<int, 2> torques{-1, -1};  ///< numbers of its torques
};

/// dx = g - G (U dy) at one block.
struct BlockResponse {
    std::array<double, RowBlock::MAX_ROWS * RowBlock::MAX_ROWS> G{};
    std::array<double, RowBlock::MAX_ROWS> g{};
};

class CondensedSystem {
  public:
    /// problem: its points, torques and bounded rows; white: W; other: U of the last rows, or null where it is W;
    /// tree: of each dof of the model
    void set_up(const PointSystem& problem, const SystemRows& white, const SystemRows* other, const int* tree, int nv);

    int rows() const { return static_cast<int>(starts_.size()) - 1; }
    std::span<const RowBlock> blocks() const { return blocks_; }
    /// The diagonal of U W^T.
    double diagonal(int row) const { return diagonal_[row]; }
    /// y = W^T x
    void respond(const std::vector<double>& x, std::vector<double>& y) const;
    /// w = U y + b + C x
    void velocities(const std::vector<double>& b, const std::vector<double>& C, const std::vector<double>& x,
                    std::vector<double>& w);
    /// Find dy and U dy for the responses of all blocks; false if the system is singular. The factors are kept as long as
    /// neither rows nor G change: a step of bodies at rest needs no factorisation.
    bool solve(std::span<const BlockResponse> responses, std::vector<double>& change);

  private:
    std::vector<RowBlock> blocks_;
    std::vector<int> starts_, dofs_;          // of W; local numbers of dofs
    std::vector<double> W_, U_;
    std::vector<int> other_starts_, other_dofs_;  // of U of the last rows, if it is not W
    std::vector<double> diagonal_;
    int first_bounded_ = 0, first_other_ = 0;  // the first row of constraints, and the first whose U is not W
    BlockMatrix matrix_;
    std::vector<int> node_, offset_;          // of each local dof
    std::vector<std::pair<int, int>> pattern_;
    std::vector<int> sizes_, pattern_sizes_;
    std::vector<BlockResponse> factored_;     // whose matrix is factored
    std::vector<double> y_, product_;

    void write_blocks(const PointSystem& problem);
    void write_pattern();
    void assemble(std::span<const BlockResponse> responses);
    template <int ROWS, int N>
    static void add_products(const double* const* W, const double* P, int stride, int m, int n, double* out, int columns);
    bool is_factored(std::span<const BlockResponse> responses) const;
    struct Row {
        const int* dofs;
        const double* values;
        int count;
    };
    /// The end of the dofs from k on that follow each other in one tree.
    int end_of_run(const Row& row, int k) const {
        while (++k < row.count && node_[row.dofs[k]] == node_[row.dofs[k - 1]] && offset_[row.dofs[k]] == offset_[row.dofs[k - 1]] + 1) {}
        return k;
    }
    Row W(int row) const { return {dofs_.data() + starts_[row], W_.data() + starts_[row], starts_[row + 1] - starts_[row]}; }
    Row U(int row) const {
        if (row < first_other_) return W(row);
        const int k = row - first_other_, first = other_starts_[k];
        return {other_dofs_.data() + first, U_.data() + first, other_starts_[k + 1] - first};
    }
};

}  // namespace stiction::mujoco
