// i has the largest gradient, j the largest Newton gain with it [Glasmachers2008, eq. 4.7; Fan2005, WSS 2].
#pragma once

#include "core/smo/scans.hpp"
#include "core/smo/working_set.hpp"

namespace widemargin::smo {

struct SelectSecondOrder {
  static constexpr bool ranks_by_truncated_gain = false;

  template <class Rows>
  WorkingSet operator()(const StateFor<Rows>& state, Rows& rows, const simd::MaximalViolatingPair& pair,
                        const LastStep& last) const {
    const bool exact = last.kind == LastStep::Kind::planned && last.far_from_newton();
    return best_pair(state, rows, pair, exact);
  }

  template <class Rows>
  static WorkingSet best_pair(const StateFor<Rows>& state, Rows& rows, const simd::MaximalViolatingPair& pair,
                              bool exact) {
    using T = typename Rows::Value;
    const std::size_t i = static_cast<std::size_t>(pair.i);
    const simd::Ops<T>& ops = simd::ops<T>();
    const std::size_t group = state.group_of(i);
    const simd::Partner best = exact
                                   ? best_partner(state, rows, ops.best_ascending_partner, i, state.room_down_of(group))
                                   : best_partner(state, rows, ops.best_newton_partner, i, state.falls_of(group));
    return with_curvature(rows, i, static_cast<std::size_t>(best.at >= 0 ? best.at : pair.j));
  }
};

}  // namespace widemargin::smo
