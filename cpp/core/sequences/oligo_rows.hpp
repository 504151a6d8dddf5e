// Rows of an oligo kernel: a sum of terms, each with a factor for every sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

#include "core/rows/gram_rows.hpp"
#include "core/sequences/oligo_term.hpp"

namespace widemargin::sequences {

class OligoRows final : public RowSourceOfBothTypes<OligoRows> {
 public:
  // k(i, j) = sum over terms of factors[i] factors[j] sum(x_i, x_j), for the sequences of all terms.
  struct Part {
    const Oligomers& oligomers;
    std::span<const double> near, weights, factors;
  };

  OligoRows(const std::vector<Part>& parts, std::vector<double> diagonal) : diagonal_(std::move(diagonal)) {
    std::size_t letters = 0;
    for (const Part& part : parts) {
      if (part.oligomers.size() != size() || part.factors.size() != size())
        throw std::invalid_argument("the terms of a kernel must be of the same sequences");
      terms_.push_back({OligoTerm<float>(part.oligomers, part.oligomers, part.near, part.weights),
                        OligoTerm<double>(part.oligomers, part.oligomers, part.near, part.weights),
                        {part.factors.begin(), part.factors.end()}});
      letters += part.oligomers.n_oligomers();
      for (const double factor : part.factors) fits_floats_ = fits_floats_ && factor > 1e-15 && factor < 1e15;
      for (const double weight : part.weights) fits_floats_ = fits_floats_ && weight < 1e15;
    }
    places_ = letters / std::max<std::size_t>(size(), 1);
  }

  std::size_t size() const override { return diagonal_.size(); }
  double diagonal(Id id) const override { return diagonal_[static_cast<std::size_t>(id)]; }
  std::uint64_t diagonal_work() const override { return 1; }
  std::uint64_t value_work() const override { return 4 + places_ / 2; }
  std::size_t rows_between_polls(std::size_t columns) const override {
    return std::clamp<std::size_t>(30'000'000 / std::max<std::size_t>(columns * value_work(), 1), 1, 64);
  }
  bool fits_floats() const override { return fits_floats_; }
  std::size_t column_bytes(std::size_t) const override {
    return sizeof(Id) + places_ * sizeof(ColumnIndex::Occurrence);
  }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool keep, ThreadTeam&) const {
    auto found = std::make_unique<IndexedColumns<T>>(ids);
    if (keep) found->indexes = indexes_of<T>(ids, 0);
    return found;
  }

  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam& team) const {
    const auto& at = static_cast<const IndexedColumns<T>&>(columns);
    Indexes own;
    if (at.indexes.empty()) own = indexes_of<T>(std::span(at.ids).subspan(first, last - first), first);
    const Indexes& indexes = at.indexes.empty() ? own : at.indexes;
    // A row of its own table is worth a strip of columns.
    const std::size_t strips = ids.size() >= 2 * team.size() ? 1 : (last - first + strip - 1) / strip;
    team.share(ids.size() * strips, [&](std::size_t piece, std::size_t) {
      const std::size_t r = piece / strips, s = piece % strips;
      const std::size_t begin = strips == 1 ? first : first + s * strip;
      const std::size_t end = strips == 1 ? last : std::min(last, begin + strip);
      row(static_cast<std::size_t>(ids[r]), at.ids.data(), indexes, begin, end, out[r] + (begin - first));
    });
    return ids.size() * (last - first);
  }

 private:
  static constexpr std::size_t strip = 1024;
  using Indexes = std::vector<std::unique_ptr<ColumnIndex>>;

  struct Term {
    OligoTerm<float> in_float;
    OligoTerm<double> in_double;
    std::vector<double> factors;

    template <class T>
    const OligoTerm<T>& of() const {
      if constexpr (std::is_same_v<T, float>)
        return in_float;
      else
        return in_double;
    }
  };

  template <class T>
  struct IndexedColumns final : Columns<T> {
    explicit IndexedColumns(std::span<const Id> columns) : ids(columns.begin(), columns.end()) {}
    std::vector<Id> ids;
    Indexes indexes;  // of each term
  };

  template <class T>
  Indexes indexes_of(std::span<const Id> ids, std::size_t first) const {
    Indexes found;
    for (const Term& term : terms_) found.push_back(term.of<T>().index_of(ids, first));
    return found;
  }

  template <class T>
  void row(std::size_t x, const Id* ids, const Indexes& indexes, std::size_t first, std::size_t last, T* out) const {
    const std::size_t width = last - first;
    std::fill_n(out, width, T(0));
    const Scratch<T, OligoRows> sums(width);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const Term& term = terms_[t];
      term.of<T>().row(x, ids, indexes[t].get(), first, last, sums.data());
      const double own = term.factors[x];
      for (std::size_t c = 0; c < width; ++c)
        out[c] += static_cast<T>(own * term.factors[static_cast<std::size_t>(ids[first + c])]) * sums.data()[c];
    }
    for (std::size_t c = 0; c < width; ++c)
      if (static_cast<std::size_t>(ids[first + c]) == x) out[c] = static_cast<T>(diagonal_[x]);
  }

  std::vector<Term> terms_;
  std::vector<double> diagonal_;
  std::size_t places_ = 0;
  bool fits_floats_ = true;
};

}  // namespace widemargin::sequences
