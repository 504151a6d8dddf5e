// Feasible points of a problem near a given one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/dual_state.hpp"
#include "core/project.hpp"

namespace widemargin {

// `alpha` is moved into the box and onto the constant sum of each group; true if it had to be moved. The state gives the box only.
inline bool make_feasible(const DualState& state, const std::array<double, 2>& total, std::vector<double>& alpha) {
  bool moved = false;
  for (std::size_t g = 0; g < state.groups(); ++g) {
    std::vector<double> point, lower, upper;
    for (std::size_t p = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g) point.push_back(alpha[p]), lower.push_back(state.whole_lower(p)), upper.push_back(state.whole_upper(p));
    if (!project(point, lower, upper, total[g])) throw std::invalid_argument("the box admits no point whose variables sum to the constant asked for");
    for (std::size_t p = 0, k = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g) moved = moved || alpha[p] != point[k], alpha[p] = point[k++];
  }
  return moved;
}

// Moves a point inside the box onto the constant sums: what is missing goes to the variables with the largest gradients, what is too much is
// taken from those with the smallest. Unlike the nearest feasible point, this one leaves most variables where they are.
inline void balance_by_gradient(const DualState& state, const std::array<double, 2>& total, std::vector<double>& alpha) {
  for (std::size_t g = 0; g < state.groups(); ++g) {
    double missing = total[g], size = std::fabs(total[g]);
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < alpha.size(); ++p)
      if (state.group_of(p) == g) order.push_back(p), missing -= alpha[p], size += std::fabs(alpha[p]);
    if (std::fabs(missing) <= 1e-12 * size) continue;
    const double sign = missing > 0 ? 1 : -1;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sign * state.gradient[a] > sign * state.gradient[b]; });
    for (const std::size_t p : order) {
      const double room = missing > 0 ? state.whole_upper(p) - alpha[p] : state.whole_lower(p) - alpha[p];
      const double by = std::fabs(room) < std::fabs(missing) ? room : missing;
      alpha[p] += by;
      missing -= by;
      if (missing * sign <= 0) break;
    }
  }
}

// Moves any point into the box and onto the constant sums, by the gradient where f has no kinks; else to the nearest such point.
inline void make_feasible_by_gradient(const DualState& state, const std::array<double, 2>& total, std::vector<double>& alpha) {
  if (!state.kinked()) {
    for (std::size_t p = 0; p < alpha.size(); ++p) alpha[p] = std::clamp(alpha[p], state.whole_lower(p), state.whole_upper(p));
    balance_by_gradient(state, total, alpha);
  }
  make_feasible(state, total, alpha);
}

}  // namespace widemargin
