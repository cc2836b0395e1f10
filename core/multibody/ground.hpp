// The ground of links with learned laws: planes and faces of boxes that do not move.
//
// A contact has its own frame, with z along the normal of its plane. A law that was learned on level ground is evaluated in this
// frame, as if the plane were level.
#pragma once

#include <array>
#include <vector>

#include "geometry/hull.hpp"
#include "math/vectors.hpp"

namespace stiction {

/// A plane, and the frame of contacts with it. Faces in one plane share it.
struct GroundPlane {
    Rotation axes;   ///< rows: x, y and the normal, in world axes
    double height;   ///< of the plane along its normal, from the world's origin [m]
    double support;  ///< cosine of its normal with up: from 1, level, to -1, a ceiling
    bool level;      ///< whether its axes are the world's
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
    int touched(int link, const Hull& hull, const Vector& position, const Rotation& rotation);

  private:
    struct Candidate {
        double gap;  // from the plane to the lowest vertex [m]
        int plane;
    };

    std::vector<Candidate> candidates_;

    Candidate nearest_face(const GroundBox& box, const Hull& hull, const Vector& position, const Rotation& R) const;
    bool carries(int plane, int link, const Hull& hull, const Vector& position, const Rotation& R) const;
    bool is_on_a_face(int plane, int link, const Vector& point) const;
};

}  // namespace stiction
