// What the parts of an SMO iteration hand to each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "core/dual_state.hpp"

namespace widemargin::smo {

// B = (i, j): a_i goes up, a_j goes down [Glasmachers2008, section 4.3.1].
struct WorkingSet {
  std::size_t i = 0, j = 0;
  double curvature = 0;  // Q = K_ii - 2 K_ij + K_jj, at least simd::least_curvature
};

// What the next selection may want to know about the last step.
struct LastStep {
  enum class Kind { none, bounded, free, planned };
  Kind kind = Kind::none;
  double size_ratio = 1;           // mu / Newton step
  std::deque<WorkingSet> recent;   // most recent first
};

inline double slope(const DualState& state, const WorkingSet& B) { return state.gradient[B.i] - state.gradient[B.j]; }

inline double newton_step(const DualState& state, const WorkingSet& B) { return slope(state, B) / B.curvature; }

// [L, U] of a step along v_B [Glasmachers2008, section 4.3.3]
inline double longest_step(const DualState& state, const WorkingSet& B) { return std::min(state.room_up[B.i], state.room_down[B.j]); }
inline double shortest_step(const DualState& state, const WorkingSet& B) { return -std::min(state.room_down[B.i], state.room_up[B.j]); }

// eq. 4.6 without its factor 1/2
inline double newton_gain(const DualState& state, const WorkingSet& B) {
  const double l = slope(state, B);
  return l * l / B.curvature;
}

// g_B: the gain of the truncated step
inline double truncated_gain(const DualState& state, const WorkingSet& B) {
  const double l = slope(state, B), mu = std::min(l / B.curvature, longest_step(state, B));
  return mu * (l - 0.5 * B.curvature * mu);
}

inline bool violating(const DualState& state, const WorkingSet& B) {
  return B.i < state.active && B.j < state.active && longest_step(state, B) > 0 && slope(state, B) > 0;
}

template <class Rows>
WorkingSet with_curvature(Rows& rows, std::size_t i, std::size_t j) {
  const double q = static_cast<double>(rows.diagonal()[i]) + static_cast<double>(rows.diagonal()[j]) - 2.0 * static_cast<double>(rows.row(i)[j]);
  return {i, j, std::max(q, simd::least_curvature)};
}

}  // namespace widemargin::smo
