// The nearest prototype of each sample. |x - p|^2 = |x|^2 - 2 (x'p - |p|^2 / 2), so that the nearest prototype is the
// one with the largest x'p - |p|^2 / 2: one product of matrices, whose entries are compared as they appear and never
// stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/quantization/frame.hpp"
#include "core/runtime/buffer.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::quantization {

// Prototypes laid out for simd::Ops::nearest_columns.
template <class T>
class PrototypeStrips {
 public:
  PrototypeStrips(std::span<const double> prototypes, std::size_t d)
      : d_(d),
        count_(prototypes.size() / d),
        strips_((count_ + width - 1) / width * width * d),
        offsets_((count_ + width - 1) / width * width) {
    std::fill_n(strips_.data(), strips_.size(), T(0));
    std::fill_n(offsets_.data(), offsets_.size(), std::numeric_limits<T>::infinity());
    for (std::size_t j = 0; j < count_; ++j) {
      T* column = strips_.data() + j / width * width * d + j % width;
      double norm = 0;
      for (std::size_t k = 0; k < d; ++k) {
        const double value = prototypes[j * d + k];
        column[k * width] = static_cast<T>(value);
        norm += value * value;
      }
      offsets_[j] = static_cast<T>(norm / 2);
    }
  }

  void find(const T* rows, std::size_t n_rows, std::int32_t* nearest) const {
    simd::ops<T>().nearest_columns(strips_.data(), offsets_.data(), count_, rows, n_rows, d_, nearest);
  }

 private:
  static constexpr std::size_t width = simd::nearest_strip;

  std::size_t d_, count_;
  Buffer<T> strips_, offsets_;
};

// Prototypes for samples of which only the entries other than 0 are read. Prototypes p are relative to a centre c:
// (x - c)'p = x'p - c'p, where x'p takes as many products as x has entries.
class PrototypeColumns {
 public:
  PrototypeColumns(std::span<const double> prototypes, std::span<const double> centre, double scale)
      : d_(centre.size()),
        count_(prototypes.size() / d_),
        width_((count_ + tile - 1) / tile * tile),
        scale_(scale),
        panel_(width_ * d_),
        offsets_(count_) {
    std::fill_n(panel_.data(), panel_.size(), 0.0);
    for (std::size_t j = 0; j < count_; ++j) {
      double offset = 0;
      for (std::size_t k = 0; k < d_; ++k) {
        const double value = prototypes[j * d_ + k];
        panel_[k * width_ + j] = value;
        offset += value * (value / 2 + centre[k] * scale);
      }
      offsets_[j] = offset;
    }
  }

  std::size_t dimension() const { return d_; }
  std::size_t scratch() const { return d_ + width_; }

  std::int32_t find(const Samples& samples, std::size_t row, std::int32_t* index, double* scratch) const {
    double *value = scratch, *scores = scratch + d_;
    const std::size_t nnz = samples.nonzeros(row, index, value);
    for (std::size_t t = 0; t < nnz; ++t) value[t] *= scale_;
    simd::ops<double>().sparse_times_panel(panel_.data(), width_, count_, index, value, nnz, scores);
    std::size_t best = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      scores[j] -= offsets_[j];
      if (scores[j] > scores[best]) best = j;
    }
    return static_cast<std::int32_t>(best);
  }

 private:
  static constexpr std::size_t tile = 128;  // panels are read in vectors, four at a time

  std::size_t d_, count_, width_;
  double scale_;
  Buffer<double> panel_;
  std::vector<double> offsets_;
};

// Finds the nearest of given prototypes for all samples, round after round.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual void encode(std::span<const double> prototypes, std::int32_t* labels, ThreadTeam& team,
                      Deadline& deadline) const = 0;
};

// All samples are kept as T, in the coordinates of the frame.
template <class T>
class DenseEncoder final : public Encoder {
 public:
  DenseEncoder(const Frame& frame, ThreadTeam& team, Deadline& deadline)
      : n_(frame.size()), d_(frame.dimension()), rows_(n_ * d_) {
    for_rows(n_, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
      std::vector<double> row(d_);
      for (std::size_t i = first; i < last; ++i) {
        frame.read(i, row.data());
        for (std::size_t k = 0; k < d_; ++k) rows_[i * d_ + k] = static_cast<T>(row[k]);
      }
    });
  }
  void encode(std::span<const double> prototypes, std::int32_t* labels, ThreadTeam& team,
              Deadline& deadline) const override {
    const PrototypeStrips<T> strips(prototypes, d_);
    for_rows(n_, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
      strips.find(rows_.data() + first * d_, last - first, labels + first);
    });
  }

 private:
  static constexpr std::size_t run = 512;

  std::size_t n_, d_;
  Buffer<T> rows_;
};

class SparseEncoder final : public Encoder {
 public:
  explicit SparseEncoder(const Frame& frame) : frame_(frame) {}
  void encode(std::span<const double> prototypes, std::int32_t* labels, ThreadTeam& team,
              Deadline& deadline) const override {
    const PrototypeColumns columns(prototypes, frame_.centre(), frame_.scale());
    for_rows(frame_.size(), 512, team, deadline, [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
      std::vector<std::int32_t> index(columns.dimension());
      std::vector<double> scratch(columns.scratch());
      for (std::size_t i = first; i < last; ++i)
        labels[i] = columns.find(frame_.samples(), i, index.data(), scratch.data());
    });
  }

 private:
  const Frame& frame_;
};

// The nearest of any prototypes, and the squared distance to it, in float64; of two that are equally near, the first.
// What is near depends on the sample alone: the origin is in the midst of the prototypes, and only entries other than 0
// are multiplied of a sample that has few of them, whatever the other samples are.
inline void nearest_prototypes(const Samples& samples, std::span<const double> prototypes, std::int32_t* labels,
                               double* squared, ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t run = 256;
  const std::size_t d = samples.dimension(), m = prototypes.size() / d, n = samples.size();
  std::vector<double> centre(d), shifted(prototypes.begin(), prototypes.end());
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t k = 0; k < d; ++k) centre[k] += prototypes[j * d + k];
  for (double& one : centre) one /= static_cast<double>(m);
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t k = 0; k < d; ++k) shifted[j * d + k] -= centre[k];

  std::vector<std::uint8_t> sparse(n);
  for_rows(n, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
    std::vector<std::int32_t> index(d);
    std::vector<double> value(d);
    for (std::size_t i = first; i < last; ++i)
      sparse[i] = static_cast<double>(samples.nonzeros(i, index.data(), value.data())) <= Frame::sparse_share * d;
  });
  const auto n_sparse = static_cast<std::size_t>(std::count(sparse.begin(), sparse.end(), 1));
  std::unique_ptr<PrototypeColumns> columns;
  std::unique_ptr<PrototypeStrips<double>> strips;
  if (n_sparse > 0) columns = std::make_unique<PrototypeColumns>(shifted, centre, 1.0);
  if (n_sparse < n) strips = std::make_unique<PrototypeStrips<double>>(shifted, d);

  for_rows(n, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t, std::size_t) {
    std::vector<std::size_t> dense;
    for (std::size_t i = first; i < last; ++i)
      if (!sparse[i]) dense.push_back(i);
    std::vector<double> rows(dense.size() * d), row(d), scratch(columns ? columns->scratch() : 0);
    std::vector<std::int32_t> nearest(dense.size()), index(columns ? d : 0);
    for (std::size_t r = 0; r < dense.size(); ++r) samples.copy_row(dense[r], centre.data(), rows.data() + r * d);
    if (!dense.empty()) strips->find(rows.data(), dense.size(), nearest.data());
    const auto keep = [&](std::size_t i, std::int32_t label, const double* x) {
      const double* own = shifted.data() + static_cast<std::size_t>(label) * d;
      double sum = 0;
      for (std::size_t k = 0; k < d; ++k) sum += (x[k] - own[k]) * (x[k] - own[k]);
      labels[i] = label, squared[i] = sum;
    };
    for (std::size_t r = 0; r < dense.size(); ++r) keep(dense[r], nearest[r], rows.data() + r * d);
    for (std::size_t i = first; i < last; ++i)
      if (sparse[i]) {
        samples.copy_row(i, centre.data(), row.data());
        keep(i, columns->find(samples, i, index.data(), scratch.data()), row.data());
      }
  });
}

}  // namespace widemargin::quantization
