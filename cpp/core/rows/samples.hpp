// The samples as the user gave them, never copied: rows are converted on their way into the packed blocks that kernels
// work on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace widemargin {

class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::size_t size() const = 0;
  virtual std::size_t dimension() const = 0;
  // out = row - shift, the subtraction made before rounding; shift may be null
  virtual void copy_row(std::size_t row, const double* shift, float* out) const = 0;
  virtual void copy_row(std::size_t row, const double* shift, double* out) const = 0;
  // Writes the non-zero entries (at most dimension()) and returns their number.
  virtual std::size_t nonzeros(std::size_t row, std::int32_t* index, float* value) const = 0;
  virtual std::size_t nonzeros(std::size_t row, std::int32_t* index, double* value) const = 0;
  // Whether every entry is 0 or this value.
  virtual bool only_zero_and(double value) const = 0;
};

// Both precisions alike: Self offers copy(row, shift, out) and gather(row, index, value).
template <class Self>
class SamplesOfBothTypes : public Samples {
 public:
  void copy_row(std::size_t row, const double* shift, float* out) const override { self().copy(row, shift, out); }
  void copy_row(std::size_t row, const double* shift, double* out) const override { self().copy(row, shift, out); }
  std::size_t nonzeros(std::size_t row, std::int32_t* index, float* value) const override {
    return self().gather(row, index, value);
  }
  std::size_t nonzeros(std::size_t row, std::int32_t* index, double* value) const override {
    return self().gather(row, index, value);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

template <class S>
bool all_zero_or(const S* entries, std::size_t count, double value) {
  constexpr std::size_t some = 4096;
  for (std::size_t first = 0; first < count; first += some) {
    bool good = true;
    for (std::size_t k = first; k < std::min(first + some, count); ++k)
      good &= (entries[k] == 0) | (static_cast<double>(entries[k]) == value);
    if (!good) return false;
  }
  return true;
}

template <class S>
class DenseSamples final : public SamplesOfBothTypes<DenseSamples<S>> {
 public:
  DenseSamples(const S* data, std::size_t size, std::size_t dimension)
      : data_(data), size_(size), dimension_(dimension) {}
  std::size_t size() const override { return size_; }
  std::size_t dimension() const override { return dimension_; }
  bool only_zero_and(double value) const override { return all_zero_or(data_, size_ * dimension_, value); }

  template <class T>
  void copy(std::size_t row, const double* shift, T* out) const {
    const S* source = data_ + row * dimension_;
    if (shift == nullptr)
      for (std::size_t k = 0; k < dimension_; ++k) out[k] = static_cast<T>(source[k]);
    else
      for (std::size_t k = 0; k < dimension_; ++k) out[k] = static_cast<T>(static_cast<double>(source[k]) - shift[k]);
  }
  template <class T>
  std::size_t gather(std::size_t row, std::int32_t* index, T* value) const {
    const S* source = data_ + row * dimension_;
    std::size_t count = 0;
    for (std::size_t k = 0; k < dimension_; ++k) {
      index[count] = static_cast<std::int32_t>(k);
      value[count] = static_cast<T>(source[k]);
      count += source[k] != 0;
    }
    return count;
  }

 private:
  const S* data_;
  std::size_t size_, dimension_;
};

// Compressed sparse rows; S is the type of the values, I that of both index arrays.
template <class S, class I>
class CsrSamples final : public SamplesOfBothTypes<CsrSamples<S, I>> {
 public:
  CsrSamples(const S* value, const I* index, const I* begin, std::size_t size, std::size_t dimension)
      : value_(value), index_(index), begin_(begin), size_(size), dimension_(dimension) {}
  std::size_t size() const override { return size_; }
  std::size_t dimension() const override { return dimension_; }
  bool only_zero_and(double value) const override {
    return all_zero_or(value_, static_cast<std::size_t>(begin_[size_]), value);
  }

  template <class T>
  void copy(std::size_t row, const double* shift, T* out) const {
    for (std::size_t k = 0; k < dimension_; ++k) out[k] = shift == nullptr ? T(0) : static_cast<T>(-shift[k]);
    for (I t = begin_[row]; t < begin_[row + 1]; ++t) {
      const std::size_t k = static_cast<std::size_t>(index_[t]);
      out[k] = static_cast<T>(static_cast<double>(value_[t]) - (shift == nullptr ? 0.0 : shift[k]));
    }
  }
  template <class T>
  std::size_t gather(std::size_t row, std::int32_t* index, T* value) const {
    std::size_t count = 0;
    for (I t = begin_[row]; t < begin_[row + 1]; ++t, ++count) {
      index[count] = static_cast<std::int32_t>(index_[t]);
      value[count] = static_cast<T>(value_[t]);
    }
    return count;
  }

 private:
  const S* value_;
  const I *index_, *begin_;
  std::size_t size_, dimension_;
};

}  // namespace widemargin
