// Unit tests of the parts of the core that have an interface of their own: run by ctest with -DSTICTION_TESTS=ON.
#include <cmath>
#include <cstdio>
#include <random>

#include "contact/frictionless_lcp.hpp"
#include "friction/dantzig.hpp"
#include "friction/point_friction.hpp"
#include "friction/points.hpp"
#include "geometry/patch.hpp"
#include "math/block_matrix.hpp"
#include "math/broyden.hpp"
#include "mujoco/condensed_solver.hpp"
#include "stepping/step.hpp"

using namespace stiction;

namespace {

int failures = 0;

void check(bool holds, const char* what, int line) {
    if (!holds) ++failures, std::printf("line %d: %s\n", line, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

std::mt19937 generator(0);
double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator); }

/// A random response of points, J J^T with some compliance, and velocities b.
Matrix random_response(int n, std::vector<double>& b) {
    Matrix J(n, 6), A(n, n);
    for (int r = 0; r < n; ++r)
        for (int k = 0; k < 6; ++k) J[r][k] = uniform(-1, 1);
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            for (int k = 0; k < 6; ++k) A[r][c] += J[r][k] * J[c][k];
    b.resize(n);
    for (int r = 0; r < n; ++r) A[r][r] *= 1.0 + 1e-5, b[r] = uniform(-1, 1);
    return A;
}

Hull box() {
    std::vector<Vector> v;
    for (int k = 0; k < 8; ++k) v.push_back({k & 1 ? 0.1 : -0.1, k & 2 ? 0.15 : -0.15, k & 4 ? 0.2 : -0.2});
    const std::vector<std::vector<int>> faces{{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    return Hull(v, faces, 1.0, {.xx = 0.02, .yy = 0.016, .zz = 0.011}, false, 0.0);
}

/// The boxed complementarity conditions of DART's friction, from the impulses of Dantzig's rule.
void test_dantzig() {
    for (int trial = 0; trial < 200; ++trial) {
        const int m = 1 + trial % 4, n = 3 * m;
        const double mu[2] = {0.4, 0.7};
        std::vector<double> b;
        const Matrix A = random_response(n, b);
        const std::vector<double> x = dantzig_friction(A, b, mu[0], mu[1]);
        std::vector<double> w(n), bz(m), unlimited(m, INFINITY), none(m, 0.0);
        multiply(A, x.data(), w.data());
        Matrix normals(m, m);
        for (int r = 0; r < m; ++r) {
            bz[r] = b[3 * r];
            for (int k = 0; k < m; ++k) normals[r][k] = A[3 * r][3 * k];
        }
        const std::vector<double> n0 = boxed_lcp(normals, bz, none, unlimited);
        for (int r = 0; r < n; ++r) {
            w[r] += b[r];
            const double high = r % 3 == 0 ? INFINITY : mu[r % 3 - 1] * n0[r / 3], low = r % 3 == 0 ? 0.0 : -high;
            CHECK(x[r] >= low - 1e-9 && x[r] <= high + 1e-9);
            if (x[r] > low + 1e-9) CHECK(w[r] <= 1e-9);
            if (x[r] < high - 1e-9) CHECK(w[r] >= -1e-9);
        }
    }
}

/// Coulomb's law at points: loads push, friction stays in its cone and opposes the slip.
void test_point_friction() {
    FrictionMap map;
    map.scale = 0.5;
    PointFriction problem;
    int slipping = 0;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<double> b;
        const int m = 1 + trial % 4;
        const Matrix A = random_response(3 * m, b);
        problem.resize(m);
        problem.A = A, problem.b = b, problem.timestep = 0.002;
        for (int k = 0; k < m; ++k) problem.points[k] = map.at(0.0, 0.0, 0.002);
        if (!problem.solve()) continue;  // random systems may have no solution
        const std::vector<double>&x = problem.x, &w = problem.velocities();
        for (int z = 0; z < 3 * m; z += 3) {
            const double f = norm(x[z + 1], x[z + 2]), slip = norm(w[z + 1], w[z + 2]);
            CHECK(x[z] >= -1e-9 && w[z] >= -1e-9 && std::fabs(x[z] * w[z]) < 1e-8);
            CHECK(f <= 0.5 * x[z] + 1e-8);
            if (slip < 1e-6 || f < 1e-6) continue;
            ++slipping;
            CHECK((x[z + 1] * w[z + 1] + x[z + 2] * w[z + 2]) / (f * slip) < -1 + 1e-6);
        }
    }
    CHECK(slipping > 50);
}

/// The frictionless LCP of a tilted box, rigid and compliant: complementarity at every vertex.
void test_frictionless_lcp() {
    const Hull hull = box();
    ContactMemory memory(1, 8);
    for (int trial = 0; trial < 500; ++trial) {
        memory.clear();
        BodyState body{{0, 0, 0.2}, {}, {{uniform(-1, 1), uniform(-1, 1), -uniform(0.1, 1)}, {uniform(-3, 3), uniform(-3, 3), 0}}};
        body.quaternion.turn({uniform(-1e-3, 1e-3), uniform(-1e-3, 1e-3), uniform(-3, 3)});
        if (!start_body({0.002, {0, 0, -9.81}}, hull, memory, 0, body, TOUCH)) continue;
        const Contact& c = memory.all()[0];
        for (const double compliance : {0.0, 0.01}) {
            const Normal p = normal_impulse(c, c.velocity, compliance);
            const Twist after = c.after({{0, 0, p.p_z}, {p.m_x, p.m_y, 0}});
            for (int k = 0; k < c.count; ++k) {
                const Vector at = c.point(k);
                if (compliance == 0.0) CHECK(after.normal_velocity(at.x, at.y) >= -1e-9);
            }
            // The sum of loads times speeds: 0 for a rigid patch, and never positive.
            const double work = p.p_z * after.linear.z + p.m_x * after.angular.x + p.m_y * after.angular.y;
            CHECK(compliance == 0.0 ? std::fabs(work) < 1e-9 : work <= 1e-12);
            CHECK(p.p_z >= 0.0);
        }
    }
}

/// The active set alone, on points in a row: it ends in complementarity.
void test_active_set() {
    ActiveSet active(MAX_ACTIVE);
    const auto response = [](const Vertex& a, const Vertex& b) { return 1.0 + 3.0 * a.x * b.x; };
    active.activate({0, 0, -1.0, 0.0}, -1.0, 0.0, response);
    active.activate({0, 1, 1.0, 0.0}, -0.5 - 1.0 * -0.5, 0.0, response);
    CHECK(active.size() >= 1 && active.has(0, 0));
    for (int k = 0; k < active.size(); ++k) CHECK(active.load(k) >= 0.0);
    CHECK(active.warm_start({{0, 0, -1.0, 0.0}, {0, 1, 1.0, 0.0}}, 0.0, response, [](const Vertex&) { return 1.0; }));
    CHECK(std::fabs(active.load(0) - 0.5) < 1e-12 && std::fabs(active.load(1) - 0.5) < 1e-12);
}

/// A hull finds its extreme vertices, and a pose the kind of its patch.
void test_hull() {
    const Hull hull = box();
    for (int trial = 0; trial < 500; ++trial) {
        const Vector d{uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
        double most = -INFINITY;
        for (const Vector& v : hull.vertices) most = std::max(most, dot(v, d));
        CHECK(dot(hull.vertices[hull.extreme_vertex(d)], d) >= most - 1e-15);
    }
    ContactMemory memory(1, 8);
    const auto kind_at = [&](const Vector& turn) {
        Contact& c = memory.next();
        Quaternion q;
        q.turn(turn);
        c.rotation = q.matrix(), c.height = 1.0;
        const Vector up = c.rotation.z;
        const Vector& lowest = hull.vertices[hull.extreme_vertex({-up.x, -up.y, -up.z})];
        c.height = -dot(up, lowest), c.hull = &hull, c.diameter = hull.diameter, c.touch = TOUCH;
        return detect(c, memory.next_touching()) ? c.kind : Kind::NONE;
    };
    CHECK(kind_at({}) == Kind::SURFACE);
    CHECK(kind_at({0.4, 0, 0}) == Kind::LINE);
    CHECK(kind_at({0.4, 0.3, 0}) == Kind::POINT);
}

/// One Gauss-Seidel sweep of one point is exact: it stops within its limits.
void test_sweep() {
    PatchPoint<double> point{};
    point.load = 1.0, point.impulse = {0, 0, 1.0};
    double velocity[3] = {0.1, 0.0, 0.0}, response[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    point.relax = {-1, -1, -1};
    FrictionSweep<double> sweep(std::span(&point, 1), velocity, response, {0.5, 0.5, true});
    CHECK(sweep.moves());
    gauss_seidel_sweep(sweep);
    CHECK(std::fabs(velocity[0]) < 1e-15 && std::fabs(point.impulse.x + 0.1) < 1e-15);
    const auto [x, y] = limited<double>({3.0, 4.0}, 1.0, 1.0, true);
    CHECK(std::fabs(x - 0.6) < 1e-12 && std::fabs(y - 0.8) < 1e-12);
}

/// Broyden's method solves a linear problem of n unknowns in at most 2 n steps, a nonlinear one in a few more.
void test_broyden() {
    Broyden search;
    search.start(2);
    std::vector<double> v(2, 0.0);
    for (int k = 0; k < 6; ++k) {
        search.x = v, search.F = {-1.3 * v[0] + 0.4 * v[1] + 1.0, 0.2 * v[0] - 0.8 * v[1] - 0.5};
        if (search.error() == 0.0) break;
        const std::span<const double> next = search.next();
        v.assign(next.begin(), next.end());
    }
    CHECK(norm(-1.3 * v[0] + 0.4 * v[1] + 1.0, 0.2 * v[0] - 0.8 * v[1] - 0.5) < 1e-9);
    search.start(1);
    double x = 0.0;
    for (int k = 0; k < 12; ++k) {
        search.x = {x}, search.F = {std::cos(x) - x};
        if (search.error() == 0.0) break;
        x = search.next()[0];
    }
    CHECK(std::fabs(std::cos(x) - x) < 1e-12);
}

/// A chain of blocks with some links across: the solution of a system is that of the dense matrix.
void test_block_matrix() {
    const std::vector<int> sizes{6, 3, 6, 1, 4, 6};
    const std::vector<std::pair<int, int>> pairs{{0, 1}, {2, 1}, {2, 3}, {3, 4}, {5, 4}, {0, 5}, {1, 4}};
    BlockMatrix blocks;
    blocks.set_pattern(sizes, pairs);
    const int n = blocks.size();
    Matrix dense(n, n);
    const auto fill = [&](int a, int b, double diagonal) {
        double* block = blocks.block(a, b);
        for (int r = 0; r < sizes[a]; ++r)
            for (int c = 0; c < sizes[b]; ++c)
                block[r * sizes[b] + c] = dense[blocks.first(a) + r][blocks.first(b) + c] = uniform(-1, 1) + (r == c) * diagonal;
    };
    for (int a = 0; a < 6; ++a) fill(a, a, 8.0);
    for (const auto& [a, b] : pairs) fill(a, b, 0.0), fill(b, a, 0.0);
    std::vector<double> x(n), right(n);
    for (double& value : x) value = uniform(-1, 1);
    multiply(dense, x.data(), right.data());
    CHECK(blocks.factor());
    blocks.solve(right.data());
    for (int k = 0; k < n; ++k) CHECK(std::fabs(right[k] - x[k]) < 1e-12);
}

/// The solver on sparse rows finds what the one with the dense Delassus operator finds, and solves what that one does not.
void test_condensed_solver() {
    FrictionMap map;
    map.scale = 0.5;
    const int bodies = 4, nv = 6 * bodies;
    std::vector<int> tree(nv);
    for (int dof = 0; dof < nv; ++dof) tree[dof] = dof / 6;
    int solved = 0, both = 0;
    for (int trial = 0; trial < 100; ++trial) {
        const int m = 3 + trial % 8, n = 3 * m;
        mujoco::SystemRows rows;
        rows.clear();
        for (int k = 0; k < m; ++k) {  // each point between two bodies, or a body and the ground
            const int a = k % bodies, b = (k * 7 + trial) % bodies;
            std::vector<int> dofs;
            for (int dof = 0; dof < 6; ++dof) dofs.push_back(6 * std::min(a, b) + dof);
            for (int dof = 0; a != b && dof < 6; ++dof) dofs.push_back(6 * std::max(a, b) + dof);
            for (int d = 0; d < 3; ++d) {
                double* row = rows.add(dofs);
                for (std::size_t j = 0; j < dofs.size(); ++j) row[j] = uniform(-1, 1);
            }
        }
        PointFriction problem;
        problem.resize(m);
        problem.timestep = 0.002;
        rows.products(0, n, 0, n, 0, nv, problem.A);
        for (int k = 0; k < m; ++k) problem.points[k] = map.at(0.0, 0.0, 0.002);
        for (double& b : problem.b) b = uniform(-1, 1);
        mujoco::CondensedSolver solver;
        PointSystem sparse = problem;
        solver.compliance.assign(n, 0.0);
        solver.system.set_up(sparse, rows, nullptr, tree.data(), nv);
        const bool is_solved = solver.solve(sparse, {});
        for (int row = 0; row < n; ++row) problem.A[row][row] *= 1 + 1e-9;
        const bool is_dense_solved = problem.solve();
        solved += is_solved;
        if (!is_solved || !is_dense_solved || n > nv) continue;
        ++both;
        for (int k = 0; k < m; ++k) {
            const double n_k = sparse.x[3 * k], f = norm(sparse.x[3 * k + 1], sparse.x[3 * k + 2]);
            CHECK(n_k >= -1e-8 && f <= 0.5 * n_k + 1e-8 && solver.velocities[3 * k] >= -1e-7);
        }
    }
    CHECK(solved >= 90 && both >= 40);
    std::printf("%d of 100 solved on sparse rows\n", solved);
}

}  // namespace

int main() {
    for (const auto& test : {test_dantzig, test_point_friction, test_frictionless_lcp, test_active_set, test_hull, test_sweep, test_broyden,
                             test_block_matrix, test_condensed_solver})
        test();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
