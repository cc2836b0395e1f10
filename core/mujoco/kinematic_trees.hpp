// Groups of kinematic trees that act on each other: a contact or a constraint connects them (union-find).
#pragma once

#include <numeric>
#include <vector>

namespace stiction::mujoco {

/// At first each tree is a separate group.
class Trees {
  public:
    void reset(int count) {
        parent_.resize(count);
        std::iota(parent_.begin(), parent_.end(), 0);
    }

    /// The tree that represents the group of this one.
    int group(int tree) {
        while (parent_[tree] != tree) tree = parent_[tree] = parent_[parent_[tree]];
        return tree;
    }

    /// Make the groups of two trees one.
    void connect(int a, int b) { parent_[group(a)] = group(b); }

  private:
    std::vector<int> parent_;
};

}  // namespace stiction::mujoco
