// A contact: the data on which all algorithms and laws work.
//
// A contact has a frame of its own, z along its normal and its origin at the body's centre of mass. On level ground its
// axes are the world's; links of robots may stand on other planes (ground.hpp). Algorithms see contact points, the twist
// and the mobility in this frame, and nothing else of the body or the ground.
#pragma once

#include "geometry/hull.hpp"
#include "math/vectors.hpp"
#include "friction/point_friction.hpp"

namespace stiction {

/// The mode of a contact patch in a step, the paper's classes. NONE: nothing touches, or it is not known yet.
enum class Mode : std::int64_t { NONE = 0, STATIC = 1, DYNAMIC = 2, DETACH = 3 };

/// What a static contact holds beyond its points: nothing, turning about the normal, or any turning.
enum class Grip { POINTS, SPIN, ALL };

/// Dimension of a contact patch.
enum class Kind : std::int64_t { NONE = 0, POINT = 1, LINE = 2, SURFACE = 3 };

/// The normal impulse in its three unique numbers: p_n of the paper.
struct Normal {
    double p_z = 0.0, m_x = 0.0, m_y = 0.0;  ///< [N s], and torques about the centre of mass [N m s]
};

/// The friction impulse at the centre of the patch: p_f of the paper, (p_x, p_y, m_z) here, and the torques
/// (m_x, m_y) that it has about the centre where the vertices lie at unequal depths.
struct Friction {
    double p_x = 0.0, p_y = 0.0, m_z = 0.0, m_x = 0.0, m_y = 0.0;

    /// Add the friction part of an impulse f on a point at r from the patch's centre.
    void add(const Vector& r, const Vector& f) {
        p_x += f.x, p_y += f.y;
        m_z += r.x * f.y - r.y * f.x;
        m_x -= r.z * f.y, m_y += r.z * f.x;
    }
};

constexpr double RESTITUTION_SPEED = 0.5;  ///< [m/s] approach speed at which a coefficient of restitution is stated

/// Restitution: e(v) = e0 (v / 0.5 m/s)^-fall (1 - threshold / v) for an approach speed v above the threshold [m/s].
struct Restitution {
    double e0 = 0.0, fall = 0.0, threshold = 0.0;

    /// e(v) v, less what forces add to a fall in the step: that counts neither before nor after, or bounces would gain
    /// energy.
    double rebound(double v, double gained) const {
        if (v <= threshold) return 0.0;
        const double e = fall != 0.0 ? e0 * std::pow(v / RESTITUTION_SPEED, -fall) : e0;
        return std::max(0.0, std::min(1.0, e * (1 - threshold / v)) * v - gained);
    }
};

constexpr int MAX_FEATURES = 81;  ///< inputs of a learned law, at most
constexpr int MAX_OUTPUTS = 6;    ///< outputs of a learned law, at most

/// Inputs and outputs of a learned law for a contact: see laws/describe.hpp.
struct Description {
    double features[MAX_FEATURES] = {};
    double guess[3] = {};    ///< friction (p_x, p_y, m_z), guessed, in the units and axes below
    double unit_impulse = 0.0;  ///< [N s]; 0: the contact is not described, since it needs no normal impulse
    double unit_length = 0.0;   ///< [m]
    double turn[4] = {};     ///< rows of the rotation or reflection about the vertical into the axes of the description
    double normal[3] = {};   ///< the frictionless normal impulse (p_z, m_x, m_y)
    double answer[MAX_OUTPUTS] = {};

    bool exists() const { return unit_impulse > 0.0; }
};

/// So many contact points of a patch are kept, those that are asked for again and again: all, or if there are MANY more,
/// some that are spread evenly.
constexpr int FEW = 4;

/// The body of a contact: its pose and motion in this step.
struct BodyInContact {
    std::int64_t index = 0;     ///< number of the body in its batch
    const Hull* hull = nullptr;
    Rotation rotation;          ///< body to world
    double height = 0.0;        ///< of the centre of mass above the ground [m]
    Twist before;               ///< twist at the start of the step, before the applied forces
    Twist velocity;             ///< v1: twist after the applied forces, before contact
    InverseInertia inverse_inertia;          ///< M^-1
    double diameter = 0.0;      ///< of the body [m]
    double timestep = 0.0;      ///< length of this step [s]
    double fall = 0.0;          ///< speed towards the ground that a body at rest takes up in this step [m/s]
    std::int64_t impacts = 0;   ///< of the body before this step; 0 where they are not counted, as for links of robots
    bool in_system = false;     ///< whether the body is a link inside a system: then v1 is V1 of Algorithm 2
    Twist free;                 ///< if so: V_free, its twist after the step without any contact
};

/// The contact patch: written by `detect`, see geometry/patch.hpp.
struct ContactPatch {
    Kind kind = Kind::NONE;
    double depth = 0.0;         ///< of the lowest vertex below the ground [m]
    std::int64_t count = 0;     ///< number of touching vertices
    Vector centre;              ///< mean contact point, relative to the centre of mass
    Vector axis;                ///< direction of a line patch
    double radius = 0.0;        ///< root mean square distance of the vertices from the centre [m]
    double touch = 0.0;         ///< a vertex touches when it lies below this height [m]
    int face = -1;              ///< the vertices are a run of this face's loop; -1: they are listed
    int first = 0;              ///< where the run starts in the hull's loops
    const std::int32_t* listed = nullptr;  ///< numbers of the vertices, if they are listed
    double frame[2][2] = {};    ///< of a patch on a face: world x and y of the face's axes
    Vector corners[FEW];        ///< contact points that are kept, unless there are more than FEW and at most MANY
};

/// What a law and Algorithm 1 find out about a contact.
struct ContactResponse {
    Restitution restitution;    ///< how vertices bounce; a law sets it
    Grip grip = Grip::POINTS;   ///< likewise
    bool is_impact = false;     ///< whether the law counts this as an impact
    bool outside = false;       ///< whether it lies outside of the law's training range, if the law notes it
    Mode mode = Mode::NONE;     ///< the mode that C returns, then the one that was realised
    Friction friction;          ///< p_f of a dynamic contact
    Friction found;             ///< friction that a law's C has found on its way, for its R
    Wrench impulse;             ///< p: of the contact, about the centre of mass

    /// Friction and impulse stay: they are always written before they are read, and clearing them takes 2 % of a step.
    void reset_response() { restitution = {}, grip = Grip::POINTS, is_impact = outside = false, mode = Mode::NONE; }
};

struct Contact : BodyInContact, ContactPatch, ContactResponse {
    Description description;

    /// Number of the k-th touching vertex.
    int vertex(int k) const { return face < 0 ? listed[k] : hull->loops[first + k]; }

    /// Height of a vertex above the ground [m]; of a rounded corner, that of its lowest point.
    double height_of(int vertex) const {
        const Vector& v = hull->vertices[vertex];
        return height + rotation.z.x * v.x + rotation.z.y * v.y + rotation.z.z * v.z - hull->rounding;
    }

    /// The k-th contact point relative to the centre of mass: over its vertex, at half the depth.
    Vector point(int k) const { return count <= FEW ? corners[k] : calculated_point(k); }

    Vector calculated_point(int k) const {
        const Vector p = rotation * hull->vertices[vertex(k)];
        return {p.x, p.y, 0.5 * (p.z + height - hull->rounding) - height};
    }

    /// Number k of the contact point where a x + b y is smallest: in few steps, however many vertices a face has.
    int lowest(double a, double b) const {
        if (count > MANY && face >= 0) return lowest_on_face(a, b);
        int best = 0;
        double least = std::numeric_limits<double>::infinity();
        for (int k = 0; k < count; ++k)
            if (const Vector p = point(k); a * p.x + b * p.y < least) best = k, least = a * p.x + b * p.y;
        return best;
    }

    /// The smallest upward speed of the contact points for a twist [m/s].
    double lowest_separation(const Twist& twist) const {
        const Vector p = point(lowest(-twist.angular.y, twist.angular.x));
        return twist.normal_velocity(p.x, p.y);
    }

    /// Approach speed of a point above (x, y) at the start of the step [m/s], before forces act: what they add within the
    /// step, `gained`, counts neither before a bounce nor after it. A link approaches as it moves inside its system.
    double approach(double x, double y) const {
        if (in_system) return -before.normal_velocity(x, y);
        return x * velocity.angular.y - y * velocity.angular.x - velocity.linear.z - fall;
    }
    /// The greatest approach speed of the contact points.
    double greatest_approach() const {
        return in_system ? -lowest_separation(before) : -lowest_separation(velocity) - fall;
    }
    /// Approach speed that a point above (x, y) gains in the step without contact [m/s].
    double gained(double x, double y) const {
        return in_system ? std::max(0.0, before.normal_velocity(x, y) - free.normal_velocity(x, y)) : fall;
    }

    /// Whether the patch has the greatest dimension that it can have: a surface, or a line of a planar body.
    bool is_maximal() const { return kind == Kind::SURFACE || (kind == Kind::LINE && inverse_inertia.linear.y == 0.0); }

    /// v1 + M^-1 p: the twist after an impulse.
    Twist after(const Wrench& p) const { return velocity + inverse_inertia * p; }

  private:
    int lowest_on_face(double a, double b) const {
        const Face& on = hull->faces[face];
        const double e = a * frame[0][0] + b * frame[0][1], f = a * frame[1][0] + b * frame[1][1];
        const int k = (hull->lowest_place(on, e, f) + on.first - first + 2 * on.size) % on.size;
        if (k < count) return k;
        // The best vertex of the face does not touch: on the run beside it, one of the ends is the best.
        const int last = static_cast<int>(count) - 1;
        const Vector p = point(0), q = point(last);
        return a * p.x + b * p.y <= a * q.x + b * q.y ? 0 : last;
    }
};

/// Memory in which laws work; one for each thread.
struct Workspace {
    std::vector<float> layers;       ///< values of networks
    std::vector<std::int32_t> list;  ///< numbers of contacts
    PointFriction friction;          ///< at the points of one contact
};

class ContactMemory;

/// Contacts side by side in memory that belongs to a ContactMemory: the batch that laws evaluate.
class Contacts {
  public:
    Contacts() = default;  // none
    Contacts(Contact* first, int size, ContactMemory& memory) : first_(first), size_(size), memory_(&memory) {}

    int size() const { return size_; }
    Contact& operator[](int i) const { return first_[i]; }
    Contact* begin() const { return first_; }
    Contact* end() const { return first_ + size_; }
    /// `count` of them, from number `from` on.
    Contacts part(int from, int count) const { return {first_ + from, count, *memory_}; }
    ContactMemory& memory() const { return *memory_; }
    Workspace& workspace() const;

  private:
    Contact* first_ = nullptr;
    int size_ = 0;
    ContactMemory* memory_ = nullptr;
};

/// Memory for the contacts of one step, kept from step to step.
class ContactMemory : public std::enable_shared_from_this<ContactMemory> {
  public:
    /// For the contacts of `most` bodies with at most `vertices` vertices each.
    /// keep: what must live as long as the contacts, which point to it
    ContactMemory(int most, int vertices, std::shared_ptr<const void> keep = {})
        : contacts_(most), touching_(std::size_t(most) * vertices), vertices_(vertices), keep_(std::move(keep)) {}

    /// The contacts that there are.
    Contacts all() { return {contacts_.data(), size_, *this}; }
    int size() const { return size_; }
    void clear() { size_ = 0; }
    /// The contact after the last one, to be filled; `append` makes it one of all.
    Contact& next() { return contacts_[size_]; }
    void append() { ++size_; }
    Contact& last() { return contacts_[size_ - 1]; }
    /// Take the last one out again.
    Contact& drop() { return contacts_[--size_]; }
    /// Memory for the numbers of the vertices that touch in the next contact.
    std::int32_t* next_touching() { return touching_.data() + std::size_t(size_) * vertices_; }

    Workspace workspace;

  private:
    std::vector<Contact> contacts_;
    std::vector<std::int32_t> touching_;
    int vertices_, size_ = 0;
    std::shared_ptr<const void> keep_;
};

inline Workspace& Contacts::workspace() const { return memory_->workspace; }

/// Count a step once, in whichever of its parts something happens.
inline void count_once(bool& is_counted, bool now, std::int64_t& steps) {
    steps += now && !is_counted;
    is_counted = is_counted || now;
}

}  // namespace stiction
