// A chain of problems over kernel rows that are computed as they are needed, where the matrix does not fit into memory.
#pragma once

#include <numeric>
#include <vector>

#include "core/grid/sequence.hpp"
#include "core/rows/derived_rows.hpp"
#include "core/solve.hpp"

namespace widemargin::grid {

class RowChain {
 public:
  // `start` is any point, with its gradient if that is known; or empty.
  RowChain(const RowSource& source, std::vector<Id> ids, std::span<const Link> links, const Start& start, const Options& options, const StopRule& stop,
           ThreadTeam& team, Watch& watch)
      : source_(source), ids_(std::move(ids)), sequence_(links, watch), start_(start), options_(options), stop_(stop), team_(team), watch_(watch) {}

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
    if (link.ridge.empty()) return {widemargin::solve(link.problem, source_, ids_, options_, stop_, start, pool, team_, watch_, true)};
    std::vector<Id> everything(ids_.size());
    std::iota(everything.begin(), everything.end(), Id{0});
    const DerivedRows ridged(source_, ids_, {}, {link.ridge.begin(), link.ridge.end()});
    return {widemargin::solve(link.problem, ridged, everything, options_, stop_, start, pool, team_, watch_, true)};
  }

  const RowSource& source_;
  std::vector<Id> ids_;
  Sequence sequence_;
  Start start_;
  Options options_;
  StopRule stop_;
  ThreadTeam& team_;
  Watch& watch_;
};

}  // namespace widemargin::grid
