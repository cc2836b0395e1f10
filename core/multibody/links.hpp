// The links of a multibody system that have a contact law: which of them touch, and Algorithm 2 for those.
#pragma once

#include "multibody/algorithm2.hpp"
#include "contact/contact.hpp"
#include "laws/law.hpp"
#include "geometry/patch.hpp"
#include "stepping/step.hpp"

namespace stiction {

class Links {
  public:
    /// laws, hulls: one a link; links that share a law share the object
    Links(const std::vector<std::shared_ptr<Law>>& laws, const std::vector<std::shared_ptr<Hull>>& hulls,
          double timestep)
        : laws_(laws), hulls_(hulls), timestep_(timestep), algorithm2_(static_cast<int>(laws.size())) {
        std::size_t vertices = 1;
        for (const auto& hull : hulls) vertices = std::max(vertices, hull->vertices.size());
        const int n = static_cast<int>(laws.size());
        memory_ = std::make_shared<ContactMemory>(n, static_cast<int>(vertices),
                                                  std::make_shared<decltype(hulls_)>(hulls));
        // Links of one law stand together, so that it is evaluated for all of them at once.
        std::vector<char> placed(laws.size(), false);
        for (int i = 0; i < n; ++i) {
            if (placed[i]) continue;
            groups_.push_back({laws[i].get(), {}});
            asked_.push_back({laws[i].get(), 0, 0});
            for (int k = i; k < n; ++k)
                if (laws[k] == laws[i]) groups_.back().links.push_back(k), placed[k] = true;
        }
    }

    int size() const { return static_cast<int>(laws_.size()); }
    const Hull& hull(int link) const { return *hulls_[link]; }

    /// Find the links that touch the ground z = 0; returns their number.
    /// position, rotation: of a link, by its number: of its centre of mass [m], and body to world
    template <class Position, class RotationOf> int touch(Position position, RotationOf rotation) {
        is_started_ = false;
        memory_->clear();
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            asked_[g].first = memory_->size();
            for (const int i : groups_[g].links) look_at(i, position(i), rotation(i));
            asked_[g].count = memory_->size() - asked_[g].first;
        }
        return memory_->size();
    }

    /// Length of the steps from here on [s].
    void set_timestep(double timestep) { timestep_ = timestep; }

    /// Contacts of the last `touch`; the index of each is its link's number.
    Contacts contacts() const { return memory_->all(); }

    /// Contact impulses of the links that touch: see Algorithm2.
    const Solution& solve(const double* V_free, const Matrix& L, double tolerance) {
        is_started_ = true;
        return algorithm2_.solve(asked_, contacts(), V_free, L, tolerance);
    }
    /// The start of another solver: see Algorithm2.
    bool start(const double* V_free, const Matrix& L) {
        is_started_ = true;
        return algorithm2_.start(asked_, contacts(), V_free, L);
    }
    /// Whether Algorithm 2 was started since the last `touch`.
    bool is_started() const { return is_started_; }
    Algorithm2& algorithm2() { return algorithm2_; }

  private:
    struct Group {
        Law* law;
        std::vector<int> links;
    };

    std::vector<std::shared_ptr<Law>> laws_;
    std::vector<std::shared_ptr<Hull>> hulls_;
    double timestep_;
    bool is_started_ = false;
    std::shared_ptr<ContactMemory> memory_;
    std::vector<Group> groups_;
    std::vector<LawOfRun> asked_;
    Algorithm2 algorithm2_;

    void look_at(int link, const Vector& position, const Rotation& rotation) {
        const Hull& hull = *hulls_[link];
        if (position.z > hull.reach + hull.rounding + TOUCH) return;
        Contact& c = memory_->next();
        c.height = position.z;
        c.rotation = rotation;
        if (!append_contact(*memory_, hull, link, TOUCH)) return;
        c.velocity = c.before = {};
        c.timestep = timestep_;
        c.fall = 0.0;
    }
};

}  // namespace stiction
