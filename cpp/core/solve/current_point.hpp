// The point that a solve has reached, how well its gradient is known, and what is handed out in the end.
//
// Whatever stops a solve, something must be handed out: the gradient recomputed in double if time suffices for it, else
// an estimate that gives a sensible intercept, and then nothing is claimed (certificate.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/certificate.hpp"
#include "core/solve/coefficient_bound.hpp"
#include "core/solve/start.hpp"
#include "core/verify.hpp"

namespace widemargin {

class CurrentPoint {
 public:
  // What the gradient is worth: nothing; what steps have made of one, with kernel values that may be rounded, while
  // variables that were left aside have an older one; or computed from the variables as they are.
  enum class Gradient { unknown, running, recomputed };

  DualState state;
  Gradient gradient = Gradient::unknown;

  // By variable.
  auto ridge() const {
    return [this](std::size_t v) { return source_.ridge(ids_[v]); };
  }

  CurrentPoint(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, ThreadTeam& team,
               TimeBudget& budget, Outcome& outcome)
      : state(problem),
        source_(source),
        ids_(ids),
        team_(team),
        budget_(budget),
        outcome_(outcome),
        total_(problem.total) {
    state.coefficient_bound = coefficient_bound_of(problem, ridge());
  }

  // The samples behind the variables, in the current order.
  std::vector<Id> ids() const {
    std::vector<Id> found(ids_.size());
    for (std::size_t p = 0; p < found.size(); ++p) found[p] = ids_[static_cast<std::size_t>(state.variable[p])];
    return found;
  }

  // True if a starting point was given, other than 0.
  bool start(const Start& from) {
    const auto place = [this](const std::vector<double>& alpha, const std::vector<double>& known) {
      this->place(alpha, known);
    };
    const bool given = std::any_of(from.alpha.begin(), from.alpha.end(), [](double a) { return a != 0; });
    if (given)
      start_from_point(state, total_, from, place);
    else
      start_from_zero(state, total_, place);
    return given;
  }

  // All variables by their numbers, moved to the nearest feasible point; the gradient does not follow.
  void put_feasible(std::vector<double> alpha) {
    make_feasible(state, total_, alpha);
    for (std::size_t p = 0; p < alpha.size(); ++p) state.put(p, alpha[p]);
  }

  // Back to 0, with the variables in the order of the problem.
  void reset() {
    const double coefficient_bound = state.coefficient_bound;
    state = DualState(state.problem);
    state.coefficient_bound = coefficient_bound;
  }

  // From wherever rounding has led to the nearest feasible point, with its gradient.
  void balance() {
    std::vector<double> alpha(state.size());
    for (std::size_t p = 0; p < alpha.size(); ++p) alpha[static_cast<std::size_t>(state.variable[p])] = state.alpha[p];
    reset();
    put_feasible(std::move(alpha));
    recompute();
  }

  double objective() const {
    double twice = 0;
    for (std::size_t p = 0; p < state.size(); ++p) twice += state.alpha[p] * (state.linear[p] + state.gradient[p]);
    return 0.5 * twice;
  }

  // Whether the sums are off by what a decision value would feel.
  bool imbalanced(double tolerance) const {
    const double by = imbalance(state, total_);
    return by > 0 && by * largest_kernel_value() > 0.01 * tolerance;
  }

  // How far rounding of kernel values to T may take the violation from what it is.
  template <class T>
  double rounding() const {
    return rounding_of_values<T>(state, [this](std::size_t p) { return kernel_on_diagonal(p); });
  }

  // G = y - K a with everything in double.
  void recompute() {
    const std::vector<Id> own = ids();
    const Support support(state, own);
    std::vector<Id> order(support.positions), columns(support.ids);  // the support vectors first
    for (std::size_t p = 0; p < state.size(); ++p)
      if (state.alpha[p] == 0) order.push_back(static_cast<Id>(p)), columns.push_back(own[p]);
    std::vector<double> found;
    for (const Id p : order) found.push_back(state.linear[static_cast<std::size_t>(p)]);
    outcome_.kernel_evaluations += subtract_kernel_rows<double>(source_, support.ids, support.coefficients, columns,
                                                                support.ids.size(), found.data(), team_, budget_);
    for (std::size_t k = 0; k < order.size(); ++k) state.gradient[static_cast<std::size_t>(order[k])] = found[k];
    gradient = Gradient::recomputed;
  }

  // The same in the grace period, if that suffices.
  void recompute_in_grace() {
    budget_.grant_grace();
    try {
      recompute();
    } catch (const Stopped& stopped) {
      outcome_.reason = stopped.reason;
    }
  }

  // Where the time ended while the start was being prepared.
  void settle() {
    if (gradient == Gradient::unknown) put_feasible(state.alpha);
  }

  // Nothing may change after this: coefficients and certificate belong together.
  Solution handed_out() {
    if (gradient == Gradient::unknown) estimate();
    state.active = state.size();
    state.cross_kinks();
    return widemargin::handed_out(state, ridge(), outcome_, gradient == Gradient::recomputed);
  }

 private:
  // From one point whose gradient the state has to another: by the rows of the variables that differ, unless those that
  // are not 0 are fewer.
  void place(const std::vector<double>& alpha, const std::vector<double>& from) {
    const Move move(state, alpha, from);
    if (move.positions.empty()) return;
    const std::size_t used = alpha.size() - static_cast<std::size_t>(std::count(alpha.begin(), alpha.end(), 0.0));
    if (move.positions.size() >= used) return recompute();
    std::vector<Id> moved;
    for (const Id p : move.positions) moved.push_back(ids_[static_cast<std::size_t>(p)]);
    outcome_.kernel_evaluations +=
        subtract_kernel_rows<double>(source_, moved, move.by, ids_, 0, state.gradient.data(), team_, budget_);
  }

  double kernel_on_diagonal(std::size_t p) const {
    const Id id = ids_[static_cast<std::size_t>(state.variable[p])];
    return source_.diagonal(id) - source_.ridge(id);
  }

  // Among the support vectors.
  double largest_kernel_value() const {
    double largest = 0;
    for (std::size_t p = 0; p < state.size(); ++p)
      if (state.alpha[p] != 0) largest = std::max(largest, std::fabs(kernel_on_diagonal(p)));
    return largest;
  }

  // Where time did not suffice for a gradient at all: (Ka)_p of some variables, spread over those of each group that
  // are free, at their lower and at their upper bound; of the others their mean. What was reached is not known then,
  // but the intercept is a sensible one. Where the grace period is over, too, some of the support vectors stand for all
  // of them.
  void estimate() {
    constexpr std::size_t kinds = 6, at_once = 2, most = 64;  // of each kind
    constexpr std::size_t enough_support = 1024;
    constexpr double enough_seconds = 0.02, golden = 0.6180339887498949;
    std::array<std::vector<Id>, kinds> members;
    const auto kind_of = [&](std::size_t p) {
      return 3 * state.group_of(p) + (state.free(p) ? 0u : state.room_up[p] > state.room_down[p] ? 1u : 2u);
    };
    for (std::size_t p = 0; p < state.size(); ++p) members[kind_of(p)].push_back(static_cast<Id>(p));
    const std::vector<Id> own = ids();
    Support support(state, own);
    Deadline none(1e10, nullptr);
    TimeBudget unlimited(none, false);
    budget_.grant_grace();
    if (budget_.over()) support.subsample(enough_support);
    std::array<double, kinds> sum{}, count{};
    std::vector<std::uint8_t> known(state.size(), 0);
    for (std::size_t first = 0; first < most && (first == 0 || (none.seconds() < enough_seconds && !budget_.over()));
         first += at_once) {
      std::vector<Id> positions, columns;
      for (const std::vector<Id>& kind : members)
        for (std::size_t k = first; k < first + at_once && k < kind.size(); ++k) {
          const double share = std::fmod((static_cast<double>(k) + 0.5) * golden, 1.0);
          positions.push_back(
              kind.size() <= most ? kind[k] : kind[static_cast<std::size_t>(share * static_cast<double>(kind.size()))]);
          columns.push_back(own[static_cast<std::size_t>(positions.back())]);
        }
      std::vector<double> minus_product(columns.size(), 0.0);
      outcome_.kernel_evaluations += subtract_kernel_rows<double>(source_, support.ids, support.coefficients, columns,
                                                                  0, minus_product.data(), team_, unlimited);
      for (std::size_t k = 0; k < positions.size(); ++k) {
        const std::size_t p = static_cast<std::size_t>(positions[k]);
        state.gradient[p] = state.linear[p] + minus_product[k];
        known[p] = 1;
        sum[kind_of(p)] += minus_product[k], count[kind_of(p)] += 1;
      }
    }
    for (std::size_t p = 0; p < state.size(); ++p)
      if (known[p] == 0) state.gradient[p] = state.linear[p] + sum[kind_of(p)] / count[kind_of(p)];
  }

  const RowSource& source_;
  std::span<const Id> ids_;
  ThreadTeam& team_;
  TimeBudget& budget_;
  Outcome& outcome_;
  std::array<double, 2> total_;
};

}  // namespace widemargin
