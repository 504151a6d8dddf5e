// A solve written down step by step, to be compared with what the papers say. Its loop and its parts are those of every
// other solve; which of them is asked is decided at run time, and nothing is written down anywhere else.
#pragma once

#include <utility>
#include <vector>

#include "core/smo/select_maximal_violating_pair.hpp"
#include "core/smo/select_maximum_gain.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/smo.hpp"
#include "core/smo/step_planning_ahead.hpp"
#include "core/solve.hpp"

namespace widemargin::smo {

struct Trace {
  std::vector<Id> i, j;  // variables of the problem, not positions
  std::vector<double> size, slope, curvature;
  std::vector<std::uint8_t> kind;    // of LastStep::Kind
  std::vector<std::int64_t> active;  // variables, after the step and the update of the active set
};

class TracedSelection {
 public:
  static constexpr bool ranks_by_truncated_gain = false;  // nobody asks: TracedStep hands on the selector itself

  explicit TracedSelection(Selection selection) : selection_(selection) {}

  template <class Rows>
  WorkingSet operator()(const DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair,
                        const LastStep& last) const {
    return with_selector([&](const auto& select) { return select(state, rows, pair, last); });
  }

  template <class Use>
  WorkingSet with_selector(Use&& use) const {
    if (selection_ == Selection::maximal_violating_pair) return use(SelectMaximalViolatingPair{});
    if (selection_ == Selection::second_order) return use(SelectSecondOrder{});
    return use(SelectMaximumGain{});
  }

 private:
  Selection selection_;
};

class TracedStep {
 public:
  TracedStep(std::size_t planning_ahead, Trace& trace)
      : planned_(planning_ahead > 0), planning_(std::max<std::size_t>(planning_ahead, 1)), trace_(trace) {}

  WorkingSet reconsider(const DualState& state, const TracedSelection& selection, const WorkingSet& B,
                        const LastStep& last) const {
    return selection.with_selector([&](const auto& select) {
      return planned_ ? planning_.reconsider(state, select, B, last) : newton_.reconsider(state, select, B, last);
    });
  }

  template <class T>
  double operator()(const DualState& state, const WorkingSet& B, const T* Ki, const T* Kj, LastStep& last) const {
    const double mu = planned_ ? planning_(state, B, Ki, Kj, last) : newton_(state, B, Ki, Kj, last);
    trace_.i.push_back(state.variable[B.i]), trace_.j.push_back(state.variable[B.j]);
    trace_.size.push_back(mu), trace_.slope.push_back(slope(state, B)), trace_.curvature.push_back(B.curvature);
    trace_.kind.push_back(static_cast<std::uint8_t>(last.kind));
    trace_.active.push_back(static_cast<std::int64_t>(state.active));
    return mu;
  }

 private:
  bool planned_;
  StepPlanningAhead planning_;
  StepNewton newton_;
  Trace& trace_;
};

class TracedActiveSet {
 public:
  TracedActiveSet(ShrinkingActiveSet& active_set, Trace& trace) : active_set_(active_set), trace_(trace) {}

  template <class Rows>
  bool update(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    const bool changed = active_set_.update(state, rows, pair);
    trace_.active.back() = static_cast<std::int64_t>(state.active);
    return changed;
  }
  template <class Rows>
  Verdict verify(DualState& state, Rows& rows) {
    return active_set_.verify(state, rows);
  }

 private:
  ShrinkingActiveSet& active_set_;
  Trace& trace_;
};

}  // namespace widemargin::smo
