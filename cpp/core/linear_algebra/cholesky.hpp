// Cholesky's factor U'U of a matrix given by its upper half (row-major), and systems solved with it.
#pragma once

#include <cstddef>
#include <vector>

#include "core/linear_algebra/blas.hpp"

namespace widemargin::smo {

// In place; false if a pivot is not positive.
inline bool cholesky(std::vector<double>& U, std::size_t m) {
  int order = static_cast<int>(m), failed = 0;
  char lower = 'L';  // what is the upper half by rows is the lower one by columns
  if (m > 0) blas::dpotrf(&lower, &order, U.data(), &order, &failed);
  return failed == 0;
}

inline void solve_cholesky(const std::vector<double>& U, std::size_t m, std::vector<double>& x) {
  int order = static_cast<int>(m), one = 1, failed = 0;
  char lower = 'L';
  if (m > 0) blas::dpotrs(&lower, &order, &one, const_cast<double*>(U.data()), &order, x.data(), &order, &failed);
}

}  // namespace widemargin::smo
