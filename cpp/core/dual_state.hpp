// The state of a solve: signed variables, gradient, and what the box leaves them, in the order of the active set.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/dual_problem.hpp"
#include "core/rows/row_source.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

struct DualState {
  std::vector<double> alpha, gradient, linear, lower, upper;
  std::vector<double> room_up, room_down;  // U - a and a - L: what a step may use; 0 means at the bound
  std::vector<Id> variable;                // position -> variable of the problem
  std::size_t active = 0;                  // positions [0, active) are worked on

  DualState() = default;
  explicit DualState(const DualProblem& problem)
      : alpha(problem.size(), 0.0),
        gradient(problem.linear.begin(), problem.linear.end()),
        linear(problem.linear.begin(), problem.linear.end()),
        lower(problem.lower.begin(), problem.lower.end()),
        upper(problem.upper.begin(), problem.upper.end()),
        room_up(problem.size()),
        room_down(problem.size()),
        variable(problem.size()),
        active(problem.size()) {
    for (std::size_t p = 0; p < size(); ++p) variable[p] = static_cast<Id>(p), set_room(p);
  }

  std::size_t size() const { return alpha.size(); }

  void set_alpha(std::size_t p, double value) {
    alpha[p] = value;
    set_room(p);
  }

  void set_room(std::size_t p) {
    room_up[p] = upper[p] - alpha[p];
    room_down[p] = alpha[p] - lower[p];
    assert(room_up[p] >= 0 && room_down[p] >= 0);
  }

  // Puts variables that are one unit in the last place off a bound on it: the end of a solve, where such remainders only mislead.
  void tidy_up() {
    for (std::size_t p = 0; p < size(); ++p) {
      const double unit = 1e-15 * std::max(std::fabs(lower[p]), std::fabs(upper[p]));
      if (room_down[p] <= unit && std::isfinite(lower[p])) set_alpha(p, lower[p]);
      if (room_up[p] <= unit && std::isfinite(upper[p])) set_alpha(p, upper[p]);
    }
  }

  bool free(std::size_t p) const { return room_up[p] > 0 && room_down[p] > 0; }

  // a <- a + mu (e_i - e_j); a step that uses up a room ends exactly on the bound
  void step(std::size_t i, std::size_t j, double mu) {
    set_alpha(i, mu >= room_up[i] ? upper[i] : -mu >= room_down[i] ? lower[i] : alpha[i] + mu);
    set_alpha(j, mu >= room_down[j] ? lower[j] : -mu >= room_up[j] ? upper[j] : alpha[j] - mu);
  }

  simd::Lead lead() const { return simd::lead(gradient.data(), room_up.data(), room_down.data(), active); }

  // Position p takes what stood at order[p].
  void permute(std::span<const Id> order) {
    std::vector<double> moved(size());
    for (std::vector<double>* values : {&alpha, &gradient, &linear, &lower, &upper, &room_up, &room_down}) {
      for (std::size_t p = 0; p < size(); ++p) moved[p] = (*values)[static_cast<std::size_t>(order[p])];
      values->swap(moved);
    }
    std::vector<Id> ids(size());
    for (std::size_t p = 0; p < size(); ++p) ids[p] = variable[static_cast<std::size_t>(order[p])];
    variable.swap(ids);
  }
};

// [Glasmachers2008, section 4.2.4]: 0 at an optimal point.
inline double violation_of(const simd::Lead& lead) {
  return lead.up_at < 0 || lead.down_at < 0 ? 0.0 : std::max(0.0, lead.up - lead.down);
}

}  // namespace widemargin
