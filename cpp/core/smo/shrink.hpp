// Shrinking [Glasmachers2008, section 4.2.5; Joachims1998]: bounded variables whose gradient says they will stay where they are leave
// the active set. They return, with recomputed gradients, before a solve may end (verify.hpp).
#pragma once

#include <vector>

#include "core/dual_state.hpp"

namespace widemargin::smo {

class Shrinking {
 public:
  // True if positions changed. A variable leaves if it could not be part of a violating pair even if the violation were half as large
  // again on its side; and nothing moves unless enough would leave to pay for the reordering.
  template <class Rows>
  bool operator()(DualState& state, Rows& rows, const simd::Lead& lead) const {
    const double slack = 0.5 * violation_of(lead);
    const std::array<simd::Lead, 2> leads = state.grouped() ? state.leads(state.active) : std::array<simd::Lead, 2>{lead, {}};
    std::vector<Id> order, leaving;
    order.reserve(state.size());
    for (std::size_t p = 0; p < state.active; ++p) (stays(state, p, leads[state.group_of(p)], slack) ? order : leaving).push_back(static_cast<Id>(p));
    const std::size_t active = order.size();
    if (active < 2 || 10 * leaving.size() < 3 * state.active) return false;
    order.insert(order.end(), leaving.begin(), leaving.end());
    for (std::size_t p = state.active; p < state.size(); ++p) order.push_back(static_cast<Id>(p));
    rows.reorder(order, active);
    state.permute(order);
    state.active = active;
    return true;
  }

 private:
  static bool stays(const DualState& state, std::size_t p, const simd::Lead& lead, double slack) {
    const bool up = state.room_up[p] > 0, down = state.room_down[p] > 0;
    if (up && down) return true;
    if (up && state.gradient[p] >= lead.down - slack) return true;
    if (down && state.gradient[p] <= lead.up + slack) return true;
    if (!state.at_kink(p)) return false;
    return up ? state.gradient_beyond(p) <= lead.up + slack : state.gradient_beyond(p) >= lead.down - slack;
  }
};

}  // namespace widemargin::smo
