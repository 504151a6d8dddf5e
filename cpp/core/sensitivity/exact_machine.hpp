// A trained machine solved for once more on the sets that training found, and differentiated [Glasmachers2008,
// section 9.3.1].
//
// Free variables (u) of a machine with others at their bounds (g) follow from H [a_u; b] = [y_u - K_ug a_g; -1'a_g], H
// = [K_uu + D_u, 1; 1', 0]. An objective with dL = v'df + w'da needs one more solve, H [q; r] = [K_u. v + w_u; 1'v]:
// then dL/dtheta = (v - q)' dK/dtheta a, and
//
//   dL/dlog C = (v - q)' K_.g a_g - r 1'a_g + w_g'a_g    for the hinge loss,    q' D_u a_u    for the square loss.
//
// H is a bordered system (linear_algebra/bordered_system.hpp) of A = K_uu + D_u + c 1 1', which is positive definite; c
// does not change the solution.
//
// Free variables whose samples depend on others make A singular. The machine's function does not depend on how they
// share their weight, so that they are held where they are: a factorisation with pivots finds out which of them
// suffice. Without a free variable the intercept lies halfway between two samples that limit it, and follows both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/linear_algebra/bordered_system.hpp"

namespace widemargin::sensitivity {

// Kernel values between some samples and some others, row by row; where a sample's row and column are, -1 if
// nowhere.
struct KernelPart {
  const double* values;
  std::size_t columns;
  std::span<const std::int64_t> row_of, column_of;

  const double* row(std::size_t sample) const { return values + static_cast<std::size_t>(row_of[sample]) * columns; }
  std::size_t column(std::size_t sample) const { return static_cast<std::size_t>(column_of[sample]); }
};

// How systems are solved: free variables depend on others if the reciprocal condition number is below
// `well_conditioned` and their pivots are below this share of the largest diagonal entry.
struct SystemPrecision {
  double well_conditioned, dependent;
};

class ExactMachine {
 public:
  // `ridge` is empty for the hinge loss. `known` are the samples whose values are wanted; they, and all free
  // variables, have a row in the kernel, all support vectors a column.
  ExactMachine(KernelPart kernel, std::span<const double> signs, std::span<const double> bounds,
               std::span<const double> ridge, bool bordered, std::span<const std::int64_t> known,
               SystemPrecision precision)
      : kernel_(kernel),
        signs_(signs),
        bounds_(bounds),
        ridge_(ridge),
        known_(known),
        bordered_(bordered),
        precision_(precision) {}

  // Takes a machine as it is.
  void take(std::span<const double> alpha, std::span<const double> values, double intercept) {
    alpha_.assign(alpha.begin(), alpha.end()), values_.assign(values.begin(), values.end()), intercept_ = intercept;
    divide(alpha_);
    factorise(values, intercept);
  }

  // Solves for the free variables. Variables that leave their boxes are put to the bounds they left, `corrections`
  // times at most: training had not told them from those at a bound. If some stay outside the machine is taken as it
  // was, with the last sets, and the answer is false.
  bool solve(std::span<const double> alpha, std::span<const double> values, double intercept, int corrections) {
    std::vector<double> begun(alpha.begin(), alpha.end());
    for (int k = 0; k < corrections; ++k) {
      divide(begun);
      factorise(values, intercept);
      find_coefficients(begun, intercept);
      if (put_back(begun)) continue;
      find_values(values);
      return true;
    }
    alpha_.assign(alpha.begin(), alpha.end()), values_.assign(values.begin(), values.end()), intercept_ = intercept;
    return false;
  }

  const std::vector<double>& alpha() const { return alpha_; }
  const std::vector<double>& values() const { return values_; }
  double intercept() const { return intercept_; }
  double moved() const { return moved_; }  // the most that a known value differs from training's
  const std::vector<std::int64_t>& free() const { return free_; }
  std::size_t dependent() const { return free_.size() - kept_.size(); }
  const std::vector<std::int64_t>& bounded() const { return bounded_; }

  // Turns v into v - q and returns dL/dlog C. `of_coefficients` is w, or empty.
  double adjoint(std::span<double> of_values, std::span<const double> of_coefficients) const {
    const std::size_t m = kept_.size();
    std::vector<double> q(m, 0.0);
    double total = 0;
    for (std::size_t i = 0; i < of_values.size(); ++i) {
      if (of_values[i] == 0) continue;
      const double* row = kernel_.row(i);
      for (std::size_t r = 0; r < m; ++r) q[r] += of_values[i] * row[column_[r]];
      total += of_values[i];
    }
    for (std::size_t r = 0; r < m && !of_coefficients.empty(); ++r) q[r] += of_coefficients[sample(r)];
    const double last = solve_system(q, total);
    for (std::size_t r = 0; r < m; ++r) of_values[sample(r)] -= q[r];
    for (const std::size_t i : limits_) of_values[i] -= total / static_cast<double>(limits_.size());
    double slope = 0;
    if (!ridge_.empty()) {
      for (std::size_t r = 0; r < m; ++r) slope += q[r] * ridge_[sample(r)] * alpha_[sample(r)];
      return slope;
    }
    for (const std::int64_t g : bounded_) {
      const auto j = static_cast<std::size_t>(g);
      slope += alpha_[j] * ((of_coefficients.empty() ? 0.0 : of_coefficients[j]) - last);
    }
    for (std::size_t i = 0; i < of_values.size(); ++i)
      if (of_values[i] != 0) slope += of_values[i] * sum(i, bounded_, alpha_);
    return slope;
  }

 private:
  std::size_t sample(std::size_t r) const { return static_cast<std::size_t>(kept_[r]); }

  // Sum of coefficients times kernel values over some support vectors, for one sample.
  double sum(std::size_t i, const std::vector<std::int64_t>& support, const std::vector<double>& alpha) const {
    const double* row = kernel_.row(i);
    double total = 0;
    for (const std::int64_t j : support)
      total += row[kernel_.column(static_cast<std::size_t>(j))] * alpha[static_cast<std::size_t>(j)];
    return total;
  }

  void divide(const std::vector<double>& alpha) {
    free_.clear(), bounded_.clear();
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      if (alpha[i] == 0) continue;
      const bool inside = !ridge_.empty() || std::abs(alpha[i]) < bounds_[i];
      (inside ? free_ : bounded_).push_back(static_cast<std::int64_t>(i));
    }
  }

  void factorise(std::span<const double> trained, double intercept) {
    kept_ = free_, limits_.clear();
    if (!free_.empty() && !factorise_all()) factorise_some();
    held_ = bounded_;
    if (kept_.size() < free_.size()) {
      std::vector<std::int64_t> sorted(kept_);
      std::sort(sorted.begin(), sorted.end());
      std::set_difference(free_.begin(), free_.end(), sorted.begin(), sorted.end(), std::back_inserter(held_));
    }
    column_.resize(kept_.size());
    for (std::size_t r = 0; r < kept_.size(); ++r) column_[r] = kernel_.column(sample(r));
    if (bordered_ && free_.empty()) find_limits(trained, intercept);
    system_.clear_borders();
    if (bordered_ && !kept_.empty()) system_.add_border(std::vector<double>(kept_.size(), 1.0));
  }

  // Fills in A; returns the largest sum of a row and the largest diagonal entry.
  std::pair<double, double> fill() {
    const std::size_t m = free_.size();
    double* const matrix = system_.A.resize(m);
    column_.resize(m);
    for (std::size_t r = 0; r < m; ++r) column_[r] = kernel_.column(static_cast<std::size_t>(free_[r]));
    shift_ = 0;
    for (std::size_t r = 0; r < m && bordered_; ++r)
      shift_ += kernel_.row(static_cast<std::size_t>(free_[r]))[column_[r]] / static_cast<double>(m);
    double norm = 0, top = 0;
    for (std::size_t r = 0; r < m; ++r) {
      const auto i = static_cast<std::size_t>(free_[r]);
      const double* row = kernel_.row(i);
      double* to = matrix + r * m;
      for (std::size_t c = 0; c < m; ++c) to[c] = row[column_[c]] + shift_;
      if (!ridge_.empty()) to[r] += ridge_[i];
      double size = 0;
      for (std::size_t c = 0; c < m; ++c) size += std::abs(to[c]);
      norm = std::max(norm, size), top = std::max(top, to[r]);
    }
    return {norm, top};
  }

  // False if free variables depend on others.
  bool factorise_all() {
    const double norm = fill().first;
    return system_.A.factorise() && system_.A.reciprocal_condition(norm) >= precision_.well_conditioned;
  }

  void factorise_some() {
    const double top = fill().second;
    kept_.clear();
    for (const std::size_t r : system_.A.factorise_with_pivots(precision_.dependent * top)) kept_.push_back(free_[r]);
  }

  // The two samples between which the intercept lies if there is no free variable. Positive samples at 0 and negative
  // ones at their bound ask for a larger intercept, the others for a smaller one. Those without kernel values are none
  // of them.
  void find_limits(std::span<const double> trained, double intercept) {
    std::vector<std::uint8_t> at_top(signs_.size(), 0);
    for (const std::int64_t g : bounded_) at_top[static_cast<std::size_t>(g)] = 1;
    const std::size_t n = signs_.size();
    std::size_t lowest = n, highest = n;
    const auto wanted = [&](std::size_t i) { return signs_[i] - (trained[i] - intercept); };
    for (std::size_t i = 0; i < n; ++i) {
      if (!(bounds_[i] > 0) || kernel_.row_of[i] < 0) continue;
      if ((signs_[i] > 0) != (at_top[i] != 0))
        lowest = lowest == n || wanted(i) > wanted(lowest) ? i : lowest;
      else
        highest = highest == n || wanted(i) < wanted(highest) ? i : highest;
    }
    for (const std::size_t i : {lowest, highest})
      if (i < n) limits_.push_back(i);
  }

  // H [x; t] = [x; total] in place; returns t. Numbers that overflow leave none behind.
  double solve_system(std::vector<double>& x, double total) const {
    if (x.empty()) return 0;
    std::vector<double> last(system_.borders(), total);
    if (!system_.solve(x, last)) std::fill(x.begin(), x.end(), std::numeric_limits<double>::quiet_NaN());
    return bordered_ ? last.front() + shift_ * total : 0.0;  // A x = K x + c total, since 1'x = total
  }

  void find_coefficients(const std::vector<double>& begun, double intercept) {
    alpha_ = begun, intercept_ = bordered_ ? intercept : 0;
    if (!kept_.empty()) {
      double total = 0;
      for (const std::int64_t h : held_) total += begun[static_cast<std::size_t>(h)];
      std::vector<double> x(kept_.size());
      for (std::size_t r = 0; r < x.size(); ++r) x[r] = signs_[sample(r)] - sum(sample(r), held_, begun);
      intercept_ = solve_system(x, -total);
      for (std::size_t r = 0; r < x.size(); ++r) alpha_[sample(r)] = x[r];
    }
    if (limits_.empty()) return;
    intercept_ = 0;
    for (const std::size_t i : limits_)
      intercept_ += (signs_[i] - sum(i, bounded_, alpha_)) / static_cast<double>(limits_.size());
  }

  // Whether a variable had left its box.
  bool put_back(std::vector<double>& begun) const {
    bool any = false;
    for (std::size_t r = 0; r < kept_.size(); ++r) {
      const std::size_t i = sample(r);
      const double size = signs_[i] * alpha_[i];
      const bool below = size < 0, above = ridge_.empty() && size > bounds_[i];
      if (below) begun[i] = 0;
      if (above) begun[i] = signs_[i] * bounds_[i];
      any = any || below || above;
    }
    return any;
  }

  void find_values(std::span<const double> trained) {
    values_.assign(trained.begin(), trained.end());
    moved_ = 0;
    for (const std::int64_t k : known_) {
      const auto i = static_cast<std::size_t>(k);
      values_[i] = intercept_ + sum(i, kept_, alpha_) + sum(i, held_, alpha_);
      moved_ = std::max(moved_, std::abs(values_[i] - trained[i]));
    }
  }

  KernelPart kernel_;
  std::span<const double> signs_, bounds_, ridge_;
  std::span<const std::int64_t> known_;
  bool bordered_;
  SystemPrecision precision_;
  std::vector<std::int64_t> free_, bounded_;
  std::vector<std::int64_t> kept_, held_;  // free variables that are solved for; all other support vectors
  std::vector<std::size_t> column_;        // of those that are kept
  std::vector<std::size_t> limits_;
  BorderedSystem system_;
  std::vector<double> alpha_, values_;
  double shift_ = 0, intercept_ = 0, moved_ = 0;
};

}  // namespace widemargin::sensitivity
