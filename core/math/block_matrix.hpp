// A square matrix of dense blocks, most of which are zero, and linear systems with it.
//
// Nodes are numbered by the user; each has a block on the diagonal. The matrix need not be symmetric, but its pattern is.
// It is factored block by block in an order of least degree (George and Liu, "The evolution of the minimum degree ordering
// algorithm", 1989), with pivoting inside the blocks on the diagonal only: they must be regular while others are eliminated, as
// those of a positive definite matrix are.
#pragma once

#include "math/vectors.hpp"

namespace stiction {

class BlockMatrix {
  public:
    /// Set the sizes of the nodes and which of them share a block, pair by pair; all numbers become zero.
    void set_pattern(std::span<const int> sizes, std::span<const std::pair<int, int>> pairs);
    void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
    /// The block of rows of node a and columns of node b, row by row; a pair of the pattern, or a = b.
    double* block(int a, int b);
    /// Factor in place; false if a block on the diagonal is singular.
    bool factor();
    /// Replace the right side by the solution, with what `factor` left. Numbers of node a start at `first(a)`.
    void solve(double* x);
    int first(int node) const { return first_[node]; }
    int size() const { return size_; }

  private:
    /// A block row right of the diagonal and the block column below it: the same nodes.
    struct Neighbour {
        int position, right, below;  // of the node in the order; where the blocks start
    };
    std::vector<int> size_of_, first_, position_, order_, diagonal_, pivots_;
    std::vector<int> begin_;             // of each position: its first neighbour
    std::vector<Neighbour> neighbours_;  // by position, in rising order
    std::vector<double> values_, scratch_;
    int size_ = 0;

    void order(std::vector<std::vector<int>>& links);
    const Neighbour& neighbour(int position, int other) const;
    double* at(int row, int column);
};

}  // namespace stiction
