// The ladder of precision: from kernel values of the cheapest type that may do up to double, until the recomputed
// violation meets the tolerance.
//
//   0  a small problem: kernel values in double, all of them kept, and on to rounding error (solve/small_problem.hpp)
//   1  a square loss over a kernel of low rank: Newton's method in the primal, certified by the kernel itself
//   2  kernel values in float, sums in double; the gradient is recomputed in double wherever it decides (verify.hpp)
//   3  kernel values in double, from where floats have led, or from the start if that was better
//
// (Chains on a kernel matrix have a rung of two bytes below floats: chain/matrix_solver.hpp.)
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/primal/newton.hpp"
#include "core/solve/current_point.hpp"
#include "core/solve/small_problem.hpp"
#include "core/solve/solver_choice.hpp"

namespace widemargin {

class PrecisionLadder {
 public:
  PrecisionLadder(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options,
                  const StoppingCriterion& stop, SlabPool& pool, ThreadTeam& team, Deadline& deadline, bool owner)
      : source_(source),
        ids_(ids),
        options_(options),
        stop_(stop),
        pool_(pool),
        team_(team),
        budget_(deadline, owner),
        choice_(options, source, ids),
        point_(problem, source, ids, team, budget_, outcome_) {}

  Solution solve(const Start& from) {
    Reason& reason = outcome_.reason;
    try {
      const bool given = point_.start(from);
      started_at_ = point_.objective();
      point_.gradient = Gradient::running;
      if (budget_.over()) throw Stopped{budget_.reason()};
      if (choice_.automatic() && state().size() <= SmallProblem::most)
        solve_small();
      else if (given || !(options_.double_precision ? solve_in_primal<double>() : solve_in_primal<float>()))
        raise_precision(from);
    } catch (const Stopped& stopped) {  // while a gradient was being computed
      reason = stopped.reason;
      point_.settle();
      if (reason == Reason::time_budget) point_.recompute_in_grace();
    }
    // A double that stalls has the last word; its gradient may be a running one.
    if (reason == Reason::stalled || reason == Reason::unbounded) point_.recompute_in_grace();
    // A violation within the tolerance that is no more than rounding of the kernel values it was recomputed from is not
    // known.
    if (reason == Reason::converged && !choice_.geometric() && point_.rounding<double>() > stop_.tolerance)
      reason = Reason::stalled;
    return point_.handed_out();
  }

 private:
  using Gradient = CurrentPoint::Gradient;

  static constexpr std::size_t recomputed_in_double = 20'000'000;  // kernel values

  DualState& state() { return point_.state; }

  void raise_precision(const Start& from) {
    outcome_.double_precision = options_.double_precision || !refine<float>();
    if (outcome_.double_precision && !options_.double_precision) leave_floats(from);
    if (outcome_.double_precision) refine<double>();
    if (point_.imbalanced(stop_.tolerance)) balance_again();
  }

  // From where kernel values in float have led; or from the start, if that was better.
  void leave_floats(const Start& from) {
    point_.recompute();
    if (point_.objective() >= started_at_) return;
    point_.reset();
    point_.start(from);
  }

  // Goes on in double from the nearest feasible point, and is content with the one after that.
  void balance_again() {
    point_.balance();
    outcome_.double_precision = true;
    refine<double>();
    if (!point_.imbalanced(stop_.tolerance)) return;
    point_.balance();
    if (outcome_.reason == Reason::converged) outcome_.reason = Reason::stalled;
  }

  // Runs the solver with kernel values of type T; false if this precision does not get to the tolerance.
  template <class T>
  bool refine() {
    CachedRows<T> rows = rows_of<T>(options_.cache_bytes);
    if (!holds_kernel(rows)) return false;
    outcome_.reason = run_until_stopped(rows, stop_, choice_.newton_steps());
    outcome_.kernel_evaluations += rows.evaluations();
    if (outcome_.reason == Reason::iteration_budget) point_.recompute_in_grace();
    return outcome_.reason != Reason::stalled;
  }

  // Whether values of type T do for the kernel, as far as can be seen beforehand: they neither vanish nor leave the
  // range that sums of them need, and where the ridge of a square loss is all that bounds the coefficients, they can
  // tell it from rounding.
  template <class T>
  bool holds_kernel(const CachedRows<T>& rows) const {
    if (std::is_same_v<T, double> || rows.size() == 0) return true;
    if (!source_.fits_floats()) return false;
    double largest = 0;
    for (std::size_t p = 0; p < rows.size(); ++p)
      largest = std::max(largest, std::fabs(static_cast<double>(rows.diagonal()[p]) - source_.ridge(rows.ids()[p])));
    if (!floats_resolve(least_ridge(point_.state.problem, point_.ridge()), largest)) return false;
    if (largest > 1e-30) return largest < 1e37;
    return std::all_of(ids_.begin(), ids_.end(), [this](Id id) { return source_.diagonal(id) == source_.ridge(id); });
  }

  // After the deadline the gradient is recomputed all the same, if the grace period suffices for it: in double if that
  // takes some hundredths of a second, else from the rows that are there and kernel values of their type, the cheapest
  // way to report what was reached.
  template <class T>
  Reason run_until_stopped(CachedRows<T>& rows, const StoppingCriterion& stop, const smo::NewtonSteps& newton_steps) {
    Reason reason;
    point_.gradient = Gradient::running;
    try {
      reason = choice_.run(state(), rows, stop, newton_steps, budget_, outcome_);
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
    }
    if (reason == Reason::converged) point_.gradient = Gradient::recomputed;
    if (reason != Reason::time_budget) return reason;
    budget_.grant_grace();
    const std::vector<double> running = state().gradient;
    try {
      if (Support(state(), rows.ids()).ids.size() * state().size() <= recomputed_in_double)
        point_.recompute();
      else
        Verifier::recompute(state(), rows), point_.gradient = Gradient::recomputed;
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
      state().gradient = running;
    }
    return reason;
  }

  // Rows in the current order of the variables, all of them active.
  template <class T>
  CachedRows<T> rows_of(std::size_t bytes) {
    state().active = state().size();
    return choice_.rows<T>(point_.ids(), bytes, pool_, team_, budget_);
  }

  // In double, and then says whether floats would have done.
  void solve_small() {
    SmallProblem small(choice_, source_, ids_, team_, budget_);
    point_.gradient = Gradient::running;
    outcome_.reason = small.solve(state(), stop_, outcome_.iterations);
    outcome_.kernel_evaluations += small.evaluations();
    if (outcome_.reason == Reason::time_budget)
      point_.recompute_in_grace();
    else if (outcome_.reason != Reason::interrupted)
      point_.gradient = Gradient::recomputed;
    outcome_.double_precision =
        options_.double_precision || !source_.fits_floats() || point_.rounding<float>() > stop_.tolerance;
    if (point_.imbalanced(stop_.tolerance)) balance_again();
  }

  // A square loss over a kernel of low rank: Newton's method, corrected by what the factor leaves out until the kernel
  // itself certifies the solution. False if that is not to be had; the point reached is then where another solver
  // starts.
  template <class T>
  bool solve_in_primal() {
    const std::size_t n = state().size();
    if (choice_.shrinking_rule() != smo::ShrinkingRule::aggressive || state().grouped() ||
        stop_.max_iterations < static_cast<std::int64_t>(n))
      return false;
    std::vector<double> ridge(n);
    for (std::size_t p = 0; p < n; ++p) {
      ridge[p] = source_.ridge(ids_[p]);
      if (ridge[p] <= 0 && state().whole_lower(p) < state().whole_upper(p)) return false;
    }
    primal::LowRank factor(pool_);
    const bool low = factor.factor(source_, ids_, team_, budget_);
    outcome_.kernel_evaluations += factor.evaluations();
    if (!low) return false;
    point_.gradient = Gradient::unknown;  // it does not follow the variables
    primal::Newton newton(factor, state().problem, ridge);
    CachedRows<T> rows = rows_of<T>(options_.cache_bytes);
    Verifier verify(stop_.tolerance);
    for (double last = std::numeric_limits<double>::infinity();;) {
      point_.put_feasible(newton.minimise(team_, budget_, outcome_.iterations));
      bool certified = verify(state(), rows) == Verdict::certified;
      if (!certified) {  // corrections are only as good as the gradient they are taken from
        point_.recompute();
        state().cross_kinks();
        certified = violation_of(state().maximal_violating_pair()) <= stop_.tolerance;
      }
      const double violation = violation_of(state().maximal_violating_pair());
      if (certified || !(violation < 0.5 * last)) {
        outcome_.kernel_evaluations += rows.evaluations();
        point_.gradient = certified ? Gradient::recomputed : Gradient::running;
        return certified;
      }
      last = violation;
      std::vector<double> error = newton.function(team_);
      for (std::size_t p = 0; p < n; ++p)
        error[p] = state().problem.linear[p] - state().smooth_gradient(p) - ridge[p] * state().alpha[p] - error[p];
      newton.correct(error);
    }
  }

  const RowSource& source_;
  std::span<const Id> ids_;
  const Options& options_;
  const StoppingCriterion stop_;
  SlabPool& pool_;
  ThreadTeam& team_;
  TimeBudget budget_;
  Outcome outcome_;
  SolverChoice choice_;
  CurrentPoint point_;
  double started_at_ = 0;  // the objective there
};

}  // namespace widemargin
