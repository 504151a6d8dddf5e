// One decision function of an online machine: the state of its dual problem over the kept samples, and steps on it.
//
//   maximise  f(a) = y'a - a'Ka/2   subject to  sum(a) = 0,  L <= a <= U,  a_n = 0 for all samples that are not kept
//
// The most violating pair is known after every step, and here at all times.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/certificate.hpp"
#include "core/dual_state.hpp"
#include "core/online/kept_rows.hpp"
#include "core/online/together.hpp"
#include "core/runtime/stopping.hpp"
#include "core/smo/scans.hpp"
#include "core/smo/select_maximal_violating_pair.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/working_set.hpp"
#include "core/solve/feasible.hpp"

namespace widemargin::online {

enum class Selection { maximal_violating_pair, second_order };

class Decision {
 public:
  const DualState& state() const { return state_; }
  std::int64_t steps() const { return steps_; }
  double violation() const { return violation_of(pair_); }
  // Both sides hold a variable that may move: else no pair can be formed.
  bool has_pairs() const { return pair_.i >= 0 && pair_.j >= 0; }
  // That of the decision function, as it is handed out.
  double intercept() const {
    return certify(state_, [](std::size_t) { return 0.0; }).intercept[0];
  }

  // Between the gradients of the most violating pair: b on the way, without a look at all samples.
  double middle() const { return has_pairs() ? (pair_.up + pair_.down) / 2 : 0.0; }

  // A sample of class y = +1 or -1 and bound C comes, with coefficient 0: at its lower bound, or at its upper one.
  void append(double y, double bound, double gradient) {
    make_room(state_.alpha, state_.linear, state_.gradient, state_.lower, state_.upper, state_.room_up,
              state_.room_down, state_.rises, state_.falls, state_.variable);
    state_.alpha.push_back(0), state_.linear.push_back(y), state_.gradient.push_back(gradient);
    state_.lower.push_back(std::min(0.0, y * bound)), state_.upper.push_back(std::max(0.0, y * bound));
    state_.room_up.push_back(0), state_.room_down.push_back(0);
    state_.rises.push_back(0), state_.falls.push_back(0);
    state_.variable.push_back(static_cast<Id>(state_.active));
    const std::size_t p = state_.active++;
    state_.set_room(p);
    if (state_.rises[p] != 0 && gradient > pair_.up) pair_.up = gradient, pair_.i = static_cast<std::int64_t>(p);
    if (state_.falls[p] != 0 && gradient < pair_.down) pair_.down = gradient, pair_.j = static_cast<std::int64_t>(p);
  }
  // The last one, which has not moved, goes again.
  void pop() {
    const auto drop = [](auto&... vectors) { (..., vectors.pop_back()); };
    drop(state_.alpha, state_.linear, state_.gradient, state_.lower, state_.upper, state_.room_up, state_.room_down,
         state_.rises, state_.falls, state_.variable);
    --state_.active;
    look();
  }

  // Whether some pair with a sample of class y, gradient G and coefficient 0 violates by more than the tolerance.
  bool wants(double y, double gradient, double tolerance) const {
    return y > 0 ? gradient > pair_.down + tolerance : gradient < pair_.up - tolerance;
  }
  // Whether position p, whose coefficient is 0, raises f with some partner, by however little.
  bool can_improve(std::size_t p) const {
    return (state_.rises[p] != 0 && state_.gradient[p] > pair_.down) ||
           (state_.falls[p] != 0 && state_.gradient[p] < pair_.up);
  }

  // Where all coefficients are at their bounds, two samples that violate their margins, one of either class, may make a
  // pair when neither makes one with those that are kept: PROCESS would never take a step again. So the first of them
  // waits for the other one. Whether a sample of class y, gradient G and coefficient 0 makes pairs with samples yet to
  // come, beyond those that others would make: never so while a kept variable is free.
  bool awaits_partner(double y, double gradient, double tolerance) const {
    return has_pairs() && (y > 0 ? gradient > pair_.up + tolerance : gradient < pair_.down - tolerance);
  }
  // The same of position p, whose coefficient is 0, compared with samples that have coefficients.
  bool awaits_partner(std::size_t p, double tolerance) const {
    const bool first = pair_.i == static_cast<std::int64_t>(p);
    if (!has_pairs() || (!first && pair_.j != static_cast<std::int64_t>(p))) return false;
    const double own = state_.gradient[p];
    for (std::size_t q = 0; q < state_.size(); ++q) {
      if (state_.alpha[q] == 0 || (first ? state_.rises[q] : state_.falls[q]) == 0) continue;
      if (first ? own <= state_.gradient[q] + tolerance : own >= state_.gradient[q] - tolerance) return false;
    }
    return true;
  }

  // PROCESS [Glasmachers2008, section 8.2]: a step along the best pair that holds p. At its lower bound p is the first
  // of the pair, at its upper one the second; a free variable tries both.
  template <class T>
  bool process(std::size_t p, KeptRows<T>& rows, Selection selection, double tolerance) {
    const simd::Partner falling = state_.rises[p] != 0 && state_.gradient[p] > pair_.down + tolerance
                                      ? partner_below(p, rows, selection)
                                      : simd::Partner{-1, -1};
    const simd::Partner rising = state_.falls[p] != 0 && state_.gradient[p] < pair_.up - tolerance
                                     ? partner_above(p, rows, selection)
                                     : simd::Partner{-1, -1};
    if (falling.at < 0 && rising.at < 0) return false;
    const bool first = falling.gain >= rising.gain;
    smo::WorkingSet B = smo::with_curvature(rows, p, static_cast<std::size_t>(first ? falling.at : rising.at));
    if (!first) std::swap(B.i, B.j);
    return step(B, rows);
  }

  // REPROCESS: one step among the kept.
  template <class T>
  bool reprocess(KeptRows<T>& rows, Selection selection, double tolerance) {
    if (!(violation() > tolerance)) return false;
    const smo::LastStep nothing;
    return step(selection == Selection::second_order ? smo::SelectSecondOrder{}(state_, rows, pair_, nothing)
                                                     : smo::SelectMaximalViolatingPair{}(state_, rows, pair_, nothing),
                rows);
  }

  // The coefficient of p goes to 0, and p stays there: others take it up, first those whose gradients say that it costs
  // least, each as far as its box allows.
  template <class T>
  void let_go(std::size_t p, KeptRows<T>& rows) {
    while (state_.alpha[p] != 0) {
      const double before = state_.alpha[p];
      state_.lower[p] = std::min(0.0, before), state_.upper[p] = std::max(0.0, before);  // no way back
      state_.set_room(p);
      pair_ = state_.maximal_violating_pair();
      const std::int64_t other = before > 0 ? pair_.i : pair_.j;
      if (other < 0) break;
      smo::WorkingSet B{p, p, 1.0};
      (before > 0 ? B.i : B.j) = static_cast<std::size_t>(other);
      take(B, smo::longest_step(state_, B), rows);
      if (state_.alpha[p] == before) break;
    }
    // What nobody has room for is rounding of the sum.
    if (state_.alpha[p] != 0) move_alone(p, 0.0, rows);
    state_.lower[p] = state_.upper[p] = 0.0;
    state_.set_room(p);
    look();
  }

  // A sample that had been let go is as if it had just come.
  void take_back(std::size_t p, double y, double bound) {
    state_.lower[p] = std::min(0.0, y * bound), state_.upper[p] = std::max(0.0, y * bound);
    state_.set_room(p);
    look();
  }

  // Other bounds: coefficients beyond them are cut off, and the sum is repaired where the gradients say that it costs
  // least. False if time is up halfway.
  template <class T>
  bool set_bounds(std::span<const double> bounds, KeptRows<T>& rows, TimeBudget& budget) {
    for (std::size_t p = 0; p < state_.size(); ++p) {
      state_.lower[p] = std::min(0.0, state_.linear[p] * bounds[p]);
      state_.upper[p] = std::max(0.0, state_.linear[p] * bounds[p]);
    }
    std::vector<double> alpha = state_.alpha;
    make_feasible_by_gradient(state_, {0.0, 0.0}, alpha);
    for (std::size_t p = 0; p < state_.size(); ++p) {
      if (alpha[p] == state_.alpha[p]) {
        state_.set_room(p);
        continue;
      }
      if (budget.over()) return false;
      move_alone(p, alpha[p], rows);
    }
    look();
    return true;
  }

  // Only these positions stay, in this order.
  void keep(std::span<const Id> staying) {
    pick(staying, state_.alpha, state_.linear, state_.gradient, state_.lower, state_.upper, state_.room_up,
         state_.room_down, state_.rises, state_.falls);
    state_.variable.resize(staying.size());
    state_.active = staying.size();
    look();
  }

  // A point from elsewhere, with its gradient.
  void put(std::span<const double> alpha, std::span<const double> gradient) {
    for (std::size_t p = 0; p < state_.size(); ++p) {
      state_.gradient[p] = gradient[p];
      state_.set_alpha(p, std::clamp(alpha[p], state_.lower[p], state_.upper[p]));
    }
    look();
  }
  void restore_steps(std::int64_t steps) { steps_ = steps; }

  // Positions that steps have taken to 0 since this was last asked for.
  std::vector<std::size_t> taken_to_zero() { return std::exchange(zeros_, {}); }

 private:
  void look() { pair_ = state_.maximal_violating_pair(); }

  // The partner that falls while p rises, and the other way round; their gains are comparable.
  template <class T>
  simd::Partner partner_below(std::size_t p, KeptRows<T>& rows, Selection selection) const {
    if (selection == Selection::maximal_violating_pair) return {state_.gradient[p] - pair_.down, pair_.j};
    return smo::best_partner(state_, rows, simd::ops<T>().best_newton_partner, p, state_.falls);
  }
  template <class T>
  simd::Partner partner_above(std::size_t p, KeptRows<T>& rows, Selection selection) const {
    if (selection == Selection::maximal_violating_pair) return {pair_.up - state_.gradient[p], pair_.i};
    return smo::best_partner(state_, rows, simd::ops<T>().best_newton_riser, p, state_.rises);
  }

  // The truncated Newton step [Glasmachers2008, eq. 4.4]; false if there is no room for one.
  template <class T>
  bool step(const smo::WorkingSet& B, KeptRows<T>& rows) {
    if (!smo::is_violating_pair(state_, B)) return false;
    take(B, std::min(smo::newton_step(state_, B), smo::longest_step(state_, B)), rows);
    return true;
  }
  template <class T>
  void take(const smo::WorkingSet& B, double mu, KeptRows<T>& rows) {
    const T* const Ki = rows.row(B.i);
    const T* const Kj = rows.row(B.j);
    state_.step(B.i, B.j, mu);
    pair_ = smo::update_gradient(state_, rows, Ki, Kj, mu);
    ++steps_;
    for (const std::size_t p : {B.i, B.j})
      if (state_.alpha[p] == 0) zeros_.push_back(p);
  }
  template <class T>
  void move_alone(std::size_t p, double to, KeptRows<T>& rows) {
    const T* const row = rows.row(p);
    const double by = to - state_.alpha[p];
    simd::ops<T>().subtract_rows(state_.gradient.data(), &row, &by, 1, 0, state_.size());
    state_.set_alpha(p, to);
  }

  DualState state_;
  simd::MaximalViolatingPair pair_{-std::numeric_limits<double>::infinity(), -1,
                                   std::numeric_limits<double>::infinity(), -1};
  std::int64_t steps_ = 0;
  std::vector<std::size_t> zeros_;
};

}  // namespace widemargin::online
