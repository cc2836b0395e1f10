#include "friction/dantzig.hpp"

namespace stiction {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

/// Multiplications after which no row is driven on: friction that is all but infinite may lead in circles.
constexpr double MAX_WORK = 3e7;

/// A row is solved when it is free with w = 0, or at its lower bound with w >= 0, or at its upper one with w <= 0.
class Dantzig {
  public:
    Dantzig(const Matrix& matrix, const std::vector<double>& b)
        : x(b.size(), 0.0), w(b), low(b.size(), 0.0), high(b.size(), INFINITE), A(matrix), free(b.size(), false),
          mobile(std::make_unique<bool[]>(b.size())) {}

    std::vector<double> x, w, low, high;

    /// Bring row i to a solution while the rows before it stay solved: one variable moves, the free ones follow.
    /// n: rows whose velocities are kept up to date
    void drive(int i, int n) {
        if (A[i][i] <= 0.0 || (x[i] == low[i] && w[i] >= 0) || (x[i] == high[i] && w[i] <= 0)) return;
        for (int round = 0; round < 50 + 10 * n && work_ < MAX_WORK; ++round) {
            const double direction = w[i] > 0 ? -1.0 : 1.0;
            follow_row(i, direction);
            speed.assign(n, 0.0);  // of w
            for (int r = 0; r < n; ++r) {
                speed[r] = A[r][i] * direction;
                for (std::size_t k = 0; k < members.size(); ++k) speed[r] += A[r][members[k]] * follow[k];
            }
            if (!advance(i, direction, n)) return;
        }
    }

  private:
    const Matrix& A;
    std::vector<bool> free;
    std::vector<int> members;                  // the free rows before the one that is driven
    std::vector<double> block, follow, speed;  // how the free ones follow
    std::unique_ptr<bool[]> mobile;
    double work_ = 0.0;                        // multiplications so far

    void follow_row(int i, double direction) {
        members.clear();
        for (int r = 0; r < i; ++r)
            if (free[r]) members.push_back(r);
        const int m = static_cast<int>(members.size());
        block.assign(static_cast<std::size_t>(m) * m, 0.0), follow.assign(m, 0.0);
        for (int r = 0; r < m; ++r) {
            follow[r] = -direction * A[members[r]][i];
            for (int k = 0; k < m; ++k) block[r * m + k] = A[members[r]][members[k]];
        }
        solve_semidefinite(block.data(), m, follow.data(), mobile.get(), m);
        work_ += (m * m / 6.0 + static_cast<double>(x.size())) * m;
    }

    /// Move until a row comes to its end; whether row i has still to go.
    bool advance(int i, double direction, int n) {
        double step = INFINITE;
        int event = i;
        if (w[i] == 0.0 || speed[i] * w[i] < 0) step = -w[i] / speed[i];
        const double bound = direction > 0 ? high[i] : low[i];
        const bool at_bound = std::fabs(bound - x[i]) <= step;
        if (at_bound) step = std::fabs(bound - x[i]);
        for (std::size_t k = 0; k < members.size(); ++k) {
            const int r = members[k];
            const double limit = follow[k] > 0 ? high[r] : low[r];
            if (follow[k] != 0 && (limit - x[r]) / follow[k] < step)
                step = std::max(0.0, (limit - x[r]) / follow[k]), event = r;
        }
        for (int r = 0; r < i; ++r) {
            const bool leaving =
                !free[r] && ((x[r] == low[r] && speed[r] < 0) || (x[r] == high[r] && speed[r] > 0));
            if (leaving && low[r] < high[r] && -w[r] / speed[r] < step)
                step = std::max(0.0, -w[r] / speed[r]), event = r;
        }
        if (!std::isfinite(step)) return false;
        x[i] += step * direction;
        for (std::size_t k = 0; k < members.size(); ++k) x[members[k]] += step * follow[k];
        for (int r = 0; r < n; ++r) w[r] += step * speed[r];
        if (event == i) {
            if (at_bound)
                x[i] = bound;
            else
                w[i] = 0.0, free[i] = true;
            return false;
        }
        if (free[event]) {  // it has reached a bound
            free[event] = false;
            const bool upper = std::fabs(high[event] - x[event]) < std::fabs(low[event] - x[event]);
            x[event] = upper ? high[event] : low[event];
        } else {  // it comes off its bound
            free[event] = true, w[event] = 0.0;
        }
        return true;
    }
};

}  // namespace

std::vector<double> boxed_lcp(const Matrix& A, const std::vector<double>& b, const std::vector<double>& low,
                                     const std::vector<double>& high) {
    const int n = static_cast<int>(b.size());
    Dantzig rows(A, b);
    rows.low = low, rows.high = high;
    for (int i = 0; i < n; ++i) rows.drive(i, n);
    return rows.x;
}

std::vector<double> dantzig_friction(const Matrix& A, const std::vector<double>& b, double mu_x, double mu_y) {
    const int n = static_cast<int>(b.size()), m = n / 3;
    // Normals first, as DART has them.
    const auto place = [m](int row) { return row < m ? 3 * row : row + (row - m) / 2 + 1 - m; };
    Matrix sorted(n, n);
    std::vector<double> w(n), x(n);
    for (int r = 0; r < n; ++r) {
        w[r] = b[place(r)];
        for (int k = 0; k < n; ++k) sorted[r][k] = A[place(r)][place(k)];
    }
    Dantzig rows(sorted, w);
    for (int i = 0; i < m; ++i) rows.drive(i, m);
    for (int r = m; r < n; ++r) {
        const double bound = ((r - m) % 2 == 0 ? mu_x : mu_y) * rows.x[(r - m) / 2];
        rows.low[r] = -bound, rows.high[r] = bound;
    }
    for (int r = m; r < n; ++r)
        for (int k = 0; k < m; ++k) rows.w[r] += sorted[r][k] * rows.x[k];
    for (int i = m; i < n; ++i) rows.drive(i, n);
    for (int r = 0; r < n; ++r) x[place(r)] = rows.x[r];
    return x;
}

}  // namespace stiction
