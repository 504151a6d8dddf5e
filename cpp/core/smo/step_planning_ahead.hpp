// Planning ahead [Glasmachers2008, chapter 7]: after a free step, the step length is the one that would be best if a
// recent working set came next, provided that both steps stay inside the box. The working sets used for planning are
// then offered to the next selection (Algorithms 7.2 and 7.3; with N > 1 the N most recent working sets of
// section 7.2.4). They have to be the same N: only then do two steps gain what Lemma 7.3 promises, whichever working
// set the second one takes.
#pragma once

#include <utility>

#include "core/smo/step_newton.hpp"

namespace widemargin::smo {

class StepPlanningAhead {
 public:
  explicit StepPlanningAhead(std::size_t recent) : recent_(recent) {}

  // After a planned step the working sets it counted on compete with the selected one: B(t-2) and older.
  template <class State, class Selector>
  WorkingSet reconsider(const State& state, const Selector&, const WorkingSet& B, const LastStep& last) const {
    if (last.kind != LastStep::Kind::planned) return B;
    const bool exact = Selector::ranks_by_truncated_gain || last.far_from_newton();
    const auto gain = [&](const WorkingSet& set) {
      return exact ? truncated_gain(state, set) : newton_gain(state, set);
    };
    WorkingSet best = B;
    double most = -1;  // of `best`, when it is first asked for
    for (std::size_t t = 1; t < last.recent.size(); ++t) {
      WorkingSet planned = last.recent[t];
      if (slope(state, planned) < 0)
        std::swap(planned.i, planned.j);  // the second step may have been planned backwards
      if (!is_violating_pair(state, planned)) continue;
      if (most < 0) most = gain(best);
      if (const double own = gain(planned); own > most) best = planned, most = own;
    }
    return best;
  }

  template <class State, class T>
  double operator()(const State& state, const WorkingSet& B, const T* Ki, const T* Kj, LastStep& last) const {
    const double newton = newton_step(state, B);
    const double shortest = shortest_step(state, B), longest = longest_step(state, B);
    double mu = std::clamp(newton, shortest, longest);
    LastStep::Kind kind = mu == newton ? LastStep::Kind::free : LastStep::Kind::bounded;
    if (last.kind == LastStep::Kind::free) {
      double best_gain = 0;
      for (std::size_t t = 0; t < std::min(recent_, last.recent.size()); ++t) {
        const Plan plan = plan_for(state, B, last.recent[t], Ki, Kj);
        if (plan.feasible && plan.mu > shortest && plan.mu < longest && plan.gain > best_gain)
          best_gain = plan.gain, mu = plan.mu, kind = LastStep::Kind::planned;
      }
    }
    last.kind = kind;
    last.size_ratio = mu / newton;
    if (last.recent.size() <= recent_)
      last.recent.push_back(B);  // else the last one, which B was not planned with, goes
    for (std::size_t t = last.recent.size() - 1; t > 0; --t) last.recent[t] = last.recent[t - 1];
    last.recent.front() = B;
    return mu;
  }

 private:
  struct Plan {
    bool feasible;  // as far as the second step goes
    double mu, gain;
  };

  template <class State, class T>
  static Plan plan_for(const State& state, const WorkingSet& B, const WorkingSet& next, const T* Ki, const T* Kj) {
    constexpr Plan none{false, 0, 0};
    if (next.i >= state.active || next.j >= state.active) return none;
    const double Q11 = B.curvature, Q22 = next.curvature;
    const double Q12 = (static_cast<double>(Ki[next.i]) - static_cast<double>(Ki[next.j])) -
                       (static_cast<double>(Kj[next.i]) - static_cast<double>(Kj[next.j]));
    const double determinant = Q11 * Q22 - Q12 * Q12;
    if (!(determinant > 1e-10 * Q11 * Q22)) return none;
    const double w1 = slope(state, B), w2 = slope(state, next);
    const double scaled = Q22 * w1 - Q12 * w2, inverse = 1 / Q22;
    const double mu1 = scaled / determinant;        // eq. 7.4
    const double mu2 = (w2 - Q12 * mu1) * inverse;  // eq. 7.2
    // The second step starts where the first one ends; the two may share variables.
    const auto moved = [&](std::size_t p) { return p == B.i ? mu1 : p == B.j ? -mu1 : 0.0; };
    const double at_i = moved(next.i) + mu2, at_j = moved(next.j) - mu2;
    const bool inside = at_i < state.room_up[next.i] && -at_i < state.room_down[next.i] &&
                        at_j < state.room_up[next.j] && -at_j < state.room_down[next.j];
    if (!inside) return none;
    return {true, mu1, 0.5 * (scaled * mu1 + w2 * w2) * inverse};  // eq. 7.3 at this mu1
  }

  std::size_t recent_;
};

}  // namespace widemargin::smo
