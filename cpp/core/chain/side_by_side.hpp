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
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/chain/matrix_chain.hpp"
#include "core/pairs/tally.hpp"
#include "core/runtime/buffer.hpp"
#include "core/simd/ops.hpp"
#include "core/solve/tiny_problem.hpp"

namespace widemargin::chain {

class SideBySide {
 public:
  // All chains: the variables of one after those of the other, with rows of bounds (and of what the square loss adds to
  // the diagonal, if it does) for every link, and where the first of them start, if anywhere.
  struct Lanes {
    std::span<const Id> ids;
    std::span<const std::int64_t> begins;
    std::size_t n_links;
    const double *linear, *lower, *upper, *ridge;
    std::span<const double> start;

    std::size_t size() const { return begins.size() - 1; }
    std::size_t begin(std::size_t at) const { return static_cast<std::size_t>(begins[at]); }
    std::size_t size_of(std::size_t at) const { return begin(at + 1) - begin(at); }
    std::span<const Id> ids_of(std::size_t at) const { return ids.subspan(begin(at), size_of(at)); }
    Link link(std::size_t at, std::size_t k) const {
      const std::size_t from = begin(at), count = size_of(at);
      const auto part = [&](const double* of) { return std::span<const double>(of + k * ids.size() + from, count); };
      return {DualProblem{{linear + from, count}, part(lower), part(upper), {}, {}, {}},
              ridge == nullptr ? std::span<const double>{} : part(ridge)};
    }
    Start start_of(std::size_t at) const { return {start.empty() ? start : start.subspan(begin(at), size_of(at)), {}}; }
  };
  // What is to be counted instead of keeping decision values: the chains are pairs of these classes, two numbers each,
  // in order. Of pairs that there is no chain for, a class that has one wins.
  struct Counting {
    std::vector<pairs::Rule> rules;
    std::size_t classes;
    std::span<const Id> names;
  };
  // A link of all chains: coefficients of all variables, what is known of each chain, and the decision values that it
  // has at the samples asked for, chain by chain; or what these say of the classes by each rule, sample by sample.
  struct Solved {
    std::vector<double> alpha, intercepts, kkt_violations, duality_gaps, objectives, roundings, blurs, values;
    Reason reason = Reason::converged;  // of the first chain that has not
    bool repeated = true;               // all of them
    std::int64_t iterations = 0;
    double seconds = 0;

    void add(const LinkSolution& one) {
      alpha.insert(alpha.end(), one.alpha.begin(), one.alpha.end());
      intercepts.push_back(one.outcome.intercept[0]);
      kkt_violations.push_back(one.outcome.kkt_violation);
      duality_gaps.push_back(one.outcome.duality_gap);
      objectives.push_back(one.outcome.objective);
      roundings.push_back(one.rounding);
      blurs.push_back(one.blur);
      if (reason == Reason::converged) reason = one.outcome.reason;
      repeated = repeated && one.repeated;
      iterations += one.outcome.iterations;
      seconds += one.outcome.seconds;
    }
    void reserve(std::size_t variables, std::size_t lanes) {
      alpha.reserve(variables);
      for (auto* numbers : {&intercepts, &kkt_violations, &duality_gaps, &objectives, &roundings, &blurs})
        numbers->reserve(lanes);
    }
  };

  // All chains have equally many links. Between two calls they keep what they gathered if `keeps`.
  SideBySide(const float* kernel, std::size_t size, const Lanes& lanes, std::span<const Id> asked,
             std::optional<Counting> counting, const StoppingCriterion& stop, Deadline& deadline, bool keeps)
      : kernel_(kernel),
        size_(size),
        lanes_(lanes),
        asked_(asked),
        counting_(std::move(counting)),
        stop_(stop),
        deadline_(deadline),
        keeps_(keeps),
        states_(lanes.size()) {}

  // Solves the next links, `count` at most. None are returned that a chain lacks.
  std::vector<Solved> advance(std::size_t count) {
    count = std::min(count, left());
    if (count == 0) return {};
    std::vector<Solved> solved(count);
    for (Solved& one : solved) one.reserve(lanes_.ids.size(), lanes_.size());
    for (std::size_t at = 0; at < lanes_.size(); ++at) {
      const bool whole = advance(at, count, count == left());
      if (!whole || deadline_.stopped()) return ended_ = true, std::vector<Solved>{};
      for (std::size_t k = 0; k < count; ++k) solved[k].add(found_[k]);
    }
    done_ += count;
    if (!keeps_ || left() == 0) last_copy_.reset();
    if (left() > 0) last_ = solved.back();
    if (!sum_up(solved)) return ended_ = true, std::vector<Solved>{};
    return solved;
  }

  std::size_t left() const { return ended_ || lanes_.size() == 0 ? 0 : lanes_.n_links - done_; }

 private:
  using Kernel = std::shared_ptr<Buffer<float>>;
  // Of a chain that is no tiny one.
  struct LaneState {
    std::vector<Link> links;
    Kernel copy = {};  // of its part of the kernel, where that is not read in place
    bool is_copied = false;
    std::unique_ptr<MatrixChain> chain = {};
  };

  // The next links of a chain become found_; false if it ended before the last one.
  bool advance(std::size_t at, std::size_t count, bool last) {
    std::unique_ptr<LaneState>& state = states_[at];
    if (state == nullptr) {
      if (solve_tiny(at, count)) return true;
      state.reset(new LaneState{});
      for (std::size_t k = 0; k < lanes_.n_links; ++k) state->links.push_back(lanes_.link(at, k));
      // From the first link on, so that nothing depends on how many are asked for at a time.
      if (done_ > 0) advance(at, done_, false);
    }
    LaneState& own = *state;
    if (own.chain == nullptr || (own.is_copied && own.copy == nullptr)) {
      const std::span<const Id> ids = lanes_.ids_of(at);
      KernelView kernel(kernel_, size_, ids);
      own.is_copied = kernel.scattered();
      if (own.is_copied) own.copy = copy_of(kernel, at), kernel = KernelView(own.copy->data(), ids.size());
      if (own.chain == nullptr)
        own.chain = std::make_unique<MatrixChain>(kernel, own.links, lanes_.start_of(at), stop_, deadline_);
      else
        own.chain->move_to(kernel);
    }
    found_ = own.chain->advance(count);
    if (!last && keeps_) return found_.size() == count;
    if (last)
      own.chain.reset();
    else
      own.chain->rest();
    own.copy.reset();
    return found_.size() == count;
  }

  // The same for a chain of few variables that starts from nothing; false if a link of it is for others.
  bool solve_tiny(std::size_t at, std::size_t count) {
    const std::span<const Id> ids = lanes_.ids_of(at);
    found_.clear();
    if (ids.size() > hardly_any || !lanes_.start.empty() || stop_.max_iterations < 1'000'000) return false;
    const KernelView kernel(kernel_, size_, ids);
    LinkSolution before;
    bool gathered = false;
    Beside beside;
    for (std::size_t k = done_; k < done_ + count; ++k) {
      const Link link = lanes_.link(at, k);
      if (k > 0 && k == done_) before = last_of(at);
      const LinkSolution& last = found_.empty() ? before : found_.back();
      if (k > 0 && same_solution(lanes_.link(at, k - 1), link, last)) {
        found_.push_back(repeated(last));
        continue;
      }
      if (!TinyProblem::suits(link.problem) || deadline_.poll()) return false;
      const double began = deadline_.seconds();
      if (!gathered || !link.ridge.empty()) gather(kernel, ids, link.ridge);
      if (!gathered) {
        beside = Beside::of(kernel.known(), [&](std::size_t p, std::size_t q) { return tiny_.row(p)[q]; });
        gathered = true;
      }
      const auto ridge = [&](std::size_t v) { return link.ridge.empty() ? 0.0 : link.ridge[v]; };
      Outcome outcome;
      if (!tiny_.solve(link.problem, stop_.tolerance, outcome.iterations)) return false;
      LinkSolution one;
      static_cast<Solution&>(one) = handed_out(tiny_.state(), ridge, outcome);
      if (one.outcome.reason != Reason::converged) return false;
      one.outcome.seconds = deadline_.seconds() - began;
      one.rounding =
          rounding_of_values<float>(tiny_.state(), [&](std::size_t p) { return tiny_.diagonal(p) - ridge(p); });
      one.blur = blur_of(tiny_.state(), kernel.known(), beside, [&](std::size_t p) { return tiny_.diagonal(p); });
      found_.push_back(std::move(one));
    }
    return true;
  }

  // That of a tiny chain when the last call was through.
  LinkSolution last_of(std::size_t at) const {
    LinkSolution one;
    one.alpha.assign(last_.alpha.data() + lanes_.begin(at), last_.alpha.data() + lanes_.begin(at + 1));
    one.outcome.kkt_violation = last_.kkt_violations[at], one.outcome.duality_gap = last_.duality_gaps[at];
    one.outcome.objective = last_.objectives[at], one.outcome.intercept[0] = last_.intercepts[at];
    one.rounding = last_.roundings[at], one.blur = last_.blurs[at];
    return one;
  }

  void gather(const KernelView& kernel, std::span<const Id> ids, std::span<const double> ridge) {
    const std::size_t n = ids.size(), known = kernel.known();
    tiny_.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      double* const row = tiny_.row(r);
      std::fill_n(row, n, 0.0);
      if (r < known)
        for (std::size_t c = 0; c < known; ++c) row[c] = kernel.row(r)[ids[c]];
      if (!ridge.empty()) row[r] += ridge[r];
    }
  }

  // A chain's part of the kernel: that of the chain before if it has the same samples, or in its place if nobody needs
  // it any more.
  Kernel copy_of(const KernelView& kernel, std::size_t at) {
    const std::span<const Id> ids = lanes_.ids_of(at);
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
    for (Solved& one : solved)
      one.values.assign((counting_ ? counting_->rules.size() * counting_->classes : n_lanes) * n_asked, 0.0);
    const std::vector<Terms> terms = terms_of(solved);
    std::vector<std::size_t> place(size_, nowhere);
    std::size_t n_rows = 0;
    for (const Terms& of_link : terms)
      for (const Id i : of_link.samples) place[static_cast<std::size_t>(i)] = 0;
    for (std::size_t& at : place)
      if (at != nowhere) at = n_rows++;
    const auto pieces = [&](std::size_t floats) { return floats / std::max<std::size_t>(n_rows, 1) / 16 * 16; };
    const std::size_t width = std::clamp<std::size_t>(pieces(in_cache), 64, (n_asked + 79) / 16 * 16);
    const std::size_t stretch = std::max(width, pieces(most_copied) / width * width);
    Buffer<float> part(n_rows * std::min(stretch, (n_asked + width - 1) / width * width));
    TimeBudget budget(deadline_, true);
    if (counting_) prepare_counting(width);
    looked_at_ = some_of(n_asked, looked_at);
    without_sign_.assign(solved.size() * n_lanes, 0);
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
        if (!sum_up(solved, terms, place, part.data() + (first - begin) * n_rows, width, first, budget)) return false;
    }
    for (std::size_t k = 0; k < solved.size(); ++k)
      for (std::size_t at = 0; at < n_lanes; ++at) {
        double& blur = solved[k].blurs[at];
        if (counting_ && repeats(solved, k))
          blur = solved[k - 1].blurs[at];
        else if (decides_signs(solved[k].roundings[at], without_sign_[k * n_lanes + at]))
          blur = std::numeric_limits<double>::infinity();
      }
    return true;
  }

  // Whether all that a link says was already said by the one before.
  static bool repeats(const std::vector<Solved>& solved, std::size_t k) { return k > 0 && solved[k].repeated; }

  // The support vectors of all chains of a link and their coefficients, chain by chain.
  struct Terms {
    std::vector<Id> samples;
    std::vector<double> coefficients;
    std::vector<std::size_t> ends;

    std::size_t begin(std::size_t lane) const { return lane == 0 ? 0 : ends[lane - 1]; }
  };

  std::vector<Terms> terms_of(const std::vector<Solved>& solved) const {
    std::vector<Terms> found(solved.size());
    for (std::size_t k = 0; k < solved.size(); ++k)
      for (std::size_t at = 0; at < lanes_.size(); ++at) {
        const std::span<const Id> ids = lanes_.ids_of(at);
        const double* const alpha = solved[k].alpha.data() + lanes_.begin(at);
        for (std::size_t p = 0; p < ids.size(); ++p)
          if (alpha[p] != 0 && ids[p] != resembles_nothing)
            found[k].samples.push_back(ids[p]), found[k].coefficients.push_back(alpha[p]);
        found[k].ends.push_back(found[k].samples.size());
      }
    return found;
  }

  // The values of the samples asked for from the first of a block on, or what they say.
  bool sum_up(std::vector<Solved>& solved, const std::vector<Terms>& terms, const std::vector<std::size_t>& place,
              const float* block, std::size_t width, std::size_t first, TimeBudget& budget) {
    const std::size_t n_asked = asked_.size(), columns = std::min(width, n_asked - first);
    const auto looked_first = std::ranges::lower_bound(looked_at_, first);
    const std::span<const std::size_t> looked(looked_first, std::ranges::lower_bound(looked_at_, first + columns));
    const auto sum = [&](std::size_t k, std::size_t at, double* values) {
      const Terms& own = terms[k];
      const std::size_t begin = own.begin(at), count = own.ends[at] - begin;
      rows_.resize(std::max(rows_.size(), count));
      for (std::size_t t = 0; t < count; ++t)
        rows_[t] = block + place[static_cast<std::size_t>(own.samples[begin + t])] * width;
      // Without an intercept, its part is taken by a variable that resembles nothing.
      const bool alone = lanes_.ids_of(at).back() == resembles_nothing;
      simd::ops<float>().sum_rows(rows_.data(), own.coefficients.data() + begin, count,
                                  alone ? 0.0 : solved[k].intercepts[at], values, columns);
      const double unknown =
          without_sign(solved[k].roundings[at], alone, std::span(own.coefficients).subspan(begin, count));
      for (const std::size_t asked : looked)
        without_sign_[k * lanes_.size() + at] += std::fabs(values[asked - first]) <= unknown ? 1 : 0;
      return !budget.spent(count * columns / 4);
    };
    for (std::size_t k = 0; k < solved.size(); ++k) {
      double* const values = solved[k].values.data();
      if (!counting_) {
        for (std::size_t at = 0; at < lanes_.size(); ++at)
          if (!sum(k, at, values + at * n_asked + first)) return false;
        continue;
      }
      const std::size_t classes = counting_->classes;
      const bool repeated = repeats(solved, k);
      for (std::size_t r = 0; r < tallies_.size() && repeated; ++r) {
        const std::size_t place_of_block = (r * n_asked + first) * classes;
        std::copy_n(solved[k - 1].values.data() + place_of_block, columns * classes, values + place_of_block);
      }
      if (repeated) continue;
      for (pairs::Tally& tally : tallies_) tally.begin();
      std::size_t at = 0;
      for (std::size_t a = 0; a < classes; ++a)
        for (std::size_t b = a + 1; b < classes; ++b) {
          const Id* const name = counting_->names.data() + 2 * at;
          if (at < lanes_.size() && name[0] == static_cast<Id>(a) && name[1] == static_cast<Id>(b)) {
            if (!sum(k, at++, pair_values_.data())) return false;
          } else {
            std::fill_n(pair_values_.data(), columns, there_[a] == there_[b] ? 0.0 : there_[a] != 0 ? 1.0 : -1.0);
          }
          for (pairs::Tally& tally : tallies_) tally.add(a, b, pair_values_.data(), columns);
        }
      for (std::size_t r = 0; r < tallies_.size(); ++r)
        tallies_[r].write(columns, values + (r * n_asked + first) * classes);
    }
    return true;
  }

  // For so many samples at a time.
  void prepare_counting(std::size_t width) {
    tallies_.clear();
    for (const pairs::Rule rule : counting_->rules) tallies_.emplace_back(rule, counting_->classes, width);
    pair_values_.resize(width);
    there_.assign(counting_->classes, 0);
    for (const Id c : counting_->names) there_[static_cast<std::size_t>(c)] = 1;
  }

  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  static constexpr std::size_t hardly_any = 64;  // variables
  // Floats: what stays in a processor's cache, and what may be copied of a kernel for speed alone.
  static constexpr std::size_t in_cache = std::size_t{1} << 17, most_copied = std::size_t{1} << 24;

  const float* kernel_;
  std::size_t size_;
  Lanes lanes_;
  std::span<const Id> asked_;
  std::optional<Counting> counting_;
  StoppingCriterion stop_;
  Deadline& deadline_;
  bool keeps_, ended_ = false;
  std::size_t done_ = 0;
  std::vector<std::unique_ptr<LaneState>> states_;
  std::vector<LinkSolution> found_;  // of the last chain looked at
  Solved last_;                      // of the last call
  Kernel last_copy_;                 // the last one made, and whose it is
  std::span<const Id> last_ids_;
  TinyProblem tiny_;
  std::vector<const float*> rows_;
  std::vector<std::size_t> looked_at_;      // of the samples asked for
  std::vector<std::uint8_t> without_sign_;  // how many values of these, by each chain of each link
  std::vector<pairs::Tally> tallies_;
  std::vector<double> pair_values_;  // of one pair
  std::vector<std::uint8_t> there_;  // which classes have chains
};

}  // namespace widemargin::chain
