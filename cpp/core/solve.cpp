#include "core/solve.hpp"

#include "core/solve/precision_ladder.hpp"

namespace widemargin {

Solution solve(const DualProblem& problem, const RowSource& source, std::span<const Id> ids, const Options& options,
               const StoppingCriterion& stop, const Start& start, SlabPool& pool, ThreadTeam& team, Deadline& deadline,
               bool owner) {
  const double began = deadline.seconds();
  Solution solution = PrecisionLadder(problem, source, ids, options, stop, pool, team, deadline, owner).solve(start);
  solution.outcome.seconds = deadline.seconds() - began;
  return solution;
}

}  // namespace widemargin
