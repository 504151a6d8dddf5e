// Decision values of all pairs of classes, each support vector evaluated once.
//
// Support vectors stand at the rows, sorted by class, the new examples at the columns: a support vector of class c adds a multiple of its
// row to each of the k - 1 pairs that c takes part in.
#pragma once

#include <vector>

#include "core/gradient.hpp"
#include "core/rows/kernel_rows.hpp"

namespace widemargin {

struct PairCoefficients {
  std::size_t pair;
  const double* coefficient;  // one per support vector of the class
};

struct SupportClass {
  std::size_t first, last;                // its support vectors
  std::vector<PairCoefficients> pairs;
};

// values[pair][c] += sum over support vectors; `values` has `stride` numbers per pair.
template <class T>
void add_decision_values(const KernelRows& source, const std::vector<SupportClass>& classes, const Examples& examples, double* values, std::size_t stride,
                         ThreadTeam& team, Patience& patience) {
  constexpr std::size_t chunk = 2048, at_once = 64, part = 512;
  const std::size_t n = examples.size();
  Buffer<T> block(at_once * std::min(chunk, n));
  std::vector<T*> out(at_once);
  std::vector<Id> columns, rows;
  std::vector<double> negated;
  for (std::size_t first = 0; first < n; first += chunk) {
    const std::size_t width = std::min(chunk, n - first);
    columns.resize(width);
    for (std::size_t c = 0; c < width; ++c) columns[c] = static_cast<Id>(first + c);
    const std::unique_ptr<Columns<T>> prepared = source.pack<T>(examples, columns, true, team);
    for (std::size_t r = 0; r < at_once; ++r) out[r] = block.data() + r * width;
    for (const SupportClass& group : classes)
      for (std::size_t s = group.first; s < group.last; s += at_once) {
        const std::size_t some = std::min(at_once, group.last - s);
        rows.resize(some);
        for (std::size_t r = 0; r < some; ++r) rows[r] = static_cast<Id>(s + r);
        source.rows(rows, *prepared, 0, width, out.data(), team);
        const std::size_t parts = (width + part - 1) / part;
        negated.resize(group.pairs.size() * some);
        for (std::size_t q = 0; q < group.pairs.size(); ++q)
          for (std::size_t r = 0; r < some; ++r) negated[q * some + r] = -group.pairs[q].coefficient[s - group.first + r];
        team.share(parts, [&](std::size_t piece, std::size_t) {
          for (std::size_t q = 0; q < group.pairs.size(); ++q)
            simd::ops<T>().subtract_rows(values + group.pairs[q].pair * stride + first, out.data(), negated.data() + q * some, some, piece * part,
                                         std::min(width, (piece + 1) * part));
        });
        if (patience.spent(some * width * 4)) throw Stopped{patience.reason()};
      }
  }
}

}  // namespace widemargin
