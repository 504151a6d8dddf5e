// The slope of a sigmoid that makes labels likeliest [Glasmachers2008, section 9.2.2].
//
// L(s) = -sum w log(1 + exp(-s m)) over margins m of size at most 1 is concave, and its maximum balances correct and
// wrong samples:
//
//   sum_{m > 0} w m / (1 + exp(s m)) = sum_{m < 0} w |m| / (1 + exp(s m)).
//
// Newton's method on the logarithm of the quotient of both sides, which falls in s and is close to a straight line far
// out, where few samples are left undecided; a bracket catches steps that overshoot.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace widemargin::sensitivity {

// Both sides of the equation at a slope, and how fast each falls.
struct SlopeBalance {
  double correct = 0, wrong = 0, correct_fall = 0, wrong_fall = 0;

  SlopeBalance(std::span<const double> margins, std::span<const double> weights, double slope) {
    for (std::size_t n = 0; n < margins.size(); ++n) {
      const double m = margins[n], doubt = 1 / (1 + std::exp(slope * m)), share = weights[n] * std::abs(m) * doubt;
      const double fall = share * m * (1 - doubt);
      if (m > 0)
        correct += share, correct_fall += fall;
      else
        wrong += share, wrong_fall += fall;
    }
  }
};

inline double likeliest_slope(std::span<const double> margins, std::span<const double> weights, double largest) {
  constexpr int most_steps = 100;
  constexpr double precision = 1e-9;  // the next step would be the square of this
  constexpr double rounding = 1e-12;
  const SlopeBalance flat(margins, weights, 0), steep(margins, weights, largest);
  if (!(flat.correct > (1 + rounding) * flat.wrong)) return 0;
  if (steep.correct >= steep.wrong) return largest;
  double low = 0, high = largest, slope = 0;
  for (int k = 0; k < most_steps; ++k) {
    const SlopeBalance now(margins, weights, slope);
    (now.correct > now.wrong ? low : high) = slope;
    double step = std::numeric_limits<double>::infinity();
    if (now.correct > 0)
      step = std::log(now.correct / now.wrong) / (now.correct_fall / now.correct - now.wrong_fall / now.wrong);
    const double proposal = slope + step;
    if (std::abs(step) <= precision * proposal) return proposal;
    slope = low < proposal && proposal < high ? proposal : 0.5 * (low + high);
  }
  return slope;
}

}  // namespace widemargin::sensitivity
