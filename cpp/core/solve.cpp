#include "core/solve.hpp"

#include <array>
#include <numeric>
#include <stdexcept>

#include "core/block/block.hpp"
#include "core/certificate.hpp"
#include "core/geometric/mdm.hpp"
#include "core/feasible.hpp"
#include "core/smo/select_maximum_gain.hpp"
#include "core/smo/select_most_violating_pair.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/smo.hpp"
#include "core/smo/step_planning_ahead.hpp"

namespace widemargin {
namespace {

// However small the cache: what a working block needs to be worth its name.
constexpr std::size_t least_rows = 64;
constexpr std::size_t cheap_in_double = 20'000'000;  // kernel values
// Rows of a few thousand columns; touching more memory would cost more than computing some of them again.
constexpr std::size_t enough_for_focus = std::size_t{64} << 20;

class Solve {
 public:
  Solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options, const StopRule& stop,
        SlabPool& pool, ThreadTeam& team, Watch& watch, bool owner)
      : source_(source), options_(options), stop_(stop), pool_(pool), team_(team), patience_(watch, owner), state_(problem), total_(problem.total),
        ids_(ids.begin(), ids.end()) {}

  Solution finish(const Start& from) {
    try {
      start(from);
      double_precision_ = options_.double_precision || !refine<float>();
      if (double_precision_ && !options_.double_precision) recompute_gradient();
      if (double_precision_) refine<double>();
      if (reason_ == Reason::converged && leap_wait_ > 0 && state_.size() <= Verifier::small) finish_exactly();
    } catch (const Stopped& stopped) {  // while a gradient was being recomputed
      reason_ = stopped.reason;
      if (reason_ == Reason::time_budget) recompute_for_good();
    }
    // A double that stalls has the last word; its gradient may be a running one.
    if (reason_ == Reason::stalled) recompute_for_good();
    Solution solution;
    state_.tidy_up();
    state_.active = state_.size();
    state_.cross();
    const Certificate certificate = certify(state_, [this](std::size_t p) { return source_.ridge(ids_[static_cast<std::size_t>(state_.variable[p])]); });
    solution.alpha.resize(state_.size()), solution.gradient.resize(state_.size());
    for (std::size_t p = 0; p < state_.size(); ++p) {
      const std::size_t v = static_cast<std::size_t>(state_.variable[p]);
      solution.alpha[v] = state_.alpha[p];
      solution.gradient[v] = state_.smooth_gradient(p);
    }
    solution.outcome = {reason_,     certificate.kkt_violation, certificate.duality_gap, certificate.objective, certificate.intercept,
                        iterations_, evaluations_,              operations_,              0.0,
                        double_precision_};
    return solution;
  }

 private:
  // Without a starting point: 0, or the feasible point nearest to it.
  void start(const Start& from) {
    std::vector<double> alpha(from.alpha.begin(), from.alpha.end());
    alpha.resize(state_.size(), 0.0);
    const bool moved = make_feasible(state_, total_, alpha);
    const bool same = !from.gradient.empty() && !moved;
    bool zero = true;
    for (std::size_t p = 0; p < alpha.size(); ++p) {
      if (alpha[p] == 0) continue;
      zero = false;
      state_.put(p, alpha[p]);
    }
    if (zero && !same) return;
    if (same)
      for (std::size_t p = 0; p < alpha.size(); ++p) state_.gradient[p] = from.gradient[p] + (state_.linear[p] - state_.problem.linear[p]);
    else
      recompute_gradient();
  }

  // A small problem costs next to nothing to solve to rounding, and then its solution does not depend on the order of its rows, on where
  // the solver started, or on whether a row is weighted or repeated.
  void finish_exactly() {
    const StopRule asked = stop_;
    stop_ = {std::min(asked.tolerance, 1e-10), std::min(asked.max_iterations, iterations_ + 100 * static_cast<std::int64_t>(state_.size()))};
    leap_wait_ = 8;
    CachedRows<double> rows = rows_of<double>(state_.size() * (state_.size() + 16) * sizeof(double));
    fetch_support(rows);
    const Reason ended = run_until_stopped(rows);
    if (ended == Reason::stalled || ended == Reason::iteration_budget) fetch_support(rows);
    evaluations_ += rows.evaluations();
    stop_ = asked;
    if (ended == Reason::interrupted) reason_ = ended;
  }

  // The gradient from rows in double, which then are in the cache.
  void fetch_support(CachedRows<double>& rows) {
    state_.active = state_.size();
    std::vector<Id> everything(state_.size());
    std::iota(everything.begin(), everything.end(), Id{0});
    rows.reorder(everything, state_.size());
    const Support support(state_, rows.ids());
    std::vector<const double*> row(support.positions.size());
    rows.rows(support.positions, row.data());
    state_.gradient = state_.linear;
    rows.subtract_known_rows(support.positions, support.coefficients, state_.gradient.data());
  }

  // Runs the solver with kernel values of type T; false if this precision does not get to the tolerance.
  template <class T>
  bool refine() {
    CachedRows<T> rows = rows_of<T>(options_.cache_bytes);
    reason_ = run_until_stopped(rows);
    evaluations_ += rows.evaluations();
    if (reason_ == Reason::iteration_budget) recompute_for_good();
    return reason_ != Reason::stalled;
  }

  // At the deadline the gradient is recomputed all the same: in double if that takes some hundredths of a second, else from the rows that
  // are there and kernel values of their type, the cheapest way to say what was reached.
  template <class T>
  Reason run_until_stopped(CachedRows<T>& rows) {
    Reason reason;
    try {
      reason = run(rows);
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
    }
    if (reason != Reason::time_budget) return reason;
    patience_.grant_grace();
    try {
      if (Support(state_, rows.ids()).ids.size() * state_.size() <= cheap_in_double)
        recompute_gradient();
      else
        Verifier::recompute(state_, rows);
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
    }
    return reason;
  }

  // Rows in the current order of the variables, all of them active.
  template <class T>
  CachedRows<T> rows_of(std::size_t bytes) {
    std::vector<Id> ids(ids_.size());
    for (std::size_t p = 0; p < ids.size(); ++p) ids[p] = ids_[static_cast<std::size_t>(state_.variable[p])];
    state_.active = state_.size();
    if (narrowing() == smo::Narrowing::focus) bytes = std::min(bytes, enough_for_focus);
    return CachedRows<T>(source_, std::move(ids), bytes, least_rows, rows_are_cheap(), pool_, team_, patience_);
  }

  template <class T>
  Reason run(CachedRows<T>& rows) {
    using namespace smo;
    if (geometric()) {
      StopRule stop = stop_;
      stop.max_iterations -= iterations_;
      return geometric::MinimumNorm(options_.solver == Solver::accelerated_mdm).run(state_, rows, stop, patience_, iterations_, operations_);
    }
    const StepPlanningAhead planning(std::max<std::size_t>(options_.planning_ahead, 1));
    const StepNewton newton;
    const auto with_step = [&](const auto& select) {
      return options_.planning_ahead > 0 ? run_with(rows, select, planning) : run_with(rows, select, newton);
    };
    switch (options_.selection) {
      case Selection::most_violating_pair:
        return with_step(SelectMostViolatingPair{});
      case Selection::second_order:
        return with_step(SelectSecondOrder{});
      case Selection::maximum_gain:
        return with_step(SelectMaximumGain{});
      case Selection::automatic:
        break;
    }
    return options_.solver != Solver::smo || rows.holds_everything() ? with_step(SelectSecondOrder{}) : with_step(SelectMaximumGain{});
  }

  template <class T, class Selector, class Stepper>
  Reason run_with(CachedRows<T>& rows, const Selector& select, const Stepper& step) {
    StopRule stop = stop_;
    stop.tolerance *= 0.95;  // the recomputed violation differs by rounding
    stop.max_iterations -= iterations_;
    if (starts_with_blocks(rows)) {
      block::Tuning tuning;
      tuning.leap_wait = leap_wait_;
      smo::Housekeeping keeper(options_.shrinking ? smo::Narrowing::shrinking : smo::Narrowing::none, 0, stop_.tolerance, tuning.rounds_per_shrink, 1);
      block::BlockSolver<T, Selector, Stepper> solver(select, step, tuning);
      if (const auto ended = solver.run(state_, rows, stop, patience_, keeper, iterations_, options_.solver == Solver::automatic)) return *ended;
      stop.max_iterations = stop_.max_iterations - iterations_;
    }
    smo::Housekeeping keeper(narrowing(), leap_wait_, stop_.tolerance, std::min<std::size_t>(state_.size(), 1000), smo::steps_per_crossing);
    return smo::run(state_, rows, stop, patience_, select, step, keeper, iterations_);
  }

  // New rows come cheapest many at a time; single steps take over once the rows that matter are in the cache. Where they do not fit, blocks
  // go on to the end; where there are few variables, or rows cost next to nothing, single steps do it all.
  template <class T>
  bool starts_with_blocks(const CachedRows<T>& rows) const {
    if (options_.solver != Solver::automatic) return options_.solver == Solver::block;
    if (rows_are_cheap() || narrowing() == smo::Narrowing::focus) return false;
    return !rows.holds_everything() || (state_.size() >= 2048 && source_.column_bytes(sizeof(float)) >= 32);
  }

  smo::Narrowing narrowing() const {
    if (!options_.shrinking) return smo::Narrowing::none;
    const bool focus = options_.solver == Solver::automatic && source_.quick() && state_.size() >= 2048;
    return focus ? smo::Narrowing::focus : smo::Narrowing::shrinking;
  }

  bool geometric() const { return options_.solver == Solver::mdm || options_.solver == Solver::accelerated_mdm; }

  // Solvers asked for by name use the cache they are given.
  bool rows_are_cheap() const { return options_.solver == Solver::automatic && source_.cheap(); }

  void recompute_for_good() {
    patience_.grant_grace();
    try {
      recompute_gradient();
    } catch (const Stopped& stopped) {
      reason_ = stopped.reason;
    }
  }

  // G = y - K a with everything in double.
  void recompute_gradient() {
    state_.gradient = state_.linear;
    std::vector<Id> support, columns(state_.size());
    std::vector<double> coefficients;
    for (std::size_t p = 0; p < state_.size(); ++p) {
      columns[p] = ids_[static_cast<std::size_t>(state_.variable[p])];
      if (state_.alpha[p] == 0) continue;
      support.push_back(columns[p]);
      coefficients.push_back(state_.alpha[p]);
    }
    evaluations_ += subtract_kernel_rows<double>(source_, support, coefficients, columns, state_.gradient.data(), team_, patience_);
  }

  const RowSource& source_;
  const Options& options_;
  StopRule stop_;
  SlabPool& pool_;
  ThreadTeam& team_;
  Patience patience_;
  DualState state_;
  std::array<double, 2> total_;
  std::vector<Id> ids_;
  // Steps between two Newton steps on all free variables. Solvers asked for by name take the steps their papers describe, and no others.
  std::int64_t leap_wait_ = options_.solver == Solver::automatic ? 256 : 0;
  Reason reason_ = Reason::converged;
  bool double_precision_ = false;
  std::int64_t iterations_ = 0;
  std::uint64_t evaluations_ = 0, operations_ = 0;
};

}  // namespace

Solution solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options, const StopRule& stop,
               const Start& start, SlabPool& pool, ThreadTeam& team, Watch& watch, bool owner) {
  const double began = watch.seconds();
  Solve solve(problem, source, ids, options, stop, pool, team, watch, owner);
  Solution solution = solve.finish(start);
  solution.outcome.seconds = watch.seconds() - began;
  return solution;
}

}  // namespace widemargin
