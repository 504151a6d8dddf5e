// Which of the kept samples leaves where there are more than a budget allows, and which one it is merged into
// [Wang2012].
//
// Sample p is merged into sample r of its class: its coefficients and its bound C_p are added to theirs. The decision
// functions change by a_p (k(x_r, .) - k(x_p, .)), whose squared norm, summed over the functions, is
// |a_p|^2 (k_pp - 2 k_pr + k_rr). The pair with the smallest change is looked for among a few candidates p: those with
// the smallest |a_p|^2 k_pp, which is what removing them would change. That takes a kernel row for each candidate.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/online/decision.hpp"
#include "core/online/kept_rows.hpp"

namespace widemargin::online {

struct Merger {
  std::size_t leaving, into;
  double change;  // squared, of the decision functions
};

// The number of candidates, each of which costs a pass over a row.
inline constexpr std::size_t candidates_to_leave = 16;

// Of all that have not left; a class of which only one sample is kept keeps it, so that more samples than classes have
// to be there.
template <class T>
Merger smallest_change(std::span<const Decision> decisions, KeptRows<T>& rows, std::span<const std::int32_t> label,
                       std::span<const std::uint8_t> left) {
  const std::size_t n = rows.size();
  std::vector<std::size_t> of_class;
  for (std::size_t p = 0; p < n; ++p) {
    if (left[p] != 0) continue;
    const auto c = static_cast<std::size_t>(label[p]);
    if (of_class.size() <= c) of_class.resize(c + 1, 0);
    ++of_class[c];
  }
  struct Candidate {
    double alone;  // the change if it is removed
    std::size_t p;
    double size;  // |a_p|^2
    bool operator<(const Candidate& other) const { return alone != other.alone ? alone < other.alone : p < other.p; }
  };
  std::vector<Candidate> candidates;
  for (std::size_t p = 0; p < n; ++p) {
    if (left[p] != 0 || of_class[static_cast<std::size_t>(label[p])] < 2) continue;
    double size = 0;
    for (const Decision& one : decisions) size += one.state().alpha[p] * one.state().alpha[p];
    candidates.push_back({size * static_cast<double>(rows.diagonal()[p]), p, size});
  }
  assert(!candidates.empty());
  const std::size_t few = std::min(candidates_to_leave, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(few), candidates.end());

  constexpr double infinity = std::numeric_limits<double>::infinity();
  Merger best{candidates[0].p, candidates[0].p, infinity};
  for (std::size_t c = 0; c < few; ++c) {
    const auto [alone, p, size] = candidates[c];
    const T* const row = rows.row(p);
    const double own = static_cast<double>(rows.diagonal()[p]);
    double nearest = infinity;
    std::size_t into = p;
    for (std::size_t r = 0; r < n; ++r) {
      if (r == p || left[r] != 0 || label[r] != label[p]) continue;
      const double distance = own + static_cast<double>(rows.diagonal()[r]) - 2.0 * static_cast<double>(row[r]);
      if (distance < nearest) nearest = distance, into = r;
    }
    const double change = size * std::max(nearest, 0.0);
    if (into != p && change < best.change) best = {p, into, change};
  }
  return best;
}

}  // namespace widemargin::online
