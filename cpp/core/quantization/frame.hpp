// The coordinates that quantisation works in: samples minus their mean, times a power of two that makes all entries at
// most 1. Distances lose no digits to an offset there, nor float32 its range to a scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/rows/samples.hpp"
#include "core/runtime/stopping.hpp"
#include "core/runtime/thread_team.hpp"

namespace widemargin::quantization {

// Calls work(first, last, piece, member) for runs of rows, the same ones for any number of threads.
template <class Work>
void for_rows(std::size_t n, std::size_t run, ThreadTeam& team, Deadline& deadline, Work&& work) {
  team.share((n + run - 1) / run, [&](std::size_t piece, std::size_t member) {
    if (deadline.poll(member == 0)) throw Stopped{deadline.reason()};
    work(piece * run, std::min(n, (piece + 1) * run), piece, member);
  });
}

class Frame {
 public:
  // Where no larger share of the entries differs from 0, only these are read.
  static constexpr double sparse_share = 0.1;

  // Of samples with these weights, all above 0.
  Frame(const Samples& samples, std::span<const double> weights, ThreadTeam& team, Deadline& deadline)
      : samples_(samples), centre_(samples.dimension()) {
    const std::size_t n = samples.size(), d = samples.dimension(), runs = (n + run - 1) / run;
    std::vector<double> sums(runs * d), totals(runs), furthest(runs);
    for_rows(n, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t piece, std::size_t) {
      std::vector<double> row(d);
      for (std::size_t i = first; i < last; ++i) {
        samples.copy_row(i, nullptr, row.data());
        for (std::size_t k = 0; k < d; ++k) sums[piece * d + k] += weights[i] * row[k];
        totals[piece] += weights[i];
      }
    });
    double total = 0;
    for (std::size_t piece = 0; piece < runs; ++piece) {
      total += totals[piece];
      for (std::size_t k = 0; k < d; ++k) centre_[k] += sums[piece * d + k];
    }
    for (double& one : centre_) one /= total;
    std::vector<std::size_t> nonzeros(runs);
    for_rows(n, run, team, deadline, [&](std::size_t first, std::size_t last, std::size_t piece, std::size_t) {
      std::vector<double> row(d);
      std::vector<std::int32_t> index(d);
      for (std::size_t i = first; i < last; ++i) {
        nonzeros[piece] += samples.nonzeros(i, index.data(), row.data());
        samples.copy_row(i, centre_.data(), row.data());
        for (const double one : row) furthest[piece] = std::max(furthest[piece], std::fabs(one));
        // the largest of several numbers does not tell that one of them is none
        for (const double one : row) furthest[piece] += one - one;
      }
    });
    double extent = 0, filled = 0;
    for (std::size_t piece = 0; piece < runs; ++piece) {
      if (!std::isfinite(furthest[piece]))
        throw std::invalid_argument("samples are too large to be averaged in float64");
      extent = std::max(extent, furthest[piece]), filled += static_cast<double>(nonzeros[piece]);
    }
    exponent_ = extent > 0 ? std::max(std::ilogb(extent) + 1, -1000) : 0;
    scale_ = std::ldexp(1.0, -exponent_);
    sparse_ = filled <= sparse_share * static_cast<double>(n) * static_cast<double>(d);
  }

  const Samples& samples() const { return samples_; }
  std::size_t size() const { return samples_.size(); }
  std::size_t dimension() const { return samples_.dimension(); }
  const std::vector<double>& centre() const { return centre_; }
  // Whether so few entries differ from 0 that only these are read; the samples decide, not what holds them.
  bool sparse() const { return sparse_; }

  double scale() const { return scale_; }
  double original(std::size_t feature, double value) const { return centre_[feature] + std::ldexp(value, exponent_); }
  double original_square(double value) const { return std::ldexp(value, 2 * exponent_); }

  void read(std::size_t row, double* out) const {
    samples_.copy_row(row, centre_.data(), out);
    for (std::size_t k = 0; k < dimension(); ++k) out[k] *= scale_;
  }

 private:
  static constexpr std::size_t run = 2048;

  const Samples& samples_;
  std::vector<double> centre_;
  int exponent_ = 0;
  double scale_ = 1;
  bool sparse_ = false;
};

}  // namespace widemargin::quantization
