// All that a solver may know of a machine (the dual problem of a model).
//
//   maximise  f(a) = y'a - a'Ka/2   subject to  sum(a) = const,  L <= a <= U          [Glasmachers2008, eq. 4.1]
//
// The variables are signed (a_n = y_n alpha_n for a classifier) and K carries no labels, so that folds, pairs of
// classes and values of C share one kernel. The gradient is G = y - Ka. Machines with a nu have two sums that are
// constant, one for each group of variables. Regression subtracts kink'|a| from f: its slope falls by 2 kink_n where
// a_n passes 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace widemargin {

struct DualProblem {
  std::span<const double> linear;       // y
  std::span<const double> lower;        // L
  std::span<const double> upper;        // U
  std::array<double, 2> total{};        // what the variables of each group sum to
  std::span<const std::uint8_t> group;  // 0 or 1 for each variable; empty: all are in group 0
  std::span<const double> kink;         // at least 0, with L <= 0 <= U; empty: none

  std::size_t size() const { return linear.size(); }
};

}  // namespace widemargin
