// What all pairs of classes say of new samples, where there are more pairs than support vectors.
//
// For some samples at a time, all kernel values are computed and stay in the processor's cache; then one pair after the
// other sums up its own rows and is counted.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/pairs/tally.hpp"
#include "core/rows/kernel_rows.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/stopping.hpp"

namespace widemargin::pairs {

// Coefficients (k - 1) x n_SV in scikit-learn's layout, support vectors class by class, an intercept for each pair.
struct PairFunctions {
  const double* coefficients;
  std::span<const std::size_t> n_support;
  std::span<const double> intercepts;

  std::size_t classes() const { return n_support.size(); }
};

// The rows of each pair that have a coefficient, pair by pair.
class PairTerms {
 public:
  explicit PairTerms(const PairFunctions& functions) {
    const std::size_t k = functions.classes();
    const std::size_t n_vectors =
        std::accumulate(functions.n_support.begin(), functions.n_support.end(), std::size_t{0});
    std::vector<std::size_t> begin(k + 1, 0);
    for (std::size_t c = 0; c < k; ++c) begin[c + 1] = begin[c] + functions.n_support[c];
    ends_.reserve(k * (k - 1) / 2);
    const auto add = [&](std::size_t row, std::size_t own) {
      const double* const of_row = functions.coefficients + row * n_vectors;
      for (std::size_t s = begin[own]; s < begin[own + 1]; ++s)
        if (of_row[s] != 0) rows_.push_back(static_cast<Id>(s)), coefficients_.push_back(of_row[s]);
    };
    for (std::size_t a = 0; a < k; ++a)
      for (std::size_t b = a + 1; b < k; ++b) {
        add(b - 1, a), add(a, b);
        ends_.push_back(rows_.size());
        largest_ = std::max(largest_, ends_.back() - (ends_.size() > 1 ? ends_[ends_.size() - 2] : 0));
      }
  }

  std::size_t begin(std::size_t pair) const { return pair == 0 ? 0 : ends_[pair - 1]; }
  std::size_t end(std::size_t pair) const { return ends_[pair]; }
  std::size_t largest() const { return largest_; }
  const Id* rows() const { return rows_.data(); }
  const double* coefficients() const { return coefficients_.data(); }

 private:
  std::vector<Id> rows_;
  std::vector<double> coefficients_;
  std::vector<std::size_t> ends_;
  std::size_t largest_ = 0;
};

// Writes a number for each sample and class to `out`. `source` has the support vectors at its rows.
template <class T>
void add_pair_votes(const KernelRows& source, const Samples& samples, const PairFunctions& functions, Rule rule,
                    double* out, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t at_once = 64, lanes = 16, most_bytes = std::size_t{1} << 19;
  const std::size_t k = functions.classes(), n = samples.size(), n_vectors = source.size();
  const std::size_t fitting = most_bytes / sizeof(T) / std::max<std::size_t>(n_vectors, 1) / lanes * lanes;
  const std::size_t width = std::min(std::clamp<std::size_t>(fitting, 2 * lanes, 128), (n + lanes - 1) / lanes * lanes);
  const PairTerms terms(functions);
  std::vector<Id> ids(std::max(n_vectors, n));
  std::iota(ids.begin(), ids.end(), Id{0});
  const std::size_t blocks = (n + width - 1) / width;
  struct Place {
    Buffer<T> kernel;
    std::vector<T*> out;
    std::vector<const T*> rows;
    std::vector<double> values;
    Tally tally;
  };
  std::vector<std::unique_ptr<Place>> places(team.size());
  team.share(blocks, [&](std::size_t block, std::size_t member) {
    thread_local ThreadTeam alone(1);
    std::unique_ptr<Place>& own = places[member];
    if (own == nullptr) {
      own.reset(new Place{Buffer<T>(n_vectors * width), std::vector<T*>(at_once),
                          std::vector<const T*>(terms.largest()), std::vector<double>(width), Tally(rule, k, width)});
      // Sums run over whole rows, however few samples the last block has: no result depends on the place of a sample.
      std::fill_n(own->kernel.data(), n_vectors * width, T{});
    } else {
      own->tally.begin();
    }
    const std::size_t first = block * width, some = std::min(width, n - first);
    const std::unique_ptr<Columns<T>> columns = source.pack<T>(samples, {ids.data() + first, some}, true, alone);
    for (std::size_t s = 0; s < n_vectors; s += at_once) {
      const std::size_t count = std::min(at_once, n_vectors - s);
      for (std::size_t r = 0; r < count; ++r) own->out[r] = own->kernel.data() + (s + r) * width;
      source.rows({ids.data() + s, count}, *columns, 0, some, own->out.data(), alone);
    }
    std::size_t pair = 0;
    for (std::size_t a = 0; a < k; ++a) {
      if (deadline.poll(member == 0)) return;
      for (std::size_t b = a + 1; b < k; ++b, ++pair) {
        const std::size_t begin = terms.begin(pair), terms_here = terms.end(pair) - begin;
        for (std::size_t t = 0; t < terms_here; ++t)
          own->rows[t] = own->kernel.data() + static_cast<std::size_t>(terms.rows()[begin + t]) * width;
        simd::ops<T>().sum_rows(own->rows.data(), terms.coefficients() + begin, terms_here, functions.intercepts[pair],
                                own->values.data(), width);
        own->tally.add(a, b, own->values.data(), width);
      }
    }
    own->tally.write(some, out + first * k);
  });
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

}  // namespace widemargin::pairs
