// How symmetric a matrix is, in one pass over it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/runtime/thread_team.hpp"

namespace widemargin {

struct Symmetry {
  double largest = 0;               // entry, in absolute value; not finite if any entry is not
  double difference = 0;            // the largest between an entry above the diagonal and its mirror image,
  std::size_t row = 0, column = 0;  // and where that is
};

template <class T>
Symmetry symmetry_of(const T* matrix, std::size_t n, ThreadTeam& team) {
  constexpr std::size_t size = 64;  // a tile and its mirror image stay in the processor's cache
  const std::size_t strips = (n + size - 1) / size;
  std::vector<Symmetry> found(strips);
  team.share(strips, [&](std::size_t strip, std::size_t) {
    Symmetry& own = found[strip];
    const std::size_t top = strip * size, bottom = std::min(n, top + size);
    T sum = 0;  // of what is 0 for finite numbers: a comparison would pass over what is not a number
    for (std::size_t left = top; left < n; left += size) {
      const std::size_t right = std::min(n, left + size);
      for (std::size_t r = top; r < bottom; ++r) {
        T largest = 0, difference = 0;
        for (std::size_t c = std::max(left, r); c < right; ++c) {
          const T value = matrix[r * n + c], mirrored = matrix[c * n + r];
          largest = std::max({largest, std::fabs(value), std::fabs(mirrored)});
          difference = std::max(difference, std::fabs(value - mirrored));
          sum += (value - value) + (mirrored - mirrored);
        }
        own.largest = std::max(own.largest, static_cast<double>(largest));
        if (!(static_cast<double>(difference) > own.difference)) continue;
        own.difference = static_cast<double>(difference), own.row = r;
        for (std::size_t c = std::max(left, r); c < right; ++c)
          if (std::fabs(matrix[r * n + c] - matrix[c * n + r]) == difference) own.column = c;
      }
    }
    if (!(sum == 0)) own.largest = std::numeric_limits<double>::infinity();
  });
  Symmetry all;
  for (const Symmetry& one : found) {
    all.largest = std::max(all.largest, one.largest);
    if (one.difference > all.difference) all.difference = one.difference, all.row = one.row, all.column = one.column;
  }
  return all;
}

}  // namespace widemargin
