// The bordered system of the free variables [Glasmachers2008, section 9.3.1]:
//
//   [A  B] [x]   [r]
//   [B' 0] [l] = [t]     with A positive definite, B columns of zeros and ones
//
// A column of B fixes the sum of some variables (the equality constraint of a group), or a single one. With the factor
// of A at hand, columns come and go cheaply: x = A^{-1} r - A^{-1} B l, where S l = B'A^{-1} r - t and S = B'A^{-1} B.
#pragma once

#include <utility>
#include <vector>

#include "core/linear_algebra/cholesky.hpp"

namespace widemargin {

class BorderedSystem {
 public:
  Cholesky A;

  void clear_borders() { border_.clear(), solved_.clear(); }
  // A was factorised before.
  void add_border(std::vector<double> column) {
    border_.push_back(column);
    A.solve(column);
    solved_.push_back(std::move(column));
  }

  std::size_t borders() const { return border_.size(); }

  // (r, t) -> (x, l) in place; false where the columns of B have come to depend on each other.
  bool solve(std::vector<double>& x, std::vector<double>& l) const {
    A.solve(x);
    const std::size_t k = border_.size(), m = x.size();
    std::vector<double> S(k * k), t(k, 0.0);
    t.swap(l);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t r = 0; r < m; ++r) {
        if (border_[i][r] == 0) continue;
        l[i] += x[r];
        for (std::size_t j = i; j < k; ++j) S[i * k + j] += solved_[j][r];
      }
      l[i] -= t[i];
    }
    Cholesky schur(std::move(S), k);
    if (!schur.factorise()) return false;
    schur.solve(l);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t r = 0; r < m; ++r) x[r] -= l[i] * solved_[i][r];
    return true;
  }

 private:
  std::vector<std::vector<double>> border_, solved_;  // the columns of B, and of A^{-1} B
};

}  // namespace widemargin
