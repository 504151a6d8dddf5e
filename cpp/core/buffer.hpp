// Uninitialised memory for large arrays: aligned for vector loads, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace widemargin {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// Large pieces come from the system and go back to it at once, whatever the allocator would rather keep.
inline void* take_memory(std::size_t bytes) {
#ifdef __linux__
  if (bytes >= huge_page) {
    const std::size_t reserved = bytes + huge_page;
    void* found = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

inline void give_memory_back(void* memory, std::size_t bytes) {
#ifdef __linux__
  if (bytes >= huge_page) {
    munmap(memory, bytes);
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
  explicit Buffer(std::size_t count) : count_(count) {
    if (count > 0) data_ = static_cast<T*>(take_memory(bytes()));
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) give_memory_back(data_, bytes());
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  // Whole pages: what is mapped and unmapped.
  std::size_t bytes() const {
    constexpr std::size_t page = 4096;
    return (count_ * sizeof(T) + page - 1) / page * page;
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace widemargin
