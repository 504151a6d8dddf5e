// The pair with the steepest slope [Glasmachers2008, eq. 4.5]; it is known from the last gradient update.
#pragma once

#include "core/smo/working_set.hpp"

namespace widemargin::smo {

struct SelectMaximalViolatingPair {
  static constexpr bool ranks_by_truncated_gain = false;

  template <class Rows>
  WorkingSet operator()(const DualState&, Rows& rows, const simd::MaximalViolatingPair& pair, const LastStep&) const {
    return with_curvature(rows, static_cast<std::size_t>(pair.i), static_cast<std::size_t>(pair.j));
  }
};

}  // namespace widemargin::smo
