// A small problem: its kernel rows in double, each computed once and kept, and steps on these down to rounding error.
//
// That costs next to nothing, and then the solution does not depend on the order of its samples, on where the solver
// started, or on whether a sample is weighted or repeated.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/scratch.hpp"
#include "core/smo/newton_on_free_set.hpp"
#include "core/smo/smo.hpp"
#include "core/solve/solver_choice.hpp"

namespace widemargin {

// All rows at once where they are few; else a row when it is first asked for.
class SmallKernel {
 public:
  using Value = double;

  SmallKernel(const RowSource& source, std::span<const Id> ids, ThreadTeam& team, TimeBudget& budget)
      : source_(source),
        ids_(ids),
        team_(team),
        budget_(budget),
        stride_((ids.size() + 7) / 8 * 8),
        values_(stride_ * ids.size()),
        diagonal_(ids.size()),
        there_(ids.size(), 0) {
    for (std::size_t p = 0; p < ids.size(); ++p) diagonal_[p] = source.diagonal(ids[p]);
    if (budget.spent(ids.size() * source.diagonal_work())) throw Stopped{budget.reason()};
    if (ids.size() > computed_at_once) return;
    std::vector<Id> all(ids.size());
    std::iota(all.begin(), all.end(), Id{0});
    compute(all);
  }

  std::size_t capacity() const { return ids_.size(); }
  const double* diagonal() const { return diagonal_.data(); }
  std::uint64_t evaluations() const { return evaluations_; }

  const double* row(std::size_t position) {
    if (there_[position] == 0) {
      const Id p = static_cast<Id>(position);
      compute({&p, 1});
    }
    return at(position);
  }
  void rows(std::span<const Id> positions, const double** out) {
    missing_.clear();
    for (const Id p : positions)
      if (there_[static_cast<std::size_t>(p)] == 0) missing_.push_back(p);
    compute(missing_);
    for (std::size_t r = 0; r < positions.size(); ++r) out[r] = at(static_cast<std::size_t>(positions[r]));
  }

  // G = y - K a.
  void recompute_gradient(DualState& state) {
    support_.clear(), coefficients_.clear();
    for (std::size_t p = 0; p < state.size(); ++p)
      if (state.alpha[p] != 0) support_.push_back(static_cast<Id>(p)), coefficients_.push_back(state.alpha[p]);
    support_rows_.resize(support_.size());
    rows(support_, support_rows_.data());
    state.gradient = state.linear;
    simd::ops<double>().subtract_rows(state.gradient.data(), support_rows_.data(), coefficients_.data(),
                                      support_.size(), 0, state.size());
  }

 private:
  static constexpr std::size_t computed_at_once = 64;

  double* at(std::size_t position) { return values_.data() + position * stride_; }

  void compute(std::span<const Id> positions) {
    if (columns_ == nullptr) columns_ = source_.prepare(ids_, true, team_, double{});
    const std::size_t most = budget_.limited() ? source_.rows_between_polls(ids_.size()) : computed_at_once;
    for (std::size_t begin = 0; begin < positions.size(); begin += most) {
      const std::span<const Id> some = positions.subspan(begin, std::min(most, positions.size() - begin));
      wanted_.clear(), out_.clear();
      for (const Id p : some)
        wanted_.push_back(ids_[static_cast<std::size_t>(p)]), out_.push_back(at(static_cast<std::size_t>(p)));
      evaluations_ += source_.rows(wanted_, *columns_, 0, ids_.size(), out_.data(), team_);
      for (const Id p : some) there_[static_cast<std::size_t>(p)] = 1;
      if (budget_.spent(some.size() * ids_.size() * source_.value_work())) throw Stopped{budget_.reason()};
    }
  }

  const RowSource& source_;
  std::span<const Id> ids_;
  ThreadTeam& team_;
  TimeBudget& budget_;
  std::size_t stride_;
  Scratch<double, SmallKernel> values_;
  std::vector<double> diagonal_;
  std::vector<std::uint8_t> there_;
  std::unique_ptr<Columns<double>> columns_;
  std::vector<Id> missing_, wanted_, support_;
  std::vector<double*> out_;
  std::vector<double> coefficients_;
  std::vector<const double*> support_rows_;
  std::uint64_t evaluations_ = 0;
};

class SmallProblem {
 public:
  static constexpr std::size_t most = 512;  // variables

  SmallProblem(const SolverChoice& choice, const RowSource& source, std::span<const Id> ids, ThreadTeam& team,
               TimeBudget& budget)
      : choice_(choice), kernel_(source, ids, team, budget), budget_(budget) {}

  std::uint64_t evaluations() const { return kernel_.evaluations(); }

  // From a feasible point and its gradient. The gradient is recomputed at the end, unless time ran out.
  Reason solve(DualState& state, const StoppingCriterion& stop, std::int64_t& iterations) {
    const Reason ended = run(state, stop, smo::NewtonSteps(8), iterations);
    if (ended != Reason::converged) return ended;
    const std::vector<double> certified = state.alpha;
    double scale = 0;
    for (const double g : state.gradient) scale = std::max(scale, std::fabs(g));
    const std::size_t n = state.size();
    const StoppingCriterion to_rounding{std::min(stop.tolerance, 1e-10 * std::min(1.0, scale)),
                                        std::min(stop.max_iterations, iterations + 100 * static_cast<std::int64_t>(n))};
    smo::NewtonSteps often(8, 1e6 + static_cast<double>(iterations) * smo::NewtonSteps::step_cost(n));
    often.at_once(state, kernel_);
    const Reason further = run(state, to_rounding, std::move(often), iterations);
    if (further == Reason::interrupted) return further;
    state.cross_kinks();  // steps that ended early may have left variables on the wrong side
    if (further == Reason::time_budget || !(violation_of(state.maximal_violating_pair()) <= stop.tolerance)) {
      for (std::size_t p = 0; p < n; ++p) state.put(p, certified[p]);
      kernel_.recompute_gradient(state);
      state.cross_kinks();
    }
    return Reason::converged;
  }

 private:
  // All variables stay active; a violation within the tolerance is believed once the gradient was recomputed.
  class Recomputing {
   public:
    Recomputing(smo::NewtonSteps newton_steps, double tolerance)
        : steps_(std::move(newton_steps), tolerance), tolerance_(tolerance) {}

    bool update(DualState& state, SmallKernel& kernel, const simd::MaximalViolatingPair& pair) {
      return steps_.update(state, kernel, pair);
    }
    Verdict verify(DualState& state, SmallKernel& kernel) {
      if (steps_.verify(state, kernel) == Verdict::go_on) return Verdict::go_on;
      kernel.recompute_gradient(state);
      state.cross_kinks();
      const double violation = violation_of(state.maximal_violating_pair());
      if (violation <= tolerance_) return Verdict::certified;
      const bool imprecise = !(violation < 0.5 * last_);
      last_ = violation;
      return imprecise ? Verdict::imprecise : Verdict::go_on;
    }

   private:
    smo::WholeActiveSet steps_;
    double tolerance_, last_ = std::numeric_limits<double>::infinity();
  };

  Reason run(DualState& state, const StoppingCriterion& stop, smo::NewtonSteps newton_steps, std::int64_t& iterations) {
    Recomputing active_set(std::move(newton_steps), stop.tolerance);
    // The recomputed violation differs by rounding.
    const StoppingCriterion inner{0.95 * stop.tolerance, stop.max_iterations - iterations};
    const Reason ended = choice_.with_steps(kernel_, [&](const auto& select, const auto& step) {
      return smo::run(state, kernel_, inner, budget_, select, step, active_set, iterations);
    });
    if (ended == Reason::time_budget || ended == Reason::interrupted) return ended;
    if (ended != Reason::converged) kernel_.recompute_gradient(state);
    return ended;
  }

  const SolverChoice& choice_;
  SmallKernel kernel_;
  TimeBudget& budget_;
};

}  // namespace widemargin
