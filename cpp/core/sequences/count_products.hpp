// Dot products of counts: of two sets of sequences, of each sequence with itself, and rows of them for solvers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/matrices/kernel_matrix.hpp"
#include "core/rows/row_source.hpp"
#include "core/runtime/scratch.hpp"
#include "core/sequences/counts.hpp"
#include "core/sequences/mismatches.hpp"

namespace widemargin::sequences {

// The sequences in which each oligomer occurs, by their places among some.
class CountIndex {
 public:
  struct Occurrence {
    std::int32_t column;
    std::uint32_t value;
  };

  // Columns are numbered from `first` on.
  CountIndex(const Counts& counts, std::span<const Id> ids, std::size_t first) : begins_(counts.n_codes() + 1, 0) {
    for (const Id id : ids)
      for (const std::int32_t code : counts.codes(static_cast<std::size_t>(id)))
        ++begins_[static_cast<std::size_t>(code) + 1];
    for (std::size_t c = 0; c + 1 < begins_.size(); ++c) begins_[c + 1] += begins_[c];
    occurrences_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t c = 0; c < ids.size(); ++c) {
      const auto codes = counts.codes(static_cast<std::size_t>(ids[c]));
      const auto values = counts.values(static_cast<std::size_t>(ids[c]));
      for (std::size_t t = 0; t < codes.size(); ++t)
        occurrences_[next[static_cast<std::size_t>(codes[t])]++] = {static_cast<std::int32_t>(first + c), values[t]};
    }
  }

  // Those in columns first <= column < last.
  std::span<const Occurrence> of(std::int32_t code, std::size_t first, std::size_t last) const {
    const auto before = [](const Occurrence& one, std::size_t column) {
      return static_cast<std::size_t>(one.column) < column;
    };
    const auto all = std::span(occurrences_)
                         .subspan(begins_[static_cast<std::size_t>(code)], begins_[static_cast<std::size_t>(code) + 1] -
                                                                               begins_[static_cast<std::size_t>(code)]);
    if (all.empty()) return all;
    const auto outside = [&](const Occurrence& one) {
      return static_cast<std::size_t>(one.column) < first || static_cast<std::size_t>(one.column) >= last;
    };
    if (!outside(all.front()) && !outside(all.back())) return all;
    const auto from = std::lower_bound(all.begin(), all.end(), first, before);
    return {from, std::lower_bound(from, all.end(), last, before)};
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<Occurrence> occurrences_;
};

// The product of one sequence of a set with many of another, both by the same numbers of oligomers.
class CountProduct {
 public:
  CountProduct(const Counts& rows, const Counts& columns, const Mismatches* mismatches)
      : rows_(rows), columns_(columns), mismatches_(mismatches) {
    if (rows.n_codes() != columns.n_codes() || (mismatches != nullptr && mismatches->size() != rows.n_codes()))
      throw std::invalid_argument("the oligomers of two sets of sequences have different numbers");
    if (mismatches == nullptr) return;
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double total = 0;
      for (const std::uint32_t value : rows.values(i)) total += value;
      most = std::max(most, total);
    }
    in_floats_ = mismatches->exact_in_floats(most);
  }

  // What row(...) looks up; null where mismatches have it look at the columns themselves.
  std::unique_ptr<CountIndex> index_of(std::span<const Id> ids, std::size_t first = 0) const {
    return mismatches_ != nullptr ? nullptr : std::make_unique<CountIndex>(columns_, ids, first);
  }

  // Products with the columns first <= c < last of `ids`; T sums them up.
  template <class T>
  void row(std::size_t x, const Id* ids, const CountIndex* index, std::size_t first, std::size_t last, T* out) const {
    if (mismatches_ != nullptr)
      in_floats_ ? spread_row<float>(x, ids, first, last, out) : spread_row<double>(x, ids, first, last, out);
    else
      indexed_row(x, *index, first, last, out);
  }

  double square(std::size_t x) const {
    if (mismatches_ != nullptr) {
      const Scratch<double, Mismatches> memory(mismatches_->size());
      return mismatches_->square(rows_.codes(x), rows_.values(x), memory.data());
    }
    double found = 0;
    for (const std::uint32_t value : rows_.values(x)) found += static_cast<double>(value) * value;
    return found;
  }

  // Of a row besides its values, and of a value, in units of about a nanosecond.
  std::uint64_t row_work() const {
    return mismatches_ == nullptr ? 100 : mismatches_->work(rows_.n_stored() / std::max<std::size_t>(rows_.size(), 1));
  }
  std::uint64_t value_work() const {
    const double n = static_cast<double>(std::max<std::size_t>(columns_.size(), 1));
    const double stored = static_cast<double>(columns_.n_stored()) / n;
    if (mismatches_ != nullptr) return 1 + static_cast<std::uint64_t>(stored);
    std::vector<std::uint32_t> held(columns_.n_codes(), 0);
    for (const std::int32_t code : columns_.codes()) ++held[static_cast<std::size_t>(code)];
    double pairs = 0;
    for (const std::uint32_t many : held) pairs += static_cast<double>(many) * many;
    return 1 + static_cast<std::uint64_t>(pairs / (n * n));
  }

 private:
  template <class T>
  void indexed_row(std::size_t x, const CountIndex& index, std::size_t first, std::size_t last, T* out) const {
    std::fill_n(out, last - first, T(0));
    const auto codes = rows_.codes(x);
    const auto values = rows_.values(x);
    for (std::size_t t = 0; t < codes.size(); ++t) {
      const T value = static_cast<T>(values[t]);
      for (const CountIndex::Occurrence& one : index.of(codes[t], first, last))
        out[static_cast<std::size_t>(one.column) - first] += value * static_cast<T>(one.value);
    }
  }

  template <class Exact, class T>
  void spread_row(std::size_t x, const Id* ids, std::size_t first, std::size_t last, T* out) const {
    const Scratch<Exact, Mismatches> memory(mismatches_->scratch_size());
    mismatches_->spread(rows_.codes(x), rows_.values(x), memory.data());
    for (std::size_t c = first; c < last; ++c) {
      const auto codes = columns_.codes(static_cast<std::size_t>(ids[c]));
      const auto values = columns_.values(static_cast<std::size_t>(ids[c]));
      double sum = 0;
      for (std::size_t t = 0; t < codes.size(); ++t)
        sum += static_cast<double>(values[t]) * static_cast<double>(memory.data()[codes[t]]);
      out[c - first] = static_cast<T>(sum);
    }
  }

  const Counts& rows_;
  const Counts& columns_;
  const Mismatches* mismatches_;
  bool in_floats_ = false;
};

// out(r, c) = <x_r, z_c>. A symmetric matrix is mirrored at its diagonal. Throws Stopped if the deadline ends it.
inline void products_between(const CountProduct& product, std::span<const Id> rows, std::span<const Id> columns,
                             bool symmetric, double* out, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t strip = 32;
  const std::size_t n = rows.size(), m = columns.size();
  const std::unique_ptr<CountIndex> index = product.index_of(columns);
  const std::uint64_t row_work = product.row_work(), value_work = product.value_work();
  const auto compute = [&](std::size_t s, std::size_t member) {
    const std::size_t begin = s * strip, end = std::min(n, begin + strip), first = symmetric ? begin : 0;
    TimeBudget budget(deadline, member == 0);
    for (std::size_t r = begin; r < end; ++r) {
      product.row(static_cast<std::size_t>(rows[r]), columns.data(), index.get(), first, m, out + r * m + first);
      if (budget.spent(row_work + value_work * (m - first))) return;
    }
    if (!symmetric) return;
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t c = begin; c < r; ++c) out[r * m + c] = out[c * m + r];
    if (end < m) transpose(out + begin * m + end, m, end - begin, m - end, out + end * m + begin, m);
  };
  team.share((n + strip - 1) / strip, compute, [&] { deadline.poll(); });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

// out[i] = <x_i, x_i>, for all sequences.
inline void squares_of(const CountProduct& product, std::size_t n, double* out, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t strip = 16;
  const std::uint64_t work = product.row_work() + product.value_work();
  const auto compute = [&](std::size_t s, std::size_t member) {
    TimeBudget budget(deadline, member == 0);
    for (std::size_t i = s * strip; i < std::min(n, (s + 1) * strip); ++i) {
      out[i] = product.square(i);
      if (budget.spent(work)) return;
    }
  };
  team.share((n + strip - 1) / strip, compute, [&] { deadline.poll(); });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

// Rows of k(i, j) = factors[i] factors[j] <x_i, x_j>.
class CountRows final : public RowSourceOfBothTypes<CountRows> {
 public:
  CountRows(const Counts& counts, const Mismatches* mismatches, std::vector<double> factors,
            std::vector<double> diagonal)
      : counts_(counts),
        product_(counts, counts, mismatches),
        factors_(std::move(factors)),
        diagonal_(std::move(diagonal)),
        row_work_(product_.row_work()),
        value_work_(product_.value_work()) {
    if (factors_.size() != counts.size() || diagonal_.size() != counts.size())
      throw std::invalid_argument("there must be a factor and a value of the diagonal for every sequence");
    for (const double value : diagonal_) fits_floats_ = fits_floats_ && value < 1e30;
    for (const double factor : factors_) fits_floats_ = fits_floats_ && factor > 1e-15;
  }

  std::size_t size() const override { return diagonal_.size(); }
  double diagonal(Id id) const override { return diagonal_[static_cast<std::size_t>(id)]; }
  std::uint64_t diagonal_work() const override { return 1; }
  std::uint64_t value_work() const override { return value_work_ + row_work_ / std::max<std::size_t>(size(), 1); }
  std::size_t rows_between_polls(std::size_t columns) const override {
    return std::clamp<std::size_t>(30'000'000 / (row_work_ + columns * value_work_ + 1), 1, 64);
  }
  bool fits_floats() const override { return fits_floats_; }
  std::size_t column_bytes(std::size_t) const override {
    return sizeof(Id) + counts_.n_stored() / std::max<std::size_t>(size(), 1) * sizeof(CountIndex::Occurrence);
  }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool keep, ThreadTeam&) const {
    auto found = std::make_unique<IndexedColumns<T>>(ids);
    if (keep) found->index = product_.index_of(ids);
    return found;
  }

  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam& team) const {
    const auto& at = static_cast<const IndexedColumns<T>&>(columns);
    std::unique_ptr<CountIndex> own;
    if (at.index == nullptr) own = product_.index_of(std::span(at.ids).subspan(first, last - first), first);
    const CountIndex* index = at.index != nullptr ? at.index.get() : own.get();
    team.share(ids.size(), [&](std::size_t r, std::size_t) {
      const std::size_t x = static_cast<std::size_t>(ids[r]);
      product_.row(x, at.ids.data(), index, first, last, out[r]);
      for (std::size_t c = first; c < last; ++c) {
        const std::size_t z = static_cast<std::size_t>(at.ids[c]);
        out[r][c - first] = static_cast<T>(z == x ? diagonal_[x] : factors_[x] * factors_[z] * out[r][c - first]);
      }
    });
    return ids.size() * (last - first);
  }

 private:
  template <class T>
  struct IndexedColumns final : Columns<T> {
    explicit IndexedColumns(std::span<const Id> columns) : ids(columns.begin(), columns.end()) {}
    std::vector<Id> ids;
    std::unique_ptr<CountIndex> index;
  };

  const Counts& counts_;
  CountProduct product_;
  std::vector<double> factors_, diagonal_;
  std::uint64_t row_work_, value_work_;
  bool fits_floats_ = true;
};

}  // namespace widemargin::sequences
