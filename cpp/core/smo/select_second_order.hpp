// i has the largest gradient, j the largest Newton gain with it [Glasmachers2008, eq. 4.7; Fan2005, WSS 2].
#pragma once

#include "core/smo/scans.hpp"
#include "core/smo/working_set.hpp"

namespace widemargin::smo {

struct SelectSecondOrder {
  static constexpr bool ranks_by_truncated_gain = false;

  template <class Rows>
  WorkingSet operator()(const StateFor<Rows>& state, Rows& rows, const simd::Lead& lead, const LastStep& last) const {
    // eta = 0.9 [Glasmachers2008, section 7.1.3]: a planned step this far from Newton's is followed by the exact gain, Algorithm 7.2.
    const bool exact = last.kind == LastStep::Kind::planned && !(last.size_ratio >= 0.1 && last.size_ratio <= 1.9);
    return best_pair(state, rows, lead, exact);
  }

  template <class Rows>
  static WorkingSet best_pair(const StateFor<Rows>& state, Rows& rows, const simd::Lead& lead, bool exact) {
    using T = typename Rows::Value;
    const std::size_t i = static_cast<std::size_t>(lead.up_at);
    const simd::Ops<T>& ops = simd::ops<T>();
    const std::size_t group = state.group_of(i);
    const simd::Partner best = exact ? best_partner(state, rows, ops.best_ascending_partner, i, state.room_down_of(group))
                                     : best_partner(state, rows, ops.best_newton_partner, i, state.falls_of(group));
    return with_curvature(rows, i, static_cast<std::size_t>(best.at >= 0 ? best.at : lead.down_at));
  }
};

}  // namespace widemargin::smo
