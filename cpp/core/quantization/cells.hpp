// Cells of samples: their means, what they spread over, and how a cell is split in two.
//
// A cell is read relative to its first sample r: with s = sum w (x - r) and q = sum w (x - r)^2, both for each feature,
// its mean is r + s / W and its squared error q - s^2 / W. Of equal samples both are exact, so that a cell of
// duplicates has no error at all and is never split.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/quantization/frame.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::quantization {

// Samples and the cells they are in; everything is in the coordinates of the frame.
struct Partition {
  std::vector<std::int32_t> labels;
  std::vector<double> means;  // of cell after cell
  std::vector<double> errors, weights;
  std::vector<std::int64_t> counts;
  std::vector<std::size_t> axes;  // the feature with the largest squared error
  double error = 0;               // of all cells

  std::size_t cells() const { return counts.size(); }
};

// Reads every entry of a sample.
class DenseReader {
 public:
  static constexpr std::size_t sums = 2;

  explicit DenseReader(const Frame& frame) : frame_(frame), first_(frame.dimension()), row_(frame.dimension()) {}

  void begin(std::size_t row) { frame_.samples().copy_row(row, frame_.centre().data(), first_.data()); }
  void add(std::size_t row, double weight, double* s) {
    frame_.samples().copy_row(row, frame_.centre().data(), row_.data());
    ops_.add_moments(row_.data(), first_.data(), frame_.scale(), weight, s, s + row_.size(), row_.size());
  }
  // The mean of a feature and its squared error.
  std::pair<double, double> moments(std::size_t k, const double* s, double weight) const {
    const double mean = s[k] / weight;
    return {first_[k] * frame_.scale() + mean, std::max(0.0, s[row_.size() + k] - s[k] * mean)};
  }
  double value(std::size_t row, std::size_t feature) {
    frame_.read(row, row_.data());
    return row_[feature];
  }

 private:
  const Frame& frame_;
  const simd::Ops<double>& ops_ = simd::ops<double>();
  std::vector<double> first_, row_;
};

// Reads the entries other than 0. The sums also hold the weight of the samples that have an entry; all others of the
// cell, of weight `rest`, have a 0 there.
class SparseReader {
 public:
  static constexpr std::size_t sums = 3;

  explicit SparseReader(const Frame& frame)
      : frame_(frame), first_(frame.dimension()), index_(frame.dimension()), value_(frame.dimension()) {}

  void begin(std::size_t row) {
    std::fill(first_.begin(), first_.end(), 0.0);
    const std::size_t nnz = frame_.samples().nonzeros(row, index_.data(), value_.data());
    for (std::size_t t = 0; t < nnz; ++t) first_[static_cast<std::size_t>(index_[t])] = value_[t] * frame_.scale();
  }
  void add(std::size_t row, double weight, double* s) {
    const std::size_t d = first_.size(), nnz = frame_.samples().nonzeros(row, index_.data(), value_.data());
    const double scale = frame_.scale();
    for (std::size_t t = 0; t < nnz; ++t) {
      const std::size_t k = static_cast<std::size_t>(index_[t]);
      const double difference = value_[t] * scale - first_[k], weighted = weight * difference;
      s[k] += weighted;
      s[d + k] += weighted * difference;
      s[2 * d + k] += weight;
    }
  }
  std::pair<double, double> moments(std::size_t k, const double* s, double weight) const {
    const std::size_t d = first_.size();
    const double first = first_[k], rest = first == 0 ? 0.0 : weight - s[2 * d + k];
    const double sum = s[k] - rest * first, squares = s[d + k] + rest * first * first, mean = sum / weight;
    return {first - frame_.centre()[k] * frame_.scale() + mean, std::max(0.0, squares - sum * mean)};
  }
  double value(std::size_t row, std::size_t feature) {
    const std::size_t nnz = frame_.samples().nonzeros(row, index_.data(), value_.data());
    double entry = 0;
    for (std::size_t t = 0; t < nnz; ++t)
      if (static_cast<std::size_t>(index_[t]) == feature) entry = value_[t] * frame_.scale();
    return entry - frame_.centre()[feature] * frame_.scale();
  }

 private:
  const Frame& frame_;
  std::vector<double> first_;
  std::vector<std::int32_t> index_;
  std::vector<double> value_;
};

template <class Reader>
class Cells {
 public:
  Cells(const Frame& frame, std::span<const double> weights) : frame_(frame), weights_(weights) {}

  // Everything that follows from the labels, which are below `cells`. A cell is summed up in segments, in the order of
  // its samples: all numbers are the same for any number of threads.
  void measure(Partition& partition, std::size_t cells, ThreadTeam& team, Deadline& deadline) const {
    const std::size_t d = frame_.dimension(), width = Reader::sums * d;
    sort(partition, cells);
    partition.means.resize(cells * d);
    partition.errors.assign(cells, 0.0), partition.weights.assign(cells, 0.0), partition.axes.assign(cells, 0);
    std::vector<Segment> segments;
    std::size_t kept = 0;  // of cells that take more than one segment, whose sums are added up afterwards
    for (std::size_t j = 0; j < cells; ++j)
      for (std::size_t first = begins_[j]; first < begins_[j + 1]; first += segment) {
        const std::size_t last = std::min(begins_[j + 1], first + segment);
        const bool whole = begins_[j + 1] - begins_[j] <= segment;
        segments.push_back({j, first, last, whole ? kept : kept++, whole});
      }
    std::vector<double> sums(kept * width), totals(kept);
    for_rows(segments.size(), 4, team, deadline, [&](std::size_t from, std::size_t to, std::size_t, std::size_t) {
      Reader reader(frame_);
      std::vector<double> own(width);
      for (std::size_t t = from; t < to; ++t) {
        const Segment& one = segments[t];
        double* s = one.whole ? own.data() : sums.data() + one.slot * width;
        std::fill_n(s, width, 0.0);
        const double weight = add_up(reader, one, s);
        if (one.whole)
          finish(reader, one.cell, s, weight, partition);
        else
          totals[one.slot] = weight;
      }
    });
    add_segments(segments, sums, totals, partition, team, deadline);
    partition.error = 0;
    for (const double one : partition.errors) partition.error += one;
  }

  // Cells of `from` are split in two by the hyperplane through the mean, across the axis of largest spread: the half
  // beyond it goes to the cell of the same place in `to`. That is what LBG's split by a small perturbation along this
  // axis gives, however small it is [Linde1980].
  void split(Partition& partition, std::span<const std::size_t> from, std::span<const std::size_t> to, ThreadTeam& team,
             Deadline& deadline) const {
    const std::size_t d = frame_.dimension();
    std::vector<std::int32_t> other(partition.cells(), -1);
    for (std::size_t t = 0; t < from.size(); ++t) other[from[t]] = static_cast<std::int32_t>(to[t]);
    for_rows(partition.labels.size(), 2048, team, deadline,
             [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
               Reader reader(frame_);
               for (std::size_t i = first; i < last; ++i) {
                 const std::size_t j = static_cast<std::size_t>(partition.labels[i]);
                 if (other[j] < 0) continue;
                 const std::size_t axis = partition.axes[j];
                 if (reader.value(i, axis) > partition.means[j * d + axis]) partition.labels[i] = other[j];
               }
             });
  }

 private:
  static constexpr std::size_t segment = 1024;

  struct Segment {
    std::size_t cell, first, last, slot;
    bool whole;
  };

  // Samples in the order of their cells, within a cell in their own.
  void sort(Partition& partition, std::size_t cells) const {
    partition.counts.assign(cells, 0);
    for (const std::int32_t label : partition.labels) ++partition.counts[static_cast<std::size_t>(label)];
    begins_.assign(cells + 1, 0);
    for (std::size_t j = 0; j < cells; ++j) begins_[j + 1] = begins_[j] + static_cast<std::size_t>(partition.counts[j]);
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    order_.resize(partition.labels.size());
    for (std::size_t i = 0; i < partition.labels.size(); ++i)
      order_[next[static_cast<std::size_t>(partition.labels[i])]++] = i;
  }

  double add_up(Reader& reader, const Segment& one, double* s) const {
    reader.begin(order_[begins_[one.cell]]);
    double weight = 0;
    for (std::size_t t = one.first; t < one.last; ++t) {
      reader.add(order_[t], weights_[order_[t]], s);
      weight += weights_[order_[t]];
    }
    return weight;
  }

  void add_segments(const std::vector<Segment>& segments, std::vector<double>& sums, const std::vector<double>& totals,
                    Partition& partition, ThreadTeam& team, Deadline& deadline) const {
    const std::size_t width = Reader::sums * frame_.dimension();
    std::vector<std::size_t> heads;
    for (std::size_t t = 0; t < segments.size(); ++t)
      if (!segments[t].whole && segments[t].first == begins_[segments[t].cell]) heads.push_back(t);
    for_rows(heads.size(), 1, team, deadline, [&](std::size_t at, std::size_t, std::size_t, std::size_t) {
      const Segment& head = segments[heads[at]];
      double* s = sums.data() + head.slot * width;
      double weight = totals[head.slot];
      for (std::size_t t = heads[at] + 1; t < segments.size() && segments[t].cell == head.cell; ++t) {
        const double* more = sums.data() + segments[t].slot * width;
        for (std::size_t k = 0; k < width; ++k) s[k] += more[k];
        weight += totals[segments[t].slot];
      }
      Reader reader(frame_);
      reader.begin(order_[begins_[head.cell]]);
      finish(reader, head.cell, s, weight, partition);
    });
  }

  void finish(const Reader& reader, std::size_t cell, const double* s, double weight, Partition& partition) const {
    const std::size_t d = frame_.dimension();
    double most = 0, error = 0;
    for (std::size_t k = 0; k < d; ++k) {
      const auto [mean, spread] = reader.moments(k, s, weight);
      partition.means[cell * d + k] = mean;
      error += spread;
      if (spread > most) most = spread, partition.axes[cell] = k;
    }
    partition.errors[cell] = error, partition.weights[cell] = weight;
  }

  const Frame& frame_;
  std::span<const double> weights_;
  mutable std::vector<std::size_t> begins_, order_;
};

}  // namespace widemargin::quantization
