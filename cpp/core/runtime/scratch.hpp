// Memory that a thread keeps from one use to the next. Whoever is at work owns what it works in: uses may be nested,
// and what nobody uses can be freed by any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/runtime/buffer.hpp"
#include "core/runtime/process.hpp"

namespace widemargin {

// One piece of memory that a thread keeps. Those of all threads form one linked list, which takes no memory of its own.
class ThreadLocalMemory {
 public:
  using Free = void(void*);

  explicit ThreadLocalMemory(Free* free) : free_(free) {
    const std::lock_guard lock(process_mutex());
    next_ = std::exchange(first(), this);
  }
  ThreadLocalMemory(const ThreadLocalMemory&) = delete;
  ThreadLocalMemory& operator=(const ThreadLocalMemory&) = delete;
  ~ThreadLocalMemory() {
    {
      const std::lock_guard lock(process_mutex());
      leave([this](const ThreadLocalMemory& place) { return &place == this; });
    }
    keep(nullptr);
  }

  void* take() { return kept_.exchange(nullptr, std::memory_order_acq_rel); }
  void keep(void* memory) {
    if (void* before = kept_.exchange(memory, std::memory_order_acq_rel)) free_(before);
  }

  // Frees what is kept, wherever, and not in use.
  static void clear_all() {
    Free* free = nullptr;
    while (void* memory = take_any(free)) free(memory);  // outside of the mutex, which the pool locks
  }

 private:
  // Takes what the first place has that has anything.
  static void* take_any(Free*& free) {
    const std::lock_guard lock(process_mutex());
    for (ThreadLocalMemory* place = first(); place != nullptr; place = place->next_)
      if (void* memory = place->take()) return free = place->free_, memory;
    return nullptr;
  }

  // A forked process has no other threads, and may have new ones where theirs were.
  static ThreadLocalMemory*& first() {
    static ThreadLocalMemory* head = nullptr;
#ifdef __unix__
    static const int told = pthread_atfork(nullptr, nullptr, [] {
      leave([](const ThreadLocalMemory& place) { return place.owner_ != std::this_thread::get_id(); });
    });
    static_cast<void>(told);
#endif
    return head;
  }

  template <class Which>
  static void leave(const Which& which) {
    for (ThreadLocalMemory** place = &first(); *place != nullptr;)
      if (which(**place))
        *place = (*place)->next_;
      else
        place = &(*place)->next_;
  }

  std::atomic<void*> kept_{nullptr};
  Free* free_;
  ThreadLocalMemory* next_ = nullptr;
  std::thread::id owner_ = std::this_thread::get_id();
};

// The buffer that a thread keeps for some `Use`, a type that names it; null if there is none.
template <class T, class Use>
struct KeptBuffer {
  static std::unique_ptr<Buffer<T>> take() {
    return std::unique_ptr<Buffer<T>>(static_cast<Buffer<T>*>(place().take()));
  }
  static void keep(std::unique_ptr<Buffer<T>> buffer) { place().keep(buffer.release()); }

 private:
  static ThreadLocalMemory& place() {
    thread_local ThreadLocalMemory own([](void* buffer) { delete static_cast<Buffer<T>*>(buffer); });
    return own;
  }
};

// Memory to work in, from the thread's last use of this kind.
template <class T, class Use>
class Scratch {
 public:
  // At least so many values: zeros where the memory is new, else what was left there.
  explicit Scratch(std::size_t count) : buffer_(KeptBuffer<T, Use>::take()) {
    if (buffer_ == nullptr) buffer_ = std::make_unique<Buffer<T>>();
    if (buffer_->size() >= count) return;
    *buffer_ = Buffer<T>();
    *buffer_ = Buffer<T>(count);
    std::fill_n(buffer_->data(), count, T(0));
  }
  Scratch(Scratch&&) = default;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (buffer_ != nullptr) KeptBuffer<T, Use>::keep(std::move(buffer_));
  }

  T* data() const { return buffer_->data(); }

 private:
  std::unique_ptr<Buffer<T>> buffer_;
};

}  // namespace widemargin
