// Gradients recomputed from the support vectors: G = y - K a, in blocks, without storing K.
#pragma once

#include <vector>

#include "core/dual_state.hpp"
#include "core/rows/cached_rows.hpp"

namespace widemargin {

// gradient[c] -= sum_s coefficients[s] k(x_rows[s], x_columns[c]), with kernel values of type T and sums in double.
template <class T>
void subtract_kernel_rows(const RowSource& source, std::span<const Id> rows, std::span<const double> coefficients, std::span<const Id> columns,
                          double* gradient, ThreadTeam& team, Patience& patience) {
  constexpr std::size_t chunk = 4096, at_once = 64, part = 512;
  Buffer<T> block(at_once * std::min(chunk, columns.size()));
  std::vector<T*> out(at_once);
  for (std::size_t first = 0; first < columns.size(); first += chunk) {
    const std::size_t width = std::min(chunk, columns.size() - first);
    const std::unique_ptr<Columns<T>> prepared = source.prepare(columns.subspan(first, width), team, T{});
    for (std::size_t r = 0; r < at_once; ++r) out[r] = block.data() + r * width;
    for (std::size_t s = 0; s < rows.size(); s += at_once) {
      const std::size_t some = std::min(at_once, rows.size() - s);
      source.rows(rows.subspan(s, some), *prepared, 0, width, out.data(), team);
      team.share((width + part - 1) / part, [&](std::size_t piece, std::size_t) {
        simd::ops<T>().subtract_rows(gradient + first, out.data(), coefficients.data() + s, some, piece * part, std::min(width, (piece + 1) * part));
      });
      if (patience.spent(some * width * 4)) throw Stopped{patience.reason()};
    }
  }
}

inline std::vector<Id> support_positions(const DualState& state) {
  std::vector<Id> support;
  for (std::size_t p = 0; p < state.size(); ++p)
    if (state.alpha[p] != 0) support.push_back(static_cast<Id>(p));
  return support;
}

// The gradients of all inactive variables, from rows held whole where there are such and from the kernel otherwise.
template <class Rows>
void reconstruct_inactive(DualState& state, Rows& rows) {
  using T = typename Rows::Value;
  const std::size_t n = state.size(), active = state.active;
  std::copy(state.linear.begin() + static_cast<std::ptrdiff_t>(active), state.linear.end(), state.gradient.begin() + static_cast<std::ptrdiff_t>(active));
  const std::vector<Id> support = support_positions(state);
  const std::vector<Id> others = rows.use_whole_rows(support, [&](const T* row, Id p) {
    simd::ops<T>().subtract_rows(state.gradient.data(), &row, &state.alpha[static_cast<std::size_t>(p)], 1, active, n);
  });
  std::vector<Id> ids;
  std::vector<double> coefficients;
  for (const Id p : others) {
    ids.push_back(rows.ids()[static_cast<std::size_t>(p)]);
    coefficients.push_back(state.alpha[static_cast<std::size_t>(p)]);
  }
  subtract_kernel_rows<T>(rows.source(), ids, coefficients, rows.ids().subspan(active), state.gradient.data() + active, rows.team(), rows.patience());
  rows.count(ids.size() * (n - active));
}

}  // namespace widemargin
