// A small kernel matrix in memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/rows/row_source.hpp"

namespace widemargin {

template <class T>
class DenseRows {
 public:
  using Value = T;

  void resize(std::size_t size) {
    size_ = size;
    stride_ = (size + 15) / 16 * 16;
    if (values_.size() < stride_ * size) values_.resize(stride_ * size);
    diagonal_.resize(size);
  }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return size_; }
  T* row(std::size_t position) { return values_.data() + position * stride_; }
  void rows(std::span<const Id> positions, const T** out) {
    for (std::size_t r = 0; r < positions.size(); ++r) out[r] = row(static_cast<std::size_t>(positions[r]));
  }
  const T* diagonal() const { return diagonal_.data(); }
  void set_diagonal(std::size_t position, T value) { diagonal_[position] = value; }

 private:
  std::size_t size_ = 0, stride_ = 0;
  std::vector<T> values_, diagonal_;
};

}  // namespace widemargin
