// Newton steps on all free variables at once.
//
// Once the free set F has settled, SMO spends its steps on the quadratic in a_F alone. That has a closed solution:
//
//   K_FF d + B l = G_F,  B'd = 0        (linear_algebra/bordered_system.hpp)
//
// with a column of B for each group of variables that has a constant sum of its own. The step is cut at the first bound
// it meets; the variable that met it is fixed by one more column, and the rest is solved again with the same factor of
// K_FF. That gets a ridge at the rounding error of its entries: in exact arithmetic every step then still gains, d'Kd/2
// at least. Rounding is another matter where K_FF is nearly singular: a step whose gain does not come out positive is
// not made.
#pragma once

#include <cmath>
#include <vector>

#include "core/dual_state.hpp"
#include "core/linear_algebra/bordered_system.hpp"

namespace widemargin::smo {

class NewtonOnFreeSet {
 public:
  // Finds the free variables; what a step on them costs, in units of about a nanosecond. Infinite if there are too few
  // or too many.
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
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(free_[r]);
      const double before = state.alpha[p];
      state.set_alpha(p, state.moved(p, moved_[r]));
      moved_[r] = state.alpha[p] - before;
    }
    simd::ops<T>().subtract_rows(state.gradient.data(), row.data(), moved_.data(), m, 0, state.active);
    return true;
  }

 private:
  static constexpr std::size_t most_free = 1024, most_cuts = 8;

  // Newton steps on ever fewer of the free variables; their sum goes to moved_.
  template <class State>
  bool descend(const State& state, double rounding) {
    const std::size_t m = free_.size();
    double* const matrix = system_.A.resize(m);
    std::copy(kernel_.begin(), kernel_.end(), matrix);
    double trace = 0;
    for (std::size_t r = 0; r < m; ++r) trace += matrix[r * m + r];
    for (std::size_t r = 0; r < m; ++r) matrix[r * m + r] += rounding * trace / static_cast<double>(m);
    if (!system_.A.factorise()) return false;
    system_.clear_borders();
    fixed_.assign(m, 0);
    for (std::size_t g = 0; g < state.groups(); ++g) {
      std::vector<double> members(m);
      bool any = false;
      for (std::size_t r = 0; r < m; ++r)
        any = state.group_of(static_cast<std::size_t>(free_[r])) == g ? (members[r] = 1) > 0 : any;
      if (any) system_.add_border(std::move(members));
    }
    for (std::size_t cut = 0;; ++cut) {
      std::vector<double>& u = step_;
      u = gradient_;
      multipliers_.assign(system_.borders(), 0.0);
      if (!system_.solve(u, multipliers_)) return cut > 0;
      balance(state, u);
      double length = 1;
      std::size_t blocking = m;
      for (std::size_t r = 0; r < m; ++r) {
        const std::size_t p = static_cast<std::size_t>(free_[r]);
        const double room = u[r] > 0 ? state.room_up[p] - moved_[r] : state.room_down[p] + moved_[r];
        if (std::fabs(u[r]) * length > room) length = std::max(room, 0.0) / std::fabs(u[r]), blocking = r;
      }
      const std::vector<double>& change = times_kernel(u);
      double slope = 0, curvature = 0;
      for (std::size_t r = 0; r < m; ++r) slope += gradient_[r] * u[r], curvature += change[r] * u[r];
      if (!(length * slope - 0.5 * length * length * curvature > 0)) return cut > 0;
      for (std::size_t r = 0; r < m; ++r) moved_[r] += length * u[r], gradient_[r] -= length * change[r];
      if (blocking == m || cut == most_cuts) return true;
      fixed_[blocking] = 1;
      std::vector<double> unit(m);
      unit[blocking] = 1;
      system_.add_border(std::move(unit));
    }
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

  const std::vector<double>& times_kernel(const std::vector<double>& u) {
    const std::size_t m = u.size();
    product_.assign(m, 0.0), minus_.resize(m), rows_.resize(m);
    for (std::size_t r = 0; r < m; ++r) rows_[r] = kernel_.data() + r * m, minus_[r] = -u[r];
    simd::ops<double>().subtract_rows(product_.data(), rows_.data(), minus_.data(), m, 0, m);
    return product_;
  }

  std::vector<Id> free_;
  std::vector<std::uint8_t> fixed_;
  BorderedSystem system_;
  std::vector<double> kernel_, gradient_, moved_;
  // What is worked in, kept for the next step: there may be millions of small ones.
  std::vector<double> step_, multipliers_, product_, minus_;
  std::vector<const double*> rows_;
};

// The schedule of Newton steps: from time to time, and less often where they do not help. At worst they take a ninth of
// the time, since the next one, once shrinking and SMO steps have settled the free set, may save all the steps that are
// left.
class NewtonSteps {
 public:
  // At least `shortest_wait` SMO steps lie between two Newton steps; 0 turns these off. A Newton step may cost about
  // what the SMO steps since the last one did; `saved` is what the first may cost beyond that.
  explicit NewtonSteps(std::int64_t shortest_wait, double saved = 0)
      : shortest_wait_(shortest_wait), wait_(shortest_wait), saved_(saved) {}

  // What a step over some variables costs, in units of about a nanosecond.
  static double step_cost(std::size_t active) { return static_cast<double>(active + 64); }

  // A step before any other, if its cost was saved.
  template <class Rows>
  void at_once(StateFor<Rows>& state, Rows& rows) {
    if (newton_.cost(state, rows.capacity()) <= saved_) newton_(state, rows), saved_ = 0;
  }

  template <class Rows>
  bool after_step(StateFor<Rows>& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    if (shortest_wait_ == 0 || ++steps_ < wait_) return false;
    saved_ += static_cast<double>(steps_) * step_cost(state.active);
    steps_ = 0;
    const double cost = newton_.cost(state, rows.capacity());
    if (cost > saved_) return wait_longer(longest_wait);
    saved_ = 0;
    const double before = violation_of(pair);
    const bool moved = newton_(state, rows);
    if (moved && violation_of(state.maximal_violating_pair()) < 0.5 * before)
      wait_ = shortest_wait_;
    else
      wait_longer(costs_per_wait * cost / step_cost(state.active));
    return moved;
  }

 private:
  static constexpr double longest_wait = 1 << 20, costs_per_wait = 8;

  bool wait_longer(double at_most) {
    wait_ = std::max(shortest_wait_, std::min(2 * wait_, static_cast<std::int64_t>(std::min(at_most, longest_wait))));
    return false;
  }

  std::int64_t shortest_wait_, wait_, steps_ = 0;
  double saved_;
  NewtonOnFreeSet newton_;
};

}  // namespace widemargin::smo
