// A chain of problems on one kernel matrix, each started from the solution of the one before: a line of a grid along C (or along nu).
//
// With P the last problem and a its solution, the next one starts from s a, moved into its own box and onto its own sum. Where the box grows
// or shrinks as a whole, by r, bounded variables stay bounded if s = r, and free ones stay where they are if s = 1. The objective decides:
// along the ray it is largest at s = y'a / a'Ka. (Some bounded outliers among free variables may outweigh these, but not outnumber them:
// then nothing is stretched.) K(s a) = s Ka is known, so that only variables that had to be moved cost a row of the kernel.
//
// The first problem starts from all variables as far from 0 as their box lets them, if that is better than 0: for a small C it is close to
// the solution.
//
// A problem whose bounds are looser than those of P, but only where a does not touch them, has the solution a as well; it is not solved.
//
// A chain may be solved all at once or some links at a time, with the same result. Between two calls it may rest: then it holds no part of
// the kernel, only what it takes to go on as if nothing had happened.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/certificate.hpp"
#include "core/feasible.hpp"
#include "core/grid/matrix_solver.hpp"
#include "core/solve.hpp"

namespace widemargin::grid {

struct Link {
  DualProblem problem;
  std::span<const double> ridge;  // of the square loss; empty for none
};

struct LinkSolution : Solution {
  bool repeated = false;  // the last one's, provably
};

class Chain {
 public:
  // `start` is any point, or empty.
  Chain(const float* kernel, std::size_t n, std::span<const Link> links, std::span<const double> start, const StopRule& stop, Watch& watch)
      : n_(n), links_(links), start_(start), stop_(stop), watch_(watch), patience_(watch, true), solver_(kernel, n, Tuning{}, patience_) {}

  // Solves the next links, `count` at most. Ends early where the watch says so; the last one is then cut short, and none follow.
  std::vector<LinkSolution> advance(std::size_t count) {
    std::vector<LinkSolution> solutions;
    while (solutions.size() < count && !ended()) {
      const std::size_t k = next_++;
      const LinkSolution* last = !solutions.empty() ? &solutions.back() : last_ ? &*last_ : nullptr;
      const double began = watch_.seconds();
      if (last != nullptr && same_solution(links_[k - 1], links_[k], *last)) {
        LinkSolution again = *last;
        again.repeated = true;
        again.outcome.iterations = 0;
        again.outcome.seconds = 0;
        solutions.push_back(std::move(again));
        continue;
      }
      DualState state(links_[k].problem);
      if (last != nullptr)
        start_from(links_[k - 1], links_[k], *last, state);
      else
        start_from(links_[k], start_, state);
      solutions.push_back(solve(state, links_[k], began));
      if (watch_.stopped()) next_ = links_.size();
    }
    if (!ended() && !solutions.empty()) last_ = solutions.back();
    return solutions;
  }

  bool ended() const { return next_ == links_.size(); }

  // Lets go of what was gathered of the kernel.
  void rest() { solver_.rest(); }
  // Goes on with the same kernel at another place.
  void move_to(const float* kernel) { solver_.move_to(kernel); }

 private:
  LinkSolution solve(DualState& state, const Link& link, double began) {
    LinkSolution solution;
    std::int64_t iterations = 0;
    const Reason reason = solver_.run(state, stop_, iterations);
    state.tidy_up();
    const Certificate certificate = certify(state, [&](std::size_t p) { return link.ridge.empty() ? 0.0 : link.ridge[p]; });
    solution.alpha = state.alpha;
    solution.gradient.resize(n_);
    for (std::size_t p = 0; p < n_; ++p) solution.gradient[p] = state.smooth_gradient(p);
    solution.outcome = {reason,     certificate.kkt_violation, certificate.duality_gap, certificate.objective, certificate.intercept,
                        iterations, 0,                         0,                       watch_.seconds() - began, false};
    return solution;
  }

  void start_from(const Link& link, std::span<const double> start, DualState& state) {
    solver_.set_ridge(link.ridge);
    if (!start.empty()) return start_from_point(link, {start.begin(), start.end()}, state);
    std::vector<double> alpha(n_, 0.0);
    stretch(link.problem, alpha);
    make_feasible(state, link.problem.total, alpha);
    place(state, alpha, std::vector<double>(n_, 0.0));
    if (link.problem.total[0] != 0 || link.problem.total[1] != 0) return sharpen(state, link.problem.total, std::move(alpha));
    double objective = 0;
    for (std::size_t p = 0; p < n_; ++p) objective += 0.5 * (state.linear[p] + state.gradient[p]) * alpha[p];
    if (objective > 0) return;
    state = DualState(link.problem);
    alpha.assign(n_, 0.0);
    make_feasible(state, link.problem.total, alpha);
    place(state, alpha, std::vector<double>(n_, 0.0));
  }

  // Any point: moved into the box, then onto the sums by the gradient it has there.
  void start_from_point(const Link& link, std::vector<double> alpha, DualState& state) {
    for (std::size_t p = 0; p < n_; ++p) alpha[p] = std::clamp(alpha[p], state.whole_lower(p), state.whole_upper(p));
    place(state, alpha, std::vector<double>(n_, 0.0));
    const std::vector<double> from = alpha;
    make_feasible_by_gradient(state, link.problem.total, alpha);
    place(state, alpha, from);
  }

  // From a point that is spread over all variables to one that has the same sums on those with the largest gradients alone: for machines with
  // a nu, whose support vectors are the examples where the density is lowest.
  void sharpen(DualState& state, const std::array<double, 2>& total, std::vector<double> spread) {
    std::vector<double> alpha(n_, 0.0);
    make_feasible_by_gradient(state, total, alpha);
    place(state, alpha, spread);
  }

  static void make_feasible_by_gradient(const DualState& state, const std::array<double, 2>& total, std::vector<double>& alpha) {
    if (!state.kinked()) {
      for (std::size_t p = 0; p < alpha.size(); ++p) alpha[p] = std::clamp(alpha[p], state.whole_lower(p), state.whole_upper(p));
      balance_by_gradient(state, total, alpha);
    }
    make_feasible(state, total, alpha);
  }

  // All variables to their bound, those of the side that weighs more only as far as they balance the other. Only where 0 is a bound of every
  // variable, the other is finite, and the sum is to be 0: for classifiers.
  static void stretch(const DualProblem& problem, std::vector<double>& alpha) {
    double up = 0, down = 0;
    for (std::size_t p = 0; p < problem.size(); ++p) {
      if (!std::isfinite(problem.lower[p]) || !std::isfinite(problem.upper[p]) || (problem.lower[p] != 0 && problem.upper[p] != 0)) return;
      up += problem.upper[p], down -= problem.lower[p];
    }
    if (problem.total[0] != 0 || !problem.group.empty() || up == 0 || down == 0) return;
    const double weight_up = std::min(1.0, down / up), weight_down = std::min(1.0, up / down);
    for (std::size_t p = 0; p < problem.size(); ++p) alpha[p] = problem.upper[p] * weight_up + problem.lower[p] * weight_down;
  }

  void start_from(const Link& before, const Link& link, const Solution& last, DualState& state) {
    const double s = scale(before, link, last);
    std::vector<double> scaled(n_);
    for (std::size_t p = 0; p < n_; ++p) {
      scaled[p] = s * last.alpha[p];
      // The bound itself, not a rounding error beside it.
      for (const double bound : {link.problem.lower[p], link.problem.upper[p]})
        if (std::isfinite(bound) && std::fabs(scaled[p] - bound) <= 1e-12 * std::fabs(bound)) scaled[p] = bound;
    }
    solver_.set_ridge(link.ridge);
    // K a of the scaled point comes from the last gradient.
    for (std::size_t p = 0; p < n_; ++p) {
      const double Ka = before.problem.linear[p] - last.gradient[p] - (before.ridge.empty() ? 0.0 : before.ridge[p] * last.alpha[p]);
      state.gradient[p] -= s * Ka + (link.ridge.empty() ? 0.0 : link.ridge[p] * scaled[p]);
    }
    std::vector<double> alpha = scaled;
    make_feasible_by_gradient(state, link.problem.total, alpha);
    place(state, alpha, scaled);
  }

  // Moves the variables from a point whose gradient the state has to another one.
  void place(DualState& state, const std::vector<double>& alpha, const std::vector<double>& from) {
    std::vector<Id> moved;
    std::vector<double> by;
    for (std::size_t p = 0; p < n_; ++p) {
      if (alpha[p] != from[p]) moved.push_back(static_cast<Id>(p)), by.push_back(alpha[p] - from[p]);
      state.put(p, alpha[p]);
    }
    solver_.subtract(state, moved, by);
  }

  static double scale(const Link& before, const Link& link, const Solution& last) {
    if (before.problem.total[0] != 0) return link.problem.total[0] / before.problem.total[0];
    double ratio = 0, linear = 0, quadratic = 0;
    std::size_t bounded = 0, free = 0;
    for (std::size_t p = 0; p < last.alpha.size(); ++p) {
      const double a = last.alpha[p];
      if (a == 0) continue;
      ++(a <= before.problem.lower[p] || a >= before.problem.upper[p] ? bounded : free);
      linear += before.problem.linear[p] * a;
      quadratic += (before.problem.linear[p] - last.gradient[p]) * a;
      const double old = a > 0 ? before.problem.upper[p] : before.problem.lower[p], now = a > 0 ? link.problem.upper[p] : link.problem.lower[p];
      if (!std::isfinite(old) || !std::isfinite(now)) return 1;
      const double own = now / old;
      if (ratio != 0 && std::fabs(own - ratio) > 1e-9 * ratio) return 1;
      ratio = own;
    }
    if (ratio == 0) return 1;
    return ratio > 1 && (linear < nearly * ratio * quadratic || 10 * bounded < free) ? 1 : ratio;
  }

  static bool same_solution(const Link& before, const Link& link, const Solution& last) {
    const DualProblem &a = before.problem, &b = link.problem;
    const auto equal = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
    if (last.outcome.reason != Reason::converged || a.total != b.total || !equal(a.linear, b.linear) || !equal(a.kink, b.kink) || !equal(a.group, b.group) ||
        !equal(before.ridge, link.ridge))
      return false;
    for (std::size_t p = 0; p < a.size(); ++p) {
      if (b.lower[p] > a.lower[p] || b.upper[p] < a.upper[p]) return false;
      if (b.lower[p] != a.lower[p] && last.alpha[p] <= a.lower[p]) return false;
      if (b.upper[p] != a.upper[p] && last.alpha[p] >= a.upper[p]) return false;
    }
    return true;
  }

  static constexpr double nearly = 0.8;

  std::size_t n_;
  std::span<const Link> links_;
  std::span<const double> start_;
  std::size_t next_ = 0;
  std::optional<LinkSolution> last_;  // of the last call
  StopRule stop_;
  Watch& watch_;
  Patience patience_;
  MatrixSolver solver_;
};

}  // namespace widemargin::grid
