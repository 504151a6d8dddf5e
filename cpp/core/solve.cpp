#include "core/solve.hpp"

#include <algorithm>
#include <memory>

#include "core/solve/precision_ladder.hpp"
#include "core/solve/tiny_problem.hpp"

namespace widemargin {

namespace {

// All values among some samples; returns how many were evaluated.
std::uint64_t gather(const RowSource& source, std::span<const Id> ids, TinyProblem& to, ThreadTeam& team) {
  const std::size_t n = ids.size();
  to.resize(n);
  if (const double* const whole = source.whole_matrix()) {
    // Of a symmetric matrix half of the values do: they are far apart, and memory is what this waits for.
    for (std::size_t r = 0; r < n; ++r) {
      const double* const from = whole + static_cast<std::size_t>(ids[r]) * source.size();
      double* const row = to.row(r);
      for (std::size_t c = r; c < n; ++c) row[c] = from[ids[c]];
    }
    for (std::size_t r = 1; r < n; ++r)
      for (std::size_t c = 0; c < r; ++c) to.row(r)[c] = to.row(c)[r];
    return 0;
  }
  constexpr std::size_t at_once = 64;
  const std::unique_ptr<Columns<double>> columns = source.prepare(ids, true, team, double{});
  double* out[at_once];
  std::uint64_t evaluated = 0;
  for (std::size_t begin = 0; begin < n; begin += at_once) {
    const std::size_t some = std::min(at_once, n - begin);
    for (std::size_t r = 0; r < some; ++r) out[r] = to.row(begin + r);
    evaluated += source.rows(ids.subspan(begin, some), *columns, 0, n, out, team);
  }
  return evaluated;
}

// Whether there is time for a look at a problem, and nobody asked for other steps than those it gets.
bool may_be_tiny(const DualProblem& problem, const RowSource& source, const Options& options,
                 const StoppingCriterion& stop, const Start& start, const Deadline& deadline) {
  const Options usual;
  if (options.solver != Solver::automatic || options.selection != Selection::automatic ||
      options.planning_ahead != usual.planning_ahead || (deadline.limited() && source.whole_matrix() == nullptr))
    return false;
  const bool given = std::any_of(start.alpha.begin(), start.alpha.end(), [](double a) { return a != 0; });
  const bool cheap = source.value_work() * problem.size() * problem.size() < 10'000'000;
  return !given && cheap && stop.max_iterations >= 1'000'000 && TinyProblem::suits(problem);
}

}  // namespace

Solution solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options,
               const StoppingCriterion& stop, const Start& start, SlabPool& pool, ThreadTeam& team, Deadline& deadline,
               bool owner) {
  const double began = deadline.seconds();
  if (may_be_tiny(problem, source, options, stop, start, deadline) && !deadline.poll(owner)) {
    thread_local TinyProblem tiny;
    Outcome outcome;
    outcome.kernel_evaluations = gather(source, ids, tiny, team);
    if (tiny.solve(problem, stop.tolerance, outcome.iterations)) {
      const auto ridge = [&](std::size_t v) { return source.ridge(ids[v]); };
      const auto of_kernel = [&](std::size_t p) { return tiny.diagonal(p) - ridge(p); };
      outcome.double_precision = options.double_precision || !source.fits_floats() ||
                                 rounding_of_values<float>(tiny.state(), of_kernel) > stop.tolerance;
      Solution found = handed_out(tiny.state(), ridge, outcome);
      found.outcome.seconds = deadline.seconds() - began;
      if (found.outcome.reason == Reason::converged) return found;
    }
  }
  Solution solution = PrecisionLadder(problem, source, ids, options, stop, pool, team, deadline, owner).solve(start);
  solution.outcome.seconds = deadline.seconds() - began;
  return solution;
}

}  // namespace widemargin
