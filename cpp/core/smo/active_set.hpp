// Active sets: which variables an SMO solve works on, and what a violation within the tolerance is worth.
//
// Between two steps an active set may take a Newton step on the free variables, let variables change sides at their
// kinks, and shrink. All variables come back, with gradients that know of every step, before a solve may end.
#pragma once

#include <utility>

#include "core/smo/newton_on_free_set.hpp"
#include "core/smo/shrink.hpp"
#include "core/smo/shrink_aggressively.hpp"
#include "core/verify.hpp"

namespace widemargin::smo {

constexpr std::size_t steps_per_crossing = 64;

// For the subproblem of a larger solve: every variable stays active, and the running gradient is good enough.
class WholeActiveSet {
 public:
  WholeActiveSet(NewtonSteps newton_steps, double tolerance)
      : newton_steps_(std::move(newton_steps)), tolerance_(tolerance) {}

  template <class Rows>
  bool update(StateFor<Rows>& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    const bool moved = newton_steps_.after_step(state, rows, pair);
    return (++steps_ % steps_per_crossing == 0 && state.cross_kinks()) || moved;
  }
  template <class Rows>
  Verdict verify(StateFor<Rows>& state, Rows&) {
    return state.cross_kinks() && violation_of(state.maximal_violating_pair()) > tolerance_ ? Verdict::go_on
                                                                                            : Verdict::certified;
  }

 private:
  NewtonSteps newton_steps_;
  double tolerance_;
  std::size_t steps_ = 0;
};

enum class ShrinkingRule { none, standard, aggressive };  // the last where it pays, else the standard rule

class ShrinkingActiveSet {
 public:
  // Shrinks after `every` steps; lets variables cross their kinks after `steps_per_crossing`.
  ShrinkingActiveSet(ShrinkingRule rule, const NewtonSteps& newton_steps, double tolerance, std::size_t every,
                     std::size_t steps_per_crossing)
      : rule_(rule),
        newton_steps_(newton_steps),
        verify_(tolerance),
        tolerance_(tolerance),
        every_(every),
        left_(every),
        steps_per_crossing_(steps_per_crossing) {}

  // After a step; true if the state changed beyond it.
  template <class Rows>
  bool update(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    bool changed = newton_steps_.after_step(state, rows, pair);
    if (++steps_ % steps_per_crossing_ == 0) changed = state.cross_kinks() || changed;
    if (--left_ > 0 && !aggressive_.done(pair)) return changed;
    left_ = every_;
    return shrink(state, rows, changed ? state.maximal_violating_pair() : pair) || changed;
  }
  template <class Rows>
  Verdict verify(DualState& state, Rows& rows) {
    aggressive_.unshrink(state, rows);
    state.cross_kinks();
    if (violation_of(state.maximal_violating_pair()) > tolerance_) return Verdict::go_on;
    return verify_(state, rows);
  }

 private:
  template <class Rows>
  bool shrink(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    if (rule_ == ShrinkingRule::none) return false;
    if (rule_ == ShrinkingRule::aggressive && aggressive_(state, rows, pair)) return true;
    return !aggressive_.shrunk() && shrink_(state, rows, pair);
  }

  ShrinkingRule rule_;
  Shrinking shrink_;
  AggressiveShrinking aggressive_;
  NewtonSteps newton_steps_;
  Verifier verify_;
  double tolerance_;
  std::size_t every_, left_, steps_per_crossing_, steps_ = 0;
};

}  // namespace widemargin::smo
