// Aggressive shrinking, for kernels whose values cost less than passes over the variables do.
//
// Only free variables, and bounded ones that violate by more than a fifth of the maximal violation, stay active. Once
// the violation among them has fallen to `until` times what it was, the gradients of the others are brought up to date,
// with kernel values computed for the purpose, and the next active set is chosen. Unlike standard shrinking
// (shrink.hpp), this leaves out variables that do violate; they come back before a solve may end. Where many variables
// are free there is nothing to leave out.
#pragma once

#include <utility>
#include <vector>

#include "core/dual_state.hpp"
#include "core/rows/row_sums.hpp"

namespace widemargin::smo {

class AggressiveShrinking {
 public:
  // Whether variables were left out, and whether those that were not have become as good as they were to.
  bool shrunk() const { return target_ >= 0; }
  bool done(const simd::MaximalViolatingPair& pair) const { return violation_of(pair) <= target_; }

  // True if positions changed.
  template <class Rows>
  bool operator()(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    if (!shrunk()) return state.active == state.size() && choose(state, rows, pair);
    if (!done(pair)) return false;
    unshrink(state, rows);
    choose(state, rows, state.maximal_violating_pair());
    return true;
  }

  // All variables become active, with gradients that know of every step.
  template <class Rows>
  void unshrink(DualState& state, Rows& rows) {
    if (!shrunk()) return;
    target_ = not_shrunk;
    std::vector<Id> ids;
    std::vector<double> by;
    for (std::size_t p = 0; p < state.active; ++p)
      if (state.alpha[p] != start_[p]) ids.push_back(rows.ids()[p]), by.push_back(state.alpha[p] - start_[p]);
    rows.count(subtract_kernel_rows<typename Rows::Value>(rows.source(), ids, by, rows.ids().subspan(state.active), 0,
                                                          state.gradient.data() + state.active, rows.team(),
                                                          rows.budget()));
    state.activate_all(rows);
    state.cross_kinks();
  }

 private:
  static constexpr double share = 0.2, until = 0.3, not_shrunk = -1;

  template <class Rows>
  bool choose(DualState& state, Rows& rows, const simd::MaximalViolatingPair& pair) {
    const double violation = violation_of(pair), middle = 0.5 * (pair.up + pair.down), margin = 0.5 * share * violation;
    std::vector<Id> staying, leaving;
    staying.reserve(state.size());
    std::size_t free = 0;
    for (std::size_t p = 0; p < state.size(); ++p) {
      free += state.free(p);
      (state.free_or_violating(p, state.gradient[p] - middle, margin) ? staying : leaving)
          .push_back(static_cast<Id>(p));
    }
    if (staying.size() < 2 || 10 * leaving.size() < 3 * state.size() || 4 * free > state.size()) return false;
    state.shrink_to(std::move(staying), leaving, rows);
    start_ = state.alpha;
    target_ = until * violation;
    return true;
  }

  std::vector<double> start_;  // where the variables were when they were chosen
  double target_ = not_shrunk;
};

}  // namespace widemargin::smo
