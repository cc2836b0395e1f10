// The convex hull of a mesh that stands for a smooth surface, with the curvature of each face: see smooth_surfaces.hpp.
#pragma once

#include <numbers>

#include "math/vectors.hpp"

namespace stiction::mujoco {

class CurvedMesh {
  public:
    struct Face {
        Vector normal;     ///< in the geom's frame
        double offset;     ///< of its plane [m]
        Tensor curvature;  ///< [1 / m]; zero of a flat face
    };

    CurvedMesh() = default;
    explicit CurvedMesh(std::vector<Face> faces) : faces_(std::move(faces)), near_(DIRECTIONS) {
        for (int k = 0; k < DIRECTIONS; ++k)
            for (const Face& face : faces_)
                if (dot(face.normal, direction(k)) > NEAR) near_[k].push_back(static_cast<int>(&face - faces_.data()));
    }

    /// The curvature of the face nearest to a place on or below the surface, among those whose normals are near `outward`.
    Tensor curvature(const Vector& place, const Vector& outward) const {
        int nearest = 0;
        for (int k = 1; k < DIRECTIONS; ++k)
            if (dot(outward, direction(k)) > dot(outward, direction(nearest))) nearest = k;
        const Face* found = nullptr;
        double highest = -std::numeric_limits<double>::infinity();
        for (const int k : near_[nearest])
            if (const double height = dot(faces_[k].normal, place) - faces_[k].offset; height > highest)
                highest = height, found = &faces_[k];
        return found ? found->curvature : Tensor{};
    }

  private:
    static constexpr int DIRECTIONS = 200;    // no direction is farther than 11 degrees from the nearest of them
    static constexpr double NEAR = 0.9;       // cosine of the angle to the faces that are looked at: 26 degrees
    std::vector<Face> faces_;
    std::vector<std::vector<int>> near_;      // faces by the direction of their normals

    /// Directions that are spread evenly: a spiral over the sphere.
    static const Vector& direction(int k) {
        static const std::vector<Vector> all = [] {
            std::vector<Vector> spread;
            for (int i = 0; i < DIRECTIONS; ++i) {
                const double z = 1 - (2 * i + 1.0) / DIRECTIONS, angle = i * std::numbers::pi * (3 - std::sqrt(5.0));
                const double radius = std::sqrt(1 - z * z);
                spread.push_back({radius * std::cos(angle), radius * std::sin(angle), z});
            }
            return spread;
        }();
        return all[k];
    }
};

}  // namespace stiction::mujoco
