// Where a solve starts: any point, moved into the box and onto the constant sums, with the gradient it has there.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/solve/feasible.hpp"

namespace widemargin {

struct Start {
  std::span<const double> alpha;     // any point; it is moved into the box and onto the constant sums
  std::span<const double> gradient;  // empty, or y - K alpha
};

// The variables that a move changes (by position), and by how much: d in G <- G - K d.
struct Move {
  std::vector<Id> positions;
  std::vector<double> by;

  // Takes the state's variables to `alpha`; its gradient, which is that of the point `from`, is the caller's task.
  Move(DualState& state, const std::vector<double>& alpha, const std::vector<double>& from) {
    for (std::size_t p = 0; p < alpha.size(); ++p) {
      if (alpha[p] != from[p]) positions.push_back(static_cast<Id>(p)), by.push_back(alpha[p] - from[p]);
      if (alpha[p] != state.alpha[p]) state.put(p, alpha[p]);
    }
  }
};

// Starts at the given point: moved into the box, then onto the sums by the gradient it has there, or had before if that
// is known. place(alpha, from) moves the variables from a point whose gradient the state has to another one, and the
// gradient with them.
template <class Place>
void start_from_point(DualState& state, const std::array<double, 2>& total, const Start& start, const Place& place) {
  std::vector<double> alpha(start.alpha.begin(), start.alpha.end());
  if (start.gradient.empty()) {
    for (std::size_t p = 0; p < alpha.size(); ++p)
      alpha[p] = std::clamp(alpha[p], state.whole_lower(p), state.whole_upper(p));
    place(alpha, std::vector<double>(alpha.size(), 0.0));
  } else {
    for (std::size_t p = 0; p < alpha.size(); ++p)
      state.gradient[p] = start.gradient[p] + (state.linear[p] - state.problem.linear[p]);
  }
  const std::vector<double> from = alpha;
  make_feasible_by_gradient(state, total, alpha);
  place(alpha, from);
}

// Starts at 0, or at the feasible point nearest to it.
template <class Place>
void start_from_zero(DualState& state, const std::array<double, 2>& total, const Place& place) {
  bool feasible = total[0] == 0 && total[1] == 0;
  for (std::size_t p = 0; p < state.size() && feasible; ++p)
    feasible = state.whole_lower(p) <= 0 && state.whole_upper(p) >= 0;
  if (feasible) return;
  const std::vector<double> zero(state.size(), 0.0);
  std::vector<double> alpha = zero;
  make_feasible(state, total, alpha);
  place(alpha, zero);
}

}  // namespace widemargin
