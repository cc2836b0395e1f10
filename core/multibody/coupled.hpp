// Static and normal impulses of several links of one system that touch the ground and feel each other.
//
// Vectors over the n links are flat, (6 n,): the twist or the wrench of each link at its own centre of mass, one after
// another. L = J M^-1 J^T (6 n, 6 n) is the inverse inertia of the links inside their system: impulses p change their
// twists by L p. M_b^-1, the inverse inertia of each link on its own, stands in its contact.
#pragma once

#include "contact/contact.hpp"
#include "math/dense.hpp"
#include "contact/frictionless_lcp.hpp"

namespace stiction {

/// The assumption on a link: its patch sticks, or it slides with this friction.
struct Assumption {
    bool is_static = false;
    Friction friction;
};

/// Keeps of a friction what a patch can slide or spin along.
///
/// A link of a hinged chain can neither yaw nor slide across its plane, but a law does not know that: where two
/// mirrored answers are as good, it gives one of them, whose spin torque would lead V1 out of the plane.
struct SlipProjection {
    double xx = 1.0, xy = 0.0, yy = 1.0;  ///< of the plane: a projection
    double spin = 1.0;                    ///< 1, or 0 where it cannot spin

    Friction operator*(const Friction& f) const {
        return {xx * f.p_x + xy * f.p_y, xy * f.p_x + yy * f.p_y, spin * f.m_z, spin * f.m_x, spin * f.m_y};
    }
};

/// The patches that stand still, and what does not change as long as these are the same ones: with rows S from all
/// twists to the velocities of these patches, the factors of S L S^T and the mobility that is left to the other links.
class StaticPatches {
  public:
    void forget() { known_ = false; }
    /// Find out what there is to know of the links that are assumed to be static.
    void prepare(const Contacts& contacts, const Matrix& L, std::span<const Assumption> links);
    /// L of a system in which these patches cannot move; not there when all links are static.
    const Matrix& rest() const { return rest_; }
    /// Take from twists v what they are changed by when these patches are stopped.
    void stop(double* v);
    /// Add to p the impulses that stop these patches, which move with twists v.
    void add_impulses(const double* v, double* p);

  private:
    struct Row {
        int link;     // whose six columns are the only ones of this row that are not zero
        double S[6];
    };
    bool known_ = false;
    std::vector<char> is_static_;
    std::vector<Row> rows_;
    std::vector<double> speed_;
    Matrix SL_, K_, grip_, rest_;  // S L; the factor of S L S^T; (S L S^T)^-1 S L; see rest()

    void measure(const double* v);
};

/// Impulses of all links in one step.
class Balance {
  public:
    explicit Balance(int most_links);

    /// Start a step.
    /// V_free: twists after a step without contact, (6 n,)
    /// compliance: share of its own response by which a loaded vertex yields
    void start(const Contacts& contacts, const double* V_free, const Matrix& L, double compliance);

    /// Share of M_b^-1 that was added to L since links cannot move in all directions: 0 if they can.
    ///
    /// A hinged chain cannot move out of its plane, so that impulses across it have no effect and no unique size. The
    /// least one is wanted, measured by what it would do to the free link: a trace of its mobility chooses it.
    double share() const { return share_; }
    /// L, with that share of M_b^-1.
    const Matrix& mobility() const { return share_ > 0.0 ? regularised_ : *L_; }
    SlipProjection slip_projection(int link) const;

    /// Impulses p (6 n,) in the system itself that stop the patches of the static links and give the others their
    /// friction, and the normal impulse with which nothing approaches and what bounces does. A static patch may pull: the
    /// caller looks.
    ///
    /// Feet that push against each other through the robot may be stopped by many impulses. Of these the one nearest
    /// to the static links' friction is taken, so that what a law has agreed to stays.
    void solve(std::span<const Assumption> links, double* p);

    /// Whether vertices separate as fast as they bounce, as at the start of each step, or not at all.
    void let_bounce(bool bounce) { bounce_ = bounce; }

    /// Impulses p (6 n,) without friction after which the vertices of all links separate at their target speeds, if
    /// nothing moved before.
    void separate(Targets targets, double* p);

  private:
    Contacts contacts_;
    const double* V_free_ = nullptr;
    const Matrix* L_ = nullptr;
    double compliance_ = 0.0, share_ = 0.0;
    bool bounce_ = true;
    int vertices_ = 0, most_vertices_ = 0;  // of all patches, and of the largest
    Matrix regularised_;
    StaticPatches static_;
    FrictionlessLCP lcp_;
    std::vector<Normal> normal_;
    std::vector<Assumption> sliding_;
    std::vector<double> before_, now_, freed_;

    void stiffen();
    void settle(std::span<const Assumption> links, double* p);
    void solve_normal(const Matrix& L, const double* V, std::span<const Assumption> links, Targets targets);
};

}  // namespace stiction
