#include "core/solve.hpp"

#include <array>
#include <numeric>
#include <stdexcept>

#include "core/block/block.hpp"
#include "core/ceiling.hpp"
#include "core/geometric/mdm.hpp"
#include "core/feasible.hpp"
#include "core/primal/newton.hpp"
#include "core/smo/select_maximum_gain.hpp"
#include "core/smo/select_most_violating_pair.hpp"
#include "core/smo/select_second_order.hpp"
#include "core/smo/smo.hpp"
#include "core/smo/step_planning_ahead.hpp"

namespace widemargin {
namespace {

// However small the cache: what a working block needs to be worth its name.
constexpr std::size_t least_rows = 64;
constexpr std::size_t finished_exactly = 512;  // variables
constexpr std::size_t cheap_in_double = 20'000'000;  // kernel values
// Rows of a few thousand columns; touching more memory would cost more than computing some of them again.
constexpr std::size_t enough_for_focus = std::size_t{64} << 20;

class Solve {
  // By variable.
  auto ridge() const {
    return [this](std::size_t v) { return source_.ridge(ids_[v]); };
  }

 public:
  Solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options, const StopRule& stop,
        SlabPool& pool, ThreadTeam& team, Watch& watch, bool owner)
      : source_(source), options_(options), stop_(stop), pool_(pool), team_(team), patience_(watch, owner), state_(problem), total_(problem.total),
        ids_(ids.begin(), ids.end()) {
    state_.ceiling = ceiling_of(problem, ridge());
  }

  Solution finish(const Start& from) {
    try {
      const bool given = start(from);
      started_at_ = objective();
      gradient_ = Gradient::running;
      if (patience_.now()) throw Stopped{patience_.reason()};
      if (given || !(options_.double_precision ? solve_in_primal<double>() : solve_in_primal<float>())) {
        double_precision_ = options_.double_precision || !refine<float>();
        if (double_precision_ && !options_.double_precision) leave_floats(from);
        if (double_precision_) refine<double>();
        if (imbalanced()) balance_again();
        if (reason_ == Reason::converged && options_.solver == Solver::automatic && state_.size() <= finished_exactly) finish_exactly();
      }
    } catch (const Stopped& stopped) {  // while a gradient was being computed
      reason_ = stopped.reason;
      if (gradient_ == Gradient::unknown) settle();
      if (reason_ == Reason::time_budget) recompute_for_good();
    }
    // A double that stalls has the last word; its gradient may be a running one.
    if (reason_ == Reason::stalled || reason_ == Reason::unbounded) recompute_for_good();
    if (gradient_ == Gradient::unknown) estimate_gradient();
    state_.active = state_.size();
    state_.cross();
    look_at_digits();
    Outcome end{.reason = reason_, .iterations = iterations_, .kernel_evaluations = evaluations_, .kernel_operations = operations_};
    end.double_precision = double_precision_;
    return handed_out(state_, ridge(), end, gradient_ == Gradient::recomputed);
  }

 private:
  // Without a starting point: 0, or the feasible point nearest to it. True if one was given, other than 0.
  bool start(const Start& from) {
    const std::vector<double> nothing(state_.size(), 0.0);
    std::vector<double> alpha(from.alpha.begin(), from.alpha.end());
    if (std::all_of(alpha.begin(), alpha.end(), [](double a) { return a == 0; })) {
      alpha = nothing;
      make_feasible(state_, total_, alpha);
      place(alpha, nothing);
      return false;
    }
    std::vector<double> known = alpha;  // the point whose gradient the state has
    if (from.gradient.empty()) {
      for (std::size_t p = 0; p < alpha.size(); ++p) alpha[p] = std::clamp(alpha[p], state_.whole_lower(p), state_.whole_upper(p));
      place(alpha, nothing);
      known = alpha;
    } else {
      for (std::size_t p = 0; p < alpha.size(); ++p) state_.gradient[p] = from.gradient[p] + (state_.linear[p] - state_.problem.linear[p]);
    }
    make_feasible_by_gradient(state_, total_, alpha);
    place(alpha, known);
    return true;
  }

  // From where kernel values in float have led; or from the start, if that was better.
  void leave_floats(const Start& from) {
    recompute_gradient();
    if (objective() >= started_at_) return;
    forget_point();
    start(from);
  }

  double objective() const {
    double twice = 0;
    for (std::size_t p = 0; p < state_.size(); ++p) twice += state_.alpha[p] * (state_.linear[p] + state_.gradient[p]);
    return 0.5 * twice;
  }

  double kernel_on_diagonal(std::size_t p) const {
    const Id id = ids_[static_cast<std::size_t>(state_.variable[p])];
    return source_.diagonal(id) - source_.ridge(id);
  }

  // Among the support vectors.
  double largest_kernel_value() const {
    double largest = 0;
    for (std::size_t p = 0; p < state_.size(); ++p)
      if (state_.alpha[p] != 0) largest = std::max(largest, std::fabs(kernel_on_diagonal(p)));
    return largest;
  }

  // Whether the sums are off by what a decision value would feel.
  bool imbalanced() const {
    const double by = imbalance(state_, total_);
    return by > 0 && by * largest_kernel_value() > 0.01 * stop_.tolerance;
  }

  // A violation within the tolerance that is no more than rounding of the kernel values it was recomputed from is not known.
  void look_at_digits() {
    if (reason_ != Reason::converged || geometric()) return;
    const double rounding = rounding_of_values<double>(state_, [this](std::size_t p) { return kernel_on_diagonal(p); });
    if (rounding > stop_.tolerance) reason_ = Reason::stalled;
  }

  void forget_point() {
    const double ceiling = state_.ceiling;
    state_ = DualState(state_.problem);
    state_.ceiling = ceiling;
  }

  // Goes on in double from the nearest feasible point, and is content with the one after that.
  void balance_again() {
    const auto balance = [this] {
      std::vector<double> alpha(state_.size());
      for (std::size_t p = 0; p < alpha.size(); ++p) alpha[static_cast<std::size_t>(state_.variable[p])] = state_.alpha[p];
      forget_point();
      make_feasible(state_, total_, alpha);
      for (std::size_t p = 0; p < alpha.size(); ++p) state_.put(p, alpha[p]);
      recompute_gradient();
    };
    balance();
    double_precision_ = true;
    refine<double>();
    if (!imbalanced()) return;
    balance();
    if (reason_ == Reason::converged) reason_ = Reason::stalled;
  }

  // Moves the variables to a point from one whose gradient the state has: by the rows of those that differ, unless all that are not 0 are fewer.
  void place(const std::vector<double>& alpha, const std::vector<double>& from) {
    std::vector<Id> moved;
    std::vector<double> by;
    std::size_t used = 0;
    for (std::size_t p = 0; p < alpha.size(); ++p) {
      used += alpha[p] != 0;
      if (alpha[p] != from[p]) moved.push_back(ids_[p]), by.push_back(alpha[p] - from[p]);
      state_.put(p, alpha[p]);
    }
    if (moved.empty()) return;
    if (moved.size() >= used) return recompute_gradient();
    evaluations_ += subtract_kernel_rows<double>(source_, moved, by, ids_, 0, state_.gradient.data(), team_, patience_);
  }

  // A square loss over a kernel of low rank: Newton's method, corrected by what the factor leaves out until the kernel itself certifies the
  // solution. False if that is not to be had; the point reached is then where another solver starts.
  template <class T>
  bool solve_in_primal() {
    const std::size_t n = state_.size();
    if (narrowing() != smo::Narrowing::focus || state_.grouped() || stop_.max_iterations < static_cast<std::int64_t>(n)) return false;
    std::vector<double> ridge(n);
    for (std::size_t p = 0; p < n; ++p) {
      ridge[p] = source_.ridge(ids_[p]);
      if (ridge[p] <= 0 && state_.whole_lower(p) < state_.whole_upper(p)) return false;
    }
    primal::LowRank factor(pool_);
    const bool low = factor.factor(source_, ids_, team_, patience_);
    evaluations_ += factor.evaluations();
    if (!low) return false;
    gradient_ = Gradient::unknown;  // it does not follow the variables
    primal::Newton newton(factor, state_.problem, ridge);
    CachedRows<T> rows = rows_of<T>(options_.cache_bytes);
    Verifier verify(stop_.tolerance);
    for (double last = std::numeric_limits<double>::infinity();;) {
      std::vector<double> alpha = newton.minimise(team_, patience_, iterations_);
      make_feasible(state_, total_, alpha);
      for (std::size_t p = 0; p < n; ++p) state_.put(p, alpha[p]);
      bool certified = verify(state_, rows) == Verdict::certified;
      if (!certified) {  // corrections are only as good as the gradient they are taken from
        recompute_gradient();
        state_.cross();
        certified = violation_of(state_.lead()) <= stop_.tolerance;
      }
      const double violation = violation_of(state_.lead());
      if (certified || !(violation < 0.5 * last)) {
        evaluations_ += rows.evaluations();
        gradient_ = certified ? Gradient::recomputed : Gradient::running;
        return certified;
      }
      last = violation;
      std::vector<double> error = newton.function(team_);
      for (std::size_t p = 0; p < n; ++p) error[p] = state_.problem.linear[p] - state_.smooth_gradient(p) - ridge[p] * state_.alpha[p] - error[p];
      newton.correct(error);
    }
  }

  // A small problem costs next to nothing to solve to rounding, and then its solution does not depend on the order of its rows, on where
  // the solver started, or on whether a row is weighted or repeated.
  void finish_exactly() {
    const StopRule asked = stop_;
    const DualState certified = state_;
    double scale = 0;
    for (const double g : state_.gradient) scale = std::max(scale, std::fabs(g));
    stop_ = {std::min(asked.tolerance, 1e-10 * std::min(1.0, scale)), std::min(asked.max_iterations, iterations_ + 100 * static_cast<std::int64_t>(state_.size()))};
    leaps_ = smo::Leaps(8, 1e6 + static_cast<double>(iterations_) * smo::Leaps::step_cost(state_.size()));
    CachedRows<double> rows = rows_of<double>(state_.size() * (state_.size() + 16) * sizeof(double));
    fetch_support(rows);
    const Reason ended = run_until_stopped(rows);
    if (ended == Reason::stalled || ended == Reason::iteration_budget) fetch_support(rows), gradient_ = Gradient::recomputed;
    evaluations_ += rows.evaluations();
    stop_ = asked;
    if (ended == Reason::interrupted) reason_ = ended;
    if (gradient_ == Gradient::recomputed && violation_of(state_.lead()) <= stop_.tolerance) return;
    state_ = certified;
    gradient_ = Gradient::recomputed;
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
    if (!holds_kernel(rows)) return false;
    reason_ = run_until_stopped(rows);
    evaluations_ += rows.evaluations();
    if (reason_ == Reason::iteration_budget) recompute_for_good();
    return reason_ != Reason::stalled;
  }

  // Whether values of type T do for the kernel, as far as can be seen beforehand: they neither vanish nor leave the range that sums of them
  // need, and where the ridge of a square loss is all that bounds the coefficients, they can tell it from rounding.
  template <class T>
  bool holds_kernel(const CachedRows<T>& rows) const {
    if (std::is_same_v<T, double> || rows.size() == 0) return true;
    if (!source_.fits_floats()) return false;
    double largest = 0;
    for (std::size_t p = 0; p < rows.size(); ++p)
      largest = std::max(largest, std::fabs(static_cast<double>(rows.diagonal()[p]) - source_.ridge(rows.ids()[p])));
    if (!floats_tell(least_ridge(state_.problem, ridge()), largest)) return false;
    if (largest > 1e-30) return largest < 1e37;
    return std::all_of(ids_.begin(), ids_.end(), [this](Id id) { return source_.diagonal(id) == source_.ridge(id); });
  }

  // After the deadline the gradient is recomputed all the same, if the grace suffices for it: in double if that takes some hundredths of a
  // second, else from the rows that are there and kernel values of their type, the cheapest way to say what was reached.
  template <class T>
  Reason run_until_stopped(CachedRows<T>& rows) {
    Reason reason;
    gradient_ = Gradient::running;
    try {
      reason = run(rows);
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
    }
    if (reason == Reason::converged) gradient_ = Gradient::recomputed;
    if (reason != Reason::time_budget) return reason;
    patience_.grant_grace();
    const std::vector<double> running = state_.gradient;
    try {
      if (Support(state_, rows.ids()).ids.size() * state_.size() <= cheap_in_double)
        recompute_gradient();
      else
        Verifier::recompute(state_, rows), gradient_ = Gradient::recomputed;
    } catch (const Stopped& stopped) {
      reason = stopped.reason;
      state_.gradient = running;
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
      tuning.leaps = leaps_;
      smo::Housekeeping keeper(options_.shrinking ? smo::Narrowing::shrinking : smo::Narrowing::none, smo::Leaps(0), stop_.tolerance, tuning.rounds_per_shrink, 1);
      block::BlockSolver<T, Selector, Stepper> solver(select, step, tuning);
      if (const auto ended = solver.run(state_, rows, stop, patience_, keeper, iterations_, options_.solver == Solver::automatic)) return *ended;
      stop.max_iterations = stop_.max_iterations - iterations_;
    }
    smo::Housekeeping keeper(narrowing(), leaps_, stop_.tolerance, std::min<std::size_t>(state_.size(), 1000), smo::steps_per_crossing);
    return smo::run(state_, rows, stop, patience_, select, step, keeper, iterations_);
  }

  // New rows come cheapest many at a time; single steps take over once the rows that matter are in the cache. Where they do not fit, blocks
  // go on to the end; where there are few variables, or rows cost next to nothing, single steps do it all. So they do for a square loss,
  // which leaves every variable of a block free.
  template <class T>
  bool starts_with_blocks(const CachedRows<T>& rows) const {
    if (options_.solver != Solver::automatic) return options_.solver == Solver::block;
    if (rows_are_cheap() || narrowing() == smo::Narrowing::focus) return false;
    if (!rows.holds_everything()) return true;
    const bool square_loss = !ids_.empty() && source_.ridge(ids_.front()) > 0;
    return state_.size() >= 2048 && source_.column_bytes(sizeof(float)) >= 32 && !square_loss;
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

  // Where time did not suffice to move the start onto the constant sums by its gradient.
  void settle() {
    std::vector<double> alpha = state_.alpha;
    make_feasible(state_, total_, alpha);
    for (std::size_t p = 0; p < alpha.size(); ++p) state_.put(p, alpha[p]);
  }

  // Where time did not suffice for a gradient at all: (Ka)_p of some variables, spread over those of each group that are free, at their lower
  // and at their upper bound; of the others their mean. What was reached is not known then, but the intercept is a sensible one. Where the
  // grace is over, too, some of the support vectors stand for all of them.
  void estimate_gradient() {
    constexpr std::size_t kinds = 6, at_once = 2, most = 64;  // of each kind
    constexpr std::size_t enough_support = 1024;
    constexpr double enough_seconds = 0.02, golden = 0.6180339887498949;
    std::array<std::vector<Id>, kinds> members;
    const auto kind_of = [&](std::size_t p) { return 3 * state_.group_of(p) + (state_.free(p) ? 0u : state_.room_up[p] > state_.room_down[p] ? 1u : 2u); };
    std::vector<Id> ids;
    for (std::size_t p = 0; p < state_.size(); ++p) {
      ids.push_back(ids_[static_cast<std::size_t>(state_.variable[p])]);
      members[kind_of(p)].push_back(static_cast<Id>(p));
    }
    Support support(state_, ids);
    Watch watch(1e10, nullptr);
    Patience unhurried(watch, false);
    patience_.grant_grace();
    if (patience_.now()) support.thin_out(enough_support);
    std::array<double, kinds> sum{}, count{};
    std::vector<std::uint8_t> known(state_.size(), 0);
    for (std::size_t first = 0; first < most && (first == 0 || (watch.seconds() < enough_seconds && !patience_.now())); first += at_once) {
      std::vector<Id> positions, columns;
      for (const std::vector<Id>& kind : members)
        for (std::size_t k = first; k < first + at_once && k < kind.size(); ++k) {
          const double share = std::fmod((static_cast<double>(k) + 0.5) * golden, 1.0);
          positions.push_back(kind.size() <= most ? kind[k] : kind[static_cast<std::size_t>(share * static_cast<double>(kind.size()))]);
          columns.push_back(ids[static_cast<std::size_t>(positions.back())]);
        }
      std::vector<double> minus_product(columns.size(), 0.0);
      evaluations_ += subtract_kernel_rows<double>(source_, support.ids, support.coefficients, columns, 0, minus_product.data(), team_, unhurried);
      for (std::size_t k = 0; k < positions.size(); ++k) {
        const std::size_t p = static_cast<std::size_t>(positions[k]);
        state_.gradient[p] = state_.linear[p] + minus_product[k];
        known[p] = 1;
        sum[kind_of(p)] += minus_product[k], count[kind_of(p)] += 1;
      }
    }
    for (std::size_t p = 0; p < state_.size(); ++p)
      if (known[p] == 0) state_.gradient[p] = state_.linear[p] + sum[kind_of(p)] / count[kind_of(p)];
  }

  // G = y - K a with everything in double.
  void recompute_gradient() {
    std::vector<Id> ids;
    for (const Id v : state_.variable) ids.push_back(ids_[static_cast<std::size_t>(v)]);
    const Support support(state_, ids);
    std::vector<Id> order(support.positions), columns(support.ids);  // the support vectors first
    for (std::size_t p = 0; p < state_.size(); ++p)
      if (state_.alpha[p] == 0) order.push_back(static_cast<Id>(p)), columns.push_back(ids[p]);
    std::vector<double> gradient;
    for (const Id p : order) gradient.push_back(state_.linear[static_cast<std::size_t>(p)]);
    evaluations_ += subtract_kernel_rows<double>(source_, support.ids, support.coefficients, columns, support.ids.size(), gradient.data(), team_, patience_);
    for (std::size_t k = 0; k < order.size(); ++k) state_.gradient[static_cast<std::size_t>(order[k])] = gradient[k];
    gradient_ = Gradient::recomputed;
  }

  // What the gradient of the state is worth: nothing; what steps have made of one, with kernel values that may be rounded, while variables
  // that were left aside have an older one; or computed from the variables as they are.
  enum class Gradient { unknown, running, recomputed };

  const RowSource& source_;
  const Options& options_;
  StopRule stop_;
  SlabPool& pool_;
  ThreadTeam& team_;
  Patience patience_;
  DualState state_;
  std::array<double, 2> total_;
  std::vector<Id> ids_;
  // Newton steps on all free variables. Solvers asked for by name take the steps their papers describe, and no others.
  smo::Leaps leaps_{options_.solver == Solver::automatic ? 256 : 0};
  double started_at_ = 0;  // the objective there
  Reason reason_ = Reason::converged;
  Gradient gradient_ = Gradient::unknown;
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
