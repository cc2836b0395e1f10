#include "geometry/hull.hpp"

#include <set>

namespace stiction {
namespace {

double component(const Vector& v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

/// Outward unit normal of a counter-clockwise polygon (Newell's sum, exact for any number of corners).
Vector normal_of(const std::vector<Vector>& vertices, const std::vector<int>& loop) {
    Vector total;
    for (std::size_t k = 0; k < loop.size(); ++k)
        total += cross(vertices[loop[k]], vertices[loop[(k + 1) % loop.size()]]);
    return (1.0 / length(total)) * total;
}

Tensor inverse_of(const Tensor& A) {
    const Tensor C = cofactors_of(A);
    const double d = A.xx * C.xx + A.xy * C.xy + A.xz * C.xz;
    return {C.xx / d, C.xy / d, C.xz / d, C.yy / d, C.yz / d, C.zz / d};
}

}  // namespace

Hull::Hull(std::vector<Vector> points, const std::vector<std::vector<int>>& loops_of_faces, double mass_,
           const Tensor& inertia_, bool planar_, double rounding_)
    : vertices(std::move(points)), mass(mass_), rounding(rounding_), inertia(inertia_),
      inverse_inertia(inverse_of(inertia_)), planar(planar_) {
    Vector mean;
    for (const Vector& v : vertices) mean += (1.0 / static_cast<double>(vertices.size())) * v;
    diameter = reach = 0.0;
    for (const Vector& v : vertices) {
        diameter = std::max(diameter, 2 * length(v - mean));
        reach = std::max(reach, length(v));
    }
    connect(loops_of_faces);
    std::vector<std::vector<Facing>> incident(vertices.size());
    if (!planar)
        for (const std::vector<int>& loop : loops_of_faces) {
            for (std::size_t place = 0; place < loop.size(); ++place)
                incident[loop[place]].push_back({static_cast<int>(faces.size()), static_cast<int>(place)});
            add_face(loop);
        }
    incident_first_.push_back(0);
    for (const std::vector<Facing>& row : incident) {
        incident_.insert(incident_.end(), row.begin(), row.end());
        incident_first_.push_back(static_cast<std::int32_t>(incident_.size()));
    }
    map_directions();
}

void Hull::connect(const std::vector<std::vector<int>>& all_loops) {
    std::set<std::pair<int, int>> edges;
    for (const std::vector<int>& loop : all_loops)
        for (std::size_t k = 0; k < loop.size(); ++k)
            edges.insert(std::minmax(loop[k], loop[(k + 1) % loop.size()]));
    std::vector<std::vector<int>> rows(vertices.size());
    for (const auto& [a, b] : edges) rows[a].push_back(b), rows[b].push_back(a);
    neighbour_first_.push_back(0);
    for (const std::vector<int>& row : rows) {
        neighbours_.insert(neighbours_.end(), row.begin(), row.end());
        neighbour_first_.push_back(static_cast<std::int32_t>(neighbours_.size()));
    }
}

void Hull::add_face(const std::vector<int>& loop) {
    const int size = static_cast<int>(loop.size());
    Face face;
    face.first = static_cast<int>(loops.size()), face.size = size;
    face.table = static_cast<int>(near_heading_.size());
    face.normal = normal_of(vertices, loop);
    const Vector edge = vertices[loop[1]] - vertices[loop[0]];
    face.e = (1.0 / length(edge)) * edge;
    face.f = cross(face.normal, face.e);
    face.clearance = std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < vertices.size(); ++v)
        if (std::find(loop.begin(), loop.end(), static_cast<int>(v)) == loop.end())
            face.clearance = std::min(face.clearance, dot(vertices[loop[0]] - vertices[v], face.normal));
    face.unevenness = 0.0;
    for (int v : loop)
        face.unevenness = std::max(face.unevenness, 2 * std::fabs(dot(vertices[loop[0]] - vertices[v], face.normal)));
    faces.push_back(face);
    largest_face_ = std::max(largest_face_, size);

    Moments sum{};
    running_.push_back(sum);
    double steepest = 0.0;  // rounding must not put two long edges out of order
    for (int k = 0; k < 2 * size; ++k) {
        loops.push_back(loop[k % size]);
        const Vector& v = vertices[loop[k % size]];
        const Moments own{v.x, v.y, v.z, v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z};
        for (int m = 0; m < 9; ++m) sum[m] += own[m];
        running_.push_back(sum);
        if (k > 0 && k < size) {
            const Vector along = vertices[loop[(k + 1) % size]] - v;
            steepest = std::max(steepest, heading_of(dot(along, face.e), dot(along, face.f)));
        }
        headings_.push_back(k < size ? steepest : headings_[headings_.size() - size] + 4.0);
    }
    for (int cell = 0, before = 0; cell < size + 2; ++cell) {
        near_heading_.push_back(before);
        while (before < size && cell_of(headings_[face.first + before], size) <= cell) ++before;
    }
}

void Hull::map_directions() {
    resolution_ = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(vertices.size()) / 2)));
    int at = 0;
    for (int side = 0; side < 6; ++side)
        for (int row = 0; row < resolution_; ++row)
            for (int column = 0; column < resolution_; ++column) {
                double direction[3];
                const int axis = side / 2;
                direction[axis] = side % 2 ? -1.0 : 1.0;
                direction[(axis + 1) % 3] = (2.0 * row + 1) / resolution_ - 1;
                direction[(axis + 2) % 3] = (2.0 * column + 1) / resolution_ - 1;
                at = climb(at, {direction[0], direction[1], direction[2]});
                start_.push_back(at);
            }
}

/// Walk along the edges to the vertex farthest in a direction: on a convex body, no peak is false.
int Hull::climb(int at, const Vector& direction) const {
    double height = dot(vertices[at], direction);
    while (true) {
        int best = at;
        for_neighbours(at, [&](int other) {
            if (const double reached = dot(vertices[other], direction); reached > height)
                height = reached, best = other;
        });
        if (best == at) return at;
        at = best;
    }
}

/// The vertex farthest in a direction of that face at vertex `at` which looks there: on a large face, else a long walk.
int Hull::across_face(int at, const Vector& direction) const {
    const int found = facing(at, direction).face;
    if (found < 0) return at;  // only where the direction is NaN
    const Face& face = faces[found];
    return loops[face.first + lowest_place(face, -dot(face.e, direction), -dot(face.f, direction))];
}

int Hull::extreme_vertex(const Vector& direction) const {
    if (static_cast<int>(vertices.size()) <= MANY) {  // a scan is quicker than the map
        int best = 0;
        double farthest = -std::numeric_limits<double>::infinity();
        for (int k = 0; k < static_cast<int>(vertices.size()); ++k)
            if (const double reached = dot(vertices[k], direction); reached > farthest) best = k, farthest = reached;
        return best;
    }
    int axis = 0;
    for (int other = 1; other < 3; ++other)
        if (std::fabs(component(direction, other)) > std::fabs(component(direction, axis))) axis = other;
    const double main = component(direction, axis), largest = std::fabs(main);
    if (!(largest > 0.0)) return 0;
    const auto cell = [&](double value) {
        const double place = 0.5 * (value / largest + 1) * resolution_;
        return place >= 0.0 ? std::min(static_cast<int>(place), resolution_ - 1) : 0;  // 0 for NaN
    };
    const int row = cell(component(direction, (axis + 1) % 3)), column = cell(component(direction, (axis + 2) % 3));
    int at = start_[((2 * axis + (main < 0 ? 1 : 0)) * resolution_ + row) * resolution_ + column];
    if (largest_face_ > MANY) at = across_face(at, direction);
    return climb(at, direction);
}

}  // namespace stiction
