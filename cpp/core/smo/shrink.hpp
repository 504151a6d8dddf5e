// Shrinking [Glasmachers2008, section 4.2.5; Joachims1998]: bounded variables whose gradient says they will stay where they are leave
// the active set; before a solve may end all return, with gradients recomputed from the support vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/gradient.hpp"

namespace widemargin::smo {

class NoShrinking {
 public:
  template <class Rows>
  bool after_step(DualState&, Rows&, const simd::Lead&, double) {
    return false;
  }
  template <class Rows>
  bool shrink(DualState&, Rows&, const simd::Lead&, double) {
    return false;
  }
  template <class Rows>
  bool restore(DualState&, Rows&) {
    return false;
  }
};

class Shrinking {
 public:
  Shrinking(std::size_t size, double tolerance) : every_(std::min<std::size_t>(size, 1000)), left_(every_), tolerance_(tolerance) {}

  // True if positions changed. `work` steps between two looks; the outer loop of the block solver counts its rounds instead.
  template <class Rows>
  bool after_step(DualState& state, Rows& rows, const simd::Lead& lead, double violation) {
    if (--left_ > 0) return false;
    left_ = every_;
    return shrink(state, rows, lead, violation);
  }

  template <class Rows>
  bool shrink(DualState& state, Rows& rows, const simd::Lead& lead, double violation) {
    bool changed = false;
    simd::Lead now = lead;
    if (!looked_again_ && violation <= 10 * tolerance_) {  // close to the end: what left too early comes back once
      looked_again_ = true;
      changed = restore(state, rows);
      now = state.lead();
    }
    std::vector<Id> order;
    order.reserve(state.size());
    for (std::size_t p = 0; p < state.active; ++p)
      if (stays(state, p, now)) order.push_back(static_cast<Id>(p));
    const std::size_t active = order.size();
    if (active == state.active || active < 2) return changed;
    for (std::size_t p = 0; p < state.active; ++p)
      if (!stays(state, p, now)) order.push_back(static_cast<Id>(p));
    for (std::size_t p = state.active; p < state.size(); ++p) order.push_back(static_cast<Id>(p));
    rows.reorder(order, active);
    state.permute(order);
    state.active = active;
    return true;
  }

  // All variables become active again; false if they were.
  template <class Rows>
  bool restore(DualState& state, Rows& rows) {
    if (state.active == state.size()) return false;
    reconstruct_inactive(state, rows);
    std::vector<Id> order(state.size());
    for (std::size_t p = 0; p < order.size(); ++p) order[p] = static_cast<Id>(p);
    state.active = state.size();
    rows.reorder(order, state.active);
    return true;
  }

 private:
  static bool stays(const DualState& state, std::size_t p, const simd::Lead& lead) {
    const bool up = state.room_up[p] > 0, down = state.room_down[p] > 0;
    if (up && down) return true;
    if (up) return state.gradient[p] >= lead.down;
    if (down) return state.gradient[p] <= lead.up;
    return false;  // a box of one point
  }

  std::size_t every_, left_;
  double tolerance_;
  bool looked_again_ = false;
};

}  // namespace widemargin::smo
