// The convex hull of a body, prepared once so that no contact query ever looks at all vertices.
//
// - Edges connect neighbours: walking along them downhill ends at the lowest vertex.
// - A cube map leads from a direction to a vertex near the farthest one, so that the walk is a few steps long.
// - The vertices of each face stand in order, each loop written twice, so that any run of neighbours on a face is one
//   contiguous range. Running sums along the loops give the mean and spread of a run at once, and the headings of the
//   edges, which rise along a loop, give its extreme vertex: a table leads from a heading to the few edges near it.
#pragma once

#include "math/vectors.hpp"

namespace stiction {

/// Up to this number, vertices are scanned one by one; more are searched.
constexpr int MANY = 16;

/// A number from 0 to 4 that rises with the angle of a direction from 0 to 2 pi, without its trigonometry.
inline double heading_of(double x, double y) {
    const double size = std::fabs(x) + std::fabs(y);
    if (!(size > 0.0)) return 0.0;
    return y >= 0.0 ? 1.0 - x / size : 3.0 + x / size;
}

/// Sums, or means, of x, y, z, xx, yy, zz, xy, xz and yz over some vertices.
using Moments = std::array<double, 9>;

struct Face {
    int first = 0;     ///< where its loop starts in `Hull::loops`
    int size = 0;      ///< number of its vertices
    int table = 0;     ///< where its part of the table of headings starts
    Vector normal;     ///< outward unit normal
    Vector e, f;       ///< axes of its plane, right-handed about the normal
    double clearance;  ///< [m] distance from its plane to the nearest vertex off the face
    double unevenness; ///< [m] between its highest and its lowest vertex along the normal, at most
};

class Hull {
  public:
    /// vertices: relative to the centre of mass, body axes [m]; each must be a corner of the hull
    /// faces: loops of vertex numbers, counter-clockwise seen from outside; of a planar body its outline alone
    /// inertia: about the centre of mass, body axes [kg m^2]; rounding: radius of a ball swept over the hull [m]
    Hull(std::vector<Vector> vertices, const std::vector<std::vector<int>>& faces, double mass, const Tensor& inertia,
         bool planar, double rounding);

    std::vector<Vector> vertices;
    std::vector<Face> faces;  ///< none for a planar body
    std::vector<std::int32_t> loops;
    double diameter, mass, rounding, reach;  ///< [m], [kg], [m], [m]: the farthest vertex from the centre of mass
    Tensor inertia, inverse_inertia;
    bool planar;

    /// The vertex farthest in a direction, body axes.
    int extreme_vertex(const Vector& direction) const;

    struct Facing {
        int face = -1, place = 0;
    };
    /// The face at a vertex that looks most along a direction, and the vertex's place in its loop; -1 if there is none.
    Facing facing(int vertex, const Vector& direction) const {
        Facing found;
        double best = -std::numeric_limits<double>::infinity();
        for (int k = incident_first_[vertex]; k < incident_first_[vertex + 1]; ++k)
            if (const double towards = dot(faces[incident_[k].face].normal, direction); towards > best)
                found = incident_[k], best = towards;
        return found;
    }

    /// Place in a face's loop of the vertex where a x + b y is smallest, x and y along the face's axes.
    ///
    /// That falls along an edge while its direction is more than a right angle from (a, b). It ends with the first
    /// edge that has come three right angles from there, to (b, -a).
    int lowest_place(const Face& face, double a, double b) const {
        const double turn = heading_of(b, -a);
        const std::int32_t* near = &near_heading_[face.table + cell_of(turn, face.size)];
        int low = near[0], high = near[1];
        while (low < high) {
            const int middle = (low + high) / 2;
            if (headings_[face.first + middle] >= turn)
                high = middle;
            else
                low = middle + 1;
        }
        return low % face.size;
    }

    /// Means over `count` places of the loops from `first` on, which lies in the loop of face number `face`.
    Moments means_of_run(int face, int first, int count) const {
        const Moments& low = running_[first + face];  // each earlier face has one row more than places in its loop
        const Moments& high = running_[first + face + count];
        Moments means;
        const double share = 1.0 / count;
        for (int k = 0; k < 9; ++k) means[k] = (high[k] - low[k]) * share;
        return means;
    }

    /// Numbers of the vertices that an edge connects with this one.
    template <class Visit> void for_neighbours(int vertex, Visit visit) const {
        for (int k = neighbour_first_[vertex]; k < neighbour_first_[vertex + 1]; ++k) visit(neighbours_[k]);
    }

  private:
    std::vector<std::int32_t> neighbours_, neighbour_first_;
    std::vector<Facing> incident_;
    std::vector<std::int32_t> incident_first_;
    std::vector<Moments> running_;
    std::vector<double> headings_;
    std::vector<std::int32_t> near_heading_;  // of each cell of headings on a face, how many headings lie in cells before
    std::vector<std::int32_t> start_;  // cube map of directions, (6, resolution, resolution)
    int resolution_ = 1, largest_face_ = 0;

    /// Cell of a heading on a face of `size` vertices, which has as many cells and one for 4. Greater headings have no
    /// smaller cells, however they are rounded. NaN is in the first one.
    static int cell_of(double heading, int size) { return heading > 0.0 ? static_cast<int>(0.25 * heading * size) : 0; }

    int climb(int at, const Vector& direction) const;
    int across_face(int at, const Vector& direction) const;
    void connect(const std::vector<std::vector<int>>& loops);
    void add_face(const std::vector<int>& loop);
    void map_directions();
};

}  // namespace stiction
