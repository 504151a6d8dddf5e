// Sequential minimal optimisation [Platt1998; Glasmachers2008, Algorithm 4.2], put together from a selector, a stepper
// and an active set.
//
//   given    a feasible point a and its gradient G = y - Ka
//   repeat   select B = (i, j);  a <- a + mu (e_i - e_j);  G <- G - mu (K_i - K_j)
//   until    max{G_n : a_n < U_n} - min{G_n : a_n > L_n} <= tolerance
//
// The gradient update finds the violation of the next iteration on the way, so the stopping test is exact for every
// selector. The active set shrinks now and then, and decides what a violation within the tolerance is worth.
#pragma once

#include "core/concepts.hpp"
#include "core/outcome.hpp"
#include "core/smo/active_set.hpp"
#include "core/smo/progress.hpp"
#include "core/smo/scans.hpp"
#include "core/smo/working_set.hpp"

namespace widemargin::smo {

// Whether the objective grows without bound along B, as far as these kernel values can tell.
template <Rows R>
bool unbounded_along(const StateFor<R>& state, R& rows, const WorkingSet& B, const typename R::Value* Ki) {
  if (std::isfinite(longest_step(state, B))) return false;
  const double diagonals = static_cast<double>(rows.diagonal()[B.i]) + static_cast<double>(rows.diagonal()[B.j]);
  return !(diagonals - 2 * static_cast<double>(Ki[B.j]) > 1e-15 * std::fabs(diagonals));
}

// Adds its steps to `iterations` as it goes: the count is right however it ends.
template <Rows R, Selector<R> Select, Stepper<R, Select> Step, ActiveSet<R> Active>
Reason run(StateFor<R>& state, R& rows, const StoppingCriterion& stop, TimeBudget& budget, const Select& select,
           const Step& step, Active& active_set, std::int64_t& iterations) {
  LastStep last;
  Progress progress(state);
  simd::MaximalViolatingPair pair = state.maximal_violating_pair();
  bool out_of_time = false;
  for (std::int64_t left = stop.max_iterations;; --left, ++iterations) {
    if (violation_of(pair) <= stop.tolerance) {
      const Verdict verdict = active_set.verify(state, rows);
      if (verdict != Verdict::go_on) return verdict == Verdict::certified ? Reason::converged : Reason::stalled;
      last = {};
      pair = state.maximal_violating_pair();
    }
    // A planned step may lose what only the next one wins back: nothing ends or changes between the two.
    const bool between = last.kind == LastStep::Kind::planned;
    if (left <= 0) return Reason::iteration_budget;
    if (left == 1 && !between) last.kind = LastStep::Kind::none;
    out_of_time = out_of_time || budget.spent(state.active);
    if (out_of_time && !between) return budget.reason();
    if (!between && progress.ended(state)) return Reason::stalled;

    const WorkingSet B = step.reconsider(state, select, select(state, rows, pair, last), last);
    const auto* Ki = rows.row(B.i);
    const auto* Kj = rows.row(B.j);
    if (!is_violating_pair(state, B)) return Reason::stalled;
    const double mu = step(state, B, Ki, Kj, last);
    const bool too_far = state.alpha[B.i] - state.alpha[B.j] + 2 * mu > state.coefficient_bound;
    if (too_far || unbounded_along(state, rows, B, Ki))
      return std::is_same_v<typename R::Value, double> ? Reason::unbounded : Reason::stalled;
    state.step(B.i, B.j, mu);
    pair = update_gradient(state, rows, Ki, Kj, mu);

    if (last.kind != LastStep::Kind::planned && active_set.update(state, rows, pair)) {
      last = {};
      pair = state.maximal_violating_pair();
    }
  }
}

}  // namespace widemargin::smo
