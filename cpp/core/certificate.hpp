// What a point is worth: violation, gap, objective and intercept, from its gradient.
#pragma once

#include <cmath>
#include <limits>

#include "core/dual_state.hpp"

namespace widemargin {

struct Certificate {
  double kkt_violation = 0, duality_gap = 0, objective = 0, intercept = 0;
};

inline Certificate certify(const DualState& state) {
  Certificate result;
  const simd::Lead lead = simd::lead(state.gradient.data(), state.room_up.data(), state.room_down.data(), state.size());
  result.kkt_violation = violation_of(lead);

  double free_sum = 0, free_count = 0, linear_alpha = 0, gradient_alpha = 0, alpha_sum = 0;
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (state.free(p)) free_sum += state.gradient[p], free_count += 1;
    linear_alpha += state.linear[p] * state.alpha[p];
    gradient_alpha += state.gradient[p] * state.alpha[p];
    alpha_sum += state.alpha[p];
  }
  if (free_count > 0)
    result.intercept = free_sum / free_count;
  else if (lead.up_at >= 0 && lead.down_at >= 0)
    result.intercept = 0.5 * (lead.up + lead.down);
  else
    result.intercept = lead.up_at >= 0 ? lead.up : lead.down_at >= 0 ? lead.down : 0.0;

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
