// Hybrid maximum gain [Glasmachers2008, Algorithm 6.1]: among all pairs that share a variable with the last working
// set, whose two rows are in the cache, the one with the largest gain of the truncated step. Where both variables of
// the last working set ended in a corner of their box, second-order selection takes over: only there can the related
// pairs hold no violating one (Corollary 6.7).
#pragma once

#include "core/smo/select_second_order.hpp"

namespace widemargin::smo {

struct SelectMaximumGain {
  static constexpr bool ranks_by_truncated_gain = true;
  static constexpr double eta = 1e-8;

  template <class Rows>
  WorkingSet operator()(const DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair,
                        const LastStep& last) const {
    if (!last.recent.empty()) {
      const WorkingSet& B = last.recent.front();
      // Related pairs stay in their group of variables; where the other one violates more, it is that one's turn.
      const bool same_group = state.group_of(B.i) == state.group_of(static_cast<std::size_t>(pair.i));
      if (same_group && (inside(state, B.i) || inside(state, B.j))) {
        const WorkingSet best = best_related(state, rows, B);
        if (is_violating_pair(state, best)) return best;
      }
    }
    return SelectSecondOrder::best_pair(state, rows, pair, false);
  }

 private:
  static bool inside(const DualState& state, std::size_t p) {
    const double width = state.upper[p] - state.lower[p], margin = std::isfinite(width) ? eta * width : 0.0;
    return state.room_up[p] >= margin && state.room_down[p] >= margin && state.free(p);
  }

  template <class Rows>
  static WorkingSet best_related(const DualState& state, Rows& rows, const WorkingSet& B) {
    using T = typename Rows::Value;
    const simd::Ops<T>& ops = simd::ops<T>();
    WorkingSet best{};
    double best_gain = -1;
    for (const std::size_t p : {B.i, B.j}) {
      const simd::Partner below =
          best_partner(state, rows, ops.best_ascending_partner, p, state.room_down_of(state.group_of(p)));
      const simd::Partner above =
          best_partner(state, rows, ops.best_descending_partner, p, state.room_up_of(state.group_of(p)));
      if (below.gain > best_gain) best_gain = below.gain, best = {p, static_cast<std::size_t>(below.at), 0};
      if (above.gain > best_gain) best_gain = above.gain, best = {static_cast<std::size_t>(above.at), p, 0};
    }
    if (best_gain < 0) return best;
    const std::size_t known =
        best.i == B.i || best.i == B.j ? best.i : best.j;  // its row is cached: the other's is not asked for yet
    WorkingSet chosen = with_curvature(rows, known, known == best.i ? best.j : best.i);
    chosen.i = best.i, chosen.j = best.j;
    return chosen;
  }
};

}  // namespace widemargin::smo
