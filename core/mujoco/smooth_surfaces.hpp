// Contact points of meshes that stand for smooth surfaces: neighbouring points of one pair of geoms become one contact.
//
// Near the point where two smooth surfaces touch, their distance is d(x) = d0 + (x - x0) K (x - x0) / 2 over the plane of contact,
// with K the sum of their curvatures. A mesh has vertices on this surface, of which MuJoCo lists some. As separate contacts they
// would hinder rolling. With the deepest at the origin, each other one at s with distance d_s gives an equation for x0,
//
//     s K x0 = s K s / 2 - (d_s - d),
//
// of which two determine it: the contact is at x0 with the distance d - x0 K x0 / 2. Points are of one smooth contact if the
// surface turns by a small, but not by no angle between them. Faces without curvature, as of boxes, keep all their points.
// src/stiction/mujoco/smooth_meshes.py finds the curvatures.
#pragma once

#include "mujoco/contact_point.hpp"

namespace stiction::mujoco {

class SmoothSurfaces {
  public:
    /// meshes: of geoms, by their numbers; others are not smooth
    SmoothSurfaces(const Engine& engine, const std::map<int, CurvedMesh>& meshes) : engine_(engine), meshes_(meshes) {}

    bool is_empty() const { return meshes_.empty(); }

    /// Make one contact of points of one smooth surface.
    void merge(std::vector<ContactPoint>& points) const {
        if (is_empty() || points.size() < 2) return;
        std::vector<ContactPoint> merged;
        for (std::size_t first = 0, end = 0; first < points.size(); first = end) {
            const auto is_other = [&](const ContactPoint& p) { return p.geom1 != points[first].geom1 || p.geom2 != points[first].geom2; };
            end = static_cast<std::size_t>(std::find_if(points.begin() + first, points.end(), is_other) - points.begin());
            const std::span<ContactPoint> pair(points.data() + first, end - first);
            if (pair.size() > 1 && (meshes_.contains(pair[0].geom1) || meshes_.contains(pair[0].geom2)))
                merge_pair(pair, merged);
            else
                merged.insert(merged.end(), pair.begin(), pair.end());
        }
        points = std::move(merged);
    }

  private:
    static constexpr double LEAST_TURN = 0.003, MOST_TURN = 0.6;  // [rad] of the surface between points of one contact
    static constexpr double LEAST_SHARE = 0.05;                   // of the curvature, along the line between them
    static constexpr double SAME_NORMAL = 0.98;                   // cosine of the angle between normals
    static constexpr double INDEPENDENT = 0.05;                   // share of a second direction that counts

    static double trace(const Tensor& K) { return K.xx + K.yy + K.zz; }

    const Engine& engine_;
    const std::map<int, CurvedMesh>& meshes_;

    /// Append the contacts of two geoms to `merged`.
    void merge_pair(std::span<ContactPoint> pair, std::vector<ContactPoint>& merged) const {
        std::vector<const ContactPoint*> waiting;
        for (const ContactPoint& point : pair) waiting.push_back(&point);
        std::stable_sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->distance < b->distance; });
        while (!waiting.empty()) {  // the deepest, and those of one contact with it
            ContactPoint contact = *waiting.front();
            const ContactPoint deepest = contact;
            waiting.erase(waiting.begin());
            Vector offset, direction;
            Tensor K{};
            std::erase_if(waiting, [&](const ContactPoint* other) {
                const Vector apart = other->position - deepest.position, s = apart - dot(apart, deepest.z) * deepest.z;
                const Tensor here = curvature(deepest, *other);
                const double turn = dot(s, here * s) / std::max(length(s), 1e-300);
                if (dot(other->z, deepest.z) < SAME_NORMAL || !(turn > LEAST_TURN && turn < MOST_TURN) ||
                    turn < LEAST_SHARE * trace(here) * length(s))
                    return false;
                const bool is_first = trace(K) == 0.0;
                if (is_first) K = here;
                move_to_vertex(s, other->distance - deepest.distance, K, is_first, offset, direction);
                return true;
            });
            contact.position += offset;
            contact.distance -= 0.5 * dot(offset, K * offset);
            merged.push_back(contact);
        }
    }

    /// Take the distance of a point at s into account for the place x0 where the surfaces are nearest, along one direction or
    /// a second one.
    static void move_to_vertex(const Vector& s, double farther, const Tensor& K, bool is_first, Vector& x0, Vector& direction) {
        const double own = dot(s, K * s);
        Vector along = s;
        if (!is_first) {
            const double size = dot(direction, K * direction);
            if (!(size > 0.0)) return;
            along = s - (dot(direction, K * s) / size) * direction;
        }
        const double across = dot(along, K * along);
        if (!(across > INDEPENDENT * own)) return;
        const double missing = 0.5 * own - farther - dot(s, K * x0);
        x0 += std::clamp(missing / across, is_first ? 0.0 : -0.5, 0.5) * along;
        direction = is_first ? along : Vector{};
    }

    /// The sum of the curvatures of both surfaces between two of their points, world axes.
    Tensor curvature(const ContactPoint& a, const ContactPoint& b) const {
        const Vector middle = 0.5 * (a.position + b.position), away = 0.25 * (a.distance + b.distance) * a.z;
        const bool is_first = (*engine_.model.geom_bodyid)[a.geom1] == a.body1;  // z points into body 1
        const double side = is_first ? 1.0 : -1.0;
        const Tensor K = curvature_of(a.geom1, middle + side * away, -side * a.z);
        const Tensor L = curvature_of(a.geom2, middle - side * away, side * a.z);
        return {K.xx + L.xx, K.xy + L.xy, K.xz + L.xz, K.yy + L.yy, K.yz + L.yz, K.zz + L.zz};
    }

    /// place: on the surface of this geom, or below it; outward: normal there
    Tensor curvature_of(int geom, const Vector& place, const Vector& outward) const {
        const auto found = meshes_.find(geom);
        if (found == meshes_.end()) return {};
        const Rotation R = rotation_from(*engine_.data.geom_xmat + 9 * geom);
        const Vector r = R.inverse(place - vector_from(*engine_.data.geom_xpos + 3 * geom));
        return R.turned(found->second.curvature(r, R.inverse(outward)));
    }
};

}  // namespace stiction::mujoco
