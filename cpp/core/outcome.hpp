// What a solve reports about its end.
#pragma once

#include <array>
#include <cstdint>

#include "core/runtime/stopping.hpp"

namespace widemargin {

struct Outcome {
  Reason reason = Reason::converged;
  // From a gradient recomputed in double; where time did not suffice for it, infinite, infinite and NaN.
  double kkt_violation = 0, duality_gap = 0, objective = 0;
  std::array<double, 2> intercept{};  // the second for the second group of variables
  std::int64_t iterations = 0;
  std::uint64_t kernel_evaluations = 0;
  std::uint64_t kernel_operations = 0;  // geometric solvers: kernel values read, whether they were cached or not
  double seconds = 0;
  bool double_precision = false;  // kernel values in float did not do
};

}  // namespace widemargin
