// A few threads that live as long as one solve and share out numbered pieces of work.
//
// Each thread starts with its own run of pieces, the same part of the data in pass after pass and so in its own cache,
// and helps the others when it is through. Pieces must not depend on each other; every result is then independent of
// the number of threads. Idle threads spin for some microseconds (the next piece of a solve usually follows at once),
// then sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/runtime/process.hpp"

namespace widemargin {

class ThreadTeam {
 public:
  explicit ThreadTeam(std::size_t size) : runs_(std::max<std::size_t>(size, 1)) {
    try {
      threads_.reserve(runs_.size() - 1);
      for (std::size_t t = 1; t < size; ++t) threads_.emplace_back([this, t] { serve(t); });
    } catch (...) {  // the system has no more threads
      dismiss();
      throw;
    }
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam() { dismiss(); }

  std::size_t size() const { return threads_.size() + 1; }

  // Calls work(piece, member) for every piece < count, member < size(); returns when all are done. Whatever `work`
  // throws, on any thread, comes out here: the first of it, and no piece is begun after that. The calling thread is
  // member 0; with nothing left to take it calls `idle` every few milliseconds until the others are done. It waits for
  // pieces, not for threads: one that has not come round to the work yet (a busy computer) is not missed.
  template <class Work>
  void share(std::size_t count, Work&& work, const std::function<void()>& idle = nullptr) {
    if (threads_.empty() || count <= 1) {
      for (std::size_t piece = 0; piece < count; ++piece) work(piece, std::size_t{0});
      return;
    }
    call_ = [](void* context, std::size_t piece, std::size_t member) {
      (*static_cast<std::remove_cvref_t<Work>*>(context))(piece, member);
    };
    context_ = const_cast<std::remove_cvref_t<Work>*>(&work);
    left_.store(count, std::memory_order_relaxed);
    const std::uint64_t round = round_.load(std::memory_order_relaxed) + 1;
    for (std::size_t member = 0; member < size(); ++member) {
      runs_[member].end[round % 2].store((member + 1) * count / size(), std::memory_order_relaxed);
      runs_[member].next.store(ticket(round, member * count / size()), std::memory_order_release);
    }
    round_.store(round, std::memory_order_release);
    round_.notify_all();
    take(0, round);
    for (int spin = 0; left_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin <= spins) {
        relax();
        continue;
      }
      if (idle) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        guarded(idle);
      } else {
        const std::size_t left = left_.load(std::memory_order_acquire);
        if (left != 0) left_.wait(left, std::memory_order_acquire);
      }
    }
    if (failed_.load(std::memory_order_relaxed)) {
      failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

 private:
  static constexpr int spins = 2000;  // some 30 microseconds

  static void relax() {
#ifdef WIDEMARGIN_X86
    __builtin_ia32_pause();
#endif
  }

  // A piece of a round: whoever comes late to a round that is over finds another number in place of it.
  static std::uint64_t ticket(std::uint64_t round, std::size_t piece) { return round << 32 | piece; }

  // The first exception of a round is kept for the caller.
  template <class Call>
  void guarded(const Call& call) noexcept {
    try {
      call();
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  void take(std::size_t member, std::uint64_t round) {
    std::size_t done = 0;  // reported once: the counter is everybody's
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      Run& run = runs_[(member + k) % runs_.size()];
      std::uint64_t next = run.next.load(std::memory_order_acquire);
      while (next >> 32 == (round & 0xffffffffu) &&
             (next & 0xffffffffu) < run.end[round % 2].load(std::memory_order_relaxed)) {
        if (!run.next.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel, std::memory_order_acquire))
          continue;
        if (!failed_.load(std::memory_order_relaxed)) guarded([&] { call_(context_, next & 0xffffffffu, member); });
        ++done;
        next = run.next.load(std::memory_order_acquire);
      }
    }
    if (done > 0 && left_.fetch_sub(done, std::memory_order_acq_rel) == done) left_.notify_one();
  }

  void serve(std::size_t member) {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; round_.load(std::memory_order_acquire) == seen; ++spin) {
        if (spin <= spins)
          relax();
        else
          round_.wait(seen, std::memory_order_acquire);
      }
      seen = round_.load(std::memory_order_acquire);
      if (quit_.load()) return;
      take(member, seen);
    }
  }

  // A forked process has none of the threads, and would wait for them for ever.
  void dismiss() {
    quit_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    const bool ours = born_ == process_id();
    for (std::thread& thread : threads_) ours ? thread.join() : thread.detach();
  }

  struct alignas(64) Run {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::size_t> end[2]{};  // of even and odd rounds: preparing one must not move the end of the last
  };

  // What threads poll, what is written before a round, and what is counted down lie on lines of their own.
  std::vector<Run> runs_;
  std::vector<std::thread> threads_;
  ProcessId born_ = process_id();
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  alignas(64) std::atomic<std::uint64_t> round_{0};
  std::atomic<bool> quit_{false};
  alignas(64) void (*call_)(void*, std::size_t, std::size_t) = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<std::size_t> left_{0};  // pieces of this round that are not done
};

}  // namespace widemargin
