// The state of a solve: signed variables, gradient, and what the box leaves them, in the order of the active set.
//
// Where f has a kink at 0, a variable is on one of its two sides. Box, linear term and gradient are those of that side,
// so that solvers see smooth functions only; a variable at 0 may change sides (cross_kinks).
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "core/dual_problem.hpp"
#include "core/rows/row_source.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

// [Glasmachers2008, section 4.2.4]: 0 at an optimal point. NaN is never optimal.
inline double violation_of(const simd::MaximalViolatingPair& pair) {
  if (pair.i < 0 || pair.j < 0) return 0.0;
  const double violation = pair.up - pair.down;
  return violation > 0 ? violation : violation <= 0 ? 0.0 : std::numeric_limits<double>::infinity();
}

// N is the type of gradients: double, or float for a part of a problem that is solved on fractions.
template <class N>
struct BasicDualState {
  // The room that the box leaves to variables: U - a and a - L; 0 means at the bound.
  struct Rooms {
    std::vector<double> up, down;
    std::vector<simd::Flag> rises, falls;  // whether there is any
  };

  DualProblem problem;
  std::vector<double> alpha, linear, lower, upper;
  std::vector<N> gradient;
  std::vector<double> room_up, room_down;
  std::vector<simd::Flag> rises, falls;
  std::vector<std::uint8_t> group;      // empty: one sum is constant; else steps stay within a group
  std::array<Rooms, 2> rooms_of_group;  // with groups: the rooms of one, 0 for the other
  std::vector<Id> variable;             // position -> variable of the problem
  std::size_t active = 0;               // positions [0, active) are worked on
  // No coefficient of a problem that has a solution gets this large (solve/coefficient_bound.hpp).
  double coefficient_bound = std::numeric_limits<double>::infinity();

  BasicDualState() = default;
  explicit BasicDualState(const DualProblem& problem) { restart(problem); }

  // All variables at 0, with the gradient there, in memory that is there already where it suffices.
  void restart(const DualProblem& own) {
    problem = own;
    alpha.assign(own.size(), 0.0);
    linear.assign(own.linear.begin(), own.linear.end());
    lower.assign(own.lower.begin(), own.lower.end());
    upper.assign(own.upper.begin(), own.upper.end());
    gradient.assign(own.linear.begin(), own.linear.end());
    group.assign(own.group.begin(), own.group.end());
    variable.resize(own.size());
    for (std::size_t p = 0; p < size(); ++p) variable[p] = static_cast<Id>(p);
    resize_rooms();
    active = size();
    if (!kinked()) return;
    const double middle =
        std::accumulate(linear.begin(), linear.end(), 0.0) / static_cast<double>(std::max<std::size_t>(size(), 1));
    for (std::size_t p = 0; p < size(); ++p) take_side(p, linear[p] > middle);
  }

  std::size_t size() const { return alpha.size(); }
  bool kinked() const { return !problem.kink.empty(); }
  bool grouped() const { return !group.empty(); }
  std::size_t groups() const { return grouped() ? 2 : 1; }
  std::size_t group_of(std::size_t p) const { return grouped() ? group[p] : 0; }
  const std::vector<double>& room_up_of(std::size_t g) const { return grouped() ? rooms_of_group[g].up : room_up; }
  const std::vector<double>& room_down_of(std::size_t g) const {
    return grouped() ? rooms_of_group[g].down : room_down;
  }
  const std::vector<simd::Flag>& rises_of(std::size_t g) const { return grouped() ? rooms_of_group[g].rises : rises; }
  const std::vector<simd::Flag>& falls_of(std::size_t g) const { return grouped() ? rooms_of_group[g].falls : falls; }

  // After alpha, lower, upper or group were replaced as a whole.
  void resize_rooms() {
    room_up.resize(size()), room_down.resize(size()), rises.resize(size()), falls.resize(size());
    const std::size_t of_group = grouped() ? size() : 0;
    for (Rooms& rooms : rooms_of_group) {
      rooms.up.assign(of_group, 0.0), rooms.down.assign(of_group, 0.0);
      rooms.rises.assign(of_group, 0), rooms.falls.assign(of_group, 0);
    }
    if (grouped()) {
      for (std::size_t p = 0; p < size(); ++p) set_room(p);
      return;
    }
    // All at once, a kind after the other: the same as above, for the compiler to see.
    for (std::size_t p = 0; p < size(); ++p) room_up[p] = upper[p] - alpha[p], room_down[p] = alpha[p] - lower[p];
    for (std::size_t p = 0; p < size(); ++p) rises[p] = room_up[p] > 0 ? -1 : 0, falls[p] = room_down[p] > 0 ? -1 : 0;
  }

  void set_alpha(std::size_t p, double value) {
    alpha[p] = value;
    set_room(p);
  }

  void set_room(std::size_t p) {
    room_up[p] = upper[p] - alpha[p];
    room_down[p] = alpha[p] - lower[p];
    assert(room_up[p] >= 0 && room_down[p] >= 0);
    rises[p] = room_up[p] > 0 ? -1 : 0;
    falls[p] = room_down[p] > 0 ? -1 : 0;
    if (!grouped()) return;
    Rooms& rooms = rooms_of_group[group[p]];
    rooms.up[p] = room_up[p], rooms.down[p] = room_down[p], rooms.rises[p] = rises[p], rooms.falls[p] = falls[p];
  }

  // The box and the gradient on both sides together: those of the smooth part of f.
  double whole_lower(std::size_t p) const { return kinked() ? problem.lower[index(p)] : lower[p]; }
  double whole_upper(std::size_t p) const { return kinked() ? problem.upper[index(p)] : upper[p]; }
  double kink(std::size_t p) const { return kinked() ? problem.kink[index(p)] : 0.0; }
  double smooth_gradient(std::size_t p) const {
    return kinked() ? gradient[p] + (problem.linear[index(p)] - linear[p]) : gradient[p];
  }

  // A side that consists of 0 alone is no place to be: above() could not tell it from the other. A kink of 0 has no
  // sides.
  bool above(std::size_t p) const { return upper[p] > 0; }
  void take_side(std::size_t p, bool above) {
    const std::size_t v = index(p);
    if (problem.kink[v] == 0) return;
    if (problem.lower[v] == 0 || problem.upper[v] == 0) above = problem.upper[v] > 0;
    const double side = problem.linear[v] + (above ? -problem.kink[v] : problem.kink[v]);
    gradient[p] = static_cast<N>(gradient[p] + (side - linear[p]));
    linear[p] = side;
    lower[p] = above ? 0.0 : problem.lower[v];
    upper[p] = above ? problem.upper[v] : 0.0;
    set_room(p);
  }

  // The value of a variable, on whichever side of its kink.
  void put(std::size_t p, double value) {
    alpha[p] = value;
    if (kinked() && value != 0) take_side(p, value > 0);
    set_room(p);
  }

  // A variable that could leave the kink on the other side too: what its gradient would be there.
  bool at_kink(std::size_t p) const {
    if (!kinked() || alpha[p] != 0 || problem.kink[index(p)] == 0) return false;
    return above(p) ? problem.lower[index(p)] < 0 : problem.upper[index(p)] > 0;
  }
  double gradient_beyond(std::size_t p) const { return gradient[p] + (above(p) ? 2 : -2) * problem.kink[index(p)]; }

  // Active variables at a kink take the side on which they violate, if any. True if one changed sides. Afterwards the
  // violation of the sides taken is that of all: both its ends lie beyond the middle that decides.
  bool cross_kinks() {
    if (!kinked()) return false;
    const simd::MaximalViolatingPair taken = maximal_violating_pair();
    double up = taken.up, down = taken.down;
    for (std::size_t p = 0; p < active; ++p) {
      if (!at_kink(p)) continue;
      if (above(p))
        down = std::min(down, gradient_beyond(p));
      else
        up = std::max(up, gradient_beyond(p));
    }
    const double middle = std::isinf(up) ? down : std::isinf(down) ? up : 0.5 * (up + down);
    bool crossed = false;
    for (std::size_t p = 0; p < active; ++p) {
      if (!at_kink(p)) continue;
      const bool was_above = above(p);
      if (was_above ? gradient_beyond(p) >= middle : gradient_beyond(p) <= middle) continue;
      take_side(p, !was_above);
      crossed = true;
    }
    return crossed;
  }

  bool free(std::size_t p) const { return room_up[p] > 0 && room_down[p] > 0; }

  // Whether a variable is worth working on: it is free, or bounded with a gradient so far `above` the intercept (below:
  // negative) that moving it into the box gains. Without branches, which would be guessed wrong.
  bool free_or_violating(std::size_t p, double above, double margin) const {
    const bool up = rises[p] != 0, down = falls[p] != 0;
    return (up & down) | (up & (above > margin)) | (down & (-above > margin));
  }

  // The value of a variable that moves: exactly on the bound where that uses up its room, or leaves nothing of it but
  // rounding. Rounding is measured by what the variable was and by what it moves, never by a bound, which may be far
  // away.
  double moved(std::size_t p, double by) const {
    const double rounding = 8 * std::numeric_limits<double>::epsilon() * (std::fabs(alpha[p]) + std::fabs(by));
    if (by > 0 && by >= room_up[p] - rounding) return upper[p];
    if (by < 0 && -by >= room_down[p] - rounding) return lower[p];
    return alpha[p] + by;
  }

  // a <- a + mu (e_i - e_j)
  void step(std::size_t i, std::size_t j, double mu) {
    set_alpha(i, moved(i, mu));
    set_alpha(j, moved(j, -mu));
  }

  // That of one group, among the first `count` variables.
  simd::MaximalViolatingPair maximal_violating_pair_of_group(std::size_t g, std::size_t count) const {
    return simd::ops<std::conditional_t<std::is_same_v<N, float>, simd::Fraction, double>>().maximal_violating_pair(
        gradient.data(), rises_of(g).data(), falls_of(g).data(), count);
  }
  // That of the group that violates most.
  simd::MaximalViolatingPair maximal_violating_pair(std::size_t count) const {
    const simd::MaximalViolatingPair first = maximal_violating_pair_of_group(0, count);
    if (!grouped()) return first;
    const simd::MaximalViolatingPair second = maximal_violating_pair_of_group(1, count);
    return violation_of(second) > violation_of(first) ? second : first;
  }
  simd::MaximalViolatingPair maximal_violating_pair() const { return maximal_violating_pair(active); }

  // Those of all groups, for decisions about single variables.
  std::array<simd::MaximalViolatingPair, 2> maximal_violating_pairs(std::size_t count) const {
    return {maximal_violating_pair_of_group(0, count),
            grouped() ? maximal_violating_pair_of_group(1, count) : simd::MaximalViolatingPair{}};
  }

  // Of the active variables only those at the positions `staying` remain active, in this order; the rows follow.
  template <class Rows>
  void shrink_to(std::vector<Id> staying, const std::vector<Id>& leaving, Rows& rows) {
    const std::size_t remaining = staying.size();
    staying.insert(staying.end(), leaving.begin(), leaving.end());
    for (std::size_t p = active; p < size(); ++p) staying.push_back(static_cast<Id>(p));
    rows.reorder(staying, remaining);
    permute(staying);
    active = remaining;
  }

  // All variables become active, and the rows follow.
  template <class Rows>
  void activate_all(Rows& rows) {
    if (active == size()) return;
    std::vector<Id> order(size());
    std::iota(order.begin(), order.end(), Id{0});
    active = size();
    rows.reorder(order, active);
  }

  // Position p takes what stood at order[p].
  void permute(std::span<const Id> order) {
    const auto permute_all = [&](auto&... vectors) { (..., widemargin::permute(vectors, order)); };
    permute_all(alpha, gradient, linear, lower, upper, variable, group);
    resize_rooms();
  }

 private:
  std::size_t index(std::size_t p) const { return static_cast<std::size_t>(variable[p]); }
};

using DualState = BasicDualState<double>;

// The state that goes with rows of a kernel.
template <class Rows>
using StateFor = BasicDualState<simd::Slope<typename Rows::Value>>;

}  // namespace widemargin
