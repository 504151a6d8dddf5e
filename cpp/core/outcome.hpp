// What a solve is asked for, and what it says about its end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>

namespace widemargin {

enum class Reason {
  converged,
  iteration_budget,
  time_budget,
  interrupted,
  stalled,    // steps have stopped helping: what is left is rounding
  unbounded,  // the objective has no maximum: a square loss over a kernel that is not positive semidefinite
  overflow,   // numbers went beyond what a double holds
};

struct StopRule {
  double tolerance = 1e-3;  // on the KKT violation
  std::int64_t max_iterations = std::numeric_limits<std::int64_t>::max();
};

struct Outcome {
  Reason reason = Reason::converged;
  double kkt_violation = 0;   // these three from a gradient recomputed in double
  double duality_gap = 0;
  double objective = 0;
  std::array<double, 2> intercept{};  // the second for the second group of variables
  std::int64_t iterations = 0;
  std::uint64_t kernel_evaluations = 0;
  std::uint64_t kernel_operations = 0;  // geometric solvers: kernel values read, whether they were cached or not
  double seconds = 0;
  bool double_precision = false;  // kernel values in float did not do
};

// Thrown where a computation meets its deadline or an interruption halfway.
struct Stopped {
  Reason reason;
};

// Deadline and interruption, shared by all parts of one computation. Any thread may look; only the thread that made the watch asks
// `interrupted`, and not more often than every few milliseconds.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  Watch(double max_seconds, std::function<bool()> interrupted) : interrupted_(std::move(interrupted)), start_(Clock::now()) {
    if (max_seconds < 1e9) deadline_ = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(max_seconds));
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  Reason reason() const { return reason_.load(); }

  // True once the computation has to end.
  bool poll(bool owner = true) {
    if (stopped()) return true;
    const Clock::time_point now = Clock::now();
    if (now >= deadline_) return stop(Reason::time_budget);
    return owner && poll_interruption();
  }

  // The same without the deadline, for what has to be done after it.
  bool poll_interruption() {
    const Clock::time_point now = Clock::now();
    if (!interrupted_ || now - asked_ < std::chrono::milliseconds(20)) return stopped() && reason() == Reason::interrupted;
    asked_ = now;
    return interrupted_() && stop(Reason::interrupted);
  }

 private:
  bool stop(Reason reason) {
    // An interruption is an exception that waits to be raised: a thread that meets the deadline meanwhile must not hide it.
    if (reason != Reason::time_budget) reason_.store(reason);
    stopped_.store(true);
    return true;
  }

  std::function<bool()> interrupted_;
  Clock::time_point start_, asked_{}, deadline_ = Clock::time_point::max();
  std::atomic<bool> stopped_{false};
  std::atomic<Reason> reason_{Reason::time_budget};
};

// One solver's view of a shared watch: counts work between looks at the clock.
class Patience {
 public:
  Patience(Watch& watch, bool owner) : watch_(watch), owner_(owner) {}
  // `work` is in units of about a nanosecond.
  bool spent(std::uint64_t work) {
    if ((done_ += work) < 1'000'000) return false;
    return now();
  }
  bool now() {
    done_ = 0;
    if (!grace_) return watch_.poll(owner_);
    return owner_ ? watch_.poll_interruption() : watch_.stopped() && watch_.reason() == Reason::interrupted;
  }
  // From here on only an interruption counts: the deadline is over, and what was reached must still be said.
  void grant_grace() { grace_ = true; }
  Reason reason() const { return watch_.reason(); }

 private:
  Watch& watch_;
  bool owner_, grace_ = false;
  std::uint64_t done_ = 0;
};

}  // namespace widemargin
