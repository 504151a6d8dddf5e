// Sums of an oligo kernel between two sets of sequences, and of each sequence with itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/matrices/kernel_matrix.hpp"
#include "core/outcome.hpp"
#include "core/sequences/oligo_term.hpp"

namespace widemargin::sequences {

// Some sequences at the rows or columns of a matrix, and a factor for each; no factors are ones.
struct Side {
  std::span<const Id> ids;
  std::span<const double> factors;

  double factor(std::size_t i) const { return factors.empty() ? 1.0 : factors[i]; }
};

// out(r, c) = factor_r factor_c sum(x_r, z_c). A symmetric matrix is mirrored at its diagonal. Throws Stopped if the
// deadline ends it.
inline void sums_between(const OligoTerm<double>& term, const Side& rows, const Side& columns, bool symmetric,
                         double* out, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t strip = 32;
  const std::size_t n = rows.ids.size(), m = columns.ids.size(), strips = (n + strip - 1) / strip;
  const std::unique_ptr<ColumnIndex> index = term.index_of(columns.ids);
  const auto compute = [&](std::size_t s, std::size_t member) {
    const std::size_t begin = s * strip, end = std::min(n, begin + strip);
    TimeBudget budget(deadline, member == 0);
    for (std::size_t r = begin; r < end; ++r) {
      if (budget.over()) return;
      const std::size_t first = symmetric ? begin : 0;
      double* row = out + r * m;
      term.row(static_cast<std::size_t>(rows.ids[r]), columns.ids.data(), index.get(), first, m, row + first, &budget);
      const double factor = rows.factor(r);
      if (!columns.factors.empty())
        for (std::size_t c = first; c < m; ++c) row[c] *= factor * columns.factors[c];
      else if (!rows.factors.empty())
        for (std::size_t c = first; c < m; ++c) row[c] *= factor;
    }
    if (!symmetric) return;
    for (std::size_t r = begin; r < end; ++r)  // the diagonal tile, symmetric to the last bit
      for (std::size_t c = begin; c < r; ++c) out[r * m + c] = out[c * m + r];
    if (end < m) transpose(out + begin * m + end, m, end - begin, m - end, out + end * m + begin, m);
  };
  team.share(strips, compute, [&] { deadline.poll(); });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

// out[i] = sum(x_i, x_i), for all sequences.
inline void sums_within(const OligoTerm<double>& term, double* out, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t strip = 64;
  const Oligomers& all = term.rows();
  const auto compute = [&](std::size_t s, std::size_t member) {
    TimeBudget budget(deadline, member == 0);
    for (std::size_t i = s * strip; i < std::min(all.size(), (s + 1) * strip); ++i) {
      if (budget.over()) return;
      out[i] = 0;
      for_each_code(all.grouped(i), [&](std::int32_t code, std::span<const Oligomer> same) {
        out[i] += term.weight(static_cast<std::size_t>(code)) * pairs_within(same, term.near(), &budget);
      });
    }
  };
  team.share((all.size() + strip - 1) / strip, compute, [&] { deadline.poll(); });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

}  // namespace widemargin::sequences
