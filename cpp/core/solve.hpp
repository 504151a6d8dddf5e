// From a problem and a kernel to a certified solution: picks the solver, runs it, recomputes the gradient in double, and goes on (first
// from that gradient, then with kernel values in double) until the recomputed violation meets the tolerance.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/dual_problem.hpp"
#include "core/rows/row_source.hpp"
#include "core/rows/slabs.hpp"
#include "core/solution.hpp"

namespace widemargin {

enum class Solver { automatic, smo, block, mdm, accelerated_mdm };
enum class Selection { automatic, most_violating_pair, second_order, maximum_gain };

struct Options {
  Solver solver = Solver::automatic;
  Selection selection = Selection::automatic;
  std::size_t planning_ahead = 3;  // 0: Newton steps; N: plan with the N most recent working sets
  bool shrinking = true;
  bool double_precision = false;
  std::size_t cache_bytes = std::size_t{200} << 20;
};

struct Start {
  std::span<const double> alpha;     // any point; it is moved into the box and onto the constant sums
  std::span<const double> gradient;  // empty, or y - K alpha
};

// `ids` are the examples behind the variables. `owner` tells whether this thread may ask for interruption.
Solution solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options, const StopRule& stop,
               const Start& start, SlabPool& pool, ThreadTeam& team, Watch& watch, bool owner);

}  // namespace widemargin
