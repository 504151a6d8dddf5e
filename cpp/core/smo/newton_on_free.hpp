// Newton's step on all free variables at once.
//
// Once the free set F has settled, SMO spends its steps on the quadratic in a_F alone. That has a closed solution:
//
//   K_FF d + B l = G_F,  B'd = 0        (the bordered system of [Glasmachers2008, section 9.3.1])
//
// with a column of B for each group of variables that has a constant sum of its own. The step is cut at the first bound it meets; the
// variable that met it is fixed by one more column, and the rest is solved again with the same factor of K_FF. That gets a ridge at the
// rounding error of its entries: in exact arithmetic every step then still gains, d'Kd/2 at least. Rounding is another matter where K_FF is
// nearly singular: a step whose gain does not come out positive is not made.
#pragma once

#include <cmath>
#include <vector>

#include "core/dual_state.hpp"
#include "core/linear_algebra/cholesky.hpp"

namespace widemargin::smo {

class NewtonOnFree {
 public:
  // Finds the free variables; what a step on them costs, in units of about a nanosecond. Infinite if there are too few or too many.
  template <class State>
  double cost(const State& state, std::size_t capacity) {
    const std::size_t most = std::min(most_free, capacity);
    free_.clear();
    for (std::size_t p = 0; p < state.active && free_.size() <= most; ++p)
      if (state.free(p)) free_.push_back(static_cast<Id>(p));
    const double m = static_cast<double>(free_.size());
    if (free_.size() < 2 || free_.size() > most) return std::numeric_limits<double>::infinity();
    return m * (m * m / 50 + 5 * m + 0.3 * static_cast<double>(state.active));
  }

  // Moves the variables found and updates the gradient of all active ones; false if nothing moved.
  template <class Rows>
  bool operator()(StateFor<Rows>& state, Rows& rows) {
    using T = typename Rows::Value;
    const std::size_t m = free_.size();
    std::vector<const T*> row(m);
    rows.rows(free_, row.data());
    kernel_.resize(m * m);
    gradient_.resize(m);
    moved_.assign(m, 0.0);
    for (std::size_t r = 0; r < m; ++r) {
      gradient_[r] = state.gradient[static_cast<std::size_t>(free_[r])];
      for (std::size_t c = 0; c < m; ++c) kernel_[r * m + c] = static_cast<double>(row[r][free_[c]]);
    }
    if (!descend(state, sizeof(T) == sizeof(double) ? 1e-13 : sizeof(T) == sizeof(float) ? 1e-7 : 1e-5)) return false;
    std::vector<double> by;
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(free_[r]);
      const double before = state.alpha[p];
      state.set_alpha(p, state.moved(p, moved_[r]));
      by.push_back(state.alpha[p] - before);
    }
    simd::ops<T>().subtract_rows(state.gradient.data(), row.data(), by.data(), m, 0, state.active);
    return true;
  }

 private:
  static constexpr std::size_t most_free = 1024, most_cuts = 8;

  // Newton steps on ever fewer of the free variables; their sum goes to moved_.
  template <class State>
  bool descend(const State& state, double rounding) {
    const std::size_t m = free_.size();
    factor_ = kernel_;
    double trace = 0;
    for (std::size_t r = 0; r < m; ++r) trace += factor_[r * m + r];
    for (std::size_t r = 0; r < m; ++r) factor_[r * m + r] += rounding * trace / static_cast<double>(m);
    if (!cholesky(factor_, m)) return false;
    border_.clear(), solved_.clear();
    fixed_.assign(m, 0);
    for (std::size_t g = 0; g < state.groups(); ++g) {
      std::vector<double> members(m);
      bool any = false;
      for (std::size_t r = 0; r < m; ++r) any = state.group_of(static_cast<std::size_t>(free_[r])) == g ? (members[r] = 1) > 0 : any;
      if (any) add_border(std::move(members));
    }
    for (std::size_t cut = 0;; ++cut) {
      std::vector<double> u(gradient_);
      solve_cholesky(factor_, m, u);
      if (!onto_borders(u)) return cut > 0;
      balance(state, u);
      double length = 1;
      std::size_t blocking = m;
      for (std::size_t r = 0; r < m; ++r) {
        const std::size_t p = static_cast<std::size_t>(free_[r]);
        const double room = u[r] > 0 ? state.room_up[p] - moved_[r] : state.room_down[p] + moved_[r];
        if (std::fabs(u[r]) * length > room) length = std::max(room, 0.0) / std::fabs(u[r]), blocking = r;
      }
      const std::vector<double> change = times_kernel(u);
      double slope = 0, curvature = 0;
      for (std::size_t r = 0; r < m; ++r) slope += gradient_[r] * u[r], curvature += change[r] * u[r];
      if (!(length * slope - 0.5 * length * length * curvature > 0)) return cut > 0;
      for (std::size_t r = 0; r < m; ++r) moved_[r] += length * u[r], gradient_[r] -= length * change[r];
      if (blocking == m || cut == most_cuts) return true;
      fixed_[blocking] = 1;
      std::vector<double> unit(m);
      unit[blocking] = 1;
      add_border(std::move(unit));
    }
  }

  void add_border(std::vector<double> column) {
    border_.push_back(column);
    solve_cholesky(factor_, free_.size(), column);
    solved_.push_back(std::move(column));
  }

  // u <- u - K^{-1} B l, with the l that make B'u vanish; false where the columns of B have come to depend on each other.
  bool onto_borders(std::vector<double>& u) const {
    const std::size_t k = border_.size(), m = u.size();
    std::vector<double> S(k * k), l(k);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t r = 0; r < m; ++r) {
        if (border_[i][r] == 0) continue;
        l[i] += u[r];
        for (std::size_t j = i; j < k; ++j) S[i * k + j] += solved_[j][r];
      }
    }
    if (!cholesky(S, k)) return false;
    solve_cholesky(S, k, l);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t r = 0; r < m; ++r) u[r] -= l[i] * solved_[i][r];
    return true;
  }

  // Fixed variables do not move, and the sum over each group is 0, which cancellation may have spoilt.
  template <class State>
  void balance(const State& state, std::vector<double>& u) const {
    for (std::size_t r = 0; r < u.size(); ++r)
      if (fixed_[r] != 0) u[r] = 0;
    for (int twice = 0; twice < 2; ++twice) {
      double sum[2] = {0, 0}, count[2] = {0, 0};
      const auto group = [&](std::size_t r) { return state.group_of(static_cast<std::size_t>(free_[r])); };
      for (std::size_t r = 0; r < u.size(); ++r)
        if (fixed_[r] == 0) sum[group(r)] += u[r], count[group(r)] += 1;
      for (std::size_t r = 0; r < u.size(); ++r)
        if (fixed_[r] == 0) u[r] -= sum[group(r)] / count[group(r)];
    }
  }

  std::vector<double> times_kernel(const std::vector<double>& u) const {
    const std::size_t m = u.size();
    std::vector<double> product(m, 0.0), minus(m);
    std::vector<const double*> rows(m);
    for (std::size_t r = 0; r < m; ++r) rows[r] = kernel_.data() + r * m, minus[r] = -u[r];
    simd::ops<double>().subtract_rows(product.data(), rows.data(), minus.data(), m, 0, m);
    return product;
  }

  std::vector<Id> free_;
  std::vector<std::uint8_t> fixed_;
  std::vector<double> kernel_, factor_, gradient_, moved_;
  std::vector<std::vector<double>> border_, solved_;  // the columns of B, and of K^{-1} B
};

}  // namespace widemargin::smo
