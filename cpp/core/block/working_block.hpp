// The working set of the next iteration of block decomposition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::block {

class WorkingBlock {
 public:
  WorkingBlock(std::size_t variables, std::size_t size) : size_(size), chosen_(variables, 0) {}

  // Up to half of it are variables of the last block that are still free; the rest are those that violate most, from
  // both ends. Bounded variables are not kept for their own sake: those that still violate come back as such.
  const std::vector<Id>& choose(const DualState& state, const simd::MaximalViolatingPair& pair, double tolerance) {
    positions_.clear();
    keep_from_last(state);
    last_.clear();
    collect(state, pair, tolerance);
    const std::size_t half = (size_ - positions_.size()) / 2;
    take(up_, half, state);
    take(down_, size_ - positions_.size(), state);
    take(up_, size_ - positions_.size(), state);
    std::sort(positions_.begin(), positions_.end());
    for (const Id p : positions_) {
      const Id v = state.variable[static_cast<std::size_t>(p)];
      chosen_[static_cast<std::size_t>(v)] = 0;
      last_.push_back(v);
    }
    return positions_;
  }

 private:
  struct Candidate {
    double key;
    Id position;
    // Equal candidates (all of them, at the start) are taken from all over the data, in an order as good as random.
    std::uint32_t scattered() const { return static_cast<std::uint32_t>(position) * 2654435761u; }
    bool operator<(const Candidate& other) const {
      return key != other.key ? key < other.key : scattered() < other.scattered();
    }
  };

  void keep_from_last(const DualState& state) {
    for (const Id v : last_) chosen_[static_cast<std::size_t>(v)] = 1;
    for (std::size_t p = 0; p < state.active && positions_.size() < size_ / 2; ++p)
      if (chosen_[static_cast<std::size_t>(state.variable[p])] != 0 && state.free(p))
        positions_.push_back(static_cast<Id>(p));
    for (const Id v : last_) chosen_[static_cast<std::size_t>(v)] = 0;
    for (const Id p : positions_) chosen_[static_cast<std::size_t>(state.variable[static_cast<std::size_t>(p)])] = 1;
  }

  void collect(const DualState& state, const simd::MaximalViolatingPair& pair, double tolerance) {
    up_.clear(), down_.clear();
    const std::array<simd::MaximalViolatingPair, 2> pairs = state.grouped()
                                                                ? state.maximal_violating_pairs(state.active)
                                                                : std::array<simd::MaximalViolatingPair, 2>{pair, {}};
    for (std::size_t p = 0; p < state.active; ++p) {
      const simd::MaximalViolatingPair& own = pairs[state.group_of(p)];
      const double above = state.gradient[p] - own.down, below = own.up - state.gradient[p];
      if (state.room_up[p] > 0 && above > tolerance) up_.push_back({-above, static_cast<Id>(p)});
      if (state.room_down[p] > 0 && below > tolerance) down_.push_back({-below, static_cast<Id>(p)});
    }
    for (std::vector<Candidate>* side : {&up_, &down_}) {
      const std::size_t most = std::min(side->size(), 2 * size_);
      std::nth_element(side->begin(), side->begin() + static_cast<std::ptrdiff_t>(most), side->end());
      side->resize(most);
      std::sort(side->begin(), side->end());
    }
  }

  void take(const std::vector<Candidate>& side, std::size_t count, const DualState& state) {
    for (const Candidate& candidate : side) {
      if (count == 0) return;
      std::uint8_t& mark =
          chosen_[static_cast<std::size_t>(state.variable[static_cast<std::size_t>(candidate.position)])];
      if (mark != 0) continue;
      mark = 1;
      positions_.push_back(candidate.position);
      --count;
    }
  }

  std::size_t size_;
  std::vector<std::uint8_t> chosen_;  // by variable
  std::vector<Id> positions_, last_;  // last_ holds variables: positions change when the problem shrinks
  std::vector<Candidate> up_, down_;
};

}  // namespace widemargin::block
