// Block decomposition for problems whose kernel does not fit the fast part of memory.
//
//   repeat   choose a working block of some hundred variables, half of it kept from the last round
//            compute their kernel rows over the active variables in one block of products
//            solve the block's own problem [Glasmachers2008, eq. 4.3] by SMO, inside the processor's cache
//            stream the changed rows once through the gradient
//   until    the violation is within the tolerance
//
// Each kernel row passes through memory once per round, not once per step.
#pragma once

#include "core/block/working_block.hpp"
#include "core/rows/cached_rows.hpp"
#include "core/rows/dense_rows.hpp"
#include "core/smo/shrink.hpp"
#include "core/smo/smo.hpp"

namespace widemargin::block {

struct Tuning {
  std::size_t block_size = 512;
  double inner_tolerance = 0.1;      // of the outer violation
  std::size_t steps_per_variable = 40;
  int rounds_per_shrink = 4;
};

template <class T, class Selector, class Stepper>
class BlockSolver {
 public:
  BlockSolver(const Selector& select, const Stepper& step, const Tuning& tuning) : select_(select), step_(step), tuning_(tuning) {}

  template <class Shrinker>
  smo::Ended run(DualState& state, CachedRows<T>& rows, const StopRule& stop, Patience& patience, Shrinker& shrink) {
    WorkingBlock block(state.size(), std::min({tuning_.block_size, rows.capacity(), state.size()}));
    std::int64_t iterations = 0;
    for (int round = 1;; ++round) {
      simd::Lead lead = state.lead();
      double violation = violation_of(lead);
      if (violation <= stop.tolerance) {
        if (!shrink.restore(state, rows)) return {Reason::converged, iterations};
        lead = state.lead();
        if ((violation = violation_of(lead)) <= stop.tolerance) return {Reason::converged, iterations};
      }
      if (iterations >= stop.max_iterations) return {Reason::iteration_budget, iterations};
      if (patience.now()) return {patience.reason(), iterations};
      if (round % tuning_.rounds_per_shrink == 0 && shrink.shrink(state, rows, lead, violation)) lead = state.lead(), violation = violation_of(lead);

      const std::vector<Id>& positions = block.choose(state, lead, 0.1 * stop.tolerance);
      row_pointers_.resize(positions.size());
      rows.rows(positions, row_pointers_.data());
      gather(state, rows, positions);
      const StopRule inner_stop{std::max(0.5 * stop.tolerance, tuning_.inner_tolerance * violation),
                                std::min<std::int64_t>(stop.max_iterations - iterations, static_cast<std::int64_t>(tuning_.steps_per_variable * positions.size()))};
      smo::NoShrinking all;
      const smo::Ended ended = smo::run(inner_, kernel_, inner_stop, patience, select_, step_, all);
      iterations += ended.iterations;
      if (!scatter(state, rows, positions)) return {ended.reason == Reason::converged ? Reason::stalled : ended.reason, iterations};
    }
  }

 private:
  void gather(const DualState& state, CachedRows<T>& rows, const std::vector<Id>& positions) {
    const std::size_t m = positions.size();
    kernel_.resize(m);
    rows.team().share((m + 31) / 32, [&](std::size_t piece, std::size_t) {
      for (std::size_t r = piece * 32; r < std::min(m, (piece + 1) * 32); ++r) {
        T* target = kernel_.row(r);
        for (std::size_t c = 0; c < m; ++c) target[c] = row_pointers_[r][positions[c]];
      }
    });
    inner_.alpha.resize(m), inner_.gradient.resize(m), inner_.lower.resize(m), inner_.upper.resize(m);
    inner_.room_up.resize(m), inner_.room_down.resize(m);
    inner_.active = m;
    for (std::size_t r = 0; r < m; ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      kernel_.set_diagonal(r, rows.diagonal()[p]);
      inner_.alpha[r] = state.alpha[p], inner_.gradient[r] = state.gradient[p];
      inner_.lower[r] = state.lower[p], inner_.upper[r] = state.upper[p];
      inner_.room_up[r] = state.room_up[p], inner_.room_down[r] = state.room_down[p];
    }
  }

  // Takes the block's solution over and updates the gradient; false if nothing moved.
  bool scatter(DualState& state, CachedRows<T>& rows, const std::vector<Id>& positions) {
    std::vector<const T*> changed;
    std::vector<double> by;
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const std::size_t p = static_cast<std::size_t>(positions[r]);
      const double difference = inner_.alpha[r] - state.alpha[p];
      if (difference == 0) continue;
      state.set_alpha(p, inner_.alpha[r]);
      changed.push_back(row_pointers_[r]);
      by.push_back(difference);
    }
    constexpr std::size_t part = 2048;
    rows.team().share((state.active + part - 1) / part, [&](std::size_t piece, std::size_t) {
      simd::ops<T>().subtract_rows(state.gradient.data(), changed.data(), by.data(), changed.size(), piece * part,
                                   std::min(state.active, (piece + 1) * part));
    });
    return !changed.empty();
  }

  const Selector& select_;
  const Stepper& step_;
  Tuning tuning_;
  std::vector<const T*> row_pointers_;
  DenseRows<T> kernel_;
  DualState inner_;
};

}  // namespace widemargin::block
