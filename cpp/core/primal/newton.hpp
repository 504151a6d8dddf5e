// Newton's method for the primal problem of machines with a square loss, whose kernel is K = FF' [Chapelle2007].
//
//   minimise  P(w, b) = w'w/2 + sum_n phi_n(s_n) + b t,   s = y - Fw - b,   t the sum of the dual variables
//   phi_n(s) = max { s a - ridge_n a^2/2 - kink_n |a| : L_n <= a <= U_n }
//              reached at a_n(s) = clamp(soft(s, kink_n) / ridge_n)
//
// P is convex and piecewise quadratic, its gradient (w - F'a, t - 1'a). The Hessian changes only in the samples whose
// a_n meets a bound or leaves it: it is updated by these. Where none does, the step is the last one.
#pragma once

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/linear_algebra/blas.hpp"
#include "core/linear_algebra/cholesky.hpp"
#include "core/primal/low_rank.hpp"

namespace widemargin::primal {

class Newton {
 public:
  // `ridge` and the box as in the problem's variables; every variable that may move has a ridge.
  Newton(const LowRank& factor, const DualProblem& problem, std::vector<double> ridge)
      : factor_(factor),
        problem_(problem),
        ridge_(std::move(ridge)),
        linear_(problem.linear.begin(), problem.linear.end()),
        w_(factor.rank() + 1, 0.0),
        curved_(factor.size(), 0),
        hessian_((factor.rank() + 1) * (factor.rank() + 1), 0.0) {
    for (std::size_t k = 0; k < factor.rank(); ++k) hessian_[k * order() + k] = 1;
  }

  // y' = y - error: what the factor is known to leave out of the function.
  void correct(std::span<const double> error) {
    for (std::size_t p = 0; p < linear_.size(); ++p) linear_[p] = problem_.linear[p] - error[p];
  }

  // The dual variables at the minimum. Adds its steps to `iterations`.
  std::vector<double> minimise(ThreadTeam& team, TimeBudget& budget, std::int64_t& iterations) {
    const std::size_t n = factor_.size();
    centre(team);
    std::vector<double> slack = slacks(team), ahead(n), alpha(n), change;
    double value = objective(slack, w_);
    for (int step = 0; step < most_steps; ++step, ++iterations) {
      for (std::size_t p = 0; p < n; ++p) alpha[p] = dual(p, slack[p]);
      const bool settled = !update_hessian(slack) && step > 0;
      if (settled || !direction(alpha, change)) break;
      std::fill(ahead.begin(), ahead.end(), -change.back());
      factor_.subtract_product(change, ahead, team);
      double slope = change.back() * problem_.total[0], length = 1;
      for (std::size_t k = 0; k < factor_.rank(); ++k) slope += w_[k] * change[k];
      for (std::size_t p = 0; p < n; ++p) slope += alpha[p] * ahead[p];
      std::vector<double> w(order()), s(n);
      const double rounding = 1e-13 * std::fabs(value);
      double reached = value;
      for (int halving = 0; halving < most_halvings; ++halving, length *= 0.5) {
        for (std::size_t k = 0; k < order(); ++k) w[k] = w_[k] + length * change[k];
        for (std::size_t p = 0; p < n; ++p) s[p] = slack[p] + length * ahead[p];
        reached = objective(s, w);
        if (reached <= value + 1e-4 * length * slope + rounding) break;
      }
      if (!(reached <= value + rounding)) break;
      w_.swap(w), slack.swap(s);
      value = reached;
      if (budget.spent(n * (4 * factor_.rank() + 16))) throw Stopped{budget.reason()};
    }
    for (std::size_t p = 0; p < n; ++p) alpha[p] = dual(p, slack[p]);
    return alpha;
  }

  // F w
  std::vector<double> function(ThreadTeam& team) const {
    std::vector<double> values(factor_.size(), 0.0);
    factor_.subtract_product(w_, values, team);
    for (double& value : values) value = -value;
    return values;
  }

 private:
  static constexpr int most_steps = 50, most_halvings = 30;

  std::size_t order() const { return w_.size(); }  // of the Hessian; the intercept comes last
  double kink(std::size_t p) const { return problem_.kink.empty() ? 0.0 : problem_.kink[p]; }

  bool movable(std::size_t p) const { return problem_.lower[p] < problem_.upper[p]; }

  double soft(std::size_t p, double slack) const {
    const double kink = this->kink(p);
    return slack > kink ? slack - kink : slack < -kink ? slack + kink : 0.0;
  }
  double dual(std::size_t p, double slack) const {
    if (!movable(p)) return problem_.lower[p];
    return std::clamp(soft(p, slack) / ridge_[p], problem_.lower[p], problem_.upper[p]);
  }

  std::vector<double> slacks(ThreadTeam& team) const {
    std::vector<double> slack(linear_);
    for (double& s : slack) s -= w_.back();
    factor_.subtract_product(w_, slack, team);
    return slack;
  }

  // The intercept for which the dual variables sum to t, with w as it is: their sum falls as the intercept rises.
  void centre(ThreadTeam& team) {
    const std::vector<double> slack = slacks(team);
    const auto excess = [&](double shift) {
      double sum = -problem_.total[0];
      for (std::size_t p = 0; p < slack.size(); ++p) sum += dual(p, slack[p] - shift);
      return sum;
    };
    const bool rise = excess(0) > 0;
    double inside = 0, step = 1;  // the sum is too large (too small) inside, and no longer so at `outside`
    const auto beyond = [&](double shift) { return rise ? excess(shift) <= 0 : excess(shift) >= 0; };
    double outside = rise ? step : -step;
    while (!beyond(outside) && step < 1e12) inside = outside, step *= 4, outside = rise ? step : -step;
    for (int halving = 0; halving < 40; ++halving) {
      const double middle = 0.5 * (inside + outside);
      (beyond(middle) ? outside : inside) = middle;
    }
    w_.back() += 0.5 * (inside + outside);
  }

  double objective(const std::vector<double>& slack, const std::vector<double>& w) const {
    double value = w.back() * problem_.total[0], loss = 0;
    for (std::size_t k = 0; k < factor_.rank(); ++k) value += 0.5 * w[k] * w[k];
    for (std::size_t p = 0; p < slack.size(); ++p) {
      const double a = dual(p, slack[p]);
      loss += a * (slack[p] - 0.5 * ridge_[p] * a) - kink(p) * std::fabs(a);
    }
    return value + loss;
  }

  // H = I + sum over curved n of f_n f_n' / ridge_n, with a last entry 1 in every f_n. True if it changed.
  bool update_hessian(const std::vector<double>& slack) {
    std::vector<std::size_t> changed;
    for (std::size_t p = 0; p < slack.size(); ++p) {
      const double inner = soft(p, slack[p]);
      const bool curved =
          inner != 0 && movable(p) && inner > ridge_[p] * problem_.lower[p] && inner < ridge_[p] * problem_.upper[p];
      if (curved == (curved_[p] != 0)) continue;
      curved_[p] = curved;
      changed.push_back(p);
    }
    if (changed.empty()) return false;
    for (const bool curved : {true, false}) {  // rows that come, rows that go
      std::vector<std::size_t> some;
      for (const std::size_t p : changed)
        if ((curved_[p] != 0) == curved) some.push_back(p);
      const std::size_t m = some.size();
      std::vector<double> rows(m * order()), scale(m);  // by columns
      for (std::size_t c = 0; c < m; ++c) scale[c] = 1 / std::sqrt(ridge_[some[c]]);
      for (std::size_t k = 0; k < factor_.rank(); ++k)
        for (std::size_t c = 0; c < m; ++c) rows[k * m + c] = scale[c] * factor_.columns()[k][some[c]];
      std::copy(scale.begin(), scale.end(), rows.end() - static_cast<std::ptrdiff_t>(m));
      blas::add_squares(static_cast<int>(order()), static_cast<int>(m), curved ? 1.0 : -1.0, rows.data(),
                        hessian_.data());
    }
    return true;
  }

  // H d = (F'a - w, 1'a - t)
  bool direction(const std::vector<double>& alpha, std::vector<double>& d) const {
    d.assign(order(), 0.0);
    for (std::size_t k = 0; k < factor_.rank(); ++k)
      d[k] = blas::dot(static_cast<int>(factor_.size()), factor_.columns()[k], alpha.data()) - w_[k];
    d.back() = std::accumulate(alpha.begin(), alpha.end(), 0.0) - problem_.total[0];
    std::vector<double> H(hessian_);  // of which the upper half is kept
    // Where no sample is curved neither is the intercept; there as if all were.
    if (H.back() == 0)
      for (std::size_t p = 0; p < alpha.size(); ++p) H.back() += movable(p) ? 1 / ridge_[p] : 0.0;
    H.back() *= 1 + 1e-12;
    Cholesky factor(std::move(H), order());
    if (!factor.factorise()) return false;
    factor.solve(d);
    return true;
  }

  const LowRank& factor_;
  const DualProblem& problem_;
  std::vector<double> ridge_, linear_, w_;
  std::vector<std::uint8_t> curved_;
  std::vector<double> hessian_;
};

}  // namespace widemargin::primal
