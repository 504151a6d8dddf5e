// Several combinations of kernel rows at once, each row computed once, none of them kept.
#pragma once

#include <vector>

#include "core/buffer.hpp"
#include "core/outcome.hpp"
#include "core/rows/row_source.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

// values[f][c] -= sum_s coefficients[f][s] k(x_rows[s], x_columns[c]), with kernel values in float and sums in double.
inline void subtract_combinations(const RowSource& source, std::span<const Id> rows, std::span<const double* const> coefficients, std::span<const Id> columns,
                                  std::span<double* const> values, ThreadTeam& team, Patience& patience) {
  constexpr std::size_t at_once = 64, part = 512, chunk = 2048;
  Buffer<float> block(at_once * std::min(chunk, columns.size()));
  std::vector<float*> out(at_once);
  for (std::size_t first = 0; first < columns.size(); first += chunk) {
    const std::size_t width = std::min(chunk, columns.size() - first);
    const std::unique_ptr<Columns<float>> prepared = source.prepare(columns.subspan(first, width), true, team, float{});
    for (std::size_t r = 0; r < at_once; ++r) out[r] = block.data() + r * width;
    for (std::size_t s = 0; s < rows.size(); s += at_once) {
      const std::size_t some = std::min(at_once, rows.size() - s);
      source.rows(rows.subspan(s, some), *prepared, 0, width, out.data(), team);
      team.share((width + part - 1) / part, [&](std::size_t piece, std::size_t) {
        for (std::size_t f = 0; f < values.size(); ++f)
          simd::ops<float>().subtract_rows(values[f] + first, out.data(), coefficients[f] + s, some, piece * part, std::min(width, (piece + 1) * part));
      });
      if (patience.spent(some * width * source.value_work())) throw Stopped{patience.reason()};
    }
  }
}

}  // namespace widemargin
