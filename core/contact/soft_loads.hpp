// The normal impulse of soft patches with many vertices.
//
// A vertex of a soft patch yields under its load by a share of its own response: it is a spring that only pushes,
//
//     load_k = max(0, missing_k - g_k . W s) / (softness own_k),    s = sum over k of load_k g_k
//
// s is (p_z, m_x, m_y) of each link, W how the links rise and tip for it, g_k = (1, y, -x) the vertex's place in it,
// own_k = g_k . W g_k, and missing_k the speed that the vertex lacks before. However many vertices there are, s has three
// numbers a link. It is where a convex function is smallest, and Newton's method finds it: springs that push are taken
// to push on, and a step is halved until it does not climb. Each round looks at every vertex once or twice.
#pragma once

#include <span>
#include <vector>

#include "math/dense.hpp"

namespace stiction {

class SoftLoads {
  public:
    /// A new problem of so many links.
    void begin(int links);
    /// How the links follow (p_z, m_x, m_y) of all: (v_z, w_x, w_y) of each, (3 n, 3 n). To be filled by the caller.
    Matrix W;
    /// A vertex of a link at (x, y), which lacks this speed [m/s].
    void add(int link, double x, double y, double missing);
    /// (p_z, m_x, m_y) of each link, (3 n,).
    std::span<const double> solve(double softness);

  private:
    struct Spring {
        int link;
        double x, y, missing;
        double stiffness = 0.0;  // load for each m/s that the vertex lacks; 0: it has no mobility, and carries nothing
        bool pushes = false;
    };
    std::vector<Spring> springs_;
    std::vector<double> s_, before_, rise_, lack_, step_, climb_;
    Matrix A_;

    void stiffen(double softness);
    bool compare();
    void find_step();
};

}  // namespace stiction
