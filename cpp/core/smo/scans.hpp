// The two passes over the active variables that an SMO step makes, shared among threads where there are enough
// variables.
//
// The pieces are the same for any number of threads and are combined in order, first position first, so the outcome is
// that of one pass.
#pragma once

#include <array>

#include "core/dual_state.hpp"

namespace widemargin::smo {

template <class Rows>
concept HasTeam = requires(Rows& rows) { rows.team(); };

// Calls pass(first, last) for pieces of the active variables, combine(piece result) in order.
template <class Result, class Rows, class Pass, class Combine>
void scan(std::size_t active, Rows& rows, Pass&& pass, Combine&& combine) {
  constexpr std::size_t most = 8, least_size = 3072;
  if constexpr (HasTeam<Rows>) {
    const std::size_t pieces = std::min(active / least_size, most);
    if (pieces > 1 && rows.team().size() > 1) {
      std::array<Result, most> results;
      const std::size_t size = (active + pieces - 1) / pieces;
      rows.team().share(
          pieces, [&](std::size_t k, std::size_t) { results[k] = pass(k * size, std::min(active, (k + 1) * size)); });
      for (std::size_t k = 0; k < pieces; ++k) combine(results[k], static_cast<std::int64_t>(k * size));
      return;
    }
  }
  combine(pass(0, active), 0);
}

// G <- G - mu (K_i - K_j) and the new maximal violating pair.
template <class Rows>
simd::MaximalViolatingPair update_gradient(StateFor<Rows>& state, Rows& rows, const typename Rows::Value* Ki,
                                           const typename Rows::Value* Kj, double mu) {
  const auto move = simd::ops<typename Rows::Value>().move;
  const std::vector<simd::Flag>&rises = state.rises_of(0), &falls = state.falls_of(0);
  simd::MaximalViolatingPair pair{-std::numeric_limits<double>::infinity(), -1, std::numeric_limits<double>::infinity(),
                                  -1};
  scan<simd::MaximalViolatingPair>(
      state.active, rows,
      [&](std::size_t first, std::size_t last) {
        return move(state.gradient.data() + first, Ki + first, Kj + first, mu, rises.data() + first,
                    falls.data() + first, last - first);
      },
      [&](const simd::MaximalViolatingPair& part, std::int64_t offset) {
        if (part.up > pair.up) pair.up = part.up, pair.i = part.i + offset;
        if (part.down < pair.down) pair.down = part.down, pair.j = part.j + offset;
      });
  if (!state.grouped()) return pair;
  const simd::MaximalViolatingPair other = state.maximal_violating_pair_of_group(1, state.active);
  return violation_of(other) > violation_of(pair) ? other : pair;
}

// The best partner for the variable at position i; `search` is one of the pair searches of simd::Ops, `room` the rooms
// or flags it asks for (of the variables of i's group).
template <class Rows, class Search, class Room>
simd::Partner best_partner(const StateFor<Rows>& state, Rows& rows, Search search, std::size_t i,
                           const std::vector<Room>& room) {
  const typename Rows::Value* row = rows.row(i);
  const simd::Pivot pivot{state.gradient[i], static_cast<double>(rows.diagonal()[i]), state.room_up[i],
                          state.room_down[i]};
  simd::Partner best{-1, -1};
  scan<simd::Partner>(
      state.active, rows,
      [&](std::size_t first, std::size_t last) {
        return search(state.gradient.data() + first, row + first, rows.diagonal() + first, room.data() + first,
                      last - first, pivot);
      },
      [&](const simd::Partner& part, std::int64_t offset) {
        if (part.gain > best.gain) best = {part.gain, part.at + offset};
      });
  return best;
}

}  // namespace widemargin::smo
