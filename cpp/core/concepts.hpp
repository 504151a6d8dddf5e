// The framework on one page: what the parts of a solver are to each other.
//
//   RowSource (rows/row_source.hpp, virtual per block)   kernel values between examples: KernelRows, GramRows, CallableRows, ClassSharedRows
//   Rows                                                 kernel rows of one problem, by position: CachedRows, DenseRows
//   Selector                                             step 1 of Algorithm 4.2: which two variables
//   Stepper                                              step 2: how far, and whether another working set had been counted on
//   Keeper                                               everything between the steps: shrinking, leaps, and the last word on convergence
//
// smo::run puts a selector, a stepper and a keeper together; block::BlockSolver runs it inside blocks; solve/solver_choice.hpp lists every combination.
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
concept Selector = requires(const S& select, const StateFor<R>& state, R& rows, const simd::Lead& lead, const smo::LastStep& last) {
  { select(state, rows, lead, last) } -> std::same_as<smo::WorkingSet>;
  { S::ranks_by_truncated_gain } -> std::convertible_to<bool>;
};

template <class S, class R, class Select>
concept Stepper = requires(const S& step, const StateFor<R>& state, const Select& select, const smo::WorkingSet& B, const typename R::Value* row,
                           const smo::LastStep& last, smo::LastStep& next) {
  { step.reconsider(state, select, B, last) } -> std::same_as<smo::WorkingSet>;
  { step(state, B, row, row, next) } -> std::same_as<double>;
};

template <class K, class R>
concept Keeper = requires(K& keeper, StateFor<R>& state, R& rows, const simd::Lead& lead) {
  { keeper.tidy(state, rows, lead) } -> std::same_as<bool>;       // true if the state changed
  { keeper.verify(state, rows) } -> std::same_as<Verdict>;        // asked when the violation is within the tolerance
};

}  // namespace widemargin
