// The choice of the solver: which algorithm, selection of working sets, step and shrinking fit a problem and its
// kernel.
//
// Every combination that exists is listed in `run`. A solver asked for by name takes the steps its paper describes and
// no others; "auto" may combine them, and helps them along with Newton steps on the free variables.
#pragma once

#include <span>

#include "core/block/block.hpp"
#include "core/geometric/mdm.hpp"
#include "core/smo/select_maximal_violating_pair.hpp"
#include "core/smo/select_maximum_gain.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/smo.hpp"
#include "core/smo/step_planning_ahead.hpp"
#include "core/solve.hpp"

namespace widemargin {

class SolverChoice {
 public:
  SolverChoice(const Options& options, const RowSource& source, std::span<const Id> ids)
      : options_(options), source_(source), ids_(ids) {}

  bool automatic() const { return options_.solver == Solver::automatic; }
  bool geometric() const { return options_.solver == Solver::mdm || options_.solver == Solver::accelerated_mdm; }

  smo::NewtonSteps newton_steps() const { return smo::NewtonSteps(automatic() ? 256 : 0); }

  smo::ShrinkingRule shrinking_rule() const {
    if (!options_.shrinking) return smo::ShrinkingRule::none;
    const bool aggressive = automatic() && source_.faster_than_steps() && ids_.size() >= 2048;
    return aggressive ? smo::ShrinkingRule::aggressive : smo::ShrinkingRule::standard;
  }

  // Rows in the given order of the variables. Solvers asked for by name use the cache they are given.
  template <class T>
  CachedRows<T> rows(std::vector<Id> ids, std::size_t bytes, SlabPool& pool, ThreadTeam& team,
                     TimeBudget& budget) const {
    if (shrinking_rule() == smo::ShrinkingRule::aggressive) bytes = std::min(bytes, enough_for_aggressive_shrinking);
    return CachedRows<T>(source_, std::move(ids), bytes, least_rows, recomputes_rows(), pool, team, budget);
  }

  // Runs the solver from a feasible point and its gradient; counts iterations and kernel operations in `outcome` as it
  // goes.
  template <class T>
  Reason run(DualState& state, CachedRows<T>& rows, const StoppingCriterion& stop, const smo::NewtonSteps& newton_steps,
             TimeBudget& budget, Outcome& outcome) const {
    const Solving solving{state, stop, newton_steps, budget, outcome};
    if (geometric()) {
      const StoppingCriterion left{stop.tolerance, stop.max_iterations - outcome.iterations};
      return geometric::MinimumNorm(options_.solver == Solver::accelerated_mdm)
          .run(state, rows, left, budget, outcome.iterations, outcome.kernel_operations);
    }
    return with_steps(rows,
                      [&](const auto& select, const auto& step) { return run_with(rows, select, step, solving); });
  }

  // Calls use(select, step) with the rules that were asked for.
  template <class Rows, class Use>
  Reason with_steps(const Rows& rows, const Use& use) const {
    using namespace smo;
    const StepPlanningAhead planning(std::max<std::size_t>(options_.planning_ahead, 1));
    const StepNewton newton;
    const auto with_step = [&](const auto& select) {
      return options_.planning_ahead > 0 ? use(select, planning) : use(select, newton);
    };
    switch (options_.selection) {
      case Selection::maximal_violating_pair: return with_step(SelectMaximalViolatingPair{});
      case Selection::second_order: return with_step(SelectSecondOrder{});
      case Selection::maximum_gain: return with_step(SelectMaximumGain{});
      case Selection::automatic: break;
    }
    const bool second_order = options_.solver != Solver::smo || rows.capacity() >= ids_.size();
    return second_order ? with_step(SelectSecondOrder{}) : with_step(SelectMaximumGain{});
  }

 private:
  // However small the cache: what a working block needs to be worth its name.
  static constexpr std::size_t least_rows = 64;
  // Rows of a few thousand columns; touching more memory would cost more than computing some of them again.
  static constexpr std::size_t enough_for_aggressive_shrinking = std::size_t{64} << 20;

  struct Solving {
    DualState& state;
    const StoppingCriterion& stop;
    const smo::NewtonSteps& newton_steps;
    TimeBudget& budget;
    Outcome& outcome;
  };

  template <class T, class Selector, class Stepper>
  Reason run_with(CachedRows<T>& rows, const Selector& select, const Stepper& step, const Solving& solving) const {
    const auto& [state, whole, newton_steps, budget, outcome] = solving;
    StoppingCriterion stop = whole;
    stop.tolerance *= 0.95;  // the recomputed violation differs by rounding
    stop.max_iterations -= outcome.iterations;
    if (starts_with_blocks(rows)) {
      block::Tuning tuning;
      tuning.newton_steps = newton_steps;
      smo::ShrinkingActiveSet active_set(options_.shrinking ? smo::ShrinkingRule::standard : smo::ShrinkingRule::none,
                                         smo::NewtonSteps(0), whole.tolerance, tuning.iterations_per_shrink, 1);
      block::BlockSolver<T, Selector, Stepper> solver(select, step, tuning);
      if (const auto ended = solver.run(state, rows, stop, budget, active_set, outcome.iterations, automatic()))
        return *ended;
      stop.max_iterations = whole.max_iterations - outcome.iterations;
    }
    smo::ShrinkingActiveSet active_set(shrinking_rule(), newton_steps, whole.tolerance,
                                       std::min<std::size_t>(state.size(), 1000), smo::steps_per_crossing);
    return smo::run(state, rows, stop, budget, select, step, active_set, outcome.iterations);
  }

  // New rows come cheapest many at a time; single steps take over once the rows that matter are in the cache. Where
  // they do not fit, blocks go on to the end; where there are few variables, or rows cost next to nothing, single steps
  // do it all. So they do for a square loss, which leaves every variable of a block free.
  template <class T>
  bool starts_with_blocks(const CachedRows<T>& rows) const {
    if (!automatic()) return options_.solver == Solver::block;
    if (recomputes_rows() || shrinking_rule() == smo::ShrinkingRule::aggressive) return false;
    if (!rows.holds_everything()) return true;
    const bool square_loss = !ids_.empty() && source_.ridge(ids_.front()) > 0;
    return ids_.size() >= 2048 && source_.column_bytes(sizeof(float)) >= 32 && !square_loss;
  }

  bool recomputes_rows() const { return automatic() && source_.faster_than_memory(); }

  const Options& options_;
  const RowSource& source_;
  std::span<const Id> ids_;
};

}  // namespace widemargin
