// From a problem and a kernel to a certified solution.
//
// solve/solver_choice.hpp picks the solver, solve/precision_ladder.hpp runs it with as many digits as it takes, and
// solve/current_point.hpp recomputes the gradient in double and hands out the coefficients with their certificate.
#pragma once

#include <span>

#include "core/certificate.hpp"
#include "core/dual_problem.hpp"
#include "core/rows/row_source.hpp"
#include "core/rows/slabs.hpp"
#include "core/solve/start.hpp"

namespace widemargin {

enum class Solver { automatic, smo, block, mdm, accelerated_mdm };
enum class Selection { automatic, maximal_violating_pair, second_order, maximum_gain };

struct Options {
  Solver solver = Solver::automatic;
  Selection selection = Selection::automatic;
  std::size_t planning_ahead = 3;  // 0: Newton steps; N: plan with the N most recent working sets
  bool shrinking = true;
  bool double_precision = false;
  std::size_t cache_bytes = std::size_t{200} << 20;
};

// `ids` are the samples behind the variables. `owner` tells whether this thread may ask for interruption.
Solution solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options,
               const StoppingCriterion& stop, const Start& start, SlabPool& pool, ThreadTeam& team, Deadline& deadline,
               bool owner);

}  // namespace widemargin
