// The feasible point of a problem nearest to a given one.
#pragma once

#include <array>
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

}  // namespace widemargin
