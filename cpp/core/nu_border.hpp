// What the border of a machine with a nu is read from: slopes of the variables of a constant sum, and the duality gap
// of the prices that they give [Schoelkopf2001, proposition 3].
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace widemargin {

// Variables this close to a bound, as a share of it, are there but for rounding: a sum such as 0.8 n is not exact.
inline constexpr double at_bound = 1e-12;

// The largest slope among variables below their bounds, and the smallest among those above 0; -inf and inf where there
// are none.
inline std::pair<double, double> slopes_inside(std::span<const double> slopes, std::span<const double> sizes,
                                               std::span<const double> bounds) {
  double highest = -std::numeric_limits<double>::infinity(), lowest = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < slopes.size(); ++n) {
    if (sizes[n] < (1.0 - at_bound) * bounds[n]) highest = std::max(highest, slopes[n]);
    if (sizes[n] > at_bound * bounds[n]) lowest = std::min(lowest, slopes[n]);
  }
  return {highest, lowest};
}

// [Glasmachers2008, eq. 4.1] as a minimum over the prices: sum_n max { t_n z : L_n <= z <= U_n } - t'a, with the
// gradient t above the prices.
inline double gap_above_prices(std::span<const double> tilt, std::span<const double> alpha,
                               std::span<const double> lower, std::span<const double> upper) {
  double gap = 0;
  for (std::size_t n = 0; n < tilt.size(); ++n) gap += ((tilt[n] > 0 ? upper[n] : lower[n]) - alpha[n]) * tilt[n];
  return gap;
}

}  // namespace widemargin
