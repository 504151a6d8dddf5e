// What the decision values of pairs of classes say of samples, one pair after the other: there may be far too many
// pairs to keep the values of all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/simd/ops.hpp"

namespace widemargin::pairs {

enum class Rule {
  votes,        // with confidences, sums of decision values, between equal numbers of votes
  votes_alone,  // a value of 0 is a vote for the second class
  memberships   // fuzzy ones, the least of those on the hyperplanes of a class [Abe2005, chapter 3]
};

// Decision values are positive for the first class of a pair.
class Tally {
 public:
  // For up to `width` samples at once.
  Tally(Rule rule, std::size_t classes, std::size_t width)
      : rule_(rule),
        classes_(classes),
        width_(width),
        votes_(classes * width),
        sums_(classes * width),
        negated_(width) {
    begin();
  }

  // For other samples.
  void begin() {
    std::fill(votes_.begin(), votes_.end(), rule_ == Rule::memberships ? 1.0 : 0.0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }

  // Values of the pair a < b at n samples. Pairs have to come in order, since sums depend on it: (0, 1), (0, 2) ...
  void add(std::size_t a, std::size_t b, const double* values, std::size_t n) {
    double *first = votes_.data() + a * width_, *second = votes_.data() + b * width_;
    switch (rule_) {
      case Rule::votes:
        simd::ops<double>().vote(values, first, second, sums_.data() + a * width_, sums_.data() + b * width_, n);
        return;
      case Rule::votes_alone:
        // What is above 0 is below 0 from the other side, and only that; the sums count for nothing.
        for (std::size_t c = 0; c < n; ++c) negated_[c] = -values[c];
        simd::ops<double>().vote(negated_.data(), second, first, sums_.data() + b * width_, sums_.data() + a * width_,
                                 n);
        return;
      case Rule::memberships:
        for (std::size_t c = 0; c < n; ++c)
          first[c] = std::min(first[c], values[c]), second[c] = std::min(second[c], -values[c]);
    }
  }

  // A number for each class, the larger the likelier: those of a sample side by side.
  void write(std::size_t n, double* out) const {
    for (std::size_t k = 0; k < classes_; ++k)
      for (std::size_t c = 0; c < n; ++c) {
        const double sum = sums_[k * width_ + c], votes = votes_[k * width_ + c];
        out[c * classes_ + k] = rule_ == Rule::votes ? votes + sum / (3.0 * (std::fabs(sum) + 1.0)) : votes;
      }
  }

 private:
  Rule rule_;
  std::size_t classes_, width_;
  std::vector<double> votes_, sums_;  // class by class, `width` numbers each
  std::vector<double> negated_;
};

}  // namespace widemargin::pairs
