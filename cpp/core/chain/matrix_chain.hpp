// A chain of problems on one kernel matrix, each started from the solution of the one before: a line of a grid along C
// (or along nu).
//
// The first problem starts from all variables as far from 0 as their box lets them, if that is better than 0: for a
// small C it is close to the solution. The others start as starts.hpp says.
//
// A chain may be solved all at once or some links at a time, with the same result. Between two calls it may rest: then
// it holds no part of the kernel, only what it takes to go on as if nothing had happened.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/chain/matrix_solver.hpp"
#include "core/chain/sequence.hpp"
#include "core/solve.hpp"
#include "core/solve/coefficient_bound.hpp"
#include "core/solve/feasible.hpp"

namespace widemargin::chain {

class MatrixChain {
 public:
  // `start` is any point, with its gradient if that is known; or empty.
  MatrixChain(const KernelView& kernel, std::span<const Link> links, const Start& start, const StoppingCriterion& stop,
              Deadline& deadline)
      : kernel_(kernel),
        n_(kernel.size()),
        sequence_(links, deadline),
        start_(start),
        stop_(stop),
        deadline_(deadline),
        budget_(deadline, true),
        solver_(kernel, Tuning{}, budget_) {}

  // Solves the next links, as a sequence does.
  std::vector<LinkSolution> advance(std::size_t count) {
    return sequence_.advance(count, [this](const Link& link, const Link* before, const LinkSolution* last) {
      const double began = deadline_.seconds();
      DualState state(link.problem);
      if (last != nullptr && last->outcome.reason != Reason::overflow)
        start_from(*before, link, *last, state);
      else
        start_from(link, start_, state);
      return solve(state, link, began);
    });
  }

  bool ended() const { return sequence_.ended(); }

  // Releases what was gathered of the kernel.
  void rest() { solver_.rest(); }
  // Goes on with the same kernel at another place.
  void move_to(const KernelView& kernel) {
    kernel_ = kernel;
    solver_.move_to(kernel);
  }

 private:
  LinkSolution solve(DualState& state, const Link& link, double began) {
    const auto ridge = [&](std::size_t v) { return link.ridge.empty() ? 0.0 : link.ridge[v]; };
    state.coefficient_bound = coefficient_bound_of(link.problem, ridge);
    std::int64_t iterations = 0;
    // Further steps among few variables cost next to nothing, and there a sample more or less makes a visible score.
    StoppingCriterion stop = stop_;
    if (n_ <= few_variables) stop.tolerance *= 0.1;
    Reason reason = solver_.run(state, stop, iterations);
    // What rounding of the kernel adds is no part of the violation that the solver sees.
    const double left = stop_.tolerance - 2 * rounding_of(state);
    if (reason == Reason::converged && left >= 0.5 * stop_.tolerance && left < stop.tolerance)
      reason = solver_.run(state, {left, stop.max_iterations}, iterations);
    if ((reason == Reason::stalled || reason == Reason::iteration_budget) &&
        violation_of(state.maximal_violating_pair()) <= stop_.tolerance)
      reason = Reason::converged;
    const double largest = n_ == 0 ? 0.0 : static_cast<double>(*std::max_element(diagonal().begin(), diagonal().end()));
    if (reason == Reason::converged && imbalance(state, link.problem.total) * largest > 0.01 * stop_.tolerance)
      reason = Reason::stalled;
    LinkSolution solution;
    static_cast<Solution&>(solution) = handed_out(state, ridge, {.reason = reason, .iterations = iterations});
    solution.outcome.seconds = deadline_.seconds() - began;
    solution.rounding = rounding_of(state);
    if (solution.outcome.reason == Reason::overflow) return solution;
    solution.blur = undecided(state, solution) ? std::numeric_limits<double>::infinity() : blur(state, ridge);
    return solution;
  }

  double rounding_of(const DualState& state) {
    return rounding_of_values<float>(state, [this](std::size_t p) { return static_cast<double>(diagonal()[p]); });
  }

  template <class Ridge>
  double blur(const DualState& state, const Ridge& ridge) {
    if (!beside_)
      beside_ = Beside::of(kernel_.known(), [this](std::size_t p, std::size_t q) {
        return static_cast<double>(kernel_.row(p)[kernel_.column(q)]);
      });
    return blur_of(state, kernel_.known(), *beside_,
                   [&](std::size_t p) { return ridge(p) + static_cast<double>(diagonal()[p]); });
  }

  // Whether rounding decides the signs of the values of samples that are held out.
  bool undecided(const DualState& state, const LinkSolution& solution) const {
    if (!state.problem.kink.empty()) return false;
    const auto& [first, second] = solution.outcome.intercept;
    const double intercept = state.grouped() ? 0.5 * (first + second) : first;
    std::vector<double> values;
    for (std::size_t p = 0; p < kernel_.known(); ++p)
      if (state.problem.lower[p] == state.problem.upper[p])
        values.push_back(state.problem.linear[p] - solution.gradient[p] + intercept);
    const double unknown = without_sign(solution.rounding, kernel_.known() < n_, solution.alpha);
    const auto is_unknown = [&](std::size_t k) { return std::fabs(values[k]) <= unknown; };
    const auto count = std::ranges::count_if(some_of(values.size(), looked_at), is_unknown);
    return decides_signs(solution.rounding, static_cast<std::size_t>(count));
  }

  const std::vector<float>& diagonal() {
    if (diagonal_.empty())
      for (std::size_t p = 0; p < n_; ++p) diagonal_.push_back(kernel_.diagonal(p));
    return diagonal_;
  }

  void start_from(const Link& link, const Start& start, DualState& state) {
    const auto& total = link.problem.total;
    const auto place = [&](const std::vector<double>& alpha, const std::vector<double>& from) {
      this->place(state, alpha, from);
    };
    solver_.set_ridge(link.ridge);
    if (!start.alpha.empty()) return start_from_point(state, total, start, place);
    std::vector<double> alpha(n_, 0.0);
    stretch(link.problem, alpha);
    make_feasible(state, total, alpha);
    place(alpha, std::vector<double>(n_, 0.0));
    if (total[0] != 0 || total[1] != 0) return concentrate(state, total, std::move(alpha));
    double objective = 0;
    for (std::size_t p = 0; p < n_; ++p) objective += 0.5 * (state.linear[p] + state.gradient[p]) * alpha[p];
    if (objective > 0) return;
    state = DualState(link.problem);
    start_from_zero(state, total, place);
  }

  // From a point that is spread over all variables to one that has the same sums on those with the largest gradients
  // alone: for machines with a nu, whose support vectors are the samples where the density is lowest.
  void concentrate(DualState& state, const std::array<double, 2>& total, std::vector<double> spread) {
    std::vector<double> alpha(n_, 0.0);
    make_feasible_by_gradient(state, total, alpha);
    place(state, alpha, spread);
  }

  // All variables to their bound, those of the side that weighs more only as far as they balance the other. Only where
  // 0 is a bound of every variable, the other is finite, and the sum is to be 0: for classifiers.
  static void stretch(const DualProblem& problem, std::vector<double>& alpha) {
    double up = 0, down = 0;
    for (std::size_t p = 0; p < problem.size(); ++p) {
      if (!std::isfinite(problem.lower[p]) || !std::isfinite(problem.upper[p]) ||
          (problem.lower[p] != 0 && problem.upper[p] != 0))
        return;
      up += problem.upper[p], down -= problem.lower[p];
    }
    if (problem.total[0] != 0 || !problem.group.empty() || up == 0 || down == 0) return;
    const double weight_up = std::min(1.0, down / up), weight_down = std::min(1.0, up / down);
    for (std::size_t p = 0; p < problem.size(); ++p)
      alpha[p] = problem.upper[p] * weight_up + problem.lower[p] * weight_down;
  }

  void start_from(const Link& before, const Link& link, const Solution& last, DualState& state) {
    const Point from = scaled(before, link, last);
    solver_.set_ridge(link.ridge);
    for (std::size_t p = 0; p < n_; ++p)
      state.gradient[p] = from.gradient[p] + (state.linear[p] - link.problem.linear[p]);
    std::vector<double> alpha = from.alpha;
    make_feasible_by_gradient(state, link.problem.total, alpha);
    stretched_ = std::max(1.0, stretched_ * from.stretched);
    if (stretched_ <= most_stretched) return place(state, alpha, from.alpha);
    state = DualState(link.problem);
    place(state, alpha, std::vector<double>(n_, 0.0));
    stretched_ = 1;
  }

  void place(DualState& state, const std::vector<double>& alpha, const std::vector<double>& from) {
    const Move move(state, alpha, from);
    solver_.subtract(state, move.positions, move.by);
  }

  static constexpr double most_stretched = 1e4;
  static constexpr std::size_t few_variables = 128;

  KernelView kernel_;
  std::size_t n_;
  std::vector<float> diagonal_;   // of the kernel, once it was asked for
  std::optional<Beside> beside_;  // the same
  double stretched_ =
      1;  // by what the rounding errors of the gradient have grown since it was last computed from nothing
  Sequence sequence_;
  Start start_;
  StoppingCriterion stop_;
  Deadline& deadline_;
  TimeBudget budget_;
  MatrixSolver solver_;
};

}  // namespace widemargin::chain
