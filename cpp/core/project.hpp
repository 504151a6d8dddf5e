// The nearest point of { L <= a <= U, sum(a) = total }: a_n = clip(z_n - t, L_n, U_n) for the one shift t that meets the sum.
//
// sum(t) falls piecewise linearly, with kinks at z - U and z - L. The kink interval that holds the root is found by repeatedly halving the
// set of kinks at its median: linear time on average.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace widemargin {

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
    const double inside = std::isfinite(left) && std::isfinite(right) ? 0.5 * (left + right) : std::isfinite(left) ? left + 1 : std::isfinite(right) ? right - 1 : 0;
    moving += z[p] - inside > lower[p] && z[p] - inside < upper[p];
  }
  if (moving > 0) t += (sum_at(t) - total) / static_cast<double>(moving);
  for (std::size_t p = 0; p < n; ++p) z[p] = std::clamp(z[p] - t, lower[p], upper[p]);
  return true;
}

}  // namespace widemargin
