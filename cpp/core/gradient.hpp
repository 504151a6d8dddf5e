// Gradients recomputed from the support vectors: G = y - K a, in blocks, without storing K.
#pragma once

#include <vector>

#include "core/dual_state.hpp"
#include "core/rows/cached_rows.hpp"

namespace widemargin {

// gradient[c] -= sum_s coefficients[s] k(x_rows[s], x_columns[c]), with kernel values of type T and sums in double. Returns how many
// kernel values were evaluated.
template <class T>
std::uint64_t subtract_kernel_rows(const RowSource& source, std::span<const Id> rows, std::span<const double> coefficients, std::span<const Id> columns,
                          double* gradient, ThreadTeam& team, Patience& patience) {
  constexpr std::size_t at_once = 64, part = 512, some_bytes = std::size_t{4} << 20;
  const std::size_t chunk = std::clamp<std::size_t>(some_bytes / std::max<std::size_t>(source.column_bytes(sizeof(T)), 1), 512, 4096);
  Buffer<T> block(at_once * std::min(chunk, columns.size()));
  std::vector<T*> out(at_once);
  std::uint64_t evaluated = 0;
  for (std::size_t first = 0; first < columns.size(); first += chunk) {
    const std::size_t width = std::min(chunk, columns.size() - first);
    const std::unique_ptr<Columns<T>> prepared = source.prepare(columns.subspan(first, width), true, team, T{});
    for (std::size_t r = 0; r < at_once; ++r) out[r] = block.data() + r * width;
    for (std::size_t s = 0; s < rows.size(); s += at_once) {
      const std::size_t some = std::min(at_once, rows.size() - s);
      evaluated += source.rows(rows.subspan(s, some), *prepared, 0, width, out.data(), team);
      team.share((width + part - 1) / part, [&](std::size_t piece, std::size_t) {
        simd::ops<T>().subtract_rows(gradient + first, out.data(), coefficients.data() + s, some, piece * part, std::min(width, (piece + 1) * part));
      });
      if (patience.spent(some * width * 4)) throw Stopped{patience.reason()};
    }
  }
  return evaluated;
}

// The support vectors of a state: positions, examples, coefficients.
struct Support {
  std::vector<Id> positions, ids;
  std::vector<double> coefficients;

  Support(const DualState& state, std::span<const Id> example_ids) {
    for (std::size_t p = 0; p < state.size(); ++p) {
      if (state.alpha[p] == 0) continue;
      positions.push_back(static_cast<Id>(p));
      ids.push_back(example_ids[p]);
      coefficients.push_back(state.alpha[p]);
    }
  }
};

}  // namespace widemargin
