#include "multibody/ground.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "geometry/patch.hpp"

namespace stiction {
namespace {

constexpr double EDGE = 1e-9;  // [m] a point this far beyond the edge of a face is still on it

/// Height of a vertex above a plane [m]; of a rounded corner, that of its lowest point.
double gap_of(const GroundPlane& plane, const Hull& hull, const Vector& vertex) {
    return dot(plane.axes.z, vertex) - plane.height - hull.rounding;
}

/// The same of the lowest vertex.
double lowest_gap(const GroundPlane& plane, const Hull& hull, const Vector& position, const Rotation& R) {
    const Vector& n = plane.axes.z;
    const int lowest = hull.extreme_vertex(R.inverse({-n.x, -n.y, -n.z}));
    return gap_of(plane, hull, position + R * hull.vertices[lowest]);
}

}  // namespace

int Ground::touched(int link, const Hull& hull, const Vector& position, const Rotation& R) {
    if (boxes.empty() && planes.size() == 1 && endless[link][0]) return 0;
    candidates_.clear();
    for (std::size_t p = 0; p < planes.size(); ++p)
        if (endless[link][p])
            if (const double gap = lowest_gap(planes[p], hull, position, R); gap <= TOUCH)
                candidates_.push_back({gap, static_cast<int>(p)});
    for (std::size_t b = 0; b < boxes.size(); ++b) {
        if (!meets[link][b]) continue;
        const Candidate face = nearest_face(boxes[b], hull, position, R);
        if (face.gap <= TOUCH) candidates_.push_back(face);
    }
    std::sort(candidates_.begin(), candidates_.end(), [this](const Candidate& a, const Candidate& b) {
        return std::tuple(-planes[a.plane].support, a.gap, a.plane) <
               std::tuple(-planes[b.plane].support, b.gap, b.plane);
    });
    for (const Candidate& c : candidates_)
        if (carries(c.plane, link, hull, position, R)) return c.plane;
    return -1;
}

/// The face through which a body would leave a box soonest; where the body is clear of the box, its gap is positive.
Ground::Candidate Ground::nearest_face(const GroundBox& box, const Hull& hull, const Vector& position,
                                       const Rotation& R) const {
    const double far = length(position - box.centre) - length(box.half) - hull.reach - hull.rounding;
    Candidate nearest{far, box.faces[0]};
    if (far > TOUCH) return nearest;
    nearest.gap = -std::numeric_limits<double>::infinity();
    for (const int plane : box.faces)
        if (const double gap = lowest_gap(planes[plane], hull, position, R); gap > nearest.gap) nearest = {gap, plane};
    return nearest;
}

/// Whether all vertices of a body that lie below a plane are carried by it.
bool Ground::carries(int plane, int link, const Hull& hull, const Vector& position, const Rotation& R) const {
    if (endless[link][plane]) return true;
    return std::all_of(hull.vertices.begin(), hull.vertices.end(), [&](const Vector& v) {
        const Vector point = position + R * v;
        return gap_of(planes[plane], hull, point) > TOUCH || is_on_a_face(plane, link, point);
    });
}

/// Whether a point is above or below one of the faces in a plane.
bool Ground::is_on_a_face(int plane, int link, const Vector& point) const {
    for (std::size_t b = 0; b < boxes.size(); ++b) {
        if (!meets[link][b]) continue;
        const GroundBox& box = boxes[b];
        const Vector r = box.axes * (point - box.centre);
        const bool within[3] = {std::fabs(r.x) <= box.half.x + EDGE, std::fabs(r.y) <= box.half.y + EDGE,
                                std::fabs(r.z) <= box.half.z + EDGE};
        for (int f = 0; f < 6; ++f)
            if (box.faces[f] == plane && within[(f / 2 + 1) % 3] && within[(f / 2 + 2) % 3]) return true;
    }
    return false;
}

}  // namespace stiction
