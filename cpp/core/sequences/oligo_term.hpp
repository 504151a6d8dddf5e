// One term of an oligo kernel [Glasmachers2008, section 13.2]: sum over equal oligomers of x and z, of the weight of
// the oligomer times the closeness of the two places.
//
// A sequence x becomes a table f: f(w, q) is what an oligomer w at place q of another sequence adds to the sum. A value
// is then one look-up for each place of the other sequence, whatever sigma is. There are two ways to go through them:
//
//   few oligomers (short ones, small alphabets)   the whole table fits into the cache; all places of z, in order
//   many oligomers                                one oligomer of x after the other, and where it occurs in all columns
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/runtime/scratch.hpp"
#include "core/runtime/stopping.hpp"
#include "core/sequences/closeness.hpp"
#include "core/sequences/column_index.hpp"
#include "core/sequences/oligomers.hpp"

namespace widemargin::sequences {

template <class T>
class OligoTerm {
 public:
  // weights: of each oligomer by its code, or none.
  OligoTerm(const Oligomers& rows, const Oligomers& columns, std::span<const double> near,
            std::span<const double> weights)
      : rows_(rows),
        columns_(columns),
        places_(rows, columns),
        near_(near, places_.width),
        weights_(weights.begin(), weights.end()) {
    if (rows.n_codes() != columns.n_codes())
      throw std::invalid_argument("the sequences at rows and columns have different oligomers");
    if (!weights.empty() && weights.size() != rows.n_codes())
      throw std::invalid_argument("there must be a weight for every oligomer");
  }

  const Places& places() const { return places_; }
  const Closeness<T>& near() const { return near_; }
  const Oligomers& rows() const { return rows_; }
  const Oligomers& columns() const { return columns_; }
  T weight(std::size_t code) const { return weights_.empty() ? T(1) : weights_[code]; }

  // Whether a table of all oligomers and places fits into the cache next to a core.
  bool has_few_oligomers() const { return few_oligomers(rows_, places_.width); }
  static bool few_oligomers(const Oligomers& oligomers, std::size_t width) {
    return oligomers.n_codes() <= Oligomers::most_packed && stride(oligomers) * width <= most_entries;
  }

  // The index of columns, which have the numbers from `first` on; none where there are few oligomers.
  std::unique_ptr<ColumnIndex> index_of(std::span<const Id> ids, std::size_t first = 0) const {
    return has_few_oligomers() ? nullptr : std::make_unique<ColumnIndex>(columns_, ids, first, places_.low);
  }

  // sums[c - first] of sequence x and columns first <= c < last, of which ids[c] is the sequence. What it is when time
  // is up halfway, if there is a budget, is of no use.
  void row(std::size_t x, const Id* ids, const ColumnIndex* index, std::size_t first, std::size_t last, T* sums,
           TimeBudget* budget = nullptr) const {
    if (index != nullptr) {
      row_of_index(x, *index, first, last, sums, budget);
      return;
    }
    const Scratch<T, OligoTerm> table(stride(rows_) * places_.width);
    fill_table(x, table.data());
    for (std::size_t c = first; c < last; ++c) sums[c - first] = sum_of(table.data(), static_cast<std::size_t>(ids[c]));
  }

  // f(w, q) at [q * stride + w]; one entry more at each place, for what is no oligomer.
  static std::size_t stride(const Oligomers& oligomers) { return oligomers.n_codes() + 1; }
  void fill_table(std::size_t x, T* table) const {
    const std::size_t step = stride(rows_);
    std::fill_n(table, step * places_.width, T(0));
    for (const Oligomer& one : rows_.grouped(x)) {
      const std::size_t code = static_cast<std::size_t>(one.code);
      const T weight = this->weight(code);
      near_.around(place_of(one), [&](std::size_t q, T value) { table[q * step + code] += weight * value; });
    }
  }

  // f(w, .) for one oligomer w of x.
  void fill_table(std::int32_t code, std::span<const Oligomer> same, T* table, TimeBudget* budget = nullptr) const {
    std::fill_n(table, places_.width, T(0));
    for (const Oligomer& one : same) {
      if (budget != nullptr && budget->spent(std::min(places_.width, 2 * near_.reach() + 1))) return;
      near_.around(place_of(one), [&](std::size_t q, T value) { table[q] += value; });
    }
    const T weight = this->weight(static_cast<std::size_t>(code));
    for (std::size_t q = 0; q < places_.width; ++q) table[q] *= weight;
  }

  std::size_t place_of(const Oligomer& one) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(one.place) - places_.low);
  }

 private:
  static constexpr std::size_t most_entries = 8192;

  T sum_of(const T* table, std::size_t z) const {
    const std::span<const std::uint16_t> codes = columns_.packed(z);
    const std::size_t step = stride(rows_), length = codes.size();
    if (length == 0) return 0;
    const T* f = table + step * static_cast<std::size_t>(static_cast<std::int64_t>(columns_.start(z)) - places_.low);
    T a = 0, b = 0, c = 0, d = 0;
    std::size_t j = 0;
    for (; j + 4 <= length; j += 4, f += 4 * step) {
      a += f[codes[j]];
      b += f[step + codes[j + 1]];
      c += f[2 * step + codes[j + 2]];
      d += f[3 * step + codes[j + 3]];
    }
    for (; j < length; ++j, f += step) a += f[codes[j]];
    return (a + b) + (c + d);
  }

  void row_of_index(std::size_t x, const ColumnIndex& index, std::size_t first, std::size_t last, T* sums,
                    TimeBudget* budget) const {
    std::fill_n(sums, last - first, T(0));
    const Scratch<T, ColumnIndex> table(places_.width);
    for_each_code(rows_.grouped(x), [&](std::int32_t code, std::span<const Oligomer> same) {
      const std::span<const ColumnIndex::Occurrence> found = index.of(code, first, last);
      if (found.empty()) return;
      // For few occurrences of it, all pairs are fewer than the entries of the table. (Those in all columns count, so
      // that values do not depend on who computes which part.)
      if (index.count(code) < std::min(places_.width, 2 * near_.reach() + 1) / 4) {
        const T weight = this->weight(static_cast<std::size_t>(code));
        for (const ColumnIndex::Occurrence& other : found)
          sums[static_cast<std::size_t>(other.column) - first] += weight * near_to(same, other.place);
        return;
      }
      fill_table(code, same, table.data(), budget);
      for (const ColumnIndex::Occurrence& other : found)
        sums[static_cast<std::size_t>(other.column) - first] += table.data()[other.place];
    });
  }

  // Sum of the closeness of one place to others.
  T near_to(std::span<const Oligomer> same, std::int32_t place) const {
    T sum = 0;
    for (const Oligomer& one : same) {
      const std::int64_t apart = static_cast<std::int64_t>(place_of(one)) - place;
      sum += near_(static_cast<std::size_t>(apart < 0 ? -apart : apart));
    }
    return sum;
  }

  const Oligomers& rows_;
  const Oligomers& columns_;
  Places places_;
  Closeness<T> near_;
  std::vector<T> weights_;
};

// The sum over pairs of places of one oligomer in one sequence; of no use when time is up halfway.
inline double pairs_within(std::span<const Oligomer> same, const Closeness<double>& near,
                           TimeBudget* budget = nullptr) {
  double sum = 0;
  for (std::size_t a = 0; a < same.size(); ++a) {
    if (budget != nullptr && budget->spent(std::min(same.size() - a, near.reach() + 1))) return sum;
    for (std::size_t b = a + 1; b < same.size(); ++b) {
      const std::size_t apart = static_cast<std::size_t>(static_cast<std::int64_t>(same[b].place) - same[a].place);
      if (apart > near.reach()) break;
      sum += near(apart);
    }
  }
  return 2 * sum + near(0) * static_cast<double>(same.size());
}

}  // namespace widemargin::sequences
