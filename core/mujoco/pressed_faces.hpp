// Faces that carry their load evenly: the corners at which MuJoCo lists the contact of two flat faces are joined by points inside.
//
// A rigid body on four corners may rest on any three of them; where the load goes is arbitrary, and with it how the face resists
// turning. Here a polygon with corners v_k and centroid c also has contacts at c and at c + t (v_k - c). With the shares of load
//
//     centre 0.103, inner points 0.857, corners 0.04, among each other by the areas of the triangles beside them, t = 0.585,
//
// a rectangle has the second moments and the mean distance from its centre of an even pressure, so that it slides and turns as
// such a face does, and still tips about its edges. Each point yields by a compliance in inverse proportion to its share: the
// pressure is then linear over the face, and none where it would pull.
#pragma once

#include "mujoco/contact_point.hpp"

namespace stiction::mujoco {

class PressedFaces {
  public:
    /// Add points to all flat faces in contact whose laws want it. flat: greatest difference between distances of corners [m]
    static void spread(std::vector<ContactPoint>& points, const std::vector<PairLaw>& laws, double flat) {
        std::vector<ContactPoint> all;
        for (std::size_t first = 0, end = 0; first < points.size(); first = end) {
            const ContactPoint& one = points[first];
            for (end = first + 1; end < points.size() && points[end].geom1 == one.geom1 && points[end].geom2 == one.geom2;) ++end;
            const std::span<const ContactPoint> corners(points.data() + first, end - first);
            if (!laws[one.key].even_faces || !spread_face(corners, flat, all)) all.insert(all.end(), corners.begin(), corners.end());
        }
        points = std::move(all);
    }

  private:
    static constexpr double CENTRE = 0.103, INNER = 0.857, CORNERS = 0.04, INWARD = 0.585;
    static constexpr double PARALLEL = 1e-6, NARROW = 1e-3;

    /// Append the points of one face; false if these corners are none.
    static bool spread_face(std::span<const ContactPoint> found, double flat, std::vector<ContactPoint>& all) {
        if (found.size() < 3) return false;
        std::vector<ContactPoint> corners(found.begin(), found.end());
        const Vector z = corners[0].z;
        Vector mean;
        double nearest = corners[0].distance, farthest = nearest;
        for (const ContactPoint& corner : corners) {
            if (dot(corner.z, z) < 1 - PARALLEL) return false;
            mean += (1.0 / static_cast<double>(corners.size())) * corner.position;
            nearest = std::min(nearest, corner.distance), farthest = std::max(farthest, corner.distance);
        }
        if (farthest - nearest > flat) return false;
        const auto angle = [&](const ContactPoint& corner) {
            const Vector r = corner.position - mean;
            return std::atan2(dot(r, corners[0].y), dot(r, corners[0].x));
        };
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t k = 0; k < corners.size(); ++k) order.push_back({angle(corners[k]), k});
        std::sort(order.begin(), order.end());
        const std::size_t n = order.size();
        std::vector<double> area(n);  // of the triangle between the mean and each two neighbours
        double total = 0.0, size = 0.0;
        for (std::size_t k = 0; k < n; ++k) {
            const Vector a = corners[order[k].second].position - mean, b = corners[order[(k + 1) % n].second].position - mean;
            area[k] = 0.5 * dot(cross(a, b), z), total += area[k], size = std::max(size, dot(a, a));
        }
        if (!(total > NARROW * size)) return false;
        ContactPoint centre = corners[0];
        centre.position = {}, centre.distance = 0.0;
        for (std::size_t k = 0; k < n; ++k) {
            const double share = area[k] / (3 * total);
            for (const std::size_t corner : {order[k].second, order[(k + 1) % n].second})
                centre.position += share * corners[corner].position, centre.distance += share * corners[corner].distance;
            centre.position += share * mean;
            for (const ContactPoint& corner : corners) centre.distance += share / static_cast<double>(n) * corner.distance;
        }
        centre.load_share = CENTRE;
        all.push_back(centre);
        for (std::size_t k = 0; k < n; ++k) {
            ContactPoint corner = corners[order[k].second], inner = corner;
            const double share = (area[k] + area[(k + n - 1) % n]) / (2 * total);
            inner.position = centre.position + INWARD * (corner.position - centre.position);
            inner.distance = centre.distance + INWARD * (corner.distance - centre.distance);
            corner.load_share = std::max(CORNERS * share, 1e-6), inner.load_share = std::max(INNER * share, 1e-6);
            all.push_back(inner), all.push_back(corner);
        }
        return true;
    }
};

}  // namespace stiction::mujoco
