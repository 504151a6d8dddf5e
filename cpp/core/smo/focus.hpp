// Focus: shrinking for kernels whose values cost less than passes over the variables do.
//
// Only free variables, and bounded ones that violate by more than a fifth of what the worst do, are worked on. Once the violation among
// them has fallen to `until` times what it was, the gradients of the others are brought up to date, with kernel values computed for the
// purpose, and the next few are chosen. Unlike shrinking, this leaves out variables that do violate; they come back before a solve may end.
// Where many variables are free there is nothing to leave out.
#pragma once

#include <vector>

#include "core/rows/row_sums.hpp"

namespace widemargin::smo {

class Focus {
 public:
  // Whether some variables were chosen, and whether they are as good as they were to become.
  bool engaged() const { return target_ >= 0; }
  bool done(const simd::Lead& lead) const { return violation_of(lead) <= target_; }

  // True if positions changed.
  template <class Rows>
  bool operator()(DualState& state, Rows& rows, const simd::Lead& lead) {
    if (!engaged()) return state.active == state.size() && choose(state, rows, lead);
    if (!done(lead)) return false;
    widen(state, rows);
    choose(state, rows, state.lead());
    return true;
  }

  // All variables become active, with gradients that know of every step.
  template <class Rows>
  void widen(DualState& state, Rows& rows) {
    if (!engaged()) return;
    target_ = disengaged;
    std::vector<Id> ids;
    std::vector<double> by;
    for (std::size_t p = 0; p < state.active; ++p)
      if (state.alpha[p] != start_[p]) ids.push_back(rows.ids()[p]), by.push_back(state.alpha[p] - start_[p]);
    rows.count(subtract_kernel_rows<typename Rows::Value>(rows.source(), ids, by, rows.ids().subspan(state.active), 0,
                                                          state.gradient.data() + state.active, rows.team(), rows.budget()));
    state.activate_all(rows);
    state.cross();
  }

 private:
  static constexpr double share = 0.2, until = 0.3, disengaged = -1;

  template <class Rows>
  bool choose(DualState& state, Rows& rows, const simd::Lead& lead) {
    const double violation = violation_of(lead), middle = 0.5 * (lead.up + lead.down), margin = 0.5 * share * violation;
    std::vector<Id> order, leaving;
    order.reserve(state.size());
    std::size_t free = 0;
    for (std::size_t p = 0; p < state.size(); ++p) {
      const bool up = state.room_up[p] > 0, down = state.room_down[p] > 0;
      free += up && down;
      const bool stays = (up && down) || (up && state.gradient[p] > middle + margin) || (down && state.gradient[p] < middle - margin);
      (stays ? order : leaving).push_back(static_cast<Id>(p));
    }
    const std::size_t active = order.size();
    if (active < 2 || 10 * leaving.size() < 3 * state.size() || 4 * free > state.size()) return false;
    order.insert(order.end(), leaving.begin(), leaving.end());
    rows.reorder(order, active);
    state.permute(order);
    state.active = active;
    start_ = state.alpha;
    target_ = until * violation;
    return true;
  }

  std::vector<double> start_;  // where the variables were when they were chosen
  double target_ = disengaged;
};

}  // namespace widemargin::smo
