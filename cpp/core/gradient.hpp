// Gradients recomputed from the support vectors: G = y - K a, in blocks, without storing K.
#pragma once

#include <type_traits>
#include <vector>

#include "core/blas.hpp"
#include "core/dual_state.hpp"
#include "core/rows/cached_rows.hpp"

namespace widemargin {

// gradient[c] -= sum_s coefficients[s] k(x_rows[s], x_columns[c]), with kernel values of type T and sums in double. The first `common` rows
// and columns are the same examples: in double, each of their values is computed once and serves twice. Returns how many kernel values
// were evaluated; throws Stopped where patience ends, or is known not to suffice.
template <class T>
std::uint64_t subtract_kernel_rows(const RowSource& source, std::span<const Id> rows, std::span<const double> coefficients, std::span<const Id> columns,
                                   std::size_t common, double* gradient, ThreadTeam& team, Patience& patience) {
  constexpr std::size_t at_most = 64, part = 512, some_bytes = std::size_t{4} << 20;
  if (rows.empty()) return 0;
  if (!std::is_same_v<T, double>) common = 0;
  if (patience.now()) throw Stopped{patience.reason()};
  const double used_twice = static_cast<double>(common), values = static_cast<double>(rows.size()) * static_cast<double>(columns.size());
  Patience::Work work(patience, values - 0.5 * used_twice * used_twice, source.value_work());
  const std::size_t chunk = std::clamp<std::size_t>(some_bytes / std::max<std::size_t>(source.column_bytes(sizeof(T)), 1), 512, 4096);
  Buffer<T> block(at_most * std::min(chunk, columns.size()));
  std::vector<T*> out(at_most);
  std::uint64_t evaluated = 0;
  for (std::size_t first = 0; first < columns.size(); first += chunk) {
    const std::size_t width = std::min(chunk, columns.size() - first);
    const std::unique_ptr<Columns<T>> prepared = source.prepare(columns.subspan(first, width), true, team, T{});
    for (std::size_t r = 0; r < at_most; ++r) out[r] = block.data() + r * width;
    for (std::size_t s = 0; s < rows.size();) {
      const bool twice = s < common;
      if (twice && s >= first + width) {  // these columns were rows before
        s = common;
        continue;
      }
      const std::size_t at_once = patience.limited() ? source.rows_in_a_moment(width) : at_most;
      const std::size_t some = std::min(at_once, (twice ? common : rows.size()) - s), begin = twice ? std::max(first, s) : first, length = first + width - begin;
      evaluated += source.rows(rows.subspan(s, some), *prepared, begin - first, width, out.data(), team);
      team.share((length + part - 1) / part, [&](std::size_t piece, std::size_t) {
        simd::ops<T>().subtract_rows(gradient + begin, out.data(), coefficients.data() + s, some, piece * part, std::min(length, (piece + 1) * part));
      });
      if constexpr (std::is_same_v<T, double>) {
        const std::size_t mirrored = std::max(begin, s + some), end = std::min(first + width, common);
        if (twice && mirrored < end) {
          double sum[at_most];
          blas::gemm(1, static_cast<int>(some), static_cast<int>(end - mirrored), coefficients.data() + mirrored, 1, block.data() + (mirrored - begin), static_cast<int>(width), sum, 1);
          for (std::size_t r = 0; r < some; ++r) gradient[s + r] -= sum[r];
        }
      }
      if (work.spent(some * length)) throw Stopped{patience.reason()};
      s += some;
    }
  }
  return evaluated;
}

// The support vectors of a state: positions, examples, coefficients.
struct Support {
  std::vector<Id> positions, ids;
  std::vector<double> coefficients;

  // Those at the positions `first` (which are support vectors) come before the others.
  Support(const DualState& state, std::span<const Id> example_ids, std::span<const Id> first = {}) {
    std::vector<std::uint8_t> taken(state.size(), 0);
    const auto take = [&](std::size_t p) {
      if (state.alpha[p] == 0 || taken[p] != 0) return;
      taken[p] = 1;
      positions.push_back(static_cast<Id>(p));
      ids.push_back(example_ids[p]);
      coefficients.push_back(state.alpha[p]);
    };
    for (const Id p : first) take(static_cast<std::size_t>(p));
    for (std::size_t p = 0; p < state.size(); ++p) take(p);
  }

  // Keeps every so many-th, which stands for those around it: about `enough` of them.
  void thin_out(std::size_t enough) {
    const std::size_t each = ids.size() / enough;
    if (each < 2) return;
    const std::size_t kept = (ids.size() + each - 1) / each;
    const double counts = static_cast<double>(ids.size()) / static_cast<double>(kept);
    for (std::size_t k = 0; k < kept; ++k) positions[k] = positions[k * each], ids[k] = ids[k * each], coefficients[k] = counts * coefficients[k * each];
    positions.resize(kept), ids.resize(kept), coefficients.resize(kept);
  }
};

}  // namespace widemargin
