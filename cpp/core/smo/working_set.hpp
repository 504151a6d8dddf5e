// What the parts of an SMO iteration hand to each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::smo {

// B = (i, j): a_i goes up, a_j goes down [Glasmachers2008, section 4.3.1].
struct WorkingSet {
  std::size_t i = 0, j = 0;
  double curvature = 0;  // Q = K_ii - 2 K_ij + K_jj, positive
};

// What the next selection may want to know about the last step.
struct LastStep {
  enum class Kind { none, bounded, free, planned };
  Kind kind = Kind::none;
  double size_ratio = 1;           // mu / Newton step
  std::vector<WorkingSet> recent;  // most recent first

  // eta = 0.9 [Glasmachers2008, section 7.1.3]: after a planned step this far from Newton's the exact gain decides,
  // Algorithm 7.2.
  bool far_from_newton() const { return !(size_ratio >= 0.1 && size_ratio <= 1.9); }
};

template <class N>
double slope(const BasicDualState<N>& state, const WorkingSet& B) {
  return static_cast<double>(state.gradient[B.i]) - static_cast<double>(state.gradient[B.j]);
}

template <class N>
double newton_step(const BasicDualState<N>& state, const WorkingSet& B) {
  return slope(state, B) / B.curvature;
}

// [L, U] of a step along v_B [Glasmachers2008, section 4.3.3]
template <class N>
double longest_step(const BasicDualState<N>& state, const WorkingSet& B) {
  return std::min(state.room_up[B.i], state.room_down[B.j]);
}
template <class N>
double shortest_step(const BasicDualState<N>& state, const WorkingSet& B) {
  return -std::min(state.room_down[B.i], state.room_up[B.j]);
}

// eq. 4.6 without its factor 1/2
template <class N>
double newton_gain(const BasicDualState<N>& state, const WorkingSet& B) {
  const double l = slope(state, B);
  return l * l / B.curvature;
}

// g_B: the gain of the truncated step
template <class N>
double truncated_gain(const BasicDualState<N>& state, const WorkingSet& B) {
  const double l = slope(state, B), mu = std::min(l / B.curvature, longest_step(state, B));
  return mu * (l - 0.5 * B.curvature * mu);
}

template <class N>
bool is_violating_pair(const BasicDualState<N>& state, const WorkingSet& B) {
  return B.i < state.active && B.j < state.active && longest_step(state, B) > 0 && slope(state, B) > 0;
}

// A pair without any curvature goes as far as its box allows: duplicates, mostly.
template <class Rows>
WorkingSet with_curvature(Rows& rows, std::size_t i, std::size_t j) {
  const double q = static_cast<double>(rows.diagonal()[i]) + static_cast<double>(rows.diagonal()[j]) -
                   2.0 * static_cast<double>(rows.row(i)[j]);
  if (q <= 0) return {i, j, std::numeric_limits<double>::min()};
  return {i, j,
          std::max<double>(
              q, simd::least_curvature<simd::Real<typename Rows::Value>>(static_cast<double>(rows.diagonal()[i])))};
}

}  // namespace widemargin::smo
