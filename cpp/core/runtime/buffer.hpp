// Uninitialised memory for large arrays: aligned for vector loads, on huge pages where the system has them, handed on
// from one to the next.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "core/runtime/process.hpp"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace widemargin {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

#ifdef __linux__
// Large pieces of memory that were freed, for the next request of about that size: touching new memory takes longer
// than computing what goes there.
class MemoryPool {
 public:
  // The piece that fits best, nullptr if none does; `bytes` becomes its size.
  void* take(std::size_t& bytes) {
    const std::lock_guard lock(process_mutex());
    const auto found = pieces_.lower_bound(bytes);
    if (found == pieces_.end() || found->first > bytes + bytes / 4) return nullptr;
    bytes = found->first;
    void* memory = found->second;
    pieces_.erase(found);
    kept_ -= bytes;
    return memory;
  }
  // Others, which nobody has asked for, make room; false if there is none for so much.
  bool keep(void* memory, std::size_t bytes) noexcept try {
    const std::lock_guard lock(process_mutex());
    if (bytes > most_) return false;
    pieces_.emplace(bytes, memory);
    kept_ += bytes;
    make_room(memory);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  // How much may be kept from now on.
  void limit(std::size_t bytes) {
    const std::lock_guard lock(process_mutex());
    most_ = bytes;
    make_room(nullptr);
  }
  void clear() {
    const std::lock_guard lock(process_mutex());
    for (const auto& [bytes, memory] : pieces_) munmap(memory, bytes);
    pieces_.clear();
    kept_ = 0;
  }

 private:
  // Gives back pieces other than `spared`, small ones first, until no more than allowed are kept.
  void make_room(const void* spared) {
    for (auto piece = pieces_.begin(); kept_ > most_ && piece != pieces_.end();) {
      const auto [size, place] = *piece;
      if (place == spared) {
        ++piece;
        continue;
      }
      munmap(place, size);
      kept_ -= size;
      piece = pieces_.erase(piece);
    }
  }

  std::multimap<std::size_t, void*> pieces_;
  std::size_t kept_ = 0, most_ = std::size_t{256} << 20;
};

// Never destroyed: threads may free memory when everything else has ended.
inline MemoryPool& memory_pool() {
  static MemoryPool* const pool = new MemoryPool;
  return *pool;
}

inline void keep_memory(std::size_t bytes) { memory_pool().limit(bytes); }
inline void release_memory() { memory_pool().clear(); }
#else
inline void keep_memory(std::size_t) {}
inline void release_memory() {}
#endif

// For tests: so many pieces of memory may still be taken before one is refused; below 0, none is.
inline std::atomic<std::int64_t> pieces_until_refusal{-1};

// At least so many bytes; `bytes` becomes how many there are. Large pieces come from the system and go back to it,
// whatever the allocator would rather keep.
inline void* take_memory(std::size_t& bytes) {
  if (pieces_until_refusal.load(std::memory_order_relaxed) >= 0 && pieces_until_refusal.fetch_sub(1) == 0)
    throw std::bad_alloc();
#ifdef __linux__
  if (bytes >= huge_page) {
    if (void* known = memory_pool().take(bytes)) return known;
    const std::size_t reserved = bytes + huge_page;
    const auto mapped = [reserved] {
      return mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    };
    void* found = mapped();
    if (found == MAP_FAILED) {  // what is kept counts against the limits of the process
      memory_pool().clear();
      found = mapped();
    }
    if (found == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(found);
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) munmap(begin, before);
    if (before < huge_page) munmap(begin + before + bytes, huge_page - before);
    madvise(begin + before, bytes, MADV_HUGEPAGE);
    return begin + before;
  }
#endif
  void* found = std::aligned_alloc(64, bytes);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

inline void free_memory(void* memory, std::size_t bytes) {
#ifdef __linux__
  if (bytes >= huge_page) {
    if (!memory_pool().keep(memory, bytes)) munmap(memory, bytes);
    return;
  }
#endif
  static_cast<void>(bytes);
  std::free(memory);
}

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : count_(count), bytes_((count * sizeof(T) + page - 1) / page * page) {
    if (count > 0) data_ = static_cast<T*>(take_memory(bytes_));
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) free_memory(data_, bytes_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t page = 4096;

  T* data_ = nullptr;
  std::size_t count_ = 0, bytes_ = 0;  // whole pages: what is mapped and unmapped
};

}  // namespace widemargin
