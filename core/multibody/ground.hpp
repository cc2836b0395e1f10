// The ground of links with learned laws: planes and faces of boxes that do not move.
//
// A contact has its own frame, with z along the normal of its plane. A law that was learned on level ground is evaluated in this
// frame, as if the plane were level.
#pragma once

#include <tuple>

#include "geometry/hull.hpp"
#include "geometry/patch.hpp"

namespace stiction {

/// A plane, and the frame of contacts with it. Faces in one plane share it.
struct GroundPlane {
    Rotation axes;   ///< rows: x, y and the normal, in world axes
    double height;   ///< of the plane along its normal, from the world's origin [m]
    double support;  ///< cosine of its normal with up: from 1, level, to -1, a ceiling
    bool level;      ///< whether its axes are the world's

    /// Height of a vertex above the plane [m]; of a rounded corner, that of its lowest point.
    double gap(const Hull& hull, const Vector& vertex) const { return dot(axes.z, vertex) - height - hull.rounding; }
    /// The same of the lowest vertex.
    double lowest_gap(const Hull& hull, const Vector& position, const Rotation& R) const {
        const int lowest = hull.extreme_vertex(R.inverse({-axes.z.x, -axes.z.y, -axes.z.z}));
        return gap(hull, position + R * hull.vertices[lowest]);
    }
};

/// A box that does not move.
struct GroundBox {
    Vector centre;
    Rotation axes;            ///< rows: its axes, in world axes
    Vector half;              ///< half its edges [m]
    std::array<int, 6> faces; ///< planes of its faces: +x, -x, +y, -y, +z, -z of its axes
};

class Ground {
  public:
    std::vector<GroundPlane> planes;
    std::vector<GroundBox> boxes;
    std::vector<std::vector<bool>> endless;  ///< of each link and plane: whether all of it carries; else only faces of boxes do
    std::vector<std::vector<bool>> meets;    ///< of each link and box: whether they may touch at all

    const GroundPlane& plane(int number) const { return planes[number]; }

    /// The plane that a link stands on: among those that it touches, and that carry all of its vertices below them, the
    /// most level one, and of equally level ones the one that it penetrates deepest.
    /// -1: there is none, or a face carries only part of the vertices below it, which a law for a plane cannot describe.
    /// With one endless plane and nothing else there is no choice: it is that plane, touched or not.
    /// position: of the centre of mass; rotation: body to world
    int touched(int link, const Hull& hull, const Vector& position, const Rotation& R) {
        if (boxes.empty() && planes.size() == 1 && endless[link][0]) return 0;
        candidates_.clear();
        for (std::size_t p = 0; p < planes.size(); ++p)
            if (endless[link][p])
                if (const double gap = planes[p].lowest_gap(hull, position, R); gap <= TOUCH)
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

  private:
    struct Candidate {
        double gap;  // from the plane to the lowest vertex [m]
        int plane;
    };

    std::vector<Candidate> candidates_;

    /// The face through which a body would leave a box soonest; where the body is clear of the box, its gap is positive.
    Candidate nearest_face(const GroundBox& box, const Hull& hull, const Vector& position, const Rotation& R) const {
        const double far = length(position - box.centre) - length(box.half) - hull.reach - hull.rounding;
        Candidate nearest{far, box.faces[0]};
        if (far > TOUCH) return nearest;
        nearest.gap = -std::numeric_limits<double>::infinity();
        for (const int plane : box.faces)
            if (const double gap = planes[plane].lowest_gap(hull, position, R); gap > nearest.gap) nearest = {gap, plane};
        return nearest;
    }

    /// Whether all vertices of a body that lie below a plane are carried by it.
    bool carries(int plane, int link, const Hull& hull, const Vector& position, const Rotation& R) const {
        if (endless[link][plane]) return true;
        return std::all_of(hull.vertices.begin(), hull.vertices.end(), [&](const Vector& v) {
            const Vector point = position + R * v;
            return planes[plane].gap(hull, point) > TOUCH || is_on_a_face(plane, link, point);
        });
    }

    /// Whether a point is above or below one of the faces in a plane.
    bool is_on_a_face(int plane, int link, const Vector& point) const {
        constexpr double edge = 1e-9;  // [m] a point this far beyond the edge of a face is still on it
        for (std::size_t b = 0; b < boxes.size(); ++b) {
            if (!meets[link][b]) continue;
            const GroundBox& box = boxes[b];
            const Vector r = box.axes * (point - box.centre);
            const bool within[3] = {std::fabs(r.x) <= box.half.x + edge, std::fabs(r.y) <= box.half.y + edge,
                                    std::fabs(r.z) <= box.half.z + edge};
            for (int f = 0; f < 6; ++f)
                if (box.faces[f] == plane && within[(f / 2 + 1) % 3] && within[(f / 2 + 2) % 3]) return true;
        }
        return false;
    }
};

}  // namespace stiction
