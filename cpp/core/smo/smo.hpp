// Sequential minimal optimisation [Glasmachers2008, Algorithm 4.2], put together from a selector, a stepper and a housekeeper.
//
//   given    a feasible point a and its gradient G = y - Ka
//   repeat   select B = (i, j);  a <- a + mu (e_i - e_j);  G <- G - mu (K_i - K_j)
//   until    max{G_n : a_n < U_n} - min{G_n : a_n > L_n} <= tolerance
//
// The gradient update finds the violation of the next iteration on the way, so the stopping test is exact for every selector.
// The housekeeper shrinks the problem now and then, and decides what a violation within the tolerance is worth.
#pragma once

#include "core/concepts.hpp"
#include "core/outcome.hpp"
#include "core/smo/focus.hpp"
#include "core/smo/newton_on_free.hpp"
#include "core/smo/progress.hpp"
#include "core/smo/scans.hpp"
#include "core/smo/shrink.hpp"
#include "core/smo/working_set.hpp"
#include "core/verify.hpp"

namespace widemargin::smo {

// Calls NewtonOnFree from time to time, and less often where it does not help: at worst it takes a ninth of the time, since the next one,
// once shrinking and steps have settled the free set, may save all the steps that are left.
class Leaps {
 public:
  // `shortest_wait` steps lie between two leaps at least; 0 turns them off. A leap may cost about what the steps since the last one did;
  // `saved` is what the first may cost beyond that.
  explicit Leaps(std::int64_t shortest_wait, double saved = 0) : shortest_wait_(shortest_wait), wait_(shortest_wait), saved_(saved) {}

  // What a step over some variables costs, in units of about a nanosecond.
  static double step_cost(std::size_t active) { return static_cast<double>(active + 64); }

  template <class Rows>
  bool after_step(StateFor<Rows>& state, Rows& rows, const simd::Lead& lead) {
    if (shortest_wait_ == 0 || ++steps_ < wait_) return false;
    saved_ += static_cast<double>(steps_) * step_cost(state.active);
    steps_ = 0;
    const double cost = newton_.cost(state, rows.capacity());
    if (cost > saved_) return wait_longer(longest_wait);
    saved_ = 0;
    const double before = violation_of(lead);
    const bool moved = newton_(state, rows);
    if (moved && violation_of(state.lead()) < 0.5 * before)
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
  NewtonOnFree newton_;
};

constexpr std::size_t steps_per_crossing = 64;

// For a problem that is part of something larger: no shrinking, and the running gradient is good enough.
class PartOfLarger {
 public:
  PartOfLarger(const Leaps& leaps, double tolerance) : leaps_(leaps), tolerance_(tolerance) {}

  template <class Rows>
  bool tidy(StateFor<Rows>& state, Rows& rows, const simd::Lead& lead) {
    const bool leapt = leaps_.after_step(state, rows, lead);
    return (++steps_ % steps_per_crossing == 0 && state.cross()) || leapt;
  }
  template <class Rows>
  Verdict verify(StateFor<Rows>& state, Rows&) {
    return state.cross() && violation_of(state.lead()) > tolerance_ ? Verdict::go_on : Verdict::certified;
  }

 private:
  Leaps leaps_;
  double tolerance_;
  std::size_t steps_ = 0;
};

// How fewer variables are worked on than there are.
enum class Narrowing { none, shrinking, focus };  // the last where it pays, else shrinking

class Housekeeping {
 public:
  // Narrows the problem after `every` steps; lets variables change sides after `steps_per_crossing`.
  Housekeeping(Narrowing narrowing, const Leaps& leaps, double tolerance, std::size_t every, std::size_t steps_per_crossing)
      : narrowing_(narrowing), leaps_(leaps), verify_(tolerance), tolerance_(tolerance), every_(every), left_(every), steps_per_crossing_(steps_per_crossing) {}

  // True if the state changed under the solver's feet.
  template <class Rows>
  bool tidy(DualState& state, Rows& rows, const simd::Lead& lead) {
    bool changed = leaps_.after_step(state, rows, lead);
    if (++steps_ % steps_per_crossing_ == 0) changed = state.cross() || changed;
    if (--left_ > 0 && !focus_.done(lead)) return changed;
    left_ = every_;
    return narrow(state, rows, changed ? state.lead() : lead) || changed;
  }
  template <class Rows>
  Verdict verify(DualState& state, Rows& rows) {
    focus_.widen(state, rows);
    state.cross();
    if (violation_of(state.lead()) > tolerance_) return Verdict::go_on;
    return verify_(state, rows);
  }

 private:
  template <class Rows>
  bool narrow(DualState& state, Rows& rows, const simd::Lead& lead) {
    if (narrowing_ == Narrowing::none) return false;
    if (narrowing_ == Narrowing::focus && focus_(state, rows, lead)) return true;
    return !focus_.engaged() && shrink_(state, rows, lead);
  }

  Narrowing narrowing_;
  Shrinking shrink_;
  Focus focus_;
  Leaps leaps_;
  Verifier verify_;
  double tolerance_;
  std::size_t every_, left_, steps_per_crossing_, steps_ = 0;
};

// Whether the objective rises for ever along B, as far as these kernel values can tell.
template <Rows R>
bool endless(const StateFor<R>& state, R& rows, const WorkingSet& B, const typename R::Value* Ki) {
  if (std::isfinite(longest_step(state, B))) return false;
  const double diagonals = static_cast<double>(rows.diagonal()[B.i]) + static_cast<double>(rows.diagonal()[B.j]);
  return !(diagonals - 2 * static_cast<double>(Ki[B.j]) > 1e-15 * std::fabs(diagonals));
}

// Adds its steps to `iterations` as it goes: the count is right however it ends.
template <Rows R, Selector<R> Select, Stepper<R, Select> Step, Keeper<R> Keep>
Reason run(StateFor<R>& state, R& rows, const StoppingCriterion& stop, TimeBudget& budget, const Select& select, const Step& step, Keep& keeper,
           std::int64_t& iterations) {
  LastStep last;
  Progress progress(state);
  simd::Lead lead = state.lead();
  bool out_of_time = false;
  for (std::int64_t left = stop.max_iterations;; --left, ++iterations) {
    if (violation_of(lead) <= stop.tolerance) {
      const Verdict verdict = keeper.verify(state, rows);
      if (verdict != Verdict::go_on) return verdict == Verdict::certified ? Reason::converged : Reason::stalled;
      last = {};
      lead = state.lead();
    }
    // A planned step may lose what only the next one wins back: nothing ends or changes between the two.
    const bool between = last.kind == LastStep::Kind::planned;
    if (left <= 0) return Reason::iteration_budget;
    if (left == 1 && !between) last.kind = LastStep::Kind::none;
    out_of_time = out_of_time || budget.spent(state.active);
    if (out_of_time && !between) return budget.reason();
    if (!between && progress.ended(state)) return Reason::stalled;

    const WorkingSet B = step.reconsider(state, select, select(state, rows, lead, last), last);
    const auto* Ki = rows.row(B.i);
    const auto* Kj = rows.row(B.j);
    if (!violating(state, B)) return Reason::stalled;
    const double mu = step(state, B, Ki, Kj, last);
    const bool too_far = state.alpha[B.i] - state.alpha[B.j] + 2 * mu > state.ceiling;
    if (too_far || endless(state, rows, B, Ki)) return std::is_same_v<typename R::Value, double> ? Reason::unbounded : Reason::stalled;
    state.step(B.i, B.j, mu);
    lead = move_gradient(state, rows, Ki, Kj, mu);

    if (last.kind != LastStep::Kind::planned && keeper.tidy(state, rows, lead)) {
      last = {};
      lead = state.lead();
    }
  }
}

}  // namespace widemargin::smo
