// ALGORITHM 2 of the paper: the contact impulse of links inside any multibody system, with the laws of the free links.
//
// The paper solves for the joint force f_j that links and upstream system exchange, G(f_j) = 0. Whatever f_j is, all
// that the contact handler H (Algorithm 1) sees of it is the twist V1 that the link would have without its contact
// impulse p. So an engine gives two things, with p = 0 and for each unit of p:
//
//     V_free      twists of the links after a step without contact, and
//     L           their inverse inertia inside the system, J M^-1 J^T;
//
// the free link's own inverse inertia is M_b^-1, and the same equation reads
//
//     p = H(V1)   with   V1 = V_free + (L - M_b^-1) p,   and then   V+ = V_free + L p.
//
// Several links are stacked, V_free (6 n,) and L (6 n, 6 n), so that they feel each other.
#pragma once

#include "math/broyden.hpp"
#include "contact/contact.hpp"
#include "multibody/coupled.hpp"
#include "laws/law.hpp"
#include "multibody/starting_point.hpp"

namespace stiction {

/// A law and its contacts, which stand side by side.
struct LawOfRun {
    Law* law;
    int first, count;
};

/// Contact impulses of one step, and what it took to find them.
struct Solution {
    std::vector<double> impulse;    ///< (6 n,), each about its link's centre of mass
    std::vector<Mode> mode;         ///< (n,)
    std::vector<char> outside;      ///< (n,), whether it is outside of the law's training range
    int evaluations = 0;            ///< number of evaluations of the laws (the paper's evaluations of G)
    bool solved = true;             ///< whether p = H(V1); if not, p is safe, but the law would not have chosen it
};

/// Algorithm 2, with the memory that it works in.
class Algorithm2 {
  public:
    explicit Algorithm2(int most_links) : balance_(most_links) {}

    /// Solve p = H(V1), mode by mode, for the links whose patches are in `contacts`.
    ///
    /// A patch that nothing presses detaches, p = 0. Where all that are pressed may stick, p is the solution of a
    /// linear problem: it is accepted if C, evaluated at its V1, agrees. Only links that slide iterate, on their friction alone:
    /// whatever p_f is, the normal impulse follows from the frictionless problem in L.
    ///
    /// A law may let links bounce. How fast depends on how they arrive, with the twists in `before` of their contacts,
    /// and on V_free, not on V1: so it is known before the search.
    ///
    /// tolerance: of the friction impulse, relative to the contact's impulses
    const Solution& solve(std::span<const LawOfRun> laws, const Contacts& contacts, const double* V_free,
                          const Matrix& L, double tolerance);

    /// For another solver: take the system; false if nothing is pressed, so that p = 0.
    bool start(std::span<const LawOfRun> laws, const Contacts& contacts, const double* V_free, const Matrix& L);
    /// Its start: impulses as if all links that approach the ground stuck.
    void stop_pressed() { balance_links(); }
    /// H(V1) for the impulses p (6 n,): Algorithm 1 for every link, evaluated at V1 = V_free + (L - M_b^-1) p.
    void handle(const double* p);

    /// Once p and its modes are known: record modes as those of single bodies are recorded, and note which links the
    /// laws, as evaluated last, report to be outside of their training range.
    void note_outcome();

    Solution& solution() { return solution_; }
    /// What physics settles of the system that was solved last.
    Balance& balance() { return balance_; }

  private:
    /// State of the search for one link.
    struct Link {
        Law* law = nullptr;
        bool pressed = false;      // something of it approaches the ground
        bool at_rest = false;      // it stays at rest without friction, so that it is static for every law
        bool asks = false;         // R is evaluated for its friction
        bool forced = false;       // it slides, whatever mode C returns
        int found_static = 0;      // how often C called it static while it slid
        int stopped_again = 0;     // how often it was assumed to be static again
        Friction wanted;           // what its law wants
        Friction best;             // its friction where the search came closest
    };

    std::span<const LawOfRun> laws_;
    Contacts contacts_;
    const double* V_free_ = nullptr;
    const Matrix* L_ = nullptr;
    double compliance_ = 0.0;
    bool has_start_ = false, at_start_ = false;  // whether Coulomb estimates gave the friction; whether it is evaluated now
    bool start_is_known_ = false, start_slides_ = false;
    bool bounces_ = false;  // whether any vertex is to separate faster than not at all
    double lost_to_forces_ = 0.0;  // see lost_to_forces() [J]
    Solution solution_;
    std::vector<Link> links_;
    std::vector<Assumption> assumed_, scaled_;
    std::vector<CoulombFriction> coulomb_estimate_;
    std::vector<SlipProjection> slip_projection_;
    std::vector<double> change_, arrival_, bounced_;
    Balance balance_;
    StartingPoint start_;
    Broyden search_;

    int size() const { return static_cast<int>(links_.size()); }
    bool has_coulomb_estimates() const;
    void balance_links() { balance_.solve(assumed_, solution_.impulse.data()); }
    void ask_at(const double* p);
    void classify();
    void ask_friction();
    bool slide_by_estimate();
    bool release();
    bool stop_again();
    double write_mismatch();
    bool forced_links_stop(double tolerance);
    void note_bounces();
    // Guards: see algorithm2_guards.cpp.
    bool all_stay_at_rest();
    bool guard_energy(double tolerance);
    bool guard_friction(double tolerance);
    void guard_bounce();
    bool friction_opposes_slip(const std::vector<double>& p);
    bool takes_energy(const std::vector<double>& p);
    double energy_added(const std::vector<double>& p);
    double lost_to_forces() const;
    double energy_gained(const std::vector<double>& p, const double* V);
    double share_of_way(const std::vector<double>& p, const std::vector<double>& way, const double* V, double most);
    void remember_best();
};

}  // namespace stiction
