// Sequential minimal optimisation [Glasmachers2008, Algorithm 4.2], put together from a selector, a stepper and a shrinking policy.
//
//   given    a feasible point a and its gradient G = y - Ka
//   repeat   select B = (i, j);  a <- a + mu (e_i - e_j);  G <- G - mu (K_i - K_j)
//   until    max{G_n : a_n < U_n} - min{G_n : a_n > L_n} <= tolerance
//
// The gradient update finds the violation of the next iteration on the way, so the stopping test is exact for every selector.
#pragma once

#include "core/outcome.hpp"
#include "core/smo/working_set.hpp"

namespace widemargin::smo {

struct Ended {
  Reason reason;
  std::int64_t iterations;
};

template <class Rows, class Selector, class Stepper, class Shrinker>
Ended run(DualState& state, Rows& rows, const StopRule& stop, Patience& patience, const Selector& select, const Stepper& step, Shrinker& shrink) {
  const auto move = simd::ops<typename Rows::Value>().move;
  LastStep last;
  simd::Lead lead = state.lead();
  for (std::int64_t t = 0;; ++t) {
    double violation = violation_of(lead);
    if (violation <= stop.tolerance) {
      if (!shrink.restore(state, rows)) return {Reason::converged, t};
      last = {};
      lead = state.lead();
      if ((violation = violation_of(lead)) <= stop.tolerance) return {Reason::converged, t};
    }
    if (t >= stop.max_iterations) return {Reason::iteration_budget, t};
    if (patience.spent(state.active)) return {patience.reason(), t};

    const WorkingSet B = step.reconsider(state, rows, select, select(state, rows, lead, last), last);
    const auto* Ki = rows.row(B.i);
    const auto* Kj = rows.row(B.j);
    const double mu = step(state, B, Ki, Kj, last);
    if (!(violating(state, B) && std::isfinite(mu))) return {Reason::stalled, t};
    state.step(B.i, B.j, mu);
    lead = move(state.gradient.data(), Ki, Kj, mu, state.room_up.data(), state.room_down.data(), state.active);

    if (shrink.after_step(state, rows, lead, violation_of(lead))) {
      last = {};
      lead = state.lead();
    }
  }
}

}  // namespace widemargin::smo
