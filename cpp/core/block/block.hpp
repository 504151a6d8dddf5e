// Block decomposition [Osuna1997; Joachims1998], for problems whose kernel does not fit the fast part of memory.
//
//   repeat   choose a working set of some hundred variables, half of it kept from the last iteration
//            compute their kernel rows over the active variables in one block of products
//            solve the subproblem of these variables [Glasmachers2008, eq. 4.3] by SMO, inside the processor's cache
//            update the gradient by the rows of the variables that changed, once for all of them
//   until    the violation is within the tolerance
//
// Each kernel row passes through memory once per outer iteration, not once per SMO step.
#pragma once

#include <optional>

#include "core/block/subproblem.hpp"
#include "core/block/working_block.hpp"
#include "core/rows/cached_rows.hpp"
#include "core/rows/dense_rows.hpp"
#include "core/smo/smo.hpp"

namespace widemargin::block {

struct Tuning {
  std::size_t block_size = 512;
  double inner_tolerance = 0.1;  // of the outer violation
  std::size_t steps_per_variable = 40;
  std::size_t iterations_per_shrink = 4;
  double few_new_rows = 0.1;
  smo::NewtonSteps newton_steps{0};  // Newton steps on the free variables of a block
};

template <class T, class Selector, class Stepper>
class BlockSolver {
 public:
  BlockSolver(const Selector& select, const Stepper& step, const Tuning& tuning)
      : select_(select), step_(step), tuning_(tuning) {}

  // With `while_rows_are_new` it ends, without a reason, once an iteration has found nearly all the rows it needed in
  // the cache: from there on single steps with the best pair of all are the better choice.
  std::optional<Reason> run(DualState& state, CachedRows<T>& rows, const StoppingCriterion& stop, TimeBudget& budget,
                            smo::ShrinkingActiveSet& active_set, std::int64_t& iterations, bool while_rows_are_new) {
    WorkingBlock block(state.size(), std::min({tuning_.block_size, rows.capacity(), state.size()}));
    const std::int64_t most =
        iterations + std::min(stop.max_iterations, std::numeric_limits<std::int64_t>::max() - iterations);
    for (bool in_vain = false;;) {
      simd::MaximalViolatingPair pair = state.maximal_violating_pair();
      double violation = violation_of(pair);
      if (violation <= stop.tolerance) {
        const Verdict verdict = active_set.verify(state, rows);
        if (verdict != Verdict::go_on) return verdict == Verdict::certified ? Reason::converged : Reason::stalled;
        pair = state.maximal_violating_pair();
        violation = violation_of(pair);
      }
      if (in_vain) return Reason::stalled;
      if (iterations >= most) return Reason::iteration_budget;
      if (budget.over()) return budget.reason();
      if (active_set.update(state, rows, pair)) pair = state.maximal_violating_pair();

      const std::uint64_t evaluated = rows.evaluations();
      const std::vector<Id>& positions = block.choose(state, pair, 0.1 * stop.tolerance);
      gather(state, rows, positions);
      const StoppingCriterion inner_stop{
          std::max(0.5 * stop.tolerance, tuning_.inner_tolerance * violation),
          std::min<std::int64_t>(most - iterations,
                                 static_cast<std::int64_t>(tuning_.steps_per_variable * positions.size()))};
      smo::WholeActiveSet whole(tuning_.newton_steps, inner_stop.tolerance);
      const Reason ended = smo::run(inner_.state, kernel_, inner_stop, budget, select_, step_, whole, iterations);
      if (ended == Reason::unbounded) return ended;
      in_vain = !(apply_step(state, rows, positions) > 0);
      if (ended == Reason::time_budget || ended == Reason::interrupted) return ended;
      const double needed = static_cast<double>(row_pointers_.size()) * static_cast<double>(state.active);
      if (while_rows_are_new && rows.held_everything_so_far() &&
          static_cast<double>(rows.evaluations() - evaluated) < tuning_.few_new_rows * needed)
        return std::nullopt;
    }
  }

 private:
  // The block's own problem. Kernel values come from rows that are known; only those among the other variables are
  // computed.
  void gather(const DualState& state, CachedRows<T>& rows, const std::vector<Id>& positions) {
    const std::size_t m = positions.size();
    kernel_.resize(m);
    known_.resize(m);
    std::vector<Id> fresh;
    std::vector<std::size_t> fresh_at;
    for (std::size_t r = 0; r < m; ++r) {
      known_[r] = rows.known_row(static_cast<std::size_t>(positions[r]));
      if (known_[r] == nullptr) fresh.push_back(positions[r]), fresh_at.push_back(r);
    }
    fresh_values_.resize(fresh.size() * fresh.size());
    std::vector<T*> out(fresh.size());
    for (std::size_t r = 0; r < fresh.size(); ++r) out[r] = fresh_values_.data() + r * fresh.size();
    if (!fresh.empty()) rows.block(fresh, out.data());
    for (std::size_t r = 0; r < fresh.size(); ++r)
      for (std::size_t c = 0; c < fresh.size(); ++c) kernel_.row(fresh_at[r])[fresh_at[c]] = out[r][c];
    rows.team().share((m + 31) / 32, [&](std::size_t piece, std::size_t) {
      for (std::size_t r = piece * 32; r < std::min(m, (piece + 1) * 32); ++r) {
        if (known_[r] == nullptr) continue;
        T* target = kernel_.row(r);
        for (std::size_t c = 0; c < m; ++c) target[c] = known_[r][positions[c]];
        for (const std::size_t c : fresh_at) kernel_.row(c)[r] = target[c];
      }
    });
    for (std::size_t r = 0; r < m; ++r) kernel_.set_diagonal(r, rows.diagonal()[positions[r]]);
    inner_.take(state, positions);
  }

  // Takes the block's solution over and updates the gradient; what that has gained.
  double apply_step(DualState& state, CachedRows<T>& rows, const std::vector<Id>& positions) {
    const SubproblemStep change(state, inner_.state, positions);
    row_pointers_.resize(change.positions.size());
    rows.rows(change.positions, row_pointers_.data());
    rows.subtract(state.gradient.data(), row_pointers_, change.by, state.active);
    return change.gain(state);
  }

  const Selector& select_;
  const Stepper& step_;
  Tuning tuning_;
  std::vector<const T*> row_pointers_, known_;
  std::vector<T> fresh_values_;
  DenseRows<T> kernel_;
  Subproblem inner_;
};

}  // namespace widemargin::block
