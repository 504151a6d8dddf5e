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

// [Glasmachers2008, section 4.2.4]: 0 at an optimal point.
inline double violation_of(const simd::Lead& lead) {
  return lead.up_at < 0 || lead.down_at < 0 ? 0.0 : std::max(0.0, lead.up - lead.down);
}

struct DualState {
  // What the box leaves to variables: U - a and a - L; 0 means at the bound.
  struct Rooms {
    std::vector<double> up, down;
  };

  std::vector<double> alpha, gradient, linear, lower, upper;
  std::vector<double> room_up, room_down;
  std::vector<std::uint8_t> group;         // empty: one sum is constant; else steps stay within a group
  std::array<Rooms, 2> rooms_of_group;     // with groups: the rooms of one, 0 for the other
  std::vector<Id> variable;                // position -> variable of the problem
  std::size_t active = 0;                  // positions [0, active) are worked on

  DualState() = default;
  explicit DualState(const DualProblem& problem)
      : alpha(problem.size(), 0.0),
        gradient(problem.linear.begin(), problem.linear.end()),
        linear(problem.linear.begin(), problem.linear.end()),
        lower(problem.lower.begin(), problem.lower.end()),
        upper(problem.upper.begin(), problem.upper.end()),
        group(problem.group.begin(), problem.group.end()),
        variable(problem.size()) {
    for (std::size_t p = 0; p < size(); ++p) variable[p] = static_cast<Id>(p);
    resize_rooms();
    active = size();
  }

  std::size_t size() const { return alpha.size(); }
  bool grouped() const { return !group.empty(); }
  std::size_t groups() const { return grouped() ? 2 : 1; }
  std::size_t group_of(std::size_t p) const { return grouped() ? group[p] : 0; }
  const std::vector<double>& room_up_of(std::size_t g) const { return grouped() ? rooms_of_group[g].up : room_up; }
  const std::vector<double>& room_down_of(std::size_t g) const { return grouped() ? rooms_of_group[g].down : room_down; }

  // After alpha, lower, upper or group were replaced as a whole.
  void resize_rooms() {
    room_up.resize(size()), room_down.resize(size());
    for (Rooms& rooms : rooms_of_group) rooms.up.assign(grouped() ? size() : 0, 0.0), rooms.down.assign(grouped() ? size() : 0, 0.0);
    for (std::size_t p = 0; p < size(); ++p) set_room(p);
  }

  void set_alpha(std::size_t p, double value) {
    alpha[p] = value;
    set_room(p);
  }

  void set_room(std::size_t p) {
    room_up[p] = upper[p] - alpha[p];
    room_down[p] = alpha[p] - lower[p];
    assert(room_up[p] >= 0 && room_down[p] >= 0);
    if (grouped()) rooms_of_group[group[p]].up[p] = room_up[p], rooms_of_group[group[p]].down[p] = room_down[p];
  }

  // The unit in the last place of a variable: of its bounds, or of itself where they are infinite.
  double unit(std::size_t p) const {
    const double magnitude = std::max(std::isfinite(lower[p]) ? std::fabs(lower[p]) : 0.0, std::isfinite(upper[p]) ? std::fabs(upper[p]) : 0.0);
    return 1e-15 * std::max(magnitude, std::isfinite(upper[p] - lower[p]) ? 0.0 : std::fabs(alpha[p]));
  }

  // Puts variables that are one unit in the last place off a bound on it: the end of a solve, where such remainders only mislead.
  void tidy_up() {
    for (std::size_t p = 0; p < size(); ++p) {
      if (room_down[p] <= unit(p) && std::isfinite(lower[p])) set_alpha(p, lower[p]);
      if (room_up[p] <= unit(p) && std::isfinite(upper[p])) set_alpha(p, upper[p]);
    }
  }

  bool free(std::size_t p) const { return room_up[p] > 0 && room_down[p] > 0; }

  // a <- a + mu (e_i - e_j); a step that uses up a room ends exactly on the bound
  void step(std::size_t i, std::size_t j, double mu) {
    set_alpha(i, mu >= room_up[i] ? upper[i] : -mu >= room_down[i] ? lower[i] : alpha[i] + mu);
    set_alpha(j, mu >= room_down[j] ? lower[j] : -mu >= room_up[j] ? upper[j] : alpha[j] - mu);
  }

  // The two ends of one group's violation among the first `count` variables.
  simd::Lead lead_of_group(std::size_t g, std::size_t count) const {
    return simd::lead(gradient.data(), room_up_of(g).data(), room_down_of(g).data(), count);
  }
  // Those of the group that violates most.
  simd::Lead lead(std::size_t count) const {
    const simd::Lead first = lead_of_group(0, count);
    if (!grouped()) return first;
    const simd::Lead second = lead_of_group(1, count);
    return violation_of(second) > violation_of(first) ? second : first;
  }
  simd::Lead lead() const { return lead(active); }

  // Of every group, for decisions about single variables.
  std::array<simd::Lead, 2> leads(std::size_t count) const {
    return {lead_of_group(0, count), grouped() ? lead_of_group(1, count) : simd::Lead{}};
  }

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
    if (!grouped()) return;
    std::vector<std::uint8_t> groups(size());
    for (std::size_t p = 0; p < size(); ++p) groups[p] = group[static_cast<std::size_t>(order[p])];
    group.swap(groups);
    resize_rooms();
  }
};

}  // namespace widemargin
