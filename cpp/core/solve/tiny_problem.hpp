// A problem of so few variables that what surrounds a solver would take longer than its steps: those of pairs of
// classes with a handful of samples each, of which there may be a hundred thousand.
//
// All kernel values are there, in double. Steps of SMO find out which variables are free; Newton steps on these alone
// (newton_on_free_set.hpp says how), cut at the first bound they meet, then lead to the solution as exactly as numbers
// allow. Where they do not, the problem is one for other solvers: nothing is handed out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/certificate.hpp"
#include "core/dual_state.hpp"
#include "core/linear_algebra/cholesky.hpp"
#include "core/simd/ops.hpp"
#include "core/solve/feasible.hpp"

namespace widemargin {

class TinyProblem {
 public:
  static constexpr std::size_t most = 128;  // variables

  // Whether all variables may be 0, and their sum is.
  static bool suits(const DualProblem& problem) {
    if (problem.size() < 2 || problem.size() > most) return false;
    if (problem.total[0] != 0 || !problem.group.empty() || !problem.kink.empty()) return false;
    for (std::size_t p = 0; p < problem.size(); ++p)
      if (!(problem.lower[p] <= 0 && problem.upper[p] >= 0)) return false;
    return true;
  }

  // Makes room for the values of n variables; each row is to be filled in.
  void resize(std::size_t n) {
    n_ = n, stride_ = (n + 7) / 8 * 8;
    if (kernel_.size() < n * stride_) kernel_.resize(n * stride_);
    diagonal_.resize(n);
  }
  std::size_t size() const { return n_; }
  double* row(std::size_t p) { return kernel_.data() + p * stride_; }
  const double* row(std::size_t p) const { return kernel_.data() + p * stride_; }

  const DualState& state() const { return state_; }
  double diagonal(std::size_t p) const { return diagonal_[p]; }

  // From 0 to the solution; false if this is not the way to it. Counts its steps.
  bool solve(const DualProblem& problem, double tolerance, std::int64_t& iterations) {
    for (std::size_t p = 0; p < n_; ++p) diagonal_[p] = row(p)[p];
    state_.restart(problem);
    if (!descend(std::max(tolerance, first_tolerance), most_steps * n_, iterations)) return false;
    for (int round = 0; round < most_rounds; ++round) {
      move_free();
      recompute_gradient();
      double scale = 0;
      for (const double g : state_.gradient) scale = std::max(scale, std::fabs(g));
      const double violation = violation_of(state_.maximal_violating_pair());
      const double goal = std::min(tolerance, 1e-10 * std::min(1.0, scale));
      if (violation <= goal) return known_well(tolerance, problem);
      descend(std::max(goal, 0.1 * violation), 4 * n_, iterations);
    }
    return false;
  }

 private:
  // Newton steps take over here.
  static constexpr double first_tolerance = 0.1;
  static constexpr std::size_t most_steps = 50;  // for each variable
  static constexpr int most_rounds = 12;

  bool descend(double tolerance, std::size_t left, std::int64_t& iterations) {
    const simd::Ops<double>& ops = simd::ops<double>();
    double* const G = state_.gradient.data();
    for (simd::MaximalViolatingPair pair = state_.maximal_violating_pair();; ++iterations) {
      if (violation_of(pair) <= tolerance) return true;
      if (left-- == 0) return false;
      const std::size_t i = static_cast<std::size_t>(pair.i);
      const simd::Partner best = ops.best_newton_partner(G, row(i), diagonal_.data(), state_.falls.data(), n_,
                                                         {G[i], diagonal_[i], state_.room_up[i], state_.room_down[i]});
      const std::size_t j = static_cast<std::size_t>(best.at >= 0 ? best.at : pair.j);
      const double curvature =
          std::max(diagonal_[i] + diagonal_[j] - 2 * row(i)[j], simd::least_curvature<double>(diagonal_[i]));
      const double mu = std::min({(G[i] - G[j]) / curvature, state_.room_up[i], state_.room_down[j]});
      if (!(mu > 0 && std::isfinite(mu))) return false;
      state_.step(i, j, mu);
      pair = ops.move(G, row(i), row(j), mu, state_.rises.data(), state_.falls.data(), n_);
    }
  }

  // Newton steps on the variables that are free, ever fewer of them; the gradient follows.
  void move_free() {
    for (std::size_t cut = 0; cut < n_; ++cut) {
      free_.clear();
      for (std::size_t p = 0; p < n_; ++p)
        if (state_.free(p)) free_.push_back(static_cast<Id>(p));
      const std::size_t m = free_.size();
      if (m < 2) return;
      double* const matrix = factor_.resize(m);
      double trace = 0;
      for (std::size_t r = 0; r < m; ++r) {
        const double* const from = row(static_cast<std::size_t>(free_[r]));
        for (std::size_t c = 0; c < m; ++c) matrix[r * m + c] = from[free_[c]];
        trace += matrix[r * m + r];
      }
      for (std::size_t r = 0; r < m; ++r) matrix[r * m + r] += 1e-13 * trace / static_cast<double>(m);
      if (!factor_.factorise()) return;
      step_.resize(m), ones_.assign(m, 1.0);
      for (std::size_t r = 0; r < m; ++r) step_[r] = state_.gradient[static_cast<std::size_t>(free_[r])];
      factor_.solve(step_), factor_.solve(ones_);
      double sum = 0, of_ones = 0;
      for (std::size_t r = 0; r < m; ++r) sum += step_[r], of_ones += ones_[r];
      const double price = sum / of_ones;
      double off = 0, slope = 0, length = 1;
      for (std::size_t r = 0; r < m; ++r) step_[r] -= price * ones_[r], off += step_[r];
      for (std::size_t r = 0; r < m; ++r) {
        step_[r] -= off / static_cast<double>(m);  // what cancellation has left of the sum
        const std::size_t p = static_cast<std::size_t>(free_[r]);
        slope += state_.gradient[p] * step_[r];
        const double room = step_[r] > 0 ? state_.room_up[p] : state_.room_down[p];
        if (std::fabs(step_[r]) * length > room) length = room / std::fabs(step_[r]);
      }
      if (!(slope > 0 && std::isfinite(slope))) return;
      rows_.resize(m);
      for (std::size_t r = 0; r < m; ++r) {
        const std::size_t p = static_cast<std::size_t>(free_[r]);
        const double before = state_.alpha[p];
        state_.set_alpha(p, state_.moved(p, length * step_[r]));
        step_[r] = state_.alpha[p] - before, rows_[r] = row(p);
      }
      simd::ops<double>().subtract_rows(state_.gradient.data(), rows_.data(), step_.data(), m, 0, n_);
      if (length == 1) return;
    }
  }

  // G = y - K a.
  void recompute_gradient() {
    rows_.clear(), step_.clear();
    for (std::size_t p = 0; p < n_; ++p)
      if (state_.alpha[p] != 0) rows_.push_back(row(p)), step_.push_back(state_.alpha[p]);
    state_.gradient = state_.linear;
    simd::ops<double>().subtract_rows(state_.gradient.data(), rows_.data(), step_.data(), rows_.size(), 0, n_);
  }

  // What others look at more closely is left to them.
  bool known_well(double tolerance, const DualProblem& problem) const {
    const auto of_kernel = [this](std::size_t p) { return diagonal_[p]; };
    if (!(rounding_of_values<double>(state_, of_kernel) <= tolerance)) return false;
    return imbalance(state_, problem.total) == 0;
  }

  std::size_t n_ = 0, stride_ = 0;
  std::vector<double> kernel_, diagonal_;
  DualState state_;
  Cholesky factor_;
  std::vector<Id> free_;
  std::vector<double> step_, ones_;
  std::vector<const double*> rows_;
};

}  // namespace widemargin
