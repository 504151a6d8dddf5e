// Newton's step on all free variables at once.
//
// Once the free set F has settled, SMO spends its steps on the quadratic in a_F alone. That has a closed solution:
//
//   K_FF d + b 1 = G_F,  1'd = 0        (the bordered system of [Glasmachers2008, section 9.3.1])
//
// with one such border for each group of variables that has a constant sum of its own.
// The step is cut at the first bound it meets; the variable that met it leaves F and the rest is solved again. K_FF gets a ridge at the
// rounding error of its entries: in exact arithmetic every step then still gains, d'Kd/2 at least. Rounding is another matter where K_FF is
// nearly singular: a step whose gain does not come out positive is not made.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::smo {

// In-place Cholesky factor U'U of an m x m matrix given by its upper half (row-major); false if a pivot is not positive.
inline bool cholesky(std::vector<double>& U, std::size_t m) {
  const auto subtract = simd::ops<double>().subtract_rows;
  std::vector<const double*> rows(m);
  std::vector<double> column(m);
  for (std::size_t r = 0; r < m; ++r) {
    double* row = U.data() + r * m;
    rows[r] = row;
    for (std::size_t k = 0; k < r; ++k) column[k] = rows[k][r];
    subtract(row, rows.data(), column.data(), r, r, m);
    if (!(row[r] > 0)) return false;
    const double scale = 1 / std::sqrt(row[r]);
    for (std::size_t c = r; c < m; ++c) row[c] *= scale;
  }
  return true;
}

inline void solve_cholesky(const std::vector<double>& U, std::size_t m, std::vector<double>& x) {
  const auto subtract = simd::ops<double>().subtract_rows;
  for (std::size_t r = 0; r < m; ++r) {
    const double* row = U.data() + r * m;
    x[r] /= row[r];
    subtract(x.data(), &row, &x[r], 1, r + 1, m);
  }
  for (std::size_t r = m; r-- > 0;) {
    for (std::size_t c = r + 1; c < m; ++c) x[r] -= U[r * m + c] * x[c];
    x[r] /= U[r * m + r];
  }
}

class NewtonOnFree {
 public:
  static constexpr std::size_t most_free = 256;

  // Moves the free variables and updates the gradient of all active ones; false if nothing moved, or if a factorisation would cost more
  // than `effort` scalar operations.
  template <class Rows>
  bool operator()(DualState& state, Rows& rows, double effort) {
    using T = typename Rows::Value;
    free_.clear();
    for (std::size_t p = 0; p < state.active && free_.size() <= most_free; ++p)
      if (state.free(p)) free_.push_back(static_cast<Id>(p));
    const std::size_t m = free_.size();
    if (m < 2 || m > most_free || m > rows.capacity() || std::pow(static_cast<double>(m), 3) > effort) return false;
    std::vector<const T*> row(m);
    rows.rows(free_, row.data());
    kernel_.resize(m * m);
    gradient_.resize(m);
    moved_.assign(m, 0.0);
    for (std::size_t r = 0; r < m; ++r) {
      gradient_[r] = state.gradient[static_cast<std::size_t>(free_[r])];
      for (std::size_t c = 0; c < m; ++c) kernel_[r * m + c] = static_cast<double>(row[r][free_[c]]);
    }
    const double rounding = sizeof(T) == sizeof(float) ? 1e-7 : 1e-13;
    if (!descend(state, rounding)) return false;
    std::vector<double> by;
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(free_[r]);
      const double before = state.alpha[p];
      const double after = before + moved_[r], unit = 0.4 * state.unit(p);
      // The variable that cut a step is on its bound, whatever the last digit says.
      state.set_alpha(p, after <= state.lower[p] + unit ? state.lower[p] : after >= state.upper[p] - unit ? state.upper[p] : after);
      by.push_back(state.alpha[p] - before);
    }
    simd::ops<T>().subtract_rows(state.gradient.data(), row.data(), by.data(), m, 0, state.active);
    return true;
  }

 private:
  // Newton steps on shrinking subsets of the free variables; sums of steps go to moved_.
  bool descend(const DualState& state, double rounding) {
    const std::size_t all = free_.size();
    std::vector<std::size_t> left(all);
    for (std::size_t r = 0; r < all; ++r) left[r] = r;
    bool any = false;
    for (int cut = 0; cut < 8 && left.size() >= 2; ++cut) {
      const std::size_t m = left.size();
      double trace = 0;
      factor_.resize(m * m);
      for (std::size_t r = 0; r < m; ++r) {
        for (std::size_t c = r; c < m; ++c) factor_[r * m + c] = kernel_[left[r] * all + left[c]];
        trace += factor_[r * m + r];
      }
      for (std::size_t r = 0; r < m; ++r) factor_[r * m + r] += rounding * trace / static_cast<double>(m);
      if (!cholesky(factor_, m)) return any;
      std::vector<double> u(m);
      std::vector<std::uint8_t> group(m);
      for (std::size_t r = 0; r < m; ++r) u[r] = gradient_[left[r]], group[r] = static_cast<std::uint8_t>(state.group_of(static_cast<std::size_t>(free_[left[r]])));
      solve_cholesky(factor_, m, u);
      remove_sums(u, group);
      balance(u, group);
      double length = 1;
      std::size_t blocking = m;
      for (std::size_t r = 0; r < m; ++r) {
        const std::size_t p = static_cast<std::size_t>(free_[left[r]]);
        const double room = u[r] > 0 ? state.room_up[p] - moved_[left[r]] : state.room_down[p] + moved_[left[r]];
        if (std::fabs(u[r]) * length > room) length = std::max(room, 0.0) / std::fabs(u[r]), blocking = r;
      }
      std::vector<double> change(all, 0.0);  // K d
      for (std::size_t r = 0; r < all; ++r)
        for (std::size_t c = 0; c < m; ++c) change[r] += kernel_[r * all + left[c]] * u[c];
      double slope = 0, curvature = 0;
      for (std::size_t r = 0; r < m; ++r) slope += gradient_[left[r]] * u[r], curvature += change[left[r]] * u[r];
      if (!(length * slope - 0.5 * length * length * curvature > 0)) return any;
      for (std::size_t r = 0; r < m; ++r) moved_[left[r]] += length * u[r];
      for (std::size_t r = 0; r < all; ++r) gradient_[r] -= length * change[r];
      any = true;
      if (blocking == m) return any;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(blocking));
    }
    return any;
  }

  // u <- u - sum_g b_g K^{-1} 1_g, with the b that make the sum over each group g vanish.
  void remove_sums(std::vector<double>& u, const std::vector<std::uint8_t>& group) const {
    const std::size_t m = u.size();
    std::array<std::vector<double>, 2> v;
    double S[2][2] = {{0, 0}, {0, 0}}, sum[2] = {0, 0};
    for (std::size_t g = 0; g < 2; ++g) {
      v[g].assign(m, 0.0);
      bool any = false;
      for (std::size_t r = 0; r < m; ++r)
        if (group[r] == g) v[g][r] = 1, any = true, sum[g] += u[r];
      if (any) solve_cholesky(factor_, m, v[g]);
      for (std::size_t r = 0; r < m; ++r) S[group[r]][g] += v[g][r];
      if (!any) S[g][g] = 1;
    }
    const double determinant = S[0][0] * S[1][1] - S[0][1] * S[1][0];
    const double b[2] = {(sum[0] * S[1][1] - S[0][1] * sum[1]) / determinant, (S[0][0] * sum[1] - S[1][0] * sum[0]) / determinant};
    for (std::size_t r = 0; r < m; ++r) u[r] -= b[0] * v[0][r] + b[1] * v[1][r];
  }

  // The sum over each group is 0, which cancellation may have spoilt.
  static void balance(std::vector<double>& d, const std::vector<std::uint8_t>& group) {
    for (int twice = 0; twice < 2; ++twice) {
      double sum[2] = {0, 0}, count[2] = {0, 0};
      for (std::size_t r = 0; r < d.size(); ++r) sum[group[r]] += d[r], count[group[r]] += 1;
      for (std::size_t r = 0; r < d.size(); ++r) d[r] -= sum[group[r]] / count[group[r]];
    }
  }

  std::vector<Id> free_;
  std::vector<double> kernel_, factor_, gradient_, moved_;
};

}  // namespace widemargin::smo
