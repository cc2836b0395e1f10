// What links stand on: planes that do not move, and faces of boxes that do not move.
//
// A contact has a frame of its own, z along the normal of its plane. A law that was learned on level ground is asked in
// this frame, as if the plane were level: nothing but the frame tells it where gravity points.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "geometry/hull.hpp"
#include "math/vectors.hpp"

namespace stiction {

/// A plane, and the frame of contacts with it. Faces that lie in one plane share it.
struct GroundPlane {
    Rotation axes;   ///< rows: x, y and the normal, in world axes
    double height;   ///< of the plane along its normal, from the world's origin [m]
    double support;  ///< how far its normal looks up, against gravity: from 1, level, to -1, a ceiling
    bool level;      ///< whether its axes are the world's
};

/// A box that does not move.
struct GroundBox {
    Vector centre;
    Rotation axes;            ///< rows: its axes, in world axes
    Vector half;              ///< half its edges [m]
    std::array<int, 6> faces; ///< numbers of the planes of its faces: +x, -x, +y, -y, +z, -z of its axes
};

class Ground {
  public:
    /// endless: for each of so many links and each plane, whether all of it carries; if not, only faces of boxes in it do
    /// meets: for each link and each box, whether they may touch at all
    Ground(std::vector<GroundPlane> planes, std::vector<GroundBox> boxes, std::vector<char> endless,
           std::vector<char> meets, int links)
        : planes_(std::move(planes)), boxes_(std::move(boxes)), endless_(std::move(endless)), meets_(std::move(meets)),
          links_(links) {}

    int links() const { return links_; }
    const GroundPlane& plane(int number) const { return planes_[number]; }

    /// The plane that a link stands on: of those that it touches, and that carry all of its vertices below them, the
    /// one that looks up most, and of two that do so alike, the one it lies deeper in.
    /// -1: there is none, or only part of what touches a face lies on it, which a law for a plane knows nothing of.
    /// With one endless plane and nothing else there is nothing to choose: it is that plane, touched or not.
    /// position: of the centre of mass; rotation: body to world
    int touched(int link, const Hull& hull, const Vector& position, const Rotation& rotation);

  private:
    struct Candidate {
        double gap;  // from the plane to the lowest vertex [m]
        int plane;
    };

    std::vector<GroundPlane> planes_;
    std::vector<GroundBox> boxes_;
    std::vector<char> endless_, meets_;
    int links_;
    std::vector<Candidate> candidates_;

    bool is_endless(int link, std::size_t plane) const {
        return endless_[std::size_t(link) * planes_.size() + plane] != 0;
    }
    bool may_touch(int link, std::size_t box) const { return meets_[std::size_t(link) * boxes_.size() + box] != 0; }
    Candidate nearest_face(const GroundBox& box, const Hull& hull, const Vector& position, const Rotation& R) const;
    bool carries(int plane, int link, const Hull& hull, const Vector& position, const Rotation& R) const;
    bool lies_on_a_face(int plane, int link, const Vector& point) const;
};

}  // namespace stiction
