#include "multibody/algorithm2.hpp"

#include "contact/algorithm1.hpp"
#include "contact/labels.hpp"
#include "contact/frictionless_lcp.hpp"
#include "contact/static_impulse.hpp"

namespace stiction {
namespace {

constexpr struct {
    int max_evaluations = 40;      // of the law in one step; then the best friction so far is taken
    int usual_evaluations = 8;     // after which the search restarts from its best point with shorter steps, ...
    double loose_tolerance = 5.0;  // ... and this multiple of the tolerance is accepted
    int max_restops = 2;           // times that a sliding link may be assumed to be static again
} SETTINGS;

/// A length that makes torques comparable to forces [m].
double arm_of(const Contact& c) { return std::max(c.radius, 0.01 * c.diameter); }

/// The five numbers of a friction, torques divided by an arm.
std::array<double, 5> in_forces(const Friction& f, double arm) {
    return {f.p_x, f.p_y, f.m_z / arm, f.m_x / arm, f.m_y / arm};
}

}  // namespace

const Solution& Algorithm2::solve(std::span<const LawOfRun> laws, const Contacts& contacts, const double* V_free,
                                  const Matrix& L, double tolerance) {
    if (!start(laws, contacts, V_free, L)) return solution_;
    if (all_stay_at_rest()) {  // mechanics decides: the laws are not asked
        balance_links();
        for (int i = 0; i < size(); ++i) solution_.mode[i] = links_[i].pressed ? Mode::STATIC : Mode::DETACH;
        return solution_;
    }
    // A lone link starts with its Coulomb estimate, if that lets it slide: this may spare an evaluation.
    if (size() == 1 && has_coulomb_estimates() && slide_by_estimate()) {
        assumed_[0].is_static = false;
        links_[0].stopped_again = SETTINGS.max_restops - 1;  // it has not been stopped yet
    } else {
        has_start_ = at_start_ = false;
        for (Assumption& link : assumed_) link.friction = {};
    }
    int& evaluations = solution_.evaluations;
    bool solved = false;
    while (evaluations < SETTINGS.max_evaluations && !solved) {
        balance_links();                            // p of what is assumed
        ask_at(solution_.impulse.data());     // V1 = V_free + (L - M_b^-1) p
        classify();                   // c = C(V1)
        ++evaluations;
        if (release() || stop_again()) continue;  // C returns another mode than was assumed
        ask_friction();               // p_f = R(V1)
        const double size = write_mismatch(), error = search_.error();
        solved = error <= (evaluations < SETTINGS.usual_evaluations ? tolerance : SETTINGS.loose_tolerance * tolerance) * size;
        if (solved) {
            if (at_start_ && error > 0.0) {  // the estimate is near enough, but the law is more exact
                for (int i = 0; i < this->size(); ++i)
                    if (!assumed_[i].is_static) assumed_[i].friction = links_[i].wanted;
                balance_links();
            }
            break;
        }
        if (search_.improves()) remember_best();
        if (evaluations % SETTINGS.usual_evaluations == 0) {  // not converged: restart from the best point
            search_.return_to_best();
            search_.shorten(std::ldexp(1.0, -(evaluations / SETTINGS.usual_evaluations)));
        }
        const std::span<const double> x = search_.next();
        for (int i = 0; i < this->size(); ++i) {
            const double arm = arm_of(contacts_[i]), *own = x.data() + 5 * i;
            assumed_[i].friction = {own[0], own[1], arm * own[2], arm * own[3], arm * own[4]};
        }
        at_start_ = false;
    }
    if (!solved && search_.has_best()) {
        for (int i = 0; i < size(); ++i) assumed_[i].friction = links_[i].best;
        balance_links();
    }
    solved = solved && forced_links_stop(SETTINGS.loose_tolerance * tolerance);
    solution_.solved = guard_energy(SETTINGS.loose_tolerance * tolerance) && solved;
    for (int i = 0; i < size(); ++i) {
        solution_.mode[i] = assumed_[i].is_static               ? Mode::STATIC
                            : solution_.impulse[6 * i + 2] > 0.0 ? Mode::DYNAMIC
                                                                 : Mode::DETACH;
    }
    note_outcome();
    return solution_;
}

bool Algorithm2::start(std::span<const LawOfRun> laws, const Contacts& contacts, const double* V_free,
                       const Matrix& L) {
    const int n = contacts.size();
    laws_ = laws, contacts_ = contacts, V_free_ = V_free, L_ = &L;
    solution_.impulse.assign(6 * n, 0.0);
    solution_.mode.assign(n, Mode::DETACH), solution_.outside.assign(n, false);
    solution_.evaluations = 0, solution_.solved = true;
    links_.assign(n, {}), assumed_.assign(n, {}), coulomb_estimate_.resize(n), slip_projection_.resize(n), change_.resize(6 * n);
    compliance_ = 0.0;
    for (const auto& [law, first, count] : laws) {
        compliance_ = std::max(compliance_, law->compliance);
        for (int i = first; i < first + count; ++i) links_[i].law = law, coulomb_estimate_[i] = law->coulomb_estimate();
    }
    has_start_ = at_start_ = start_is_known_ = false;
    balance_.start(contacts, V_free, L, compliance_);
    bool any = false;
    arrival_.resize(6 * n);
    for (int i = 0; i < n; ++i) {
        Contact& c = contacts_[i];
        c.in_system = true, c.grip = links_[i].law->grip;
        c.free = twist_from(V_free + 6 * i);
        write(c.before, &arrival_[6 * i]);
        links_[i].pressed = contacts[i].lowest_separation(twist_from(V_free + 6 * i)) < 0.0;
        links_[i].stopped_again = n == 1 ? SETTINGS.max_restops : 0;  // one that was static alone would be no more so again
        assumed_[i].is_static = links_[i].pressed;
        any = any || links_[i].pressed;
    }
    if (!any) return false;
    note_bounces();
    for (int i = 0; i < n; ++i) slip_projection_[i] = balance_.slip_projection(i);
    search_.start(5 * n);
    return true;
}

void Algorithm2::note_outcome() {
    if (compliance_ > 0.0) multiply(*L_, solution_.impulse.data(), change_.data());
    for (int i = 0; i < size() && compliance_ > 0.0; ++i) {
        Contact& c = contacts_[i];
        c.impulse = wrench_from(&solution_.impulse[6 * i]), c.mode = solution_.mode[i];
        const Twist after = twist_from(V_free_ + 6 * i) + twist_from(&change_[6 * i]);
        solution_.mode[i] = recorded_mode(c, after, links_[i].law->compliance);
    }
    for (const auto& [law, first, count] : laws_)
        for (int i = 0; i < count; ++i)
            solution_.outside[first + i] = law->outside(contacts_.part(first, count), i);
}

void Algorithm2::handle(const double* p) {
    ask_at(p);
    for (const auto& [law, first, count] : laws_)
        if (count > 0) algorithm1(*law, contacts_.part(first, count));
}

bool Algorithm2::has_coulomb_estimates() const {
    const auto exists = [](const CoulombFriction& estimate) { return estimate.mu_x >= 0.0; };
    return std::all_of(coulomb_estimate_.begin(), coulomb_estimate_.end(), exists);
}

/// Write V1 = V_free + (L - M_b^-1) p of every link into its contact: the twist it would have without its own p.
void Algorithm2::ask_at(const double* p) {
    multiply(*L_, p, change_.data());
    for (int i = 0; i < size(); ++i) {
        const Twist all = twist_from(V_free_ + 6 * i) + twist_from(change_.data() + 6 * i);
        contacts_[i].velocity = all - contacts_[i].inverse_inertia * wrench_from(p + 6 * i);
    }
}

/// The modes that H takes at the V1 of the contacts, and which links ask for R's friction. Static links want the
/// friction that stops their patches; forced ones R's, whatever the mode.
void Algorithm2::classify() {
    for (const auto& [law, first, count] : laws_)
        if (count > 0) law->classify(contacts_.part(first, count));
    for (int i = 0; i < size(); ++i) {
        Contact& c = contacts_[i];
        Link& link = links_[i];
        if (link.at_rest) c.mode = Mode::STATIC;
        if (c.mode == Mode::DETACH && c.lowest_separation(c.velocity) < 0.0)
            c.mode = Mode::DYNAMIC;  // guard of Algorithm 1: what still approaches does not detach
        const bool is_static = c.mode == Mode::STATIC;
        link.asks = c.mode == Mode::DYNAMIC || (is_static && link.forced);
        link.wanted = {};
        solution_.mode[i] = c.mode;
        if (is_static && !link.forced) {
            if (stop_patch(c, link.law->compliance) != Mode::STATIC)
                solution_.mode[i] = Mode::DYNAMIC;  // to stop it one would have to pull: only friction is kept
            link.wanted = c.friction;
        }
        // A link that the law would stop where it slides, but lets slide where it is stopped, slides: no mode is right.
        if (!assumed_[i].is_static && solution_.mode[i] == Mode::STATIC)
            link.forced = ++link.found_static > SETTINGS.usual_evaluations;
    }
}

/// R's friction of the links that ask for it; of all links only what has an effect.
void Algorithm2::ask_friction() {
    for (int i = 0; i < size(); ++i) contacts_[i].mode = links_[i].asks ? Mode::DYNAMIC : Mode::DETACH;
    for (const auto& [law, first, count] : laws_)
        if (count > 0) law->friction(contacts_.part(first, count));
    for (int i = 0; i < size(); ++i) {
        if (links_[i].asks) links_[i].wanted = within_reason(contacts_[i], contacts_[i].friction);
        if (balance_.share() > 0.0) links_[i].wanted = slip_projection_[i] * links_[i].wanted;
    }
}

/// Give all links the friction of their Coulomb estimates; return whether anything slides by it.
bool Algorithm2::slide_by_estimate() {
    if (!start_is_known_) start_slides_ = start_.find(contacts_, V_free_, balance_.mobility(), coulomb_estimate_, slip_projection_);
    start_is_known_ = has_start_ = at_start_ = true;
    for (int i = 0; i < size(); ++i) assumed_[i].friction = links_[i].best = start_.friction()[i];
    return start_slides_;
}

/// Let links slide that were assumed to be static and that the law does not stop; return whether to restart with them.
bool Algorithm2::release() {
    bool any = false, pulls = false;
    const bool has_coulomb_estimates = this->has_coulomb_estimates();
    for (int i = 0; i < size(); ++i) {
        if (!assumed_[i].is_static || solution_.mode[i] == Mode::STATIC) continue;
        any = true;
        assumed_[i] = {false, friction_part(contacts_[i], wrench_from(&solution_.impulse[6 * i]))};
        if (!has_coulomb_estimates) {
            // Asked at this V1, stopping the patch takes just this impulse: the free link shows whether it pushes.
            pulls = pulls || stop_patch(contacts_[i], 0.0) != Mode::STATIC;
        }
    }
    if (!any) return false;
    search_.start(5 * size());
    if (has_start_) {  // a link that slid, was stopped and must slide after all: as it did
        for (int i = 0; i < size(); ++i) assumed_[i].friction = links_[i].best;
    } else if (has_coulomb_estimates) {  // what stops a patch may be more than any friction: start with the estimate
        slide_by_estimate();
        if (balance_.share() > 0.0)  // feet that push against each other: stopped as by the estimate
            for (int i = 0; i < size(); ++i) assumed_[i].is_static = links_[i].pressed && size() > 1;
    }
    return has_start_ || pulls;  // a V1 of an impulse that pulls cannot be
}

/// Assume links to be static again that slide by a friction at which C returns static: all at first, later one after
/// another. Return whether there is any.
bool Algorithm2::stop_again() {
    bool any = false;
    for (int i = 0; i < size(); ++i) {
        Link& link = links_[i];
        if (assumed_[i].is_static || solution_.mode[i] != Mode::STATIC) continue;
        const bool first = link.stopped_again == 0;
        if (!first && (any || link.stopped_again >= SETTINGS.max_restops)) continue;
        assumed_[i].is_static = any = true;
        ++link.stopped_again;
        if (!first) break;
    }
    if (!any) return false;
    search_.start(5 * size());
    remember_best();
    return true;
}

/// Write the friction of the sliding links and its difference from the law's into the search; return a scale for it.
double Algorithm2::write_mismatch() {
    double total = 0.0;
    for (int i = 0; i < size(); ++i) {
        double *x = search_.x.data() + 5 * i, *F = search_.F.data() + 5 * i;
        total += std::fabs(solution_.impulse[6 * i + 2]);
        if (assumed_[i].is_static) {
            std::fill(x, x + 5, 0.0), std::fill(F, F + 5, 0.0);
            continue;
        }
        const Friction &given = assumed_[i].friction, &wanted = links_[i].wanted;
        const double arm = arm_of(contacts_[i]);
        const auto now = in_forces(given, arm);
        const auto miss = in_forces({wanted.p_x - given.p_x, wanted.p_y - given.p_y, wanted.m_z - given.m_z,
                                     wanted.m_x - given.m_x, wanted.m_y - given.m_y}, arm);
        for (int k = 0; k < 5; ++k) x[k] = now[k], F[k] = miss[k], total += std::fabs(now[k]);
    }
    return total;
}

/// Return whether forced links, which slide though C returns static, get just the impulses that stop them.
bool Algorithm2::forced_links_stop(double tolerance) {
    for (int i = 0; i < size(); ++i) {
        if (!links_[i].forced || solution_.mode[i] != Mode::STATIC) continue;
        const Wrench stop = static_impulse(contacts_[i]), given = wrench_from(&solution_.impulse[6 * i]);
        const auto greatest = [](const Wrench& p) { return std::max(greatest_size(p.linear), greatest_size(p.angular)); };
        if (!(greatest(given - stop) <= tolerance * greatest(stop))) return false;
    }
    return true;
}

/// Let the laws set the restitution of links, evaluated at their motion without contact.
void Algorithm2::note_bounces() {
    bounces_ = false;
    for (const auto& [law, first, count] : laws_) {
        if (count == 0 || !law->bounces()) continue;
        const Contacts own = contacts_.part(first, count);
        for (Contact& c : own) c.velocity = c.free;
        law->classify(own);
        for (const Contact& c : own)
            for (int k = 0; k < c.count && c.restitution.e0 > 0.0; ++k)
                bounces_ = bounces_ || Targets::rebound(c, c.point(k)) > 0.0;
    }
}

void Algorithm2::remember_best() {
    for (int i = 0; i < size(); ++i) links_[i].best = assumed_[i].friction;
}

}  // namespace stiction
