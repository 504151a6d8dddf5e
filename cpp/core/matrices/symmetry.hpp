// How symmetric a matrix is: a first look, which reads it once from end to end, and a closer one, entry by entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/runtime/thread_team.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

// Whether K x and K'x, for some x of arbitrary numbers, are finite and differ by `tolerance` times the largest diagonal
// entry at most. Entries of K and K' that differ by more than twice that show, unless they cancel by chance.
template <class T>
bool looks_symmetric(const T* matrix, std::size_t n, double tolerance, ThreadTeam& team) {
  std::vector<double> x(n), times_x(n);
  std::vector<std::vector<double>> sums(team.size(), std::vector<double>(n, 0.0));
  std::uint64_t random = 0x9e3779b97f4a7c15u;
  double largest = 0;
  for (std::size_t p = 0; p < n; ++p) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;  // xorshift
    x[p] = (random & 1 ? 1.0 : -1.0) * (0.5 + static_cast<double>(random >> 11) * 0x1p-53);
    largest = std::max(largest, std::fabs(static_cast<double>(matrix[p * (n + 1)])));
  }
  team.share(n, [&](std::size_t r, std::size_t member) {
    times_x[r] = simd::ops<T>().add_and_dot(matrix + r * n, x.data(), x[r], sums[member].data(), n);
  });
  for (std::size_t p = 0; p < n; ++p) {
    double transposed = 0;
    for (const std::vector<double>& own : sums) transposed += own[p];
    if (!(std::fabs(times_x[p] - transposed) <= tolerance * largest)) return false;  // what is not a number, too
  }
  return true;
}

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
