// A chain of problems over kernel rows that are computed as they are needed, where the matrix does not fit into memory.
#pragma once

#include <numeric>
#include <vector>

#include "core/chain/sequence.hpp"
#include "core/rows/derived_rows.hpp"
#include "core/solve.hpp"

namespace widemargin::chain {

class RowChain {
 public:
  // `start` is any point, with its gradient if that is known; or empty.
  RowChain(const RowSource& source, std::vector<Id> ids, std::span<const Link> links, const Start& start,
           const Options& options, const StoppingCriterion& stop, ThreadTeam& team, Deadline& deadline)
      : source_(source),
        ids_(std::move(ids)),
        sequence_(links, deadline),
        start_(start),
        options_(options),
        stop_(stop),
        team_(team),
        deadline_(deadline) {}

  // Solves the next links, as a sequence does.
  std::vector<LinkSolution> advance(std::size_t count, SlabPool& pool) {
    return sequence_.advance(count, [&](const Link& link, const Link* before, const LinkSolution* last) {
      if (last == nullptr) return solve(link, start_, pool);
      const Point from = scaled(*before, link, *last);
      return solve(link, {from.alpha, from.gradient}, pool);
    });
  }

 private:
  LinkSolution solve(const Link& link, const Start& start, SlabPool& pool) {
    if (link.ridge.empty())
      return {widemargin::solve(link.problem, source_, ids_, options_, stop_, start, pool, team_, deadline_, true)};
    std::vector<Id> everything(ids_.size());
    std::iota(everything.begin(), everything.end(), Id{0});
    const DerivedRows ridged(source_, ids_, {}, {link.ridge.begin(), link.ridge.end()});
    return {widemargin::solve(link.problem, ridged, everything, options_, stop_, start, pool, team_, deadline_, true)};
  }

  const RowSource& source_;
  std::vector<Id> ids_;
  Sequence sequence_;
  Start start_;
  Options options_;
  StoppingCriterion stop_;
  ThreadTeam& team_;
  Deadline& deadline_;
};

}  // namespace widemargin::chain
