// Shrinking [Glasmachers2008, section 4.2.5; Joachims1998]: bounded variables whose gradient says they will stay where
// they are leave the active set. They return, with recomputed gradients, before a solve may end (verify.hpp).
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::smo {

class Shrinking {
 public:
  // True if positions changed. A variable leaves if it could not be part of a violating pair even if the violation were
  // half as large again on its side; and nothing moves unless enough would leave to pay for the reordering.
  template <class Rows>
  bool operator()(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) const {
    const double slack = 0.5 * violation_of(pair);
    const std::array<simd::MaximalViolatingPair, 2> pairs = state.grouped()
                                                                ? state.maximal_violating_pairs(state.active)
                                                                : std::array<simd::MaximalViolatingPair, 2>{pair, {}};
    std::vector<Id> staying, leaving;
    staying.reserve(state.size());
    for (std::size_t p = 0; p < state.active; ++p)
      (stays(state, p, pairs[state.group_of(p)], slack) ? staying : leaving).push_back(static_cast<Id>(p));
    if (staying.size() < 2 || 10 * leaving.size() < 3 * state.active) return false;
    state.shrink_to(std::move(staying), leaving, rows);
    return true;
  }

 private:
  static bool stays(const DualState& state, std::size_t p, const simd::MaximalViolatingPair& pair, double slack) {
    const bool up = state.room_up[p] > 0, down = state.room_down[p] > 0;
    if (up && down) return true;
    if (up && state.gradient[p] >= pair.down - slack) return true;
    if (down && state.gradient[p] <= pair.up + slack) return true;
    if (!state.at_kink(p)) return false;
    return up ? state.gradient_beyond(p) <= pair.up + slack : state.gradient_beyond(p) >= pair.down - slack;
  }
};

}  // namespace widemargin::smo
