// Objects that one caller at a time may use.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

namespace widemargin::bindings {

// Refuses rather than waits: who is using the object may wait for the interpreter, which the next one has. A thread may
// also ask while it is using the object itself, from a kernel in Python that its work calls, and a mutex must not be
// asked twice.
class OneAtATime {
 public:
  explicit OneAtATime(const char* what) : what_(what) {}

  class Turn {
   public:
    explicit Turn(std::atomic<bool>& in_use) : in_use_(in_use) {}
    ~Turn() { in_use_.store(false, std::memory_order_release); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& in_use_;
  };

  // The object is the caller's as long as the turn lives.
  [[nodiscard]] Turn taken() const {
    if (in_use_.exchange(true, std::memory_order_acquire))
      throw std::runtime_error("another thread is using " + std::string(what_) +
                               ", or a kernel that it calls asks for it");
    return Turn(in_use_);
  }

 private:
  const char* what_;
  mutable std::atomic<bool> in_use_{false};
};

}  // namespace widemargin::bindings
