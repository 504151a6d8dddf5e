// The truncated Newton step [Glasmachers2008, eq. 4.4].
#pragma once

#include "core/smo/working_set.hpp"

namespace widemargin::smo {

struct StepNewton {
  template <class State, class Selector>
  WorkingSet reconsider(const State&, const Selector&, const WorkingSet& B, const LastStep&) const {
    return B;
  }

  template <class State, class T>
  double operator()(const State& state, const WorkingSet& B, const T*, const T*, LastStep& last) const {
    const double newton = newton_step(state, B),
                 mu = std::clamp(newton, shortest_step(state, B), longest_step(state, B));
    last.kind = mu == newton ? LastStep::Kind::free : LastStep::Kind::bounded;
    last.size_ratio = 1;
    last.recent.assign(1, B);
    return mu;
  }
};

}  // namespace widemargin::smo
