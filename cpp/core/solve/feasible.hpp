// Feasible points of a problem near a given one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin {

// The nearest point of { L <= a <= U, sum(a) = total }: a_n = clip(z_n - t, L_n, U_n) for the one shift t that meets
// the sum.
//
// sum(t) falls piecewise linearly, with kinks at z - U and z - L. The kink interval that holds the root is found by
// repeatedly halving the set of kinks at its median: linear time on average.
//
// False if no such point exists (the sum lies outside [sum(L), sum(U)]).
inline bool project(std::span<double> z, std::span<const double> lower, std::span<const double> upper, double total) {
  const std::size_t n = z.size();
  const auto sum_at = [&](double t) {
    double sum = 0;
    for (std::size_t p = 0; p < n; ++p) sum += std::clamp(z[p] - t, lower[p], upper[p]);
    return sum;
  };
  double least = 0, most = 0;
  for (std::size_t p = 0; p < n; ++p) least += lower[p], most += upper[p];
  const double slack = 1e-12 * std::max({1.0, std::fabs(total), std::isfinite(most) ? std::fabs(most) : 1.0});
  if (total < least - slack || total > most + slack) return false;

  // A point that is feasible up to rounding stays: moving it would take every variable off its bound.
  double sum = 0, magnitude = 0;
  bool inside = true;
  for (std::size_t p = 0; p < n; ++p) {
    sum += z[p], magnitude += std::fabs(z[p]);
    inside = inside && z[p] >= lower[p] && z[p] <= upper[p];
  }
  if (inside && std::fabs(sum - total) <= 1e-12 * magnitude) return true;

  std::vector<double> kinks;
  for (std::size_t p = 0; p < n; ++p)
    for (const double kink : {z[p] - upper[p], z[p] - lower[p]})
      if (std::isfinite(kink)) kinks.push_back(kink);
  // Invariant: sum(t) >= total left of and at `left`, sum(t) <= total at `right`.
  double left = -INFINITY, right = INFINITY;
  auto begin = kinks.begin(), end = kinks.end();
  while (begin != end) {
    auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    if (sum_at(*middle) >= total)
      left = *middle, begin = middle + 1;
    else
      right = *middle, end = middle;
  }
  // Between two kinks the sum is linear: one Newton step from any inner point is exact.
  double t = std::isfinite(left) ? left : std::isfinite(right) ? right : 0.0;
  std::size_t moving = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const double inside = std::isfinite(left) && std::isfinite(right) ? 0.5 * (left + right)
                          : std::isfinite(left)                       ? left + 1
                          : std::isfinite(right)                      ? right - 1
                                                                      : 0;
    moving += z[p] - inside > lower[p] && z[p] - inside < upper[p];
  }
  if (moving > 0) t += (sum_at(t) - total) / static_cast<double>(moving);
  for (std::size_t p = 0; p < n; ++p) z[p] = std::clamp(z[p] - t, lower[p], upper[p]);
  return true;
}

// `alpha` is moved into the box and onto the constant sum of each group. The state gives the box only.
inline void make_feasible(const DualState& state, const std::array<double, 2>& total, std::vector<double>& alpha) {
  constexpr const char* impossible = "the box admits no point whose variables sum to the constant asked for";
  if (!state.grouped() && !state.kinked()) {
    if (!project(alpha, state.lower, state.upper, total[0])) throw std::invalid_argument(impossible);
    return;
  }
  for (std::size_t g = 0; g < state.groups(); ++g) {
    std::vector<double> point, lower, upper;
    for (std::size_t p = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g)
        point.push_back(alpha[p]), lower.push_back(state.whole_lower(p)), upper.push_back(state.whole_upper(p));
    if (!project(point, lower, upper, total[g])) throw std::invalid_argument(impossible);
    for (std::size_t p = 0, k = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g) alpha[p] = point[k++];
  }
}

// By how much rounding has taken the variables off their constant sums, if by more than the last digits of those there
// are: coefficients that were far larger on the way leave such a rest.
inline double imbalance(const DualState& state, const std::array<double, 2>& total) {
  std::array<double, 2> missing = total, size{std::fabs(total[0]), std::fabs(total[1])};
  for (std::size_t p = 0; p < state.size(); ++p)
    missing[state.group_of(p)] -= state.alpha[p], size[state.group_of(p)] += std::fabs(state.alpha[p]);
  double most = 0;
  for (std::size_t g = 0; g < 2; ++g)
    if (!(std::fabs(missing[g]) <= 1e-10 * size[g])) most = std::max(most, std::fabs(missing[g]));
  return most;
}

// Moves a point inside the box onto the constant sums: what is missing goes to the variables with the largest
// gradients, what is too much is taken from those with the smallest. Unlike the nearest feasible point, this one leaves
// most variables where they are. A variable that passes a kink goes on with the gradient beyond.
inline void balance_by_gradient(const DualState& state, const std::array<double, 2>& total,
                                std::vector<double>& alpha) {
  struct Direction {
    double gain, end;  // in the direction of what is missing
    std::size_t variable;
  };
  for (std::size_t g = 0; g < state.groups(); ++g) {
    double missing = total[g], size = std::fabs(total[g]);
    for (std::size_t p = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g) missing -= alpha[p], size += std::fabs(alpha[p]);
    if (std::fabs(missing) <= 1e-12 * size) continue;
    const double sign = missing > 0 ? 1 : -1;
    std::vector<Direction> directions;
    directions.reserve(alpha.size());
    for (std::size_t p = 0; p < alpha.size(); ++p) {
      if (state.group_of(p) != g) continue;
      const double gain = sign * state.smooth_gradient(p), kink = state.kink(p);
      if (kink > 0 && sign * alpha[p] < 0) directions.push_back({gain + kink, 0.0, p});
      directions.push_back({gain - kink, sign > 0 ? state.whole_upper(p) : -state.whole_lower(p), p});
    }
    // Few are needed, as a rule: a heap is made faster than they are sorted.
    const auto later = [](const Direction& a, const Direction& b) {
      return a.gain != b.gain ? a.gain < b.gain : a.variable > b.variable;
    };
    std::make_heap(directions.begin(), directions.end(), later);
    missing *= sign;
    for (auto end = directions.end(); end != directions.begin();) {
      std::pop_heap(directions.begin(), end--, later);
      const Direction& direction = *end;
      const double room = direction.end - sign * alpha[direction.variable];
      alpha[direction.variable] = room > missing ? alpha[direction.variable] + sign * missing : sign * direction.end;
      missing -= room;
      if (missing <= 1e-14 * size) break;  // what is left is rounding, no coefficient
    }
  }
}

// Moves any point into the box, and from there onto the constant sums by the gradient.
inline void make_feasible_by_gradient(const DualState& state, const std::array<double, 2>& total,
                                      std::vector<double>& alpha) {
  for (std::size_t p = 0; p < alpha.size(); ++p)
    alpha[p] = std::clamp(alpha[p], state.whole_lower(p), state.whole_upper(p));
  balance_by_gradient(state, total, alpha);
  make_feasible(state, total, alpha);
}

}  // namespace widemargin
