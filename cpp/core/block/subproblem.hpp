// The subproblem of a working set: its variables alone, while all others stay fixed [Glasmachers2008, eq. 4.3].
#pragma once

#include <span>
#include <vector>

#include "core/dual_state.hpp"
#include "core/smo/progress.hpp"

namespace widemargin::block {

template <class N>
struct BasicSubproblem {
  BasicDualState<N> state;

  // The variables at `positions` of a larger problem, with the gradient they have there. They may cross their kinks.
  // Up to a multiple of 16 that is within `room`, variables with a box of one point follow, so that no loop over
  // vectors has a rest; what kernel rows hold of them makes no difference.
  void take(const DualState& whole, std::span<const Id> positions, std::size_t room = 0) {
    const std::size_t filled = (positions.size() + 15) / 16 * 16;
    const bool fill = filled <= room && !whole.kinked() && !whole.grouped();
    const std::size_t m = fill ? filled : positions.size();
    state.alpha.resize(m), state.gradient.resize(m), state.lower.resize(m), state.upper.resize(m);
    state.group.resize(whole.grouped() ? m : 0);
    state.variable.resize(m);
    state.active = m;
    state.coefficient_bound = whole.coefficient_bound;
    for (std::size_t r = positions.size(); r < m; ++r) {
      state.alpha[r] = state.lower[r] = state.upper[r] = 0.0, state.gradient[r] = N(0);
      state.variable[r] = static_cast<Id>(r);
    }
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      state.alpha[r] = whole.alpha[p], state.gradient[r] = static_cast<N>(whole.gradient[p]);
      state.lower[r] = whole.lower[p], state.upper[r] = whole.upper[p];
      state.variable[r] = static_cast<Id>(r);
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
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      state.linear[r] = whole.linear[p];
      linear_[r] = whole.linear[p] + (whole.smooth_gradient(p) - whole.gradient[p]);
      lower_[r] = whole.whole_lower(p), upper_[r] = whole.whole_upper(p), kink_[r] = whole.kink(p);
    }
    state.problem = {linear_, lower_, upper_, {}, {}, kink_};
  }

  std::vector<double> linear_, lower_, upper_, kink_;  // of both sides of the kinks together
};

using Subproblem = BasicSubproblem<double>;

// The step that the solution of a subproblem is in the whole problem, and its gain.
class SubproblemStep {
 public:
  std::vector<Id> positions;  // those that change
  std::vector<double> by;

  // Moves the variables of the whole; its gradients are the caller's task, who then asks for the gain.
  template <class N>
  SubproblemStep(DualState& whole, const BasicDualState<N>& part, std::span<const Id> of) {
    for (std::size_t r = 0; r < of.size(); ++r) {
      const std::size_t p = static_cast<std::size_t>(of[r]);
      if (part.alpha[r] == whole.alpha[p]) continue;
      positions.push_back(of[r]);
      before_.push_back(whole.alpha[p]);
      slopes_.push_back(whole.smooth_gradient(p));
      by.push_back(part.alpha[r] - whole.alpha[p]);
      whole.put(p, part.alpha[r]);
    }
  }

  // By the gradients that the whole has now. An iteration that gains nothing would be repeated for ever.
  double gain(const DualState& whole) const { return smo::gain_of(whole, positions, before_, slopes_); }

 private:
  std::vector<double> before_, slopes_;
};

}  // namespace widemargin::block
