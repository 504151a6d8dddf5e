// The problem of some variables alone, while all others stay where they are [Glasmachers2008, eq. 4.3].
#pragma once

#include <span>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::block {

template <class N>
struct BasicInnerProblem {
  BasicDualState<N> state;

  // The variables at `positions` of a larger problem, with the gradient they have there. They may cross their kinks.
  void take(const DualState& whole, std::span<const Id> positions) {
    const std::size_t m = positions.size();
    state.alpha.resize(m), state.gradient.resize(m), state.lower.resize(m), state.upper.resize(m);
    state.group.resize(whole.grouped() ? m : 0);
    state.active = m;
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      state.alpha[r] = whole.alpha[p], state.gradient[r] = static_cast<N>(whole.gradient[p]);
      state.lower[r] = whole.lower[p], state.upper[r] = whole.upper[p];
      if (whole.grouped()) state.group[r] = whole.group[p];
    }
    state.problem = {};
    if (whole.kinked()) take_kinks(whole, positions);
    state.resize_rooms();
  }

 private:
  void take_kinks(const DualState& whole, std::span<const Id> positions) {
    const std::size_t m = positions.size();
    for (std::vector<double>* values : {&linear_, &lower_, &upper_, &kink_, &state.linear}) values->resize(m);
    state.variable.resize(m);
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      state.variable[r] = static_cast<Id>(r);
      state.linear[r] = whole.linear[p];
      linear_[r] = whole.linear[p] + (whole.smooth_gradient(p) - whole.gradient[p]);
      lower_[r] = whole.whole_lower(p), upper_[r] = whole.whole_upper(p), kink_[r] = whole.kink(p);
    }
    state.problem = {linear_, lower_, upper_, {}, {}, kink_};
  }

  std::vector<double> linear_, lower_, upper_, kink_;  // of both sides of the kinks together
};

using InnerProblem = BasicInnerProblem<double>;

}  // namespace widemargin::block
