// A chain of problems over kernel rows that are computed as they are needed, where the matrix does not fit into memory.
#pragma once

#include <numeric>
#include <vector>

#include "core/grid/starts.hpp"
#include "core/rows/derived_rows.hpp"
#include "core/solve.hpp"

namespace widemargin::grid {

class RowChain {
 public:
  RowChain(const RowSource& source, std::vector<Id> ids, const Options& options, const StopRule& stop, SlabPool& pool, ThreadTeam& team, Watch& watch)
      : source_(source), ids_(std::move(ids)), options_(options), stop_(stop), pool_(pool), team_(team), watch_(watch) {}

  // `start` is any point, or empty. Ends early where the watch says so.
  std::vector<LinkSolution> run(std::span<const Link> links, std::span<const double> start) {
    std::vector<LinkSolution> solutions;
    for (std::size_t k = 0; k < links.size(); ++k) {
      if (k > 0 && same_solution(links[k - 1], links[k], solutions.back())) {
        solutions.push_back(repeated(solutions.back()));
        continue;
      }
      if (k == 0) {
        solutions.push_back(solve(links[k], {start, {}}));
      } else {
        const Point from = scaled(links[k - 1], links[k], solutions.back());
        solutions.push_back(solve(links[k], {from.alpha, from.gradient}));
      }
      if (watch_.stopped()) break;
    }
    return solutions;
  }

 private:
  LinkSolution solve(const Link& link, const Start& start) {
    if (link.ridge.empty()) return {widemargin::solve(link.problem, source_, ids_, options_, stop_, start, pool_, team_, watch_, true)};
    std::vector<Id> everything(ids_.size());
    std::iota(everything.begin(), everything.end(), Id{0});
    const DerivedRows ridged(source_, ids_, {}, {link.ridge.begin(), link.ridge.end()});
    return {widemargin::solve(link.problem, ridged, everything, options_, stop_, start, pool_, team_, watch_, true)};
  }

  const RowSource& source_;
  std::vector<Id> ids_;
  const Options& options_;
  StopRule stop_;
  SlabPool& pool_;
  ThreadTeam& team_;
  Watch& watch_;
};

}  // namespace widemargin::grid
