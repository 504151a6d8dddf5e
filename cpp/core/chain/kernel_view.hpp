// The kernel of some samples within that of all, read where it lies.
//
// Variable p stands for a sample; its row is a row of the whole matrix. Where samples of neighbouring variables lie
// side by side, so do the columns: a row comes in stretches. Samples that resemble nothing come last and have neither a
// row nor a column: their values are 0.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/rows/row_source.hpp"

namespace widemargin::chain {

// Stands for the number of a sample whose kernel values are all 0; such samples come last.
inline constexpr Id resembles_nothing = -1;

class KernelView {
 public:
  // Variables from `begin` to `end`, whose columns begin at `column`.
  struct Stretch {
    std::size_t begin, end, column;
  };

  // All samples.
  KernelView(const float* kernel, std::size_t size)
      : kernel_(kernel), stride_(size), size_(size), known_(size), stretches_{{0, size, 0}} {}

  // Those named, which have to outlive the view.
  KernelView(const float* kernel, std::size_t stride, std::span<const Id> ids)
      : kernel_(kernel),
        stride_(stride),
        size_(ids.size()),
        known_(static_cast<std::size_t>(std::find(ids.begin(), ids.end(), resembles_nothing) - ids.begin())),
        ids_(ids.data()) {
    for (std::size_t p = 0; p < known_; ++p) {
      if (p == 0 || ids[p] != ids[p - 1] + 1) stretches_.push_back({p, p, static_cast<std::size_t>(ids[p])});
      ++stretches_.back().end;
    }
  }

  std::size_t size() const { return size_; }
  std::size_t known() const { return known_; }  // variables whose samples resemble something
  const std::vector<Stretch>& stretches() const { return stretches_; }
  // Stretches so short cost more than a copy of what they hold.
  bool scattered() const { return stretches_.size() * shortest > known_; }

  // The following are about variables that are known.
  std::size_t column(std::size_t p) const { return ids_ == nullptr ? p : static_cast<std::size_t>(ids_[p]); }
  const float* row(std::size_t p) const { return kernel_ + column(p) * stride_; }
  float diagonal(std::size_t p) const { return p < known_ ? row(p)[column(p)] : 0.0f; }

  // All values, row by row.
  void copy_to(float* out) const {
    for (std::size_t p = 0; p < known_; ++p, out += size_) {
      const float* from = row(p);
      if (4 * stretches_.size() < known_)
        for (const Stretch& s : stretches_) std::copy_n(from + s.column, s.end - s.begin, out + s.begin);
      else
        for (std::size_t q = 0; q < known_; ++q) out[q] = from[column(q)];
      std::fill(out + known_, out + size_, 0.0f);
    }
    std::fill_n(out, (size_ - known_) * size_, 0.0f);
  }

 private:
  static constexpr std::size_t shortest = 32;

  const float* kernel_;
  std::size_t stride_, size_, known_;
  const Id* ids_ = nullptr;  // none if these are all samples
  std::vector<Stretch> stretches_;
};

}  // namespace widemargin::chain
