// What a point is worth: violation, gap, objective and intercept, from its gradient.
#pragma once

#include <cmath>
#include <limits>

#include "core/dual_state.hpp"

namespace widemargin {

struct Certificate {
  double kkt_violation = 0, duality_gap = 0, objective = 0, intercept = 0;
};

// Without free variables the intercept may lie anywhere between the two ends; the middle is taken.
inline double middle_of_bounded(const DualState& state) {
  double up = -std::numeric_limits<double>::infinity(), down = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (state.room_up[p] > state.room_down[p]) up = std::max(up, state.gradient[p]);
    if (state.room_down[p] > state.room_up[p]) down = std::min(down, state.gradient[p]);
  }
  if (std::isfinite(up) && std::isfinite(down)) return 0.5 * (up + down);
  return std::isfinite(up) ? up : std::isfinite(down) ? down : 0.0;
}

inline Certificate certify(const DualState& state) {
  Certificate result;
  const simd::Lead lead = simd::lead(state.gradient.data(), state.room_up.data(), state.room_down.data(), state.size());
  result.kkt_violation = violation_of(lead);

  // A variable a rounding error away from its bound must not decide the intercept alone.
  const auto clearly_free = [&](std::size_t p) {
    const double width = 1e-12 * (state.upper[p] - state.lower[p]);
    return state.room_up[p] > width && state.room_down[p] > width;
  };
  double free_sum = 0, free_count = 0, linear_alpha = 0, gradient_alpha = 0, alpha_sum = 0;
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (clearly_free(p)) free_sum += state.gradient[p], free_count += 1;
    linear_alpha += state.linear[p] * state.alpha[p];
    gradient_alpha += state.gradient[p] * state.alpha[p];
    alpha_sum += state.alpha[p];
  }
  if (free_count > 0)
    result.intercept = free_sum / free_count;
  else
    result.intercept = middle_of_bounded(state);

  // f(a) = y'a - a'Ka/2 with Ka = y - G
  result.objective = 0.5 * (linear_alpha + gradient_alpha);
  // The Lagrangian bound: max over the box of G'(z - a), the sum constraint priced at b.
  double bound = result.intercept * alpha_sum - gradient_alpha;
  for (std::size_t p = 0; p < state.size(); ++p) {
    const double pull = state.gradient[p] - result.intercept;
    if (pull != 0) bound += pull * (pull > 0 ? state.upper[p] : state.lower[p]);
  }
  result.duality_gap = bound;
  return result;
}

}  // namespace widemargin
