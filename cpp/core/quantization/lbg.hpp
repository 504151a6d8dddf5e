// Vector quantisation by splitting: the algorithm of Linde, Buzo and Gray [Linde1980], as [Lebrun2006, section 2] uses
// it to simplify training samples.
//
// Level 0 is the mean of all samples. Level k + 1 splits every cell of level k in two, then repeats Lloyd's two steps:
// each sample goes to the cell of the nearest prototype, each prototype to the mean of its cell. A cell that is left
// empty takes half of the cell with the largest squared error; so do spare prototypes where a cell of equal samples
// cannot be split. With fewer than 2^k different samples there is a prototype for each of them and no more.
//
// The squared error of cells about their means falls with every step: splitting a cell and taking means lower it in
// exact arithmetic, and a round that does not, for want of digits, is not taken. Prototypes are means of their cells
// at every end, and lie in the convex hull of the samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/quantization/cells.hpp"
#include "core/quantization/frame.hpp"
#include "core/quantization/nearest.hpp"
#include "core/runtime/stopping.hpp"
#include "core/runtime/thread_team.hpp"

namespace widemargin::quantization {

struct Codebook {
  std::vector<double> prototypes;  // one after the other, in the coordinates of the samples
  std::vector<double> weights;     // of the samples in each cell
  std::vector<std::int64_t> counts;
  std::vector<std::int32_t> labels;
  double distortion = 0;  // mean squared distance of samples to the prototype of their cell
  std::int64_t rounds = 0, evaluations = 0;
  Reason reason = Reason::converged;
};

struct LloydOptions {
  double tolerance = 1e-3;  // a round that lowers the error by no more than this share of it is the last one
  std::int64_t max_rounds = 100;
  bool double_precision = true;  // of the products that find nearest prototypes; sums are always double
};

class Lbg {
 public:
  // Weights are above 0.
  Lbg(const Samples& samples, std::vector<double> weights, const LloydOptions& options)
      : samples_(samples),
        weights_(std::move(weights)),
        options_(options),
        in_double_(options.double_precision),
        last_in_double_(in_double_) {}

  // Levels there are so far.
  std::size_t levels() const { return levels_; }

  // The last level there is, or the next one. One that is stopped leaves everything as it was, so that it is the same
  // when it is asked for again.
  Codebook level(std::size_t number, ThreadTeam& team, Deadline& deadline) {
    if (number == levels_) {
      if (!frame_) frame_.emplace(samples_, weights_, team, deadline);
      if (std::exchange(in_double_, last_in_double_) != last_in_double_) encoder_.reset();
      if (frame_->sparse())
        advance(Cells<SparseReader>(*frame_, weights_), team, deadline);
      else
        advance(Cells<DenseReader>(*frame_, weights_), team, deadline);
    } else if (number + 1 != levels_)
      throw std::invalid_argument("levels are built one after the other");
    return reported();
  }

 private:
  // What the iterations of a level took, and how they ended.
  struct Course {
    std::int64_t rounds = 0, evaluations = 0;
    Reason reason = Reason::converged;
  };

  template <class CellsOf>
  void advance(const CellsOf& cells, ThreadTeam& team, Deadline& deadline) {
    Course course;
    Partition partition;
    const bool first = levels_ == 0;
    const std::size_t wanted = first ? 1 : std::min(2 * target_, samples_.size());
    if (first) {
      partition.labels.assign(samples_.size(), 0);
      cells.measure(partition, 1, team, deadline);
    } else {
      partition = current_;
      fill(cells, partition, wanted, team, deadline);
      iterate(cells, partition, course, team, deadline);
    }
    target_ = wanted;
    current_ = std::move(partition);
    course_ = course;
    last_in_double_ = in_double_;
    ++levels_;
  }

  // Lloyd's iterations.
  template <class CellsOf>
  void iterate(const CellsOf& cells, Partition& partition, Course& course, ThreadTeam& team, Deadline& deadline) {
    Partition next;
    course.reason = Reason::iteration_budget;
    while (course.rounds < options_.max_rounds) {
      next.labels.resize(partition.labels.size());
      encoder(team, deadline).encode(partition.means, next.labels.data(), team, deadline);
      ++course.rounds;
      course.evaluations += static_cast<std::int64_t>(partition.cells() * partition.labels.size());
      const double before = partition.error;
      const bool same = next.labels == partition.labels;
      if (!same) {
        cells.measure(next, partition.cells(), team, deadline);
        fill(cells, next, partition.cells(), team, deadline);
        if (next.error < before)
          std::swap(partition, next);
        else if (!std::exchange(in_double_, true)) {
          encoder_.reset();  // the digits of float32 are used up
          continue;
        }
      }
      if (before - partition.error <= options_.tolerance * before) {
        course.reason = Reason::converged;
        return;
      }
    }
  }

  // Splits cells, those with the largest error first, until there are `wanted` of them without an empty one, or none is
  // left that can be split.
  template <class CellsOf>
  void fill(const CellsOf& cells, Partition& partition, std::size_t wanted, ThreadTeam& team, Deadline& deadline) {
    std::vector<char> stuck(wanted, 0);  // cells that rounding does not let be split
    while (true) {
      std::vector<std::size_t> from, to;
      for (std::size_t j = 0; j < wanted; ++j)
        if (j >= partition.cells() || partition.counts[j] == 0)
          to.push_back(j);
        else if (partition.errors[j] > 0 && !stuck[j])
          from.push_back(j);
      if (to.empty()) return;
      if (from.empty()) return without_empty_cells(cells, partition, team, deadline);
      std::stable_sort(from.begin(), from.end(),
                       [&](std::size_t a, std::size_t b) { return partition.errors[a] > partition.errors[b]; });
      const std::size_t pairs = std::min(from.size(), to.size());
      from.resize(pairs), to.resize(pairs);
      cells.split(partition, from, to, team, deadline);
      cells.measure(partition, wanted, team, deadline);
      for (std::size_t t = 0; t < pairs; ++t)
        if (partition.counts[from[t]] == 0 || partition.counts[to[t]] == 0) stuck[from[t]] = stuck[to[t]] = 1;
    }
  }

  template <class CellsOf>
  void without_empty_cells(const CellsOf& cells, Partition& partition, ThreadTeam& team, Deadline& deadline) {
    std::vector<std::int32_t> number(partition.cells(), -1);
    std::int32_t count = 0;
    for (std::size_t j = 0; j < partition.cells(); ++j)
      if (partition.counts[j] > 0) number[j] = count++;
    if (static_cast<std::size_t>(count) == partition.cells()) return;
    for (std::int32_t& label : partition.labels) label = number[static_cast<std::size_t>(label)];
    cells.measure(partition, static_cast<std::size_t>(count), team, deadline);
  }

  const Encoder& encoder(ThreadTeam& team, Deadline& deadline) {
    if (encoder_ == nullptr) {
      if (frame_->sparse())
        encoder_ = std::make_unique<SparseEncoder>(*frame_);
      else if (in_double_)
        encoder_ = std::make_unique<DenseEncoder<double>>(*frame_, team, deadline);
      else
        encoder_ = std::make_unique<DenseEncoder<float>>(*frame_, team, deadline);
    }
    return *encoder_;
  }

  Codebook reported() const {
    Codebook found;
    const std::size_t d = samples_.dimension();
    found.prototypes = current_.means;
    for (std::size_t t = 0; t < found.prototypes.size(); ++t)
      found.prototypes[t] = frame_->original(t % d, found.prototypes[t]);
    // Of equal samples the mean is what they are, to the last digit.
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const std::size_t j = static_cast<std::size_t>(current_.labels[i]);
      if (current_.errors[j] == 0) samples_.copy_row(i, nullptr, found.prototypes.data() + j * d);
    }
    found.weights = current_.weights, found.counts = current_.counts, found.labels = current_.labels;
    const double total = std::accumulate(current_.weights.begin(), current_.weights.end(), 0.0);
    found.distortion = frame_->original_square(current_.error / total);
    found.rounds = course_.rounds, found.evaluations = course_.evaluations, found.reason = course_.reason;
    return found;
  }

  const Samples& samples_;
  std::vector<double> weights_;
  LloydOptions options_;
  bool in_double_, last_in_double_;  // now, and where the last level ended
  std::optional<Frame> frame_;
  std::unique_ptr<Encoder> encoder_;
  Partition current_;
  Course course_;
  std::size_t target_ = 1, levels_ = 0;
};

}  // namespace widemargin::quantization
