// Dual problems on a kernel matrix in memory, one after the other: the inner loop of a model selection.
//
//   repeat   choose a working set: the free variables, and the bounded ones that violate most
//            copy their part of the kernel and solve their subproblem [Glasmachers2008, eq. 4.3] by SMO, inside the
//            processor's cache, until the violation among them is a fraction of what it was
//            update the gradient of all variables by the rows of those that changed
//   until    the violation is within the tolerance
//
// Nothing is permuted or shrunk: a row of the matrix is where it is. The gradient covers every variable, those with a
// box of one point too; so the decision values of held-out samples are there at the end. It is kept in double and each
// of its changes is exact up to rounding, so there is nothing to recompute. What was copied for one problem is there
// for the next.
//
// Every iteration has to raise the objective, by the gradient of all variables. The first rung of precision is kernel
// values of two bytes (simd::Fraction): an iteration on those that does not gain, or that leaves its own variables
// violating as much as before, is followed by iterations on floats; one on floats that does not gain is the last.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/block/subproblem.hpp"
#include "core/chain/compact_kernel.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/smo.hpp"
#include "core/smo/step_planning_ahead.hpp"

namespace widemargin::chain {

struct Tuning {
  std::size_t most = 8192;  // variables worked on at once: 256 MB
  double share = 0.2;       // of the violation: bounded variables that violate less are left out
  double until = 0.1;       // of the violation: where the solution of a subproblem ends
  std::int64_t newton_wait = 32;
  std::size_t fractions_from = 192;            // variables: their floats would not stay in the second-level cache
  int most_iterations_without_progress = 256;  // whose violation is not lower by a tenth
};

class MatrixSolver {
 public:
  MatrixSolver(const KernelView& kernel, const Tuning& tuning, TimeBudget& budget)
      : kernel_(kernel),
        n_(kernel.size()),
        tuning_(tuning),
        budget_(budget),
        floats_(kernel),
        fractions_(kernel),
        chosen_by_(n_, 0) {}

  // What the square loss adds to the diagonal from now on; empty for nothing.
  void set_ridge(std::span<const double> ridge) {
    ridge_ = ridge;
    floats_.set_ridge(ridge);
  }

  // Releases what was gathered; the members stay, so that nothing changes but the time it takes.
  void rest() {
    floats_.rest();
    fractions_.rest();
  }
  // The same kernel is at another place from now on.
  void move_to(const KernelView& kernel) {
    kernel_ = kernel;
    floats_.move_to(kernel);
    fractions_.move_to(kernel);
  }

  // From a feasible point and its gradient.
  Reason run(DualState& state, const StoppingCriterion& stop, std::int64_t& iterations) {
    double least = std::numeric_limits<double>::infinity();  // violation so far
    bool in_vain = false;
    for (int since_progress = 0; since_progress < tuning_.most_iterations_without_progress; ++since_progress) {
      state.cross_kinks();
      const simd::MaximalViolatingPair pair = state.maximal_violating_pair();
      const double violation = violation_of(pair);
      if (violation <= stop.tolerance) return Reason::converged;
      if (in_vain) return Reason::stalled;
      if (violation < 0.9 * least) least = violation, since_progress = 0;
      if (iterations >= stop.max_iterations) return Reason::iteration_budget;
      if (budget_.over()) return budget_.reason();
      choose(state, violation);
      // A tenth of the tolerance is left for what the members do not know of.
      StoppingCriterion inner_stop{std::max(0.9 * stop.tolerance, tuning_.until * violation),
                                   stop.max_iterations - iterations};
      const bool in_fractions = fractions_suffice_ && ridge_.empty() && wanted_.size() >= tuning_.fractions_from;
      // Rounding may leave a kernel matrix with directions of negative curvature, along which there is no end.
      if (in_fractions)
        inner_stop.max_iterations = std::min(inner_stop.max_iterations, static_cast<std::int64_t>(32 * wanted_.size()));
      if (in_fractions)
        admit(fractions_);
      else
        admit(floats_);
      const SubproblemResult made = in_fractions
                                        ? solve_subproblem(state, fractions_, of_fractions_, inner_stop, iterations)
                                        : solve_subproblem(state, floats_, of_floats_, inner_stop, iterations);
      if (made.ended == Reason::time_budget || made.ended == Reason::interrupted) return made.ended;
      if (in_fractions)
        fractions_suffice_ = made.ended == Reason::converged && made.gain > 0 && fractions_.holds_its_values() &&
                             made.left <= std::max(1.1 * inner_stop.tolerance, 0.5 * violation);
      else
        in_vain = !(made.gain > 0);
    }
    return Reason::stalled;
  }

  // G -= K d, for the variables at `positions` that moved by `by`.
  void subtract(DualState& state, const std::vector<Id>& positions, const std::vector<double>& by) {
    moved_.clear(), moved_by_.clear();
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const std::size_t p = static_cast<std::size_t>(positions[k]);
      if (p < kernel_.known()) moved_.push_back(kernel_.row(p)), moved_by_.push_back(by[k]);
    }
    rows_.resize(moved_.size());
    for (const KernelView::Stretch& stretch : kernel_.stretches()) {
      for (std::size_t r = 0; r < moved_.size(); ++r) rows_[r] = moved_[r] + stretch.column;
      simd::ops<float>().subtract_rows(state.gradient.data() + stretch.begin, rows_.data(), moved_by_.data(),
                                       rows_.size(), 0, stretch.end - stretch.begin);
    }
    if (ridge_.empty()) return;
    for (std::size_t k = 0; k < positions.size(); ++k)
      state.gradient[static_cast<std::size_t>(positions[k])] -= by[k] * ridge_[static_cast<std::size_t>(positions[k])];
  }

 private:
  struct SubproblemResult {
    Reason ended;
    double gain;  // of the objective
    double left;  // how much the members still violate, by the whole kernel
  };

  // Solves the problem of the members of a compact kernel and takes their solution over.
  template <class T>
  SubproblemResult solve_subproblem(DualState& state, CompactKernel<T>& kernel,
                                    block::BasicSubproblem<simd::Slope<T>>& inner, const StoppingCriterion& stop,
                                    std::int64_t& iterations) {
    inner.take(state, kernel.members(), kernel.row_length());
    smo::WholeActiveSet active_set(smo::NewtonSteps(tuning_.newton_wait), stop.tolerance);
    const Reason ended = smo::run(inner.state, kernel, stop, budget_, select_, step_, active_set, iterations);
    const block::SubproblemStep change(state, inner.state, kernel.members());
    subtract(state, change.positions, change.by);
    // Floats are not asked: they hold all the digits there are.
    return {ended, change.gain(state), std::is_same_v<T, float> ? 0.0 : violation_among(state, kernel.members())};
  }

  // Free variables, and those that violate by more than a share of what the worst do; of too many those farthest from
  // the middle.
  void choose(const DualState& state, double violation) {
    const std::array<simd::MaximalViolatingPair, 2> pairs = state.maximal_violating_pairs(n_);
    const double margin = 0.5 * tuning_.share * violation;
    const auto above = [&](std::size_t p) {
      const simd::MaximalViolatingPair& pair = pairs[state.group_of(p)];
      return state.gradient[p] - 0.5 * (pair.up + pair.down);
    };
    // A variable is written down, and kept if it is chosen.
    wanted_.resize(n_);
    std::size_t count = 0;
    for (std::size_t p = 0; p < n_; ++p) {
      wanted_[count] = static_cast<Id>(p);
      count += static_cast<std::size_t>(state.free_or_violating(p, above(p), margin));
    }
    wanted_.resize(count);
    if (count > tuning_.most) {
      const auto farther = [&](Id p, Id q) {
        const double x = std::fabs(above(static_cast<std::size_t>(p))),
                     y = std::fabs(above(static_cast<std::size_t>(q)));
        return x != y ? x > y : p < q;
      };
      std::nth_element(wanted_.begin(), wanted_.begin() + static_cast<std::ptrdiff_t>(tuning_.most), wanted_.end(),
                       farther);
      wanted_.resize(tuning_.most);
      std::sort(wanted_.begin(), wanted_.end());
    }
    ++choice_;
    for (const Id v : wanted_) chosen_by_[static_cast<std::size_t>(v)] = choice_;
  }

  // Lets the chosen variables in, and out those that are not needed any more, unless they are few: they may be wanted
  // again.
  template <class T>
  void admit(CompactKernel<T>& kernel) const {
    std::vector<Id> unwanted;
    for (const Id v : kernel.members())
      if (chosen_by_[static_cast<std::size_t>(v)] != choice_) unwanted.push_back(v);
    if (2 * unwanted.size() < wanted_.size()) unwanted.clear();
    kernel.change(wanted_, unwanted);
  }

  static double violation_among(const DualState& state, const std::vector<Id>& members) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::array<double, 2> up{-infinity, -infinity}, down{infinity, infinity};
    for (const Id member : members) {
      const std::size_t p = static_cast<std::size_t>(member), g = state.group_of(p);
      if (state.rises[p] != 0) up[g] = std::max(up[g], state.gradient[p]);
      if (state.falls[p] != 0) down[g] = std::min(down[g], state.gradient[p]);
    }
    return std::max({0.0, up[0] - down[0], up[1] - down[1]});
  }

  KernelView kernel_;
  std::size_t n_;
  std::span<const double> ridge_;
  Tuning tuning_;
  TimeBudget& budget_;
  smo::SelectSecondOrder select_;
  smo::StepPlanningAhead step_{1};  // steps among few variables are cheap, and so must plans be
  CompactKernel<float> floats_;
  CompactKernel<simd::Fraction> fractions_;
  bool fractions_suffice_ = true;  // they have the precision it takes
  block::Subproblem of_floats_;
  block::BasicSubproblem<float> of_fractions_;
  std::vector<const float*> moved_, rows_;  // rows of the variables that moved, and where they begin in a stretch
  std::vector<double> moved_by_;
  std::vector<Id> wanted_;
  std::vector<std::uint32_t> chosen_by_;  // the last choice that took a variable
  std::uint32_t choice_ = 0;
};

}  // namespace widemargin::chain
