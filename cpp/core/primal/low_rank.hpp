// A low-rank factor of the kernel matrix, K ~ FF': incomplete Cholesky factorisation, always with the sample that is
// represented worst as the next pivot, until all are represented [Fine2001].
//
// Smooth kernels of samples with a few features need some tens of columns for six digits, however many samples there
// are.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/outcome.hpp"
#include "core/rows/cached_rows.hpp"
#include "core/rows/slabs.hpp"

namespace widemargin::primal {

class LowRank {
 public:
  static constexpr std::size_t most_columns = 128;
  static constexpr double precision = 1e-7;  // of the diagonal, relative to its largest value

  explicit LowRank(SlabPool& pool) : storage_(pool) {}

  // False if the kernel is not of low rank: more columns would be needed, as far as can be seen from those there are.
  // The ridge is no part of the kernel.
  bool factor(const RowSource& source, std::span<const Id> ids, ThreadTeam& team, TimeBudget& budget) {
    const std::size_t n = size_ = ids.size();
    std::vector<double> left(n);  // diag(K - FF')
    for (std::size_t p = 0; p < n; ++p) left[p] = source.diagonal(ids[p]) - source.ridge(ids[p]);
    const double largest = *std::max_element(left.begin(), left.end());
    const std::unique_ptr<Columns<double>> columns = source.prepare(ids, true, team, double{});
    storage_.set_longest(n);
    std::vector<double> coefficient;
    while (columns_.size() < most_columns) {
      const std::size_t pivot = static_cast<std::size_t>(std::max_element(left.begin(), left.end()) - left.begin());
      const double worst = left[pivot];
      if (worst <= precision * largest) return true;
      const std::size_t rank = columns_.size();
      if (rank % check_every == 0 &&
          worst > largest * std::pow(precision, 0.5 * static_cast<double>(rank) / most_columns))
        return false;
      double* const column = storage_.row(rank, n);
      evaluations_ += source.rows(ids.subspan(pivot, 1), *columns, 0, n, &column, team);
      column[pivot] -= source.ridge(ids[pivot]);
      coefficient.resize(rank);
      for (std::size_t k = 0; k < rank; ++k) coefficient[k] = columns_[k][pivot];
      const double scale = 1 / std::sqrt(worst);
      team.share((n + part - 1) / part, [&](std::size_t piece, std::size_t) {
        const std::size_t first = piece * part, last = std::min(n, first + part);
        simd::ops<double>().subtract_rows(column, columns_.data(), coefficient.data(), rank, first, last);
        for (std::size_t p = first; p < last; ++p) {
          column[p] *= scale;
          left[p] -= column[p] * column[p];
        }
      });
      left[pivot] = 0;
      columns_.push_back(column);
      if (budget.spent(n * (rank + 4))) throw Stopped{budget.reason()};
    }
    return false;
  }

  std::size_t size() const { return size_; }
  std::size_t rank() const { return columns_.size(); }
  std::uint64_t evaluations() const { return evaluations_; }
  const std::vector<const double*>& columns() const { return columns_; }

  // values -= F w
  void subtract_product(std::span<const double> w, std::vector<double>& values, ThreadTeam& team) const {
    team.share((size_ + part - 1) / part, [&](std::size_t piece, std::size_t) {
      simd::ops<double>().subtract_rows(values.data(), columns_.data(), w.data(), rank(), piece * part,
                                        std::min(size_, (piece + 1) * part));
    });
  }

 private:
  static constexpr std::size_t check_every = 32, part = 512;

  std::size_t size_ = 0;
  RowArena<double> storage_;
  std::vector<const double*> columns_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace widemargin::primal
