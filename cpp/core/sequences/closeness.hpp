// How much a pair of equal oligomers counts, by the distance of their places: exp(-d^2 / (4 sigma^2)) or its slope.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sequences/oligomers.hpp"

namespace widemargin::sequences {

// The places that two sets of sequences have, counted from the lowest.
struct Places {
  Places(const Oligomers& one, const Oligomers& other)
      : low(std::min(one.low(), other.low())), width(span_of(low, std::max(one.high(), other.high()))) {}

  std::int32_t low;
  std::size_t width;

 private:
  static std::size_t span_of(std::int64_t low, std::int64_t high) {
    return high > low ? static_cast<std::size_t>(high - low) : 0;
  }
};

template <class T>
class Closeness {
 public:
  // near[d] for distances d < width.
  Closeness(std::span<const double> near, std::size_t width) : width_(width), mirrored_(width > 0 ? 2 * width - 1 : 0) {
    if (near.size() < width) throw std::invalid_argument("there must be a number for every distance of places");
    for (std::size_t d = 0; d < width; ++d) {
      const T value = static_cast<T>(near[d]);
      mirrored_[width - 1 - d] = mirrored_[width - 1 + d] = value;
      if (value != T(0)) reach_ = d;
    }
  }

  T operator()(std::size_t distance) const { return mirrored_[width_ - 1 + distance]; }

  // Beyond this distance nothing counts.
  std::size_t reach() const { return reach_; }

  // Calls add(place, value) for all places close enough to one.
  template <class Add>
  void around(std::size_t place, Add&& add) const {
    const std::size_t first = place > reach_ ? place - reach_ : 0, last = std::min(width_, place + reach_ + 1);
    const T* value = mirrored_.data() + (width_ - 1 - place);
    for (std::size_t q = first; q < last; ++q) add(q, value[q]);
  }

 private:
  std::size_t width_, reach_ = 0;
  std::vector<T> mirrored_;
};

}  // namespace widemargin::sequences
