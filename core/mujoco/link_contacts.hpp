// Contacts of links that have a learned law with the fixed ground, by Algorithm 2 (multibody/algorithm2.hpp).
#pragma once

#include "multibody/ground.hpp"
#include "multibody/links.hpp"
#include "mujoco/contact_set.hpp"
#include "mujoco/link_response.hpp"

namespace stiction::mujoco {

/// Statistics of the contact of one link: of the last step, then counts since the start.
struct LinkStatistics {
    Mode mode = Mode::NONE;
    Kind kind = Kind::NONE;
    std::int64_t evaluations = 0, steps = 0, all_evaluations = 0, unsolved = 0, outside = 0, uncovered = 0;
    Wrench impulse;              ///< world axes, like the next one
    Twist last_query;            ///< V1 of the last evaluation of the law
    double normal_impulse = 0.0; ///< in this step so far
    bool is_unsolved = false, is_outside = false;  ///< in any sub-step of this step

    void start() {
        mode = Mode::NONE, kind = Kind::NONE, evaluations = 0, impulse = {}, normal_impulse = 0.0;
        is_unsolved = is_outside = false;
    }
    /// Add a sub-step: impulses add up, the greatest one decides mode and kind. normal: its normal impulse
    void add(Mode its_mode, Kind its_kind, const Wrench& its_impulse, double normal) {
        const bool is_first = kind == Kind::NONE;
        steps += is_first;
        if (is_first || normal > 0.5 * normal_impulse) mode = its_mode, kind = its_kind;
        impulse = is_first ? its_impulse : impulse + its_impulse;
        normal_impulse += normal;
    }
};

/// A link with a law, and where it is in this step.
struct PlacedLink {
    int body;             ///< number in the model
    Rotation frame;       ///< from its law's body frame to the model's
    int plane = -1;       ///< the plane that it may touch; -1: none
    bool turned = false;  ///< whether the axes of this plane are not the world's
    Rotation axes{};      ///< if so: rows, the plane's axes in world axes
    Vector position{};    ///< of its centre of mass, z above the plane
    Rotation rotation{};  ///< from its body to the plane's axes

    /// A twist or a wrench in world axes, in those of the plane; and back.
    template <class T> T to_plane(const T& a) const { return turned ? T{axes * a.linear, axes * a.angular} : a; }
    template <class T> T to_world(const T& a) const {
        return turned ? T{axes.inverse(a.linear), axes.inverse(a.angular)} : a;
    }
};

/// The links of a model and their ground.
struct LinkSetup {
    std::shared_ptr<Links> links;
    std::vector<PlacedLink> placed;           ///< one a link
    Ground ground;
    std::vector<std::vector<int>> plane_geoms;  ///< of each plane: the model's geoms in it
    std::vector<std::array<int, 2>> spins;    ///< of free and ball joints: addresses of quaternions in qpos, of spins in qvel
    /// Another solver than Algorithm 2's search by modes, such as Powell's; it leaves its solution in `links`.
    std::function<void(const std::vector<double>& V_free, const Matrix& L)> solver;
};

class LinkContacts final : public ContactSet {
  public:
    LinkContacts(const PointContext& context, const std::vector<ContactPoint>& points, LinkSetup setup);

    void find(bool is_first) override;
    bool is_empty() const override { return bodies_.empty(); }
    /// Start from the impulses of the last step, or from none.
    void start(bool from_last);
    /// Solve where nothing else responds to the impulses: the solution is final.
    void solve_alone();
    void solve() override;
    void apply(AppliedForces& forces) const override;
    bool converged() override;
    void commit(bool is_first) override;
    void recover_penetration() override;

    /// Whether points or constraints respond to impulses on the links, or the response is not exact.
    bool is_coupled() const { return is_coupled_; }
    /// Whether the last step was solved: the laws agree, and beside points the velocities are near those predicted.
    bool is_solved() const { return is_solved_; }
    int size() const { return static_cast<int>(setup_.placed.size()); }
    /// Contact points of a link at the start of the last step, world axes [m].
    std::vector<Vector> points(int link) const;

    std::vector<LinkStatistics> statistics;  ///< of each link
    std::vector<int> touching;               ///< numbers of the links that touch
    std::vector<Wrench> last;                ///< impulse of each link in the last step or sub-step, world axes
    std::vector<double> V_free, predicted;   ///< twists (6 n,) of the touching links without their contact, and with it

  private:
    PointContext context_;
    const std::vector<ContactPoint>& points_;  // that are solved for beside these links
    LinkSetup setup_;
    std::vector<std::vector<char>> is_in_plane_;  // of each plane: whether each geom is
    std::vector<int> link_of_geom_;
    std::vector<int> bodies_;                  // of the links that touch
    std::vector<const PlacedLink*> touching_;
    LinkResponse response_;                    // in the axes of the links' planes
    std::vector<double> impulse_;              // (6 n,), that is applied
    std::vector<double> position_before_;      // qpos at the start of the step
    double error_ = 0.0, step_ = 1.0;          // prediction error; share of the way to the laws' impulses
    bool is_coupled_ = true, is_solved_ = true, has_prediction_ = false;
    int evaluations_ = 0;

    Links& links() const { return *setup_.links; }
    const Solution& solution() const { return setup_.links->algorithm2().solution(); }
    double sliding_error() const { return context_.settings.converged_sliding * context_.settings.tolerance; }
    void place(int link);
    void exclude();
    void count_uncovered();
    void find_response(const double* velocities);
    bool fits();
    void ask_laws();
    std::vector<double> predict(const std::vector<double>& impulse) const;
    double error_of(const std::vector<double>& twists) const;
};

}  // namespace stiction::mujoco
