// Whether steps still raise the objective.
//
//   f(a + d) - f(a) = d'(G(a) + G(a + d)) / 2 - kink'(|a + d| - |a|)
//
// Every step gains in exact arithmetic. Where a whole window of them has not, gradients consist of rounding errors, and
// steps would go on for ever. Gradients are taken relative to one of them: d sums to 0 within each group, and what they
// have in common is most of their size.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::smo {

// The gain of moving variables (by position) from where `before` says, with `slopes` as smooth gradients there.
template <class State, class Positions, class Before, class Slopes>
double gain_of(const State& state, const Positions& positions, const Before& before, const Slopes& slopes) {
  std::array<double, 2> common{};
  std::array<bool, 2> known{};
  double gain = 0;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::size_t p = static_cast<std::size_t>(positions[k]), g = state.group_of(p);
    const double by = state.alpha[p] - before[k], slope = 0.5 * (slopes[k] + state.smooth_gradient(p));
    if (!known[g]) common[g] = slope, known[g] = true;
    gain += by * (slope - common[g]) - state.kink(p) * (std::fabs(state.alpha[p]) - std::fabs(before[k]));
  }
  return gain;
}

class Progress {
 public:
  template <class State>
  explicit Progress(const State& state) : left_(window(state)) {}

  // Asked before every step; true if a window of them has gained nothing.
  template <class State>
  bool ended(const State& state) {
    return --left_ <= 0 && !gained(state);
  }

 private:
  template <class State>
  static std::int64_t window(const State& state) {
    return 10'000 + 16 * static_cast<std::int64_t>(state.size());
  }

  // A window in which variables were left aside or came back says nothing: not all gradients are known at both its
  // ends.
  template <class State>
  bool gained(const State& state) {
    const std::size_t n = state.active;
    left_ = window(state);
    bool gained = true;
    if (variable_.size() == n && std::equal(variable_.begin(), variable_.end(), state.variable.begin())) {
      std::vector<Id> moved;
      std::vector<double> before, slopes;
      for (std::size_t p = 0; p < n; ++p)
        if (state.alpha[p] != alpha_[p])
          moved.push_back(static_cast<Id>(p)), before.push_back(alpha_[p]), slopes.push_back(slope_[p]);
      gained = gain_of(state, moved, before, slopes) > 0;
    }
    variable_.assign(state.variable.begin(), state.variable.begin() + static_cast<std::ptrdiff_t>(n));
    alpha_.assign(state.alpha.begin(), state.alpha.begin() + static_cast<std::ptrdiff_t>(n));
    slope_.resize(n);
    for (std::size_t p = 0; p < n; ++p) slope_[p] = state.smooth_gradient(p);
    return gained;
  }

  std::int64_t left_;
  std::vector<Id> variable_;  // the active ones when the window began
  std::vector<double> alpha_, slope_;
};

}  // namespace widemargin::smo
