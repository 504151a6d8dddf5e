// A bound on coefficients that have none in the problem: those of a square loss, if the kernel is positive
// semidefinite.
//
// With D the ridge of the loss and K - D positive semidefinite, every point with f(a) >= 0 satisfies
//
//   a'Da/2 <= a'Ka/2 <= y'a <= |D^-1/2 y| |D^1/2 a|,   so  |a_n| <= |D^1/2 a| / D_n^1/2 <= 2 |D^-1/2 y| / D_n^1/2
//
// A solver that reaches larger ones is diverging: the kernel has directions of negative curvature.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dual_problem.hpp"

namespace widemargin {

// The smallest ridge of a variable that has no other bound; infinite if there is none.
template <class Ridge>
double least_ridge(const DualProblem& problem, const Ridge& ridge) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < problem.size(); ++p) {
    if (std::isfinite(problem.lower[p]) && std::isfinite(problem.upper[p])) continue;
    const double D = ridge(p);
    if (D > 0) least = std::min(least, D);
  }
  return least;
}

// Whether kernel values in float can tell such a ridge from rounding; if not, the rounded kernel may not bound the
// coefficients at all.
inline bool floats_resolve(double ridge, double largest_kernel_value) { return ridge >= 1e-7 * largest_kernel_value; }

// Infinite where every coefficient has its bounds. Starting points may have f(a) < 0 and the sum of coefficients may
// fall to a single one that has no loss (models without an intercept), hence a generous factor.
template <class Ridge>
double coefficient_bound_of(const DualProblem& problem, const Ridge& ridge) {
  constexpr double safety_factor = 1e6, infinity = std::numeric_limits<double>::infinity();
  const double least = least_ridge(problem, ridge);
  if (std::isinf(least)) return infinity;
  double squares = 0;
  for (std::size_t p = 0; p < problem.size(); ++p) {
    const double D = ridge(p);
    if (D > 0) squares += problem.linear[p] * problem.linear[p] / D;
  }
  if (squares == 0) return infinity;
  return safety_factor * static_cast<double>(problem.size()) * 2 * std::sqrt(squares) / std::sqrt(least);
}

}  // namespace widemargin
