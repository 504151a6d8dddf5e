// The links of a chain, one after the other: all at once or some at a time, with the same result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/chain/starts.hpp"
#include "core/outcome.hpp"

namespace widemargin::chain {

class Sequence {
 public:
  Sequence(std::span<const Link> links, Deadline& deadline) : links_(links), deadline_(deadline) {}

  // Solves the next links, `count` at most: `solve` gets a link, the one before and its solution, both null for the
  // first. Ends early where the deadline says so; the last one is then cut short, and none follow.
  template <class Solve>
  std::vector<LinkSolution> advance(std::size_t count, const Solve& solve) {
    std::vector<LinkSolution> solutions;
    while (solutions.size() < count && !ended()) {
      const std::size_t k = next_++;
      const LinkSolution* last = !solutions.empty() ? &solutions.back() : last_ ? &*last_ : nullptr;
      if (last != nullptr && same_solution(links_[k - 1], links_[k], *last)) {
        solutions.push_back(repeated(*last));
        continue;
      }
      solutions.push_back(solve(links_[k], k > 0 ? &links_[k - 1] : nullptr, last));
      if (deadline_.stopped()) next_ = links_.size();
    }
    if (!ended() && !solutions.empty()) last_ = solutions.back();
    return solutions;
  }

  bool ended() const { return next_ == links_.size(); }

 private:
  std::span<const Link> links_;
  Deadline& deadline_;
  std::size_t next_ = 0;
  std::optional<LinkSolution> last_;  // of the last call
};

}  // namespace widemargin::chain
