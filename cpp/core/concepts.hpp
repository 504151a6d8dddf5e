// The framework on one page: the parts that make up a solver, and what they offer each other.
//
//   RowSource   kernel values between samples, virtual per block (rows/row_source.hpp): KernelRows, GramRows, ...
//   Rows        kernel rows of one problem, by position: CachedRows, DenseRows, chain::CompactKernel
//   Selector    step 1 of Algorithm 4.2: the working set
//   Stepper     step 2: the length of the step, and whether another working set was planned for
//   ActiveSet   what happens between steps: shrinking, Newton steps, the check of convergence
//
// smo::run puts a selector, a stepper and an active set together; block::BlockSolver runs it on subproblems;
// solve/solver_choice.hpp lists every combination.
#pragma once

#include <concepts>
#include <span>

#include "core/dual_state.hpp"
#include "core/smo/working_set.hpp"
#include "core/verify.hpp"

namespace widemargin {

template <class R>
concept Rows = requires(R& rows, std::size_t position, std::span<const Id> positions, const typename R::Value** out) {
  { rows.row(position) } -> std::convertible_to<const typename R::Value*>;
  rows.rows(positions, out);
  { rows.diagonal() } -> std::convertible_to<const simd::Real<typename R::Value>*>;
  { rows.capacity() } -> std::convertible_to<std::size_t>;
};

template <class S, class R>
concept Selector = requires(const S& select, const StateFor<R>& state, R& rows, const simd::MaximalViolatingPair& pair,
                            const smo::LastStep& last) {
  { select(state, rows, pair, last) } -> std::same_as<smo::WorkingSet>;
  { S::ranks_by_truncated_gain } -> std::convertible_to<bool>;
};

template <class S, class R, class Select>
concept Stepper = requires(const S& step, const StateFor<R>& state, const Select& select, const smo::WorkingSet& B,
                           const typename R::Value* row, const smo::LastStep& last, smo::LastStep& next) {
  { step.reconsider(state, select, B, last) } -> std::same_as<smo::WorkingSet>;
  { step(state, B, row, row, next) } -> std::same_as<double>;
};

template <class A, class R>
concept ActiveSet = requires(A& active_set, StateFor<R>& state, R& rows, const simd::MaximalViolatingPair& pair) {
  { active_set.update(state, rows, pair) } -> std::same_as<bool>;  // after a step; true if the state changed
  { active_set.verify(state, rows) } -> std::same_as<Verdict>;     // asked when the violation is within the tolerance
};

}  // namespace widemargin
