// Who leaves so that no more samples stay kept than a budget allows.
//
// Of more, the oldest one leaves: the memory is a window that is as long as its support vectors have room. It outlasts
// a window of `budget` samples, and what it remembers may be true no longer. So of the samples that came before the
// last `budget` ones, those leave that the model takes for another class. With each of them goes the oldest one of that
// class among them: classes that are seldom predicted would lose their samples to the others else.
//
// Support vectors alone are a biased memory: of noisy labels they hold all that are wrong, and few of those that are
// right, on which a smaller problem would depend. So the last budget / 2 samples stay, whatever their coefficients are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/online/decision.hpp"

namespace widemargin::online {

// What is known of the kept samples, by position.
struct Kept {
  std::span<const std::int32_t> label;
  std::span<const std::int64_t> arrival;
  std::span<const std::uint8_t> left;

  // How many of each class are kept: a class keeps its last sample.
  std::vector<std::size_t> of_classes(std::size_t classes) const {
    std::vector<std::size_t> counts(classes, 0);
    for (std::size_t p = 0; p < left.size(); ++p) counts[static_cast<std::size_t>(label[p])] += left[p] == 0;
    return counts;
  }
};

// The class that position p is taken for. Of two classes, the first one is positive.
inline std::size_t predicted(std::span<const Decision> decisions, std::span<const std::int32_t> label, std::size_t p) {
  const auto value = [&](std::size_t q) {
    const DualState& state = decisions[q].state();
    return state.linear[p] - state.gradient[p] + decisions[q].middle();
  };
  if (decisions.size() == 1) return value(0) == 0 ? static_cast<std::size_t>(label[p]) : value(0) > 0 ? 0 : 1;
  std::size_t best = static_cast<std::size_t>(label[p]);
  for (std::size_t q = 0; q < decisions.size(); ++q)
    if (value(q) > value(best)) best = q;
  return best;
}

// The oldest of all samples; more of them are kept than there are classes.
inline std::size_t oldest(const Kept& kept, std::size_t classes) {
  const std::vector<std::size_t> of_class = kept.of_classes(classes);
  std::size_t found = kept.left.size();
  for (std::size_t p = 0; p < kept.left.size(); ++p)
    if (kept.left[p] == 0 && of_class[static_cast<std::size_t>(kept.label[p])] > 1 &&
        (found == kept.left.size() || kept.arrival[p] < kept.arrival[found]))
      found = p;
  return found;
}

// Of the samples that came before `since`: those that are taken for another class, each followed by one of that class.
inline std::vector<std::size_t> contradicted(std::span<const Decision> decisions, const Kept& kept, std::size_t classes,
                                             std::int64_t since) {
  std::vector<std::size_t> old, leaving;
  for (std::size_t p = 0; p < kept.left.size(); ++p)
    if (kept.left[p] == 0 && kept.arrival[p] < since) old.push_back(p);
  if (old.empty()) return leaving;
  std::sort(old.begin(), old.end(), [&](std::size_t p, std::size_t r) { return kept.arrival[p] < kept.arrival[r]; });
  std::vector<std::size_t> of_class = kept.of_classes(classes);
  std::vector<std::uint8_t> goes(kept.left.size(), 0);
  const auto let_go = [&](std::size_t p) {
    std::size_t& of_its_class = of_class[static_cast<std::size_t>(kept.label[p])];
    if (goes[p] != 0 || of_its_class < 2) return false;
    --of_its_class;
    leaving.push_back(p), goes[p] = 1;
    return true;
  };
  for (const std::size_t p : old) {
    const std::size_t other = predicted(decisions, kept.label, p);
    if (other == static_cast<std::size_t>(kept.label[p]) || !let_go(p)) continue;
    const auto mate = std::find_if(old.begin(), old.end(), [&](std::size_t r) {
      return goes[r] == 0 && static_cast<std::size_t>(kept.label[r]) == other;
    });
    if (mate != old.end()) let_go(*mate);
  }
  return leaving;
}

}  // namespace widemargin::online
