#include "geometry/patch.hpp"

namespace stiction {
namespace {

/// A patch narrower than this share of the body's diameter is a line, and a shorter one a point.
constexpr double THIN = 1e-6;

/// A bound that proves that no vertex off the face touches: its clearance, less what the tilt can take away.
bool only_face_touches(const Hull& hull, const Face& face, double height, const Vector& down) {
    const double cosine = dot(face.normal, down);
    const double sine = std::sqrt(std::max(0.0, 1.0 - cosine * cosine));
    return height + face.clearance * cosine - hull.diameter * sine > 0.0;
}

/// Height of the vertex at a place of a face's loop, which may go round more than once.
double height_at(const Contact& c, const Face& face, int place) {
    return c.height_of(c.hull->loops[face.first + place % face.size]);
}

/// The last place from `inside` towards `outside` for which a condition holds that holds up to there and not beyond.
template <class Holds> int last_that(int inside, int outside, Holds holds) {
    const int step = outside > inside ? 1 : -1;
    while (inside != outside) {
        const int middle = inside + step * ((std::abs(outside - inside) + 1) / 2);
        if (holds(middle))
            inside = middle;
        else
            outside = middle - step;
    }
    return inside;
}

/// Set the run of a face's loop that touches around the place of its lowest vertex.
///
/// By bisection, since heights along a convex loop rise to one peak and fall again; on a short loop, step by step.
/// rise: bound on how much higher than the lowest any other vertex of the face lies [m]
void find_run(Contact& c, const Face& face, int lowest, double rise) {
    const int size = face.size;
    const auto touches = [&](int place) { return height_at(c, face, place) <= c.touch; };
    int ahead = 0, behind = 0;
    if (size <= MANY) {
        while (ahead < size - 1 && touches(lowest + ahead + 1)) ++ahead;
        while (ahead + behind < size - 1 && touches(lowest + size - behind - 1)) ++behind;
    } else if (rise - c.depth < 0.5 * c.touch) {  // flat: half of it is left for rounding
        ahead = size - 1;
    } else {
        const auto rises = [&](int place) { return height_at(c, face, place) >= height_at(c, face, place + size - 1); };
        const int peak = last_that(lowest, lowest + size, rises);
        if (touches(peak)) {
            ahead = size - 1;
        } else {
            ahead = last_that(lowest, peak, touches) - lowest;
            behind = size + lowest - last_that(size + lowest, peak, touches);
        }
    }
    c.count = std::min(size, ahead + behind + 1);
    c.first = face.first + (c.count == size ? 0 : (lowest - behind + size) % size);
}

/// List all touching vertices: below a plane, the edges of a convex body connect them.
int flood(const Contact& c, std::int32_t* found, int lowest) {
    int count = 1;
    found[0] = lowest;
    for (int done = 0; done < count; ++done)
        c.hull->for_neighbours(found[done], [&](int other) {
            if (c.height_of(other) <= c.touch && std::find(found, found + count, other) == found + count)
                found[count++] = other;
        });
    std::sort(found, found + count);  // the order must not depend on where the walk began
    return count;
}

Moments means_of_list(const Contact& c) {
    Moments means{};
    const double share = 1.0 / static_cast<double>(c.count);
    for (int k = 0; k < c.count; ++k) {
        const Vector& v = c.hull->vertices[c.listed[k]];
        const Vector part = share * v;
        const Moments own{part.x, part.y, part.z, part.x * v.x, part.y * v.y, part.z * v.z, part.x * v.y, part.x * v.z,
                          part.y * v.z};
        for (int m = 0; m < 9; ++m) means[m] += own[m];
    }
    return means;
}

/// Axis of a line patch: through both points of a pair, whatever their depths, else along the spread.
Vector line_axis(const Contact& c, double xx, double xy, double yy) {
    if (c.count > 2) {
        const double angle = 0.5 * std::atan2(2 * xy, xx - yy);
        return {std::cos(angle), std::sin(angle), 0.0};
    }
    const Vector along = c.point(static_cast<int>(c.count) - 1) - c.centre;  // the centre lies in the middle
    const double size = length(along);
    return {along.x / size, along.y / size, along.z / size};
}

/// Centre, radius, kind and axis of the patch from the means of its vertices.
void measure(Contact& c, const Moments& mean) {
    const Vector m{mean[0], mean[1], mean[2]};
    c.centre = c.rotation * m;
    c.centre.z = 0.5 * (c.centre.z + c.height - c.hull->rounding) - c.height;
    // The spread of the vertices in body axes, then along the world's x and y.
    const Tensor spread{mean[3] - m.x * m.x, mean[6] - m.x * m.y, mean[7] - m.x * m.z,
                        mean[4] - m.y * m.y, mean[8] - m.y * m.z, mean[5] - m.z * m.z};
    const Vector a = spread * c.rotation.x, b = spread * c.rotation.y;
    const double xx = dot(c.rotation.x, a), xy = dot(c.rotation.y, a), yy = dot(c.rotation.y, b);
    c.radius = std::sqrt(std::max(0.0, xx + yy));
    const double half = 0.5 * (xx + yy), split = std::sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy);
    const double thin = (THIN * c.diameter) * (THIN * c.diameter);
    c.axis = {};
    if (c.count == 1 || half + split <= thin) {
        c.kind = Kind::POINT;
    } else if (c.count > 2 && half - split > thin) {
        c.kind = Kind::SURFACE;
    } else {
        c.kind = Kind::LINE;
        c.axis = line_axis(c, xx, xy, yy);
    }
}

void store_corners(Contact& c) {
    const int count = static_cast<int>(c.count);
    if (count > FEW && count <= MANY) return;
    for (int k = 0; k < std::min(count, FEW); ++k)
        c.corners[k] = c.calculated_point(count <= FEW ? k : k * count / FEW);
}

}  // namespace

bool detect(Contact& c, std::int32_t* found) {
    const Hull& hull = *c.hull;
    const Vector down{-c.rotation.z.x, -c.rotation.z.y, -c.rotation.z.z};
    const int lowest = hull.extreme_vertex(down);
    const double height = c.height_of(lowest);
    if (!(height <= c.touch)) return false;
    c.depth = -height;
    const auto [face, place] = hull.facing(lowest, down);
    if (face >= 0 && only_face_touches(hull, hull.faces[face], height - c.touch, down)) {
        const Face& on = hull.faces[face];
        c.face = face;
        const Vector e = c.rotation * on.e, f = c.rotation * on.f;
        find_run(c, on, place, on.unevenness + hull.diameter * (std::fabs(e.z) + std::fabs(f.z)));
        c.frame[0][0] = e.x, c.frame[0][1] = e.y, c.frame[1][0] = f.x, c.frame[1][1] = f.y;
        store_corners(c);
        measure(c, hull.means_of_run(face, c.first, static_cast<int>(c.count)));
    } else {
        c.face = -1, c.first = 0;
        c.listed = found;
        c.count = flood(c, found, lowest);
        store_corners(c);
        measure(c, means_of_list(c));
    }
    return true;
}

}  // namespace stiction
