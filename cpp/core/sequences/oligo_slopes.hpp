// <W, d sums> for all parameters at once: by log sigma, and by the logarithms of the weights of all oligomers.
//
// With the table f of a sequence x, sum(x, z) is the sum of f(w, q) over the oligomers w of z and their places q. So W
// is scattered, S(w, q) += W(x, z) for every oligomer of every z, and the sums over all z are those of S(w, q) f(w, q),
// whatever f is: that of the closeness, or of its slope.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/outcome.hpp"
#include "core/sequences/oligo_sums.hpp"

namespace widemargin::sequences {

struct Slopes {
  double by_sigma = 0;
  std::vector<double> by_code;  // empty unless there are weights

  void add(const Slopes& other) {
    by_sigma += other.by_sigma;
    for (std::size_t c = 0; c < by_code.size(); ++c) by_code[c] += other.by_code[c];
  }
};

// The terms of closeness and of its slope, of the same sequences and with the same weights.
struct TermAndSlope {
  const OligoTerm<double>& term;
  const OligoTerm<double>& slope;
};

namespace detail {

// W(r, c) with the factors of both sides; of a symmetric matrix, once for both of its entries.
class Weights {
 public:
  Weights(const double* W, const Side& rows, const Side& columns, bool symmetric)
      : W_(W), rows_(rows), columns_(columns), symmetric_(symmetric) {}

  std::size_t first(std::size_t r) const { return symmetric_ ? r : 0; }
  void row(std::size_t r, double* weights) const {
    const std::size_t m = columns_.ids.size();
    const double factor = rows_.factor(r);
    for (std::size_t c = first(r); c < m; ++c) {
      const double both = W_[r * m + c] + (symmetric_ && c > r ? W_[c * m + r] : 0.0);
      weights[c] = both * factor * columns_.factor(c);
    }
  }

 private:
  const double* W_;
  Side rows_, columns_;
  bool symmetric_;
};

inline void add_row_of_few(const TermAndSlope& both, std::size_t x, std::span<const Id> ids, std::size_t first,
                           const double* weights, Slopes& slopes) {
  struct Scattered;
  const Oligomers& columns = both.term.columns();
  const std::size_t step = OligoTerm<double>::stride(columns), size = step * both.term.places().width;
  const Scratch<double, Scattered> scattered(size);
  const Scratch<double, Slopes> table(size);
  double *S = scattered.data(), *f = table.data();
  std::fill_n(S, size, 0.0);
  for (std::size_t c = first; c < ids.size(); ++c) {
    const std::size_t z = static_cast<std::size_t>(ids[c]);
    const std::span<const std::uint16_t> codes = columns.packed(z);
    if (codes.empty()) continue;
    double* at =
        S + step * static_cast<std::size_t>(static_cast<std::int64_t>(columns.start(z)) - both.term.places().low);
    for (std::size_t j = 0; j < codes.size(); ++j, at += step) at[codes[j]] += weights[c];
  }
  both.slope.fill_table(x, f);
  for (std::size_t k = 0; k < size; ++k) slopes.by_sigma += S[k] * f[k];
  if (slopes.by_code.empty()) return;
  both.term.fill_table(x, f);
  for (std::size_t q = 0; q < both.term.places().width; ++q, S += step, f += step)
    for (std::size_t w = 0; w + 1 < step; ++w) slopes.by_code[w] += S[w] * f[w];
}

inline void add_row_of_index(const TermAndSlope& both, std::size_t x, const ColumnIndex& index, std::size_t first,
                             std::size_t last, const double* weights, Slopes& slopes) {
  struct Scattered;
  const std::size_t width = both.term.places().width;
  const Scratch<double, Scattered> scattered(width);
  const Scratch<double, Slopes> table(width);
  double *S = scattered.data(), *f = table.data();
  for_each_code(both.term.rows().grouped(x), [&](std::int32_t code, std::span<const Oligomer> same) {
    const std::span<const ColumnIndex::Occurrence> found = index.of(code, first, last);
    if (found.empty()) return;
    std::fill_n(S, width, 0.0);
    for (const ColumnIndex::Occurrence& other : found) S[other.place] += weights[other.column];
    both.slope.fill_table(code, same, f);
    for (std::size_t q = 0; q < width; ++q) slopes.by_sigma += S[q] * f[q];
    if (slopes.by_code.empty()) return;
    both.term.fill_table(code, same, f);
    double& own = slopes.by_code[static_cast<std::size_t>(code)];
    for (std::size_t q = 0; q < width; ++q) own += S[q] * f[q];
  });
}

// Adds what compute(begin, end, slopes) finds in strips of rows, in their order.
template <class Compute>
Slopes add_strips(std::size_t n, std::size_t strip, bool by_code, std::size_t n_codes, ThreadTeam& team,
                  Deadline& deadline, const Compute& compute) {
  const Slopes none{0, std::vector<double>(by_code ? n_codes : 0, 0.0)};
  std::vector<Slopes> parts((n + strip - 1) / strip, none);
  team.share(
      parts.size(),
      [&](std::size_t s, std::size_t member) {
        for (std::size_t r = s * strip; r < std::min(n, (s + 1) * strip); ++r) {
          if (deadline.poll(member == 0)) return;
          compute(r, parts[s]);
        }
      },
      [&] { deadline.poll(); });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
  Slopes total = none;
  for (const Slopes& part : parts) total.add(part);
  return total;
}

}  // namespace detail

// W is rows.ids.size() x columns.ids.size(); `symmetric` says that rows and columns are the same sequences.
inline Slopes pull_back(const TermAndSlope& both, const double* W, const Side& rows, const Side& columns,
                        bool symmetric, bool by_code, ThreadTeam& team, Deadline& deadline) {
  const std::size_t n = rows.ids.size(), m = columns.ids.size();
  const detail::Weights weights(W, rows, columns, symmetric);
  const std::unique_ptr<ColumnIndex> index = both.term.index_of(columns.ids);
  return detail::add_strips(n, 64, by_code, both.term.rows().n_codes(), team, deadline,
                            [&](std::size_t r, Slopes& slopes) {
                              struct Weighted;
                              const Scratch<double, Weighted> row(m);
                              weights.row(r, row.data());
                              const std::size_t x = static_cast<std::size_t>(rows.ids[r]), first = weights.first(r);
                              if (index == nullptr)
                                detail::add_row_of_few(both, x, columns.ids, first, row.data(), slopes);
                              else
                                detail::add_row_of_index(both, x, *index, first, m, row.data(), slopes);
                            });
}

// The same for the sums of sequences with themselves.
inline Slopes pull_back_within(const TermAndSlope& both, const Side& some, bool by_code, ThreadTeam& team,
                               Deadline& deadline) {
  return detail::add_strips(
      some.ids.size(), 256, by_code, both.term.rows().n_codes(), team, deadline, [&](std::size_t i, Slopes& slopes) {
        const std::span<const Oligomer> grouped = both.term.rows().grouped(static_cast<std::size_t>(some.ids[i]));
        for_each_code(grouped, [&](std::int32_t code, std::span<const Oligomer> same) {
          const double weight = some.factor(i) * both.term.weight(static_cast<std::size_t>(code));
          slopes.by_sigma += weight * pairs_within(same, both.slope.near());
          if (!slopes.by_code.empty())
            slopes.by_code[static_cast<std::size_t>(code)] += weight * pairs_within(same, both.term.near());
        });
      });
}

}  // namespace widemargin::sequences
