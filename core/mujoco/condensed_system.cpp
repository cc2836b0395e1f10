#include "mujoco/condensed_system.hpp"

#include <tuple>

namespace stiction::mujoco {
namespace {

double dot_row(const int* dofs, const double* values, int count, const double* y) {
    double total = 0.0;
    for (int k = 0; k < count; ++k) total += values[k] * y[dofs[k]];
    return total;
}

}  // namespace

void CondensedSystem::set_up(const PointSystem& problem, const SystemRows& white, const SystemRows* other, const int* tree,
                             int nv) {
    const int n = white.size();
    const auto before = std::tuple(std::move(starts_), std::move(dofs_), std::move(W_), std::move(other_starts_),
                                   std::move(other_dofs_), std::move(U_), sizes_);
    first_bounded_ = n - static_cast<int>(problem.bounded.size());
    first_other_ = other ? n - other->size() : n;
    // Local numbers of the trees and dofs that occur.
    std::vector<int> local(nv, -1);
    const auto mark = [&](const SystemRows& rows) {
        for (int row = 0; row < rows.size(); ++row)
            for (const int dof : rows.dofs(row)) local[dof] = 0;
    };
    mark(white);
    if (other) mark(*other);
    sizes_.clear(), node_.clear(), offset_.clear();
    int last = -1;
    for (int dof = 0; dof < nv; ++dof) {
        if (local[dof] < 0) continue;
        if (sizes_.empty() || tree[dof] != last) last = tree[dof], sizes_.push_back(0);
        local[dof] = static_cast<int>(node_.size());
        node_.push_back(static_cast<int>(sizes_.size()) - 1), offset_.push_back(sizes_.back()++);
    }
    const auto copy = [&](const SystemRows& rows, std::vector<int>& starts, std::vector<int>& dofs,
                          std::vector<double>& values) {
        starts.assign(1, 0), dofs.clear(), values.clear();
        for (int row = 0; row < rows.size(); ++row) {
            for (const int dof : rows.dofs(row)) dofs.push_back(local[dof]);
            const double* first = rows.numbers(row);
            values.insert(values.end(), first, first + rows.dofs(row).size());
            starts.push_back(static_cast<int>(dofs.size()));
        }
    };
    copy(white, starts_, dofs_, W_);
    if (other) copy(*other, other_starts_, other_dofs_, U_);
    else other_starts_.clear(), other_dofs_.clear(), U_.clear();
    write_blocks(problem);
    const auto now = std::tie(starts_, dofs_, W_, other_starts_, other_dofs_, U_, sizes_);
    if (now != before) write_pattern();
    y_.assign(node_.size(), 0.0);
    diagonal_.resize(n);
    for (int row = 0; row < n; ++row) {
        const Row left = W(row), right = U(row);
        for (int k = 0; k < left.count; ++k) y_[left.dofs[k]] = left.values[k];
        diagonal_[row] = dot_row(right.dofs, right.values, right.count, y_.data());
        for (int k = 0; k < left.count; ++k) y_[left.dofs[k]] = 0.0;
    }
}

void CondensedSystem::write_blocks(const PointSystem& problem) {
    blocks_.assign(problem.points.size(), {});
    for (int k = 0; k < problem.size(); ++k) blocks_[k] = {3, {3 * k, 3 * k + 1, 3 * k + 2}, k, {-1, -1}};
    for (int t = 0; t < static_cast<int>(problem.torques.size()); ++t) {
        const TorqueRows& torque = problem.torques[t];
        RowBlock& block = blocks_[torque.point];
        block.torques[block.torques[0] < 0 ? 0 : 1] = t;
        for (int row = torque.first; row < torque.end(); ++row) block.rows[block.count++] = row;
    }
    for (int row = first_bounded_; row < rows(); ++row) blocks_.push_back({1, {row}, -1, {-1, -1}});
}

void CondensedSystem::write_pattern() {
    std::vector<std::pair<int, int>> pairs;
    std::vector<int> nodes;
    for (const RowBlock& block : blocks_) {
        nodes.clear();
        for (const Row& row : {W(block.rows[0]), U(block.rows[0])})
            for (int k = 0; k < row.count; ++k)
                if (const int node = node_[row.dofs[k]]; std::find(nodes.begin(), nodes.end(), node) == nodes.end())
                    nodes.push_back(node);
        for (const int a : nodes)
            for (const int b : nodes)
                if (a < b) pairs.push_back({a, b});
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    factored_.clear();
    if (pairs == pattern_ && sizes_ == pattern_sizes_) return;
    pattern_.swap(pairs), pattern_sizes_ = sizes_;
    matrix_.set_pattern(sizes_, pattern_);
}

void CondensedSystem::respond(const std::vector<double>& x, std::vector<double>& y) const {
    y.assign(node_.size(), 0.0);
    for (int r = 0; r < rows(); ++r) {
        if (x[r] == 0.0) continue;
        const Row row = W(r);
        for (int k = 0; k < row.count; ++k) y[row.dofs[k]] += x[r] * row.values[k];
    }
}

void CondensedSystem::velocities(const std::vector<double>& b, const std::vector<double>& C, const std::vector<double>& x,
                                 std::vector<double>& w) {
    respond(x, y_);
    w.resize(rows());
    for (int r = 0; r < rows(); ++r) {
        const Row row = U(r);
        w[r] = dot_row(row.dofs, row.values, row.count, y_.data()) + b[r] + C[r] * x[r];
    }
}

bool CondensedSystem::is_factored(std::span<const BlockResponse> responses) const {
    return factored_.size() == responses.size() &&
           std::equal(responses.begin(), responses.end(), factored_.begin(),
                      [](const BlockResponse& a, const BlockResponse& b) { return a.G == b.G; });
}

/// out += sum of W_r^T P_r over the rows r of a block, for one run of the dofs of W (m) and one of those of P (n).
template <int ROWS, int N> void CondensedSystem::add_products(const double* const* W, const double* P, int stride, int m, int n,
                                                              double* out, int columns) {
    if constexpr (N > 0) n = N;
    for (int i = 0; i < m; ++i) {
        double* __restrict line = out + i * columns;
        for (int r = 0; r < ROWS; ++r) {
            const double value = W[r][i];
            const double* __restrict row = P + r * stride;
            for (int k = 0; k < n; ++k) line[k] += value * row[k];
        }
    }
}

/// The matrix 1 + W^T G U.
void CondensedSystem::assemble(std::span<const BlockResponse> responses) {
    matrix_.clear();
    for (std::size_t node = 0; node < sizes_.size(); ++node) {
        double* own = matrix_.block(static_cast<int>(node), static_cast<int>(node));
        for (int k = 0; k < sizes_[node]; ++k) own[k * (sizes_[node] + 1)] = 1.0;
    }
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
        const RowBlock& block = blocks_[at];
        const auto& G = responses[at].G;
        const Row left = W(block.rows[0]), right = U(block.rows[0]);
        product_.assign(static_cast<std::size_t>(block.count) * right.count, 0.0);
        bool is_zero = true;
        for (int r = 0; r < block.count; ++r)
            for (int c = 0; c < block.count; ++c) {
                const double share = G[r * RowBlock::MAX_ROWS + c];
                if (share == 0.0) continue;
                is_zero = false;
                const double* values = U(block.rows[c]).values;
                double* out = product_.data() + static_cast<std::size_t>(r) * right.count;
                for (int k = 0; k < right.count; ++k) out[k] += share * values[k];
            }
        if (is_zero) continue;
        // Add run by run of dofs that follow each other in a tree.
        for (int i = 0; i < left.count;) {
            const int i_end = end_of_run(left, i), a = node_[left.dofs[i]];
            const double* values[RowBlock::MAX_ROWS];
            for (int r = 0; r < block.count; ++r) values[r] = W(block.rows[r]).values + i;
            for (int j = 0; j < right.count;) {
                const int j_end = end_of_run(right, j), b = node_[right.dofs[j]], columns = sizes_[b];
                double* out = matrix_.block(a, b) + offset_[left.dofs[i]] * columns + offset_[right.dofs[j]];
                const double* product = product_.data() + j;
                if (block.count == 3 && j_end - j == 6)
                    add_products<3, 6>(values, product, right.count, i_end - i, 6, out, columns);
                else if (block.count == 3)
                    add_products<3, 0>(values, product, right.count, i_end - i, j_end - j, out, columns);
                else
                    for (int r = 0; r < block.count; ++r)
                        add_products<1, 0>(values + r, product + r * right.count, 0, i_end - i, j_end - j, out, columns);
                j = j_end;
            }
            i = i_end;
        }
    }
}

bool CondensedSystem::solve(std::span<const BlockResponse> responses, std::vector<double>& change) {
    if (!is_factored(responses)) {
        assemble(responses);
        factored_.clear();
        if (!matrix_.factor()) return false;
        factored_.assign(responses.begin(), responses.end());
    }
    std::fill(y_.begin(), y_.end(), 0.0);
    for (std::size_t at = 0; at < blocks_.size(); ++at)
        for (int r = 0; r < blocks_[at].count; ++r) {
            const double value = responses[at].g[r];
            if (value == 0.0) continue;
            const Row row = W(blocks_[at].rows[r]);
            for (int k = 0; k < row.count; ++k) y_[row.dofs[k]] += value * row.values[k];
        }
    matrix_.solve(y_.data());
    change.resize(rows());
    for (int r = 0; r < rows(); ++r) {
        const Row row = U(r);
        change[r] = dot_row(row.dofs, row.values, row.count, y_.data());
    }
    return true;
}

}  // namespace stiction::mujoco
