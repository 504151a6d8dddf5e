// The certificate of a point: violation, duality gap, objective and intercepts, from its gradient; and the solution
// that is handed out with it.
//
// Coefficients and certificate come from one function of a state that nothing may change any more, so that no clean-up
// can come between them.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/dual_state.hpp"
#include "core/outcome.hpp"

namespace widemargin {

struct Certificate {
  double kkt_violation = 0, duality_gap = 0, objective = 0;
  std::array<double, 2> intercept{};  // one for each group

  // What cannot be known without the gradient of the point.
  void forget() {
    kkt_violation = duality_gap = std::numeric_limits<double>::infinity();
    objective = std::numeric_limits<double>::quiet_NaN();
  }
};

// Without free variables the intercept may lie anywhere between the two ends; the middle is taken.
inline double middle_of_bounded(const DualState& state, std::size_t g) {
  double up = -std::numeric_limits<double>::infinity(), down = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (state.group_of(p) != g) continue;
    if (state.room_up[p] > state.room_down[p]) up = std::max(up, state.gradient[p]);
    if (state.room_down[p] > state.room_up[p]) down = std::min(down, state.gradient[p]);
    if (!state.at_kink(p)) continue;
    if (state.above(p))
      down = std::min(down, state.gradient_beyond(p));
    else
      up = std::max(up, state.gradient_beyond(p));
  }
  if (std::isfinite(up) && std::isfinite(down)) return 0.5 * (up + down);
  return std::isfinite(up) ? up : std::isfinite(down) ? down : 0.0;
}

// The price of the sum: the gradient of free variables, on average. A variable without any bound decides alone: only at
// its gradient is the dual bound finite.
inline double intercept_of(const DualState& state, std::size_t g) {
  // A variable a rounding error away from its bound must not decide the intercept alone. Rounding goes by the
  // coefficients there are: a box may be far wider than any of them.
  double largest = 0;
  for (const double a : state.alpha) largest = std::max(largest, std::fabs(a));
  const auto clearly_free = [&](std::size_t p) {
    const double room = std::min(state.room_up[p], state.room_down[p]);
    return room > 1e-12 * std::min(largest, state.upper[p] - state.lower[p]);
  };
  double sum = 0, count = 0;
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (state.group_of(p) != g) continue;
    if (std::isinf(state.lower[p]) && std::isinf(state.upper[p])) return state.gradient[p];
    if (clearly_free(p)) sum += state.gradient[p], count += 1;
  }
  return count > 0 ? sum / count : middle_of_bounded(state, g);
}

// `ridge(v)` is the part D_v of the diagonal that belongs to the loss. With b the intercept, G the gradient of the
// smooth part of f and t = G + D a - b, the primal value is
//   a'(K - D)a/2 + sum_p max { t_p z - kink_p |z| - D_p z^2 / 2 : L_p <= z <= U_p } + b sum(a).
template <class Ridge>
Certificate certify(const DualState& state, const Ridge& ridge) {
  Certificate result;
  result.kkt_violation = violation_of(state.maximal_violating_pair(state.size()));
  for (std::size_t g = 0; g < state.groups(); ++g) result.intercept[g] = intercept_of(state, g);
  double linear_alpha = 0, gradient_alpha = 0;
  for (std::size_t p = 0; p < state.size(); ++p) {
    const double a = state.alpha[p], b = result.intercept[state.group_of(p)],
                 D = ridge(static_cast<std::size_t>(state.variable[p]));
    linear_alpha += state.linear[p] * a;
    gradient_alpha += state.gradient[p] * a;
    const double lower = state.whole_lower(p), upper = state.whole_upper(p), kink = state.kink(p);
    const double tilt = state.smooth_gradient(p) + D * a - b;
    const double t = kink == 0 ? tilt : tilt > kink ? tilt - kink : tilt < -kink ? tilt + kink : 0.0;
    double z = t > 0 ? upper : lower;
    if (D > 0) z = std::clamp(t / D, lower, upper);
    result.duality_gap +=
        (t != 0 ? t * z - 0.5 * D * z * z : 0.0) - a * (state.gradient[p] + D * a) + 0.5 * D * a * a + b * a;
  }
  // f(a) = y'a - a'Ka/2 with Ka = y - G
  result.objective = 0.5 * (linear_alpha + gradient_alpha);
  return result;
}

struct Solution {
  std::vector<double> alpha, gradient;  // by variable; the gradient is that of the smooth part of f
  Outcome outcome;
};

// `end` says how the state was reached, `known` whether its gradients are those of all its variables, recomputed:
// without them nothing is claimed. Numbers that are not finite are no solution: the reason tells.
template <class Ridge>
Solution handed_out(const DualState& state, const Ridge& ridge, const Outcome& end, bool known = true) {
  Solution result{std::vector<double>(state.size()), std::vector<double>(state.size()), end};
  bool finite = true;
  for (std::size_t p = 0; p < state.size(); ++p) {
    const std::size_t v = static_cast<std::size_t>(state.variable[p]);
    result.alpha[v] = state.alpha[p] + 0.0;  // 0 rather than -0
    result.gradient[v] = state.smooth_gradient(p);
    finite = finite && std::isfinite(result.alpha[v]) && std::isfinite(result.gradient[v]);
  }
  Certificate certificate = certify(state, ridge);
  finite = finite && std::isfinite(certificate.objective);
  if (!known || !finite) certificate.forget();
  Outcome& outcome = result.outcome;
  outcome.kkt_violation = certificate.kkt_violation;
  outcome.duality_gap = certificate.duality_gap;
  outcome.objective = certificate.objective;
  outcome.intercept = certificate.intercept;
  if (!finite) outcome.reason = Reason::overflow;
  return result;
}

// How far rounding of kernel values may take a gradient, or a decision value, from what it is: errors of K_ij a_j, with
// `diagonal(p)` for K_jj, which do not know of each other. A violation below this is not known.
template <class T, class Diagonal>
double rounding_of_values(const DualState& state, const Diagonal& diagonal) {
  double squares = 0;
  for (std::size_t p = 0; p < state.size(); ++p) {
    if (state.alpha[p] == 0) continue;
    const double term = diagonal(p) * state.alpha[p];
    squares += term * term;
  }
  return 0.5 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(squares);
}

}  // namespace widemargin
