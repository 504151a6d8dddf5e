// Memory for kernel rows in pieces of some megabytes: taken when first needed, handed on from one problem to the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "core/runtime/buffer.hpp"

namespace widemargin {

inline constexpr std::size_t slab_bytes = std::size_t{8} << 20;

// Slabs that nobody uses at the moment.
class SlabPool {
 public:
  Buffer<std::byte> take(std::size_t bytes) {
    if (bytes == slab_bytes && !free_.empty()) {
      Buffer<std::byte> slab = std::move(free_.back());
      free_.pop_back();
      return slab;
    }
    return Buffer<std::byte>(bytes);
  }
  // Freed if there is no memory to remember it by.
  void give_back(Buffer<std::byte> slab) noexcept try {
    if (slab.size() == slab_bytes) free_.push_back(std::move(slab));
  } catch (const std::bad_alloc&) {
  }

 private:
  std::vector<Buffer<std::byte>> free_;
};

// Rows of equal length in slabs. A row never crosses from one slab to the next.
template <class T>
class RowArena {
 public:
  explicit RowArena(SlabPool& pool) : pool_(pool) {}
  RowArena(const RowArena&) = delete;
  RowArena& operator=(const RowArena&) = delete;
  ~RowArena() {
    for (Buffer<std::byte>& slab : slabs_) pool_.give_back(std::move(slab));
  }

  // A slab holds one row of `longest` values at least.
  void set_longest(std::size_t longest) { slab_size_ = std::max(slab_bytes, longest * sizeof(T)); }
  std::size_t rows_per_slab(std::size_t stride) const { return slab_size_ / (stride * sizeof(T)); }

  // Row s, when rows have this stride; its slab is made if it is not there yet.
  T* row(std::size_t s, std::size_t stride) {
    const std::size_t per_slab = rows_per_slab(stride), slab = s / per_slab;
    while (slabs_.size() <= slab) slabs_.push_back(pool_.take(slab_size_));
    return reinterpret_cast<T*>(slabs_[slab].data()) + (s % per_slab) * stride;
  }

 private:
  SlabPool& pool_;
  std::size_t slab_size_ = slab_bytes;
  std::vector<Buffer<std::byte>> slabs_;
};

}  // namespace widemargin
