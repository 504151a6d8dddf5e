// Problems over kernel rows, one by one or in chains.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/chains.hpp"
#include "bindings/problems.hpp"
#include "core/chain/row_chain.hpp"
#include "core/solve.hpp"

namespace widemargin::bindings {

inline Solver solver_named(const std::string& name) {
  return named<Solver>("solver", name,
                       {{"auto", Solver::automatic},
                        {"smo", Solver::smo},
                        {"block", Solver::block},
                        {"mdm", Solver::mdm},
                        {"accelerated-mdm", Solver::accelerated_mdm}});
}

inline Selection selection_named(const std::string& name) {
  return named<Selection>("selection", name,
                          {{"auto", Selection::automatic},
                           {"maximal-violating-pair", Selection::maximal_violating_pair},
                           {"second-order", Selection::second_order},
                           {"maximum-gain", Selection::maximum_gain}});
}

inline std::size_t require_threads(std::size_t count) {
  if (count == 0) throw std::invalid_argument("n_threads must be at least 1");
  return count;
}

inline void check_task(const Task& task, const RowSource& rows) {
  const std::size_t n = task.ids.shape(0);
  check_problem(task, n);
  for (std::size_t p = 0; p < n; ++p)
    if (task.ids.data()[p] < 0 || static_cast<std::size_t>(task.ids.data()[p]) >= rows.size())
      throw std::invalid_argument("an id lies outside the row source");
}

// Solves `count` problems over one source: many of them with one thread each, few with all threads on each in turn. The
// solutions are the same. `task(t)` gives a problem, its samples and its start, put(t, solution) takes what came of it.
template <class Get, class Put>
void solve_problems(const RowSource& rows, std::size_t count, const Get& task, const Put& put, const Options& options,
                    const StoppingCriterion& stop, double max_seconds, double grace_seconds, std::size_t n_threads) {
  bool interrupted = false;
  {
    nb::gil_scoped_release release;
    Deadline deadline(max_seconds, grace_seconds, interruption_pending);
    std::vector<SlabPool> pools(require_threads(n_threads));
    const auto one = [&](std::size_t t, ThreadTeam& team, std::size_t member) {
      const auto& [problem, ids, start] = task(t);
      put(t, solve(problem, rows, ids, options, stop, start, pools[member], team, deadline, member == 0));
    };
    ThreadTeam team(n_threads);
    if (count >= 2 * n_threads && n_threads > 1) {
      team.share(
          count,
          [&](std::size_t t, std::size_t member) {
            thread_local ThreadTeam alone(1);
            try {
              one(t, alone, member);
            } catch (...) {
              deadline.cancel();  // what the others are at is of no use any more
              throw;
            }
          },
          [&] { deadline.poll(); });
    } else {
      for (std::size_t t = 0; t < count; ++t) one(t, team, 0);
    }
    interrupted = deadline.stopped() && deadline.reason() == Reason::interrupted;
  }
  if (interrupted) throw nb::python_error();
}

struct ProblemToSolve {
  DualProblem problem;
  std::span<const Id> ids;
  Start start;
};

inline std::vector<Solved> solve_all_over(const RowSource& rows, const std::vector<Task>& tasks,
                                          const std::string& solver, const std::string& selection,
                                          std::size_t planning_ahead, bool shrinking, bool double_precision,
                                          std::size_t cache_bytes, double tolerance, std::int64_t max_iterations,
                                          double max_seconds, double grace_seconds, std::size_t n_threads) {
  const Options options{solver_named(solver), selection_named(selection), planning_ahead, shrinking, double_precision,
                        cache_bytes};
  for (const Task& task : tasks) check_task(task, rows);
  const auto task_at = [&](std::size_t t) {
    const Task& task = tasks[t];
    return ProblemToSolve{task.problem(), view(task.ids), Start{view(task.alpha), view(task.gradient)}};
  };
  std::vector<Solution> solutions(tasks.size());
  const auto put = [&](std::size_t t, Solution&& one) { solutions[t] = std::move(one); };
  solve_problems(rows, tasks.size(), task_at, put, options, {tolerance, max_iterations}, max_seconds, grace_seconds,
                 n_threads);
  std::vector<Solved> solved;
  for (Solution& one : solutions)
    solved.push_back({numpy_array(std::move(one.alpha)), numpy_array(std::move(one.gradient)), one.outcome});
  return solved;
}

inline std::vector<Solved> solve_all(const Source& source, const std::vector<Task>& tasks, const std::string& solver,
                                     const std::string& selection, std::size_t planning_ahead, bool shrinking,
                                     bool double_precision, std::size_t cache_bytes, double tolerance,
                                     std::int64_t max_iterations, double max_seconds, double grace_seconds,
                                     std::size_t n_threads) {
  return solve_all_over(*source.rows, tasks, solver, selection, planning_ahead, shrinking, double_precision,
                        cache_bytes, tolerance, max_iterations, max_seconds, grace_seconds, n_threads);
}

// Solutions of many problems: their variables one after the other, and a row of numbers for how each of them ended.
struct SolvedTogether {
  nb::ndarray<nb::numpy, double> alpha, gradient, outcomes;
};

inline constexpr std::array outcome_columns{"reason",    "kkt_violation", "duality_gap",        "objective",
                                            "intercept", "iterations",    "kernel_evaluations", "kernel_operations",
                                            "seconds",   "precision"};

inline void write_row(const Outcome& one, double* row) {
  for (const double number :
       {static_cast<double>(one.reason), one.kkt_violation, one.duality_gap, one.objective, one.intercept[0],
        static_cast<double>(one.iterations), static_cast<double>(one.kernel_evaluations),
        static_cast<double>(one.kernel_operations), one.seconds, one.double_precision ? 1.0 : 0.0})
    *row++ = number;
}

// The problems of chains with one link each, over kernel rows.
inline SolvedTogether solve_together(const Source& source, const LaneProblems& problems,
                                     std::optional<Vector<double>> start, const std::string& solver,
                                     const std::string& selection, std::size_t planning_ahead, bool shrinking,
                                     bool double_precision, std::size_t cache_bytes, double tolerance,
                                     std::int64_t max_iterations, double max_seconds, double grace_seconds,
                                     std::size_t n_threads) {
  const Options options{solver_named(solver), selection_named(selection), planning_ahead, shrinking, double_precision,
                        cache_bytes};
  problems.check(source.rows->size(), start, false);
  const chain::SideBySide::Lanes table = problems.table(view(start));
  const auto problem_at = [&](std::size_t t) {
    return ProblemToSolve{table.link(t, 0).problem, table.ids_of(t), table.start_of(t)};
  };
  std::vector<double> alpha(table.ids.size()), gradient(table.ids.size()),
      outcomes(table.size() * outcome_columns.size());
  const auto put = [&](std::size_t t, const Solution& one) {
    std::copy(one.alpha.begin(), one.alpha.end(), alpha.data() + table.begin(t));
    std::copy(one.gradient.begin(), one.gradient.end(), gradient.data() + table.begin(t));
    write_row(one.outcome, outcomes.data() + t * outcome_columns.size());
  };
  solve_problems(*source.rows, table.size(), problem_at, put, options, {tolerance, max_iterations}, max_seconds,
                 grace_seconds, n_threads);
  return {numpy_array(std::move(alpha)), numpy_array(std::move(gradient)),
          numpy_matrix(std::move(outcomes), table.size())};
}

// A chain of problems over kernel rows; all threads work on one problem after the other.
class HeldRowChain {
 public:
  HeldRowChain(nb::object source, std::optional<Vector<Id>> ids, std::vector<Task> links,
               std::optional<Vector<double>> start, const std::string& solver, const std::string& selection,
               std::size_t planning_ahead, bool shrinking, bool double_precision, std::size_t cache_bytes,
               double tolerance, std::int64_t max_iterations, double max_seconds, double grace_seconds,
               std::size_t n_threads, const StopSignal* signal)
      : source_(source),
        parts_(nb::cast<const Source&>(source).rows->size(), ids, std::move(links), start, max_seconds, grace_seconds,
               signal),
        team_(require_threads(n_threads)) {
    std::vector<Id> own(parts_.n);
    if (ids)
      std::copy_n(ids->data(), own.size(), own.begin());
    else
      std::iota(own.begin(), own.end(), Id{0});
    if (std::find(own.begin(), own.end(), resembles_nothing) != own.end())
      throw std::invalid_argument("an id lies outside the kernel");
    const Options options{solver_named(solver), selection_named(selection), planning_ahead, shrinking, double_precision,
                          cache_bytes};
    chain_.emplace(*nb::cast<const Source&>(source).rows, std::move(own), parts_.links, parts_.start(), options,
                   StoppingCriterion{tolerance, max_iterations}, team_, parts_.deadline);
  }

  template <class Function>
  void each_owned(Function&& function) {
    function(source_);
  }

  std::vector<SolvedLink> advance(std::size_t links) {
    const OneAtATime::Turn alone = parts_.advancing.taken();
    std::vector<chain::LinkSolution> solutions;
    {
      nb::gil_scoped_release release;
      SlabPool pool;
      solutions = chain_->advance(links, pool);
    }
    parts_.raise_what_interrupted();
    return as_solved(std::move(solutions));
  }

 private:
  nb::object source_;
  ChainParts parts_;
  ThreadTeam team_;
  std::optional<chain::RowChain> chain_;
};

}  // namespace widemargin::bindings
