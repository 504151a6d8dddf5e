// Where a problem of a chain starts, and which problems need no solving.
//
// With P the last problem and a its solution, the next one starts from s a, moved into its own box and onto its own
// sum. Where the box grows or shrinks as a whole, by r, bounded variables stay bounded if s = r, and free ones stay
// where they are if s = 1. The objective decides: along the ray it is largest at s = y'a / a'Ka. (Some bounded outliers
// among free variables may outweigh these, but not outnumber them: then nothing is stretched.) K(s a) = s Ka is known,
// so that only variables that had to be moved cost a row of the kernel.
//
// A problem whose bounds are looser than those of P, but only where a does not touch them, has the solution a as well;
// it is not solved.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/dual_problem.hpp"
#include "core/solve.hpp"

namespace widemargin::chain {

struct Link {
  DualProblem problem;
  std::span<const double> ridge;  // of the square loss; empty for none
};

struct LinkSolution : Solution {
  bool repeated = false;  // the last one's, provably
  // Of its values, where the kernel is a matrix that was rounded to float; and this in units of how far most of the
  // values lie apart, infinite if it decides their signs.
  double rounding = 0, blur = 0;
};

constexpr std::size_t looked_at = 32;  // samples, for what is known of all by some

// Numbers below n, evenly spread.
inline std::vector<std::size_t> some_of(std::size_t n, std::size_t most) {
  const std::size_t count = std::min(n, most);
  std::vector<std::size_t> found(count);
  for (std::size_t k = 0; k < count; ++k) found[k] = k * n / count;
  return found;
}

// Values of a size up to this have the sign that rounding gives them. It is the rounding of the intercept; without one
// (`any_sum`), small values are as well known as large ones, until kernel values vanish in float.
inline double without_sign(double rounding, bool any_sum, std::span<const double> coefficients) {
  if (!any_sum) return rounding;
  double unknown = 0;
  for (const double a : coefficients) unknown += std::fabs(a) * static_cast<double>(std::numeric_limits<float>::min());
  return unknown;
}

// Whether rounding decides the signs of values: of more than one of some, for a single one may be 0 by right.
constexpr bool decides_signs(double rounding, std::size_t without_sign) { return rounding > 0 && without_sign > 1; }

// The mean of some values beside the diagonal of a kernel, and the root of that of their squares.
struct Beside {
  double mean = 0, size = 0;

  // Of n samples; `value` has the kernel's for two of them.
  template <class Value>
  static Beside of(std::size_t n, const Value& value) {
    double sum = 0, squares = 0, count = 0;
    const std::vector<std::size_t> some = some_of(n, 16);
    for (const std::size_t p : some)
      for (const std::size_t q : some) {
        if (p == q) continue;
        const double one = value(p, q);
        sum += one, squares += one * one, count += 1;
      }
    return count > 0 ? Beside{sum / count, std::sqrt(squares / count)} : Beside{};
  }
};

// Rounding of (Ka)_p as a share of the distance between its quartiles over the `known` samples: where kernel values
// differ by less than their last digit, nothing that is computed from them tells samples apart, however small it is
// beside the tolerance. A sample is taken to resemble itself as it resembles others, for it is others that are
// predicted; `diagonal` is of the kernel that the problem has. A few samples tell enough, and two tell nothing: each
// lies as far from the other as the other from it.
template <class Diagonal>
double blur_of(const DualState& state, std::size_t known, const Beside& beside, const Diagonal& diagonal) {
  if (known < 3) return 0;
  const double rounding =
      rounding_of_values<float>(state, [&](std::size_t p) { return p < known ? beside.size : 0.0; });
  if (rounding == 0) return 0;
  std::vector<double> sums;
  for (const std::size_t p : some_of(known, looked_at))
    sums.push_back(state.linear[p] - state.smooth_gradient(p) - (diagonal(p) - beside.mean) * state.alpha[p]);
  std::sort(sums.begin(), sums.end());
  // Quartiles of a handful are close to each other by chance.
  const bool handful = sums.size() < 8;
  const double low = handful ? sums.front() : sums[sums.size() / 4];
  const double high = handful ? sums.back() : sums[3 * sums.size() / 4];
  return rounding / (high - low);
}

// Any point of a problem, and y - K a there; the rounding errors of the latter are `stretched` times those of the
// gradient it comes from.
struct Point {
  std::vector<double> alpha, gradient;
  double stretched = 1;
};

inline double scale(const Link& before, const Link& link, const Solution& last) {
  constexpr double nearly = 0.8;
  if (before.problem.total[0] != 0) return link.problem.total[0] / before.problem.total[0];
  double ratio = 0, linear = 0, quadratic = 0;
  std::size_t bounded = 0, free = 0;
  for (std::size_t p = 0; p < last.alpha.size(); ++p) {
    const double a = last.alpha[p];
    if (a == 0) continue;
    ++(a <= before.problem.lower[p] || a >= before.problem.upper[p] ? bounded : free);
    linear += before.problem.linear[p] * a;
    quadratic += (before.problem.linear[p] - last.gradient[p]) * a;
    const double old = a > 0 ? before.problem.upper[p] : before.problem.lower[p],
                 now = a > 0 ? link.problem.upper[p] : link.problem.lower[p];
    if (!std::isfinite(old) || !std::isfinite(now)) return 1;
    if (ratio == 0) ratio = now / old;
    if (std::fabs(now - ratio * old) > 1e-9 * std::fabs(now)) return 1;
  }
  if (ratio == 0) return 1;
  return ratio > 1 && (linear < nearly * ratio * quadratic || 10 * bounded < free) ? 1 : ratio;
}

// The solution of the problem before, stretched; its gradient as part of the new problem.
inline Point scaled(const Link& before, const Link& link, const Solution& last) {
  const std::size_t n = last.alpha.size();
  const double s = scale(before, link, last);
  Point point{std::vector<double>(n), std::vector<double>(n), s};
  for (std::size_t p = 0; p < n; ++p) {
    const double lower = link.problem.lower[p], upper = link.problem.upper[p];
    double a = s * last.alpha[p];
    // The bound itself, not a rounding error beside it.
    a = s != 1 && std::fabs(a - lower) <= 1e-12 * std::fabs(lower) && std::isfinite(lower) ? lower : a;
    a = s != 1 && std::fabs(a - upper) <= 1e-12 * std::fabs(upper) && std::isfinite(upper) ? upper : a;
    point.alpha[p] = a;
    const double Ka =
        before.problem.linear[p] - last.gradient[p] - (before.ridge.empty() ? 0.0 : before.ridge[p] * last.alpha[p]);
    point.gradient[p] = link.problem.linear[p] - (s * Ka + (link.ridge.empty() ? 0.0 : link.ridge[p] * a));
  }
  return point;
}

inline bool same_solution(const Link& before, const Link& link, const Solution& last) {
  const DualProblem &a = before.problem, &b = link.problem;
  const auto equal = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  if (last.outcome.reason != Reason::converged || a.total != b.total || !equal(a.linear, b.linear) ||
      !equal(a.kink, b.kink) || !equal(a.group, b.group) || !equal(before.ridge, link.ridge))
    return false;
  for (std::size_t p = 0; p < a.size(); ++p) {
    if (b.lower[p] > a.lower[p] || b.upper[p] < a.upper[p]) return false;
    if (b.lower[p] != a.lower[p] && last.alpha[p] <= a.lower[p]) return false;
    if (b.upper[p] != a.upper[p] && last.alpha[p] >= a.upper[p]) return false;
  }
  return true;
}

// The solution of the last problem as that of the next one, which took no work.
inline LinkSolution repeated(LinkSolution last) {
  last.repeated = true;
  last.outcome.iterations = 0;
  last.outcome.kernel_evaluations = 0;
  last.outcome.seconds = 0;
  return last;
}

}  // namespace widemargin::chain
