// Chains over one kernel matrix, side by side: those of all pairs of classes of a fold.
//
// A chain works on the kernel of its own samples alone: in place where they lie in stretches, else in a copy. The
// decision values of others are summed up once the links are solved, from the rows of the support vectors,
//
//   f(x) = sum_i a_i k(x_i, x) + b,
//
// for some samples x at a time, so that their part of the kernel is gathered once for all chains and links and stays in
// the processor's cache.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/chain/matrix_chain.hpp"
#include "core/runtime/buffer.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::chain {

class SideBySide {
 public:
  // One chain: its samples, its problems over these, where it starts.
  struct Lane {
    std::span<const Id> ids;
    std::span<const Link> links;
    Start start;
  };
  // A link of all chains, and the decision values that it has at the samples asked for, chain by chain.
  struct Solved {
    std::vector<LinkSolution> lanes;
    std::vector<double> values;
  };

  // All chains have equally many links. Between two calls they keep what they gathered if `keeps`.
  SideBySide(const float* kernel, std::size_t size, std::span<const Lane> lanes, std::span<const Id> asked,
             const StoppingCriterion& stop, Deadline& deadline, bool keeps)
      : kernel_(kernel),
        size_(size),
        lanes_(lanes),
        asked_(asked),
        stop_(stop),
        deadline_(deadline),
        keeps_(keeps),
        states_(lanes.size()) {}

  // Solves the next links, `count` at most. None are returned that a chain lacks.
  std::vector<Solved> advance(std::size_t count) {
    count = std::min(count, left());
    std::vector<Solved> solved(count);
    for (std::size_t at = 0; at < lanes_.size(); ++at) {
      std::vector<LinkSolution> found = advance(at, count, count == left());
      if (found.size() < count || deadline_.stopped()) return ended_ = true, std::vector<Solved>{};
      for (std::size_t k = 0; k < count; ++k) solved[k].lanes.push_back(std::move(found[k]));
    }
    done_ += count;
    if (!keeps_ || left() == 0) last_copy_.reset();
    if (!sum_up(solved)) return ended_ = true, std::vector<Solved>{};
    for (Solved& one : solved)
      for (std::size_t at = 0; at < lanes_.size(); ++at)
        if (decides_signs(one.lanes[at], lanes_[at].ids.back() == resembles_nothing,
                          std::span(one.values).subspan(at * asked_.size(), asked_.size())))
          one.lanes[at].blur = std::numeric_limits<double>::infinity();
    return solved;
  }

  std::size_t left() const { return ended_ || lanes_.empty() ? 0 : lanes_.front().links.size() - done_; }

 private:
  using Kernel = std::shared_ptr<Buffer<float>>;
  struct LaneState {
    Kernel copy;  // of its part of the kernel, where that is not read in place
    bool is_copied = false;
    std::unique_ptr<MatrixChain> chain;
  };

  std::vector<LinkSolution> advance(std::size_t at, std::size_t count, bool last) {
    const Lane& lane = lanes_[at];
    LaneState& own = states_[at];
    if (own.chain == nullptr || (own.is_copied && own.copy == nullptr)) {
      KernelView kernel(kernel_, size_, lane.ids);
      own.is_copied = kernel.scattered();
      if (own.is_copied) own.copy = copy_of(kernel, at), kernel = KernelView(own.copy->data(), lane.ids.size());
      if (own.chain == nullptr)
        own.chain = std::make_unique<MatrixChain>(kernel, lane.links, lane.start, stop_, deadline_);
      else
        own.chain->move_to(kernel);
    }
    std::vector<LinkSolution> found = own.chain->advance(count);
    if (!last && keeps_) return found;
    if (last)
      own.chain.reset();
    else
      own.chain->rest();
    own.copy.reset();
    return found;
  }

  // A chain's part of the kernel: that of the chain before if it has the same samples, or in its place if nobody needs
  // it any more.
  Kernel copy_of(const KernelView& kernel, std::size_t at) {
    const std::span<const Id> ids = lanes_[at].ids;
    if (last_copy_ != nullptr && std::ranges::equal(ids, last_ids_)) return last_copy_;
    const std::size_t count = ids.size() * ids.size();
    if (last_copy_ == nullptr || last_copy_.use_count() > 1 || last_copy_->size() < count)
      last_copy_ = std::make_shared<Buffer<float>>(count);
    kernel.copy_to(last_copy_->data());
    last_ids_ = ids;
    return last_copy_;
  }

  // False if time ran out.
  bool sum_up(std::vector<Solved>& solved) {
    const std::size_t n_lanes = lanes_.size(), n_asked = asked_.size();
    for (Solved& one : solved) one.values.assign(n_lanes * n_asked, 0.0);
    const std::vector<std::size_t> place = places(solved);
    const std::size_t n_rows = static_cast<std::size_t>(
        std::count_if(place.begin(), place.end(), [](std::size_t at) { return at != nowhere; }));
    const auto pieces = [&](std::size_t floats) { return floats / std::max<std::size_t>(n_rows, 1) / 16 * 16; };
    const std::size_t width = std::max<std::size_t>(pieces(in_cache), 64);
    const std::size_t stretch = std::max(width, pieces(most_copied) / width * width);
    Buffer<float> part(n_rows * std::min(stretch, (n_asked + width - 1) / width * width));
    TimeBudget budget(deadline_, true);
    for (std::size_t begin = 0; begin < n_asked; begin += stretch) {
      // Blocks of so many samples one after the other, in each the rows of all support vectors.
      const std::size_t end = std::min(n_asked, begin + stretch);
      for (std::size_t i = 0; i < size_; ++i) {
        if (place[i] == nowhere) continue;
        const float* from = kernel_ + i * size_;
        for (std::size_t first = begin; first < end; first += width) {
          float* to = part.data() + (first - begin) * n_rows + place[i] * width;
          for (std::size_t c = first; c < std::min(end, first + width); ++c) *to++ = from[asked_[c]];
        }
      }
      for (std::size_t first = begin; first < end; first += width)
        if (!sum_up(solved, place, part.data() + (first - begin) * n_rows, width, first, budget)) return false;
    }
    return true;
  }

  // The values of the samples asked for from the first of a block on.
  bool sum_up(std::vector<Solved>& solved, const std::vector<std::size_t>& place, const float* block, std::size_t width,
              std::size_t first, TimeBudget& budget) {
    const std::size_t n_asked = asked_.size(), columns = std::min(width, n_asked - first);
    for (std::size_t k = 0; k < solved.size(); ++k) {
      for (std::size_t at = 0; at < lanes_.size(); ++at) {
        const LinkSolution& link = solved[k].lanes[at];
        double* values = solved[k].values.data() + at * n_asked + first;
        if (k > 0 && link.repeated) {
          std::copy_n(solved[k - 1].values.data() + at * n_asked + first, columns, values);
          continue;
        }
        const std::span<const Id> ids = lanes_[at].ids;
        rows_.clear(), coefficients_.clear();
        for (std::size_t p = 0; p < ids.size(); ++p) {
          if (link.alpha[p] == 0 || ids[p] == resembles_nothing) continue;
          rows_.push_back(block + place[static_cast<std::size_t>(ids[p])] * width);
          coefficients_.push_back(-link.alpha[p]);
        }
        // Without an intercept, its part is taken by a variable that resembles nothing.
        std::fill_n(values, columns, ids.back() == resembles_nothing ? 0.0 : link.outcome.intercept[0]);
        simd::ops<float>().subtract_rows(values, rows_.data(), coefficients_.data(), rows_.size(), 0, columns);
        if (budget.spent(rows_.size() * columns / 4)) return false;
      }
    }
    return true;
  }

  // Where in a block the row of each sample is: support vectors one after the other.
  std::vector<std::size_t> places(const std::vector<Solved>& solved) const {
    std::vector<std::size_t> place(size_, nowhere);
    for (const Solved& one : solved)
      for (std::size_t at = 0; at < lanes_.size(); ++at)
        for (std::size_t p = 0; p < lanes_[at].ids.size(); ++p)
          if (one.lanes[at].alpha[p] != 0 && lanes_[at].ids[p] != resembles_nothing)
            place[static_cast<std::size_t>(lanes_[at].ids[p])] = 0;
    std::size_t next = 0;
    for (std::size_t& at : place)
      if (at != nowhere) at = next++;
    return place;
  }

  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  // Floats: what stays in a processor's cache, and what may be copied of a kernel for speed alone.
  static constexpr std::size_t in_cache = std::size_t{1} << 17, most_copied = std::size_t{1} << 24;

  const float* kernel_;
  std::size_t size_;
  std::span<const Lane> lanes_;
  std::span<const Id> asked_;
  StoppingCriterion stop_;
  Deadline& deadline_;
  bool keeps_, ended_ = false;
  std::size_t done_ = 0;
  std::vector<LaneState> states_;
  Kernel last_copy_;  // the last one made, and whose it is
  std::span<const Id> last_ids_;
  std::vector<const float*> rows_;
  std::vector<double> coefficients_;
};

}  // namespace widemargin::chain
