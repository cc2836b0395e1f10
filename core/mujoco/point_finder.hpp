// Finds the points where bodies touch by laws of pairs, among MuJoCo's contacts.
#pragma once

#include "mujoco/kinematics.hpp"
#include "mujoco/pressed_faces.hpp"
#include "mujoco/settings.hpp"
#include "mujoco/smooth_surfaces.hpp"
#include "mujoco/user_moved.hpp"

namespace stiction::mujoco {

class PointFinder {
  public:
    /// laws: those of all keys, then the same without friction
    PointFinder(const Engine& engine, const Kinematics& kinematics, const std::vector<PairLaw>& laws, PairTable table,
                const Settings& settings)
        : engine_(engine), kinematics_(kinematics), laws_(laws), table_(std::move(table)), settings_(settings),
          smooth_(engine, table_.curved),
          has_even_faces_(std::any_of(laws.begin(), laws.end(), [](const PairLaw& law) { return law.even_faces; })) {}

    /// Exclude contacts with laws from MuJoCo's solver, and those that are listed only because the gap was raised.
    /// Returns for each body whether it has a law, but touches something by MuJoCo's own contact.
    std::vector<char> exclude() const {
        std::vector<char> uncovered(engine_.model.nbody);
        for (int k = 0; k < *engine_.data.ncon; ++k) {
            const EngineContact contact = engine_.contact(k);
            const int g1 = contact.geom()[0], g2 = contact.geom()[1];
            const bool rigid = g1 >= 0 && g2 >= 0, ours = rigid && table_.law(g1, g2) >= 0;  // negative: part of a flex
            if (rigid && contact.dist() - contact.includemargin() > table_.gap(g1, g2) + (ours ? settings_.touching : 0.0)) {
                contact.exclude() = without_force;  // or adhesion would act on it
            } else if (ours) {
                contact.exclude() = within_gap;  // where MuJoCo's adhesion acts as a force
            } else if (!contact.exclude()) {
                for (const int g : {g1, g2})
                    if (g >= 0 && table_.has_law(g)) {
                        const int body = (*engine_.model.geom_bodyid)[g];
                        uncovered[body] = !kinematics_.is_fixed(body);
                    }
            }
        }
        return uncovered;
    }

    /// All points with laws that MuJoCo lists.
    std::vector<ContactPoint> find(const UserMovedBodies& moved) const {
        std::vector<ContactPoint> points;
        for (int k = 0; k < *engine_.data.ncon; ++k) {
            const EngineContact contact = engine_.contact(k);
            const int g1 = contact.geom()[0], g2 = contact.geom()[1];
            if (g1 < 0 || g2 < 0) continue;
            const int law = table_.law(g1, g2), *body = *engine_.model.geom_bodyid;
            if (law < 0 || (kinematics_.is_fixed(body[g1]) && kinematics_.is_fixed(body[g2]))) continue;
            const ContactPoint point = point_of(contact, law, moved);
            if (!kinematics_.is_movable(point)) continue;
            const auto is_twin = [&](const ContactPoint& one) { return is_same(point, one); };
            const auto twin = std::find_if(points.begin(), points.end(), is_twin);
            if (twin == points.end())
                points.push_back(point);
            else if (point.distance < twin->distance)
                *twin = point;
        }
        smooth_.merge(points);
        if (has_even_faces_) PressedFaces::spread(points, laws_, settings_.touching);
        return points;
    }

    /// Points to solve for, and points that may have to be activated.
    struct Choice {
        std::vector<ContactPoint> active, inactive;
    };
    /// Choose the points that press or will: others are inactive, and those that cannot close their gap in this step are left.
    Choice choose(const std::vector<ContactPoint>& points, const double* free_velocity, const PointMemory& memory) const {
        const double h = engine_.timestep();
        std::vector<double> approach(points.size());
        double fastest = 0.0;
        for (std::size_t k = 0; k < points.size(); ++k) {
            approach[k] = -dot(kinematics_.velocity(points[k], free_velocity), points[k].z);
            fastest = std::max(fastest, approach[k]);
        }
        Choice choice;
        for (std::size_t k = 0; k < points.size(); ++k) {
            const double distance = points[k].distance;
            // A point that touches, or did, may be needed to hold, even if it does not approach by itself.
            if (distance <= std::max(h * approach[k], settings_.touching) ||
                (distance <= h * (approach[k] + settings_.nearby) && memory.has_pressed(points[k])))
                choice.active.push_back(points[k]);
            else if (distance <= h * (approach[k] + fastest + 0.5))
                choice.inactive.push_back(points[k]);
        }
        return choice;
    }

  private:
    static constexpr int within_gap = 1, without_force = 3;  // values of MuJoCo's contact.exclude

    const Engine& engine_;
    const Kinematics& kinematics_;
    const std::vector<PairLaw>& laws_;
    PairTable table_;
    const Settings& settings_;
    SmoothSurfaces smooth_;
    bool has_even_faces_;

    ContactPoint point_of(const EngineContact& contact, int law, const UserMovedBodies& moved) const {
        const int *geom = contact.geom(), *body = *engine_.model.geom_bodyid;
        const bool second = law % 2;
        ContactPoint point{};
        point.key = law / 2;
        const bool is_smooth = contact.dim() == 1 && !laws_[point.key].names_both;
        point.law = is_smooth ? point.key + static_cast<int>(laws_.size()) / 2 : point.key;
        point.geom1 = geom[0], point.geom2 = geom[1];
        point.body1 = body[geom[second]], point.body2 = body[geom[!second]];
        const double side = second ? 1.0 : -1.0, *frame = contact.frame();  // MuJoCo's normal points from first to second
        point.distance = contact.dist() - contact.includemargin();  // a margin makes surfaces thicker
        point.position = vector_from(contact.pos());
        point.z = side * vector_from(frame);
        const double* belt = contact.surfacevel();  // along the tangents, and about the normal
        point.surface_velocity = side * (belt[0] * vector_from(frame + 3) + belt[1] * vector_from(frame + 6));
        point.surface_spin = side * belt[2] * vector_from(frame);
        for (const auto& [of, sign] : {std::pair{point.body1, 1.0}, std::pair{point.body2, -1.0}}) {
            const UserMovedBody* mover = moved.carrier(engine_, of);
            if (!mover) continue;
            const Vector velocity = sign * mover->velocity_at(point.position);
            point.surface_velocity += velocity;
            point.surface_spin += sign * mover->angular;
            point.distance += mover->since * engine_.timestep() * dot(velocity, point.z);  // it has moved on since
        }
        // What a material does not say, the geoms do: torsion from condim 4 on, rolling (the mean of two) with condim 6.
        const FrictionMap& map = laws_[point.law].map;
        const double* own = contact.friction();
        point.torsion = map.torsion >= 0.0 ? map.torsion : contact.dim() >= 4 ? own[2] : 0.0;
        point.rolling = map.rolling >= 0.0 ? map.rolling : contact.dim() >= 6 ? 0.5 * (own[3] + own[4]) : 0.0;
        if (laws_[point.law].body_axes) {
            const double* R = *engine_.data.xmat + 9 * point.body1;
            set_axes(point, {R[0], R[3], R[6]}, {R[1], R[4], R[7]});
        } else {
            set_axes(point, {1.0, 0.0, 0.0}, {0.0, 1.0, 0.0});
        }
        return point;
    }

    /// Whether two points are one, found twice, as on the edge between two triangles of a surface.
    bool is_same(const ContactPoint& a, const ContactPoint& b) const {
        const auto is_below = [](const Vector& v, double limit) { return dot(v, v) < limit * limit; };
        return a.body1 == b.body1 && a.body2 == b.body2 && a.law == b.law &&
               is_below(a.position - b.position, settings_.same_position) && is_below(a.z - b.z, settings_.same_normal);
    }
};

}  // namespace stiction::mujoco
