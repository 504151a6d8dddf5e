// Cholesky's factor U'U of a positive definite matrix, of which the upper half is read, row by row.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/linear_algebra/blas.hpp"

namespace widemargin {

class Cholesky {
 public:
  Cholesky() = default;
  explicit Cholesky(std::vector<double> matrix, std::size_t order)
      : entries_(std::move(matrix)), order_(static_cast<int>(order)) {}

  // The matrix to be factorised, to be filled in.
  double* resize(std::size_t order) {
    order_ = static_cast<int>(order);
    entries_.resize(order * order);
    return entries_.data();
  }

  // False if a pivot is not positive.
  bool factorise() {
    if (order_ <= few) return factorise_few();
    int failed = 0;
    if (order_ > 0) blas::dpotrf(&lower_, &order_, entries_.data(), &order_, &failed);
    return failed == 0;
  }

  // A lower bound on 1 / (norm of the matrix times that of its inverse), for its 1-norm; 0 where there is none.
  double reciprocal_condition(double norm) {
    double reciprocal = 0;
    int failed = 0;
    std::vector<double> work(3 * static_cast<std::size_t>(order_));
    std::vector<int> more_work(static_cast<std::size_t>(order_));
    blas::dpocon(&lower_, &order_, entries_.data(), &order_, &norm, &reciprocal, work.data(), more_work.data(),
                 &failed);
    return failed == 0 ? reciprocal : 0.0;
  }

  // Factorises only as many rows as have pivots above `least`, largest first; returns which.
  std::vector<std::size_t> factorise_with_pivots(double least) {
    int rank = 0, failed = 0;
    std::vector<int> pivots(static_cast<std::size_t>(order_));
    std::vector<double> work(2 * static_cast<std::size_t>(order_));
    blas::dpstrf(&lower_, &order_, entries_.data(), &order_, pivots.data(), &rank, &least, work.data(), &failed);
    std::vector<std::size_t> kept(static_cast<std::size_t>(rank));
    for (std::size_t r = 0; r < kept.size(); ++r) kept[r] = static_cast<std::size_t>(pivots[r] - 1);
    return kept;
  }

  // x <- A^{-1} x, for the rows that were factorised.
  void solve(std::vector<double>& x) const {
    int size = static_cast<int>(x.size()), stride = order_, one = 1, failed = 0;
    if (size <= few)
      solve_few(x);
    else
      blas::dpotrs(&lower_, &size, &one, const_cast<double*>(entries_.data()), &stride, x.data(), &size, &failed);
  }

 private:
  // Of so few rows, LAPACK takes longer to call than to wait for.
  static constexpr int few = 24;

  double& at(std::size_t r, std::size_t c) { return entries_[r * static_cast<std::size_t>(order_) + c]; }
  double at(std::size_t r, std::size_t c) const { return entries_[r * static_cast<std::size_t>(order_) + c]; }

  bool factorise_few() {
    const std::size_t n = static_cast<std::size_t>(order_);
    for (std::size_t r = 0; r < n; ++r) {
      if (!(at(r, r) > 0)) return false;
      const double pivot = std::sqrt(at(r, r)), inverse = 1 / pivot;
      at(r, r) = pivot;
      for (std::size_t c = r + 1; c < n; ++c) at(r, c) *= inverse;
      for (std::size_t k = r + 1; k < n; ++k)
        for (std::size_t c = k; c < n; ++c) at(k, c) -= at(r, k) * at(r, c);
    }
    return true;
  }

  // U'z = x, then U x = z.
  void solve_few(std::vector<double>& x) const {
    const std::size_t n = x.size();
    for (std::size_t r = 0; r < n; ++r) {
      x[r] /= at(r, r);
      for (std::size_t c = r + 1; c < n; ++c) x[c] -= at(r, c) * x[r];
    }
    for (std::size_t r = n; r-- > 0;) {
      for (std::size_t c = r + 1; c < n; ++c) x[r] -= at(r, c) * x[c];
      x[r] /= at(r, r);
    }
  }

  static inline char lower_ = 'L';  // what is the upper half by rows is the lower one by columns

  std::vector<double> entries_;
  int order_ = 0;
};

}  // namespace widemargin
