#include "friction/friction_cone.hpp"

#include <algorithm>
#include <cmath>

namespace stiction {
namespace {

constexpr int ROUNDS = 40, SWEEPS = 4, NEWTON = 15;  // most rounds, and most sweeps and iterations in each
// Of single vertices in all sweeps; and for friction that nothing has, which may never settle.
constexpr int MOST_SOLUTIONS = 50'000, MOST_OF_ODD = 2000;
constexpr double GREATEST = 10.0, FLATTEST = 0.01;   // of ordinary friction: coefficient, and one over the other
constexpr double SETTLED = 1e-13;                    // relative change at which it ends
constexpr double ROOT = 1e-15;                       // relative uncertainty of how strongly friction opposes a slip

/// The impulse (n, f_x, f_y) of one vertex with response B and velocity q without it.
class OneVertex {
  public:
    OneVertex(const double (&response)[3][3], const double (&velocity)[3], const double (&friction)[2])
        : B(response), q(velocity), mu(friction) {}

    double p[3] = {};

    void solve() {
        if (q[0] >= 0.0) return;
        if (mu[0] == 0.0 || mu[1] == 0.0) {
            p[0] = -q[0] / B[0][0];
            return;
        }
        // With u_z = 0 the normal impulse follows from friction; C f + c is then the sliding velocity.
        for (int r = 0; r < 2; ++r) {
            c[r] = q[1 + r] - B[1 + r][0] * q[0] / B[0][0];
            for (int s = 0; s < 2; ++s) C[r][s] = B[1 + r][1 + s] - B[1 + r][0] * B[0][1 + s] / B[0][0];
        }
        if (const double outside = excess(0.0); outside > 0.0) slide(outside);
        if (!(p[0] > 0.0)) p[0] = p[1] = p[2] = 0.0;
    }

  private:
    const double (&B)[3][3], (&q)[3], (&mu)[2];
    double C[2][2], c[2];

    /// Set p to the impulse on the cone: find how strongly friction opposes the slip.
    /// above: the excess without slip
    void slide(double above) {
        const double most = std::max(mu[0], mu[1]);
        double low = 0.0, high = std::max(C[0][0], C[1][1]) * most * most, below = excess(high);
        for (int round = 0; round < 60 && below > 0.0; ++round) low = high, above = below, high *= 4, below = excess(high);
        for (int round = 0, side = 0; round < 200 && high - low > ROOT * high; ++round) {
            // Where the chord meets zero; an end that stays counts half as much the next time (the Illinois method).
            // The middle, where there is no chord, and every now and then, so that both ends come closer at any rate.
            const double chord = above / (above - below);
            const double middle = low + (chord > 0.0 && chord < 1.0 && round % 4 < 3 ? chord : 0.5) * (high - low);
            if (middle <= low || middle >= high) break;
            if (const double found = excess(middle); found > 0.0) {
                if (side > 0) below *= 0.5;
                low = middle, above = found, side = 1;
            } else {
                if (side < 0) above *= 0.5;
                high = middle, below = found, side = -1;
            }
        }
        excess(high);
    }

    /// Set p to the impulse whose slip is -slip f / mu^2, and say how far it lies outside of the cone.
    double excess(double slip) {
        const double a = C[0][0] + slip / (mu[0] * mu[0]), d = C[1][1] + slip / (mu[1] * mu[1]), off = C[0][1];
        const double det = a * d - off * off;
        if (det > 1e-14 * a * d) {
            p[1] = (-c[0] * d + c[1] * off) / det;
            p[2] = (-c[1] * a + c[0] * off) / det;
        } else {  // no mobility across: a planar body
            p[1] = a > 0 ? -c[0] / a : 0.0;
            p[2] = d > 0 && a <= 0 ? -c[1] / d : 0.0;
        }
        p[0] = -(q[0] + B[0][1] * p[1] + B[0][2] * p[2]) / B[0][0];
        return std::hypot(p[1] / mu[0], p[2] / mu[1]) - p[0];
    }
};

class Cones {
  public:
    Cones(const Matrix& response, const std::vector<double>& velocity, double mu_x, double mu_y)
        : A(response), b(velocity), mu{mu_x, mu_y}, n(static_cast<int>(velocity.size())), m(n / 3) {}

    std::vector<double> solve() {
        std::vector<double> x(n, 0.0);
        const auto [least, greatest] = std::minmax(mu[0], mu[1]);
        const int most = greatest <= GREATEST && least >= FLATTEST * greatest ? MOST_SOLUTIONS : MOST_OF_ODD;
        int solutions = 0;
        for (int round = 0; round < ROUNDS && solutions < most; ++round) {
            bool settled = true;
            for (int s = 0; s < SWEEPS << std::min(round, 5); ++s) settled = sweep(x), solutions += m;
            if (settled) break;
            std::vector<double> exact = x;
            if (newton(exact)) return exact;
        }
        return x;
    }

  private:
    const Matrix& A;
    const std::vector<double>& b;
    const double mu[2];
    const int n, m;
    Matrix J;
    std::vector<double> residual;

    double speed_of(int row, const std::vector<double>& x) const {
        double total = 0.0;
        for (int s = 0; s < n; ++s) total += A[row][s] * x[s];
        return total + b[row];
    }

    /// One Gauss-Seidel sweep over the vertices, each with its own cone solved exactly; true when nothing changes.
    bool sweep(std::vector<double>& x) const {
        double change = 0.0, size = 0.0;
        for (int k = 0; k < m; ++k) {
            const int rows[3] = {k, m + 2 * k, m + 2 * k + 1};
            double B[3][3], q[3];
            for (int r = 0; r < 3; ++r) {
                q[r] = speed_of(rows[r], x);
                for (int s = 0; s < 3; ++s) {
                    B[r][s] = A[rows[r]][rows[s]];
                    q[r] -= B[r][s] * x[rows[s]];
                }
            }
            OneVertex vertex(B, q, mu);
            vertex.solve();
            for (int r = 0; r < 3; ++r) {
                change = std::max(change, std::fabs(vertex.p[r] - x[rows[r]]));
                size = std::max(size, std::fabs(vertex.p[r]));
                x[rows[r]] = vertex.p[r];
            }
        }
        return change <= SETTLED * size;
    }

    /// Semi-smooth Newton method (Alart and Curnier 1991) from x, in place; false if it does not converge.
    ///
    /// In each iteration every vertex is open (x = 0), sticks (w = 0) or slips (w_z = 0, friction on the cone).
    bool newton(std::vector<double>& x) {
        double speed = 0.0;
        for (double value : b) speed = std::max(speed, std::fabs(value));
        J.resize(n, n), residual.assign(n, 0.0);
        for (int iteration = 0; iteration < NEWTON; ++iteration) {
            for (int k = 0; k < m; ++k) vertex_equations(x, k);
            double error = 0.0;
            for (double value : residual) error = std::max(error, std::fabs(value));
            if (error <= SETTLED * speed) return true;
            std::vector<double> step = residual;
            solve_by_elimination(J, step.data());
            for (int r = 0; r < n; ++r) {
                x[r] -= step[r];
                if (!std::isfinite(x[r])) return false;
            }
        }
        return false;
    }

    /// Write the equations of vertex k, all in units of velocity, and their derivatives.
    ///
    /// With the cone scaled to a round one, g = f / mu and y = mu w: friction slips when t = g - r y leaves |g| <= n,
    /// and then g = n t / |t|, which also opposes the slip.
    void vertex_equations(const std::vector<double>& x, int k) {
        const int rows[3] = {k, m + 2 * k, m + 2 * k + 1};
        const double stiff = A[k][k];
        for (int r : rows) {
            residual[r] = speed_of(r, x);
            std::copy(A[r], A[r] + n, J[r]);
        }
        const double load = x[k] - residual[k] / stiff;
        if (load <= 0.0) {  // open
            for (int r : rows) let_be_zero(x, r, stiff);
            return;
        }
        const double most = std::max({mu[0], mu[1], 1e-300}), r_f = 1.0 / (stiff * most * most);
        double t[2] = {};
        for (int d = 0; d < 2; ++d)
            if (mu[d] > 0) t[d] = x[rows[1 + d]] / mu[d] - r_f * mu[d] * residual[rows[1 + d]];
        const double size = std::hypot(t[0], t[1]);
        if (size > load || mu[0] == 0.0 || mu[1] == 0.0)
            for (int d = 0; d < 2; ++d) slip_equation(x, d, t, size, r_f, k, rows[1 + d], rows[2 - d]);
    }

    void let_be_zero(const std::vector<double>& x, int r, double stiff) {
        std::fill(J[r], J[r] + n, 0.0);
        J[r][r] = stiff;
        residual[r] = stiff * x[r];
    }

    /// Replace `row`, of direction d, by mu (g - n t / |t|) = 0.
    void slip_equation(const std::vector<double>& x, int d, const double (&t)[2], double size, double r_f, int k, int row,
                       int other) {
        const double stiff = A[k][k];
        let_be_zero(x, row, stiff);
        if (mu[d] == 0.0 || size == 0.0) return;
        const double along = t[d] / size, along_other = t[1 - d] / size, bend = x[k] / size;
        residual[row] -= stiff * mu[d] * x[k] * along;
        J[row][k] -= stiff * mu[d] * along;
        // The direction t / |t| turns with that part of t's change that lies across it.
        const double across = 1 - along * along, across_other = -along * along_other;
        J[row][row] -= stiff * bend * across;
        if (mu[1 - d] > 0) J[row][other] -= stiff * mu[d] * bend * across_other / mu[1 - d];
        for (int s = 0; s < n; ++s) {
            const double turn = across * mu[d] * A[row][s] + across_other * mu[1 - d] * A[other][s];
            J[row][s] += stiff * mu[d] * bend * r_f * turn;
        }
    }
};

}  // namespace

std::vector<double> cone_impulses(const Matrix& A, const std::vector<double>& b, double mu_x, double mu_y) {
    return Cones(A, b, mu_x, mu_y).solve();
}

}  // namespace stiction
