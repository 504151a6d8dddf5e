// Weighted sums of kernel rows, each row computed once and none kept: gradients, decision values, several functions at
// once.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/linear_algebra/blas.hpp"
#include "core/rows/row_source.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/stopping.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

// gradient[c] -= sum_s coefficients[s] k(x_rows[s], x_columns[c]), with kernel values of type T and sums in double. The
// first `common` rows and columns are the same samples: in double, each of their values is computed once and serves
// twice. Returns how many kernel values were evaluated; throws Stopped where the time budget ends, or is known not to
// suffice.
template <class T>
std::uint64_t subtract_kernel_rows(const RowSource& source, std::span<const Id> rows,
                                   std::span<const double> coefficients, std::span<const Id> columns,
                                   std::size_t common, double* gradient, ThreadTeam& team, TimeBudget& budget) {
  constexpr std::size_t at_most = 64, part = 512, some_bytes = std::size_t{4} << 20;
  if (rows.empty()) return 0;
  if (!std::is_same_v<T, double>) common = 0;
  if (budget.over()) throw Stopped{budget.reason()};
  const double used_twice = static_cast<double>(common),
               values = static_cast<double>(rows.size()) * static_cast<double>(columns.size());
  TimeBudget::Forecast work(budget, values - 0.5 * used_twice * used_twice, source.value_work());
  const std::size_t chunk =
      std::clamp<std::size_t>(some_bytes / std::max<std::size_t>(source.column_bytes(sizeof(T)), 1), 512, 4096);
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
      const std::size_t at_once = budget.limited() ? source.rows_between_polls(width) : at_most;
      const std::size_t some = std::min(at_once, (twice ? common : rows.size()) - s),
                        begin = twice ? std::max(first, s) : first, length = first + width - begin;
      evaluated += source.rows(rows.subspan(s, some), *prepared, begin - first, width, out.data(), team);
      team.share((length + part - 1) / part, [&](std::size_t piece, std::size_t) {
        simd::ops<T>().subtract_rows(gradient + begin, out.data(), coefficients.data() + s, some, piece * part,
                                     std::min(length, (piece + 1) * part));
      });
      if constexpr (std::is_same_v<T, double>) {
        const std::size_t mirrored = std::max(begin, s + some), end = std::min(first + width, common);
        if (twice && mirrored < end) {
          double sum[at_most];
          blas::gemm(1, static_cast<int>(some), static_cast<int>(end - mirrored), coefficients.data() + mirrored, 1,
                     block.data() + (mirrored - begin), static_cast<int>(width), sum, 1);
          for (std::size_t r = 0; r < some; ++r) gradient[s + r] -= sum[r];
        }
      }
      if (work.spent(some * length)) throw Stopped{budget.reason()};
      s += some;
    }
  }
  return evaluated;
}

// One function of the samples at the columns: values[c] += sum_r coefficients[r] k(x_r, x_c), over the rows [first,
// last).
struct RowSum {
  const double* coefficients;  // of row `first` on
  double* values;
};

// Rows that belong to the same functions: those of one class belong to its pairs with each other class.
struct RowGroup {
  std::size_t first, last;
  std::vector<RowSum> sums;
};

// Adds up all functions of all groups at `n_columns` columns, with kernel values of type T and sums in double. `rows`
// are the samples at the rows; prepare(first, width) prepares a stretch of the columns. Throws Stopped where the time
// budget ends.
template <class T, class Prepare>
void add_row_sums(const RowSource& source, std::span<const Id> rows, std::span<const RowGroup> groups,
                  std::size_t n_columns, const Prepare& prepare, ThreadTeam& team, TimeBudget& budget) {
  constexpr std::size_t chunk = 2048, at_once = 64, part = 512;
  Buffer<T> block(at_once * std::min(chunk, n_columns));
  std::vector<T*> out(at_once);
  std::vector<double> negated;
  for (std::size_t first = 0; first < n_columns; first += chunk) {
    const std::size_t width = std::min(chunk, n_columns - first);
    const std::unique_ptr<Columns<T>> prepared = prepare(first, width);
    for (std::size_t r = 0; r < at_once; ++r) out[r] = block.data() + r * width;
    for (const RowGroup& group : groups)
      for (std::size_t s = group.first; s < group.last; s += at_once) {
        const std::size_t some = std::min(at_once, group.last - s);
        source.rows(rows.subspan(s, some), *prepared, 0, width, out.data(), team);
        const std::size_t parts = (width + part - 1) / part;
        negated.resize(group.sums.size() * some);
        for (std::size_t q = 0; q < group.sums.size(); ++q)
          for (std::size_t r = 0; r < some; ++r)
            negated[q * some + r] = -group.sums[q].coefficients[s - group.first + r];
        team.share(parts, [&](std::size_t piece, std::size_t) {
          for (std::size_t q = 0; q < group.sums.size(); ++q)
            simd::ops<T>().subtract_rows(group.sums[q].values + first, out.data(), negated.data() + q * some, some,
                                         piece * part, std::min(width, (piece + 1) * part));
        });
        if (budget.spent(some * width * source.value_work())) throw Stopped{budget.reason()};
      }
  }
}

}  // namespace widemargin
