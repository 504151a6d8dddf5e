// What a solve hands out: coefficients, and what these very coefficients are worth.
//
// Both come from one function of a state that nothing may change any more, so that no clean-up can come between them.
#pragma once

#include <cmath>
#include <vector>

#include "core/certificate.hpp"
#include "core/outcome.hpp"

namespace widemargin {

struct Solution {
  std::vector<double> alpha, gradient;  // by variable; the gradient is that of the smooth part of f
  Outcome outcome;
};

// `end` says how the state was reached, `known` whether its gradients are those of all its variables, recomputed: without them nothing is
// claimed. Numbers that are not finite are no solution: the reason tells.
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

}  // namespace widemargin
