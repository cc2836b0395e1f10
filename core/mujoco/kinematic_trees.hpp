// Which trees of joints feel each other: those that a constraint or a contact connects.
#pragma once

#include <numeric>
#include <vector>

namespace stiction::mujoco {

/// Trees in groups. At first each tree is a group of its own.
class Trees {
  public:
    void begin(int count) {
        parent_.resize(count);
        std::iota(parent_.begin(), parent_.end(), 0);
    }

    /// The tree that stands for the group of this one.
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
