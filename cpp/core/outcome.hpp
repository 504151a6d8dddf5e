// What a solve is asked for, and what it says about its end.
#pragma once

#include <algorithm>
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
  double kkt_violation = 0;   // these three from a gradient recomputed in double; infinite, infinite and NaN where time did not suffice for it
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
//
// What was reached at the deadline must still be said: for that there is a grace of some seconds, the same ones for all parts.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  // Both may be below 0: a deadline or a grace that is over already.
  Watch(double max_seconds, double grace_seconds, std::function<bool()> interrupted) : interrupted_(std::move(interrupted)), start_(Clock::now()) {
    if (max_seconds >= 1e9) return;
    deadline_ = start_ + duration(max_seconds);
    if (grace_seconds < 1e9) end_of_grace_ = deadline_ + duration(grace_seconds);
  }
  // Without anything to say after the deadline.
  Watch(double max_seconds, std::function<bool()> interrupted) : Watch(max_seconds, 0.0, std::move(interrupted)) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_of_grace() const { return std::chrono::duration<double>(end_of_grace_ - Clock::now()).count(); }
  bool limited() const { return deadline_ != Clock::time_point::max(); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  Reason reason() const { return reason_.load(); }

  // True once the computation has to end.
  bool poll(bool owner = true) {
    if (stopped()) return true;
    const Clock::time_point now = Clock::now();
    if (now >= deadline_) return stop(Reason::time_budget);
    return owner && poll_interruption();
  }

  // The same with the end of the grace for the deadline.
  bool poll_in_grace(bool owner) {
    if (stopped() && reason() == Reason::interrupted) return true;
    if (Clock::now() >= end_of_grace_) return stop(Reason::time_budget);
    return owner && poll_interruption();
  }

  // Ends all parts, for reasons that are told elsewhere.
  void give_up() { stop(Reason::interrupted); }

 private:
  bool poll_interruption() {
    const Clock::time_point now = Clock::now();
    if (!interrupted_ || now - asked_ < std::chrono::milliseconds(20)) return stopped() && reason() == Reason::interrupted;
    asked_ = now;
    return interrupted_() && stop(Reason::interrupted);
  }

  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(seconds, -1e9)));
  }

  bool stop(Reason reason) {
    // An interruption is an exception that waits to be raised: a thread that meets the deadline meanwhile must not hide it.
    if (reason != Reason::time_budget) reason_.store(reason);
    stopped_.store(true);
    return true;
  }

  std::function<bool()> interrupted_;
  Clock::time_point start_, asked_{}, deadline_ = Clock::time_point::max(), end_of_grace_ = Clock::time_point::max();
  std::atomic<bool> stopped_{false};
  std::atomic<Reason> reason_{Reason::time_budget};
};

// One solver's view of a shared watch: counts work between looks at the clock.
class Patience {
 public:
  Patience(Watch& watch, bool owner) : watch_(watch), owner_(owner) {}
  // `work` is in units of about a nanosecond.
  bool spent(std::uint64_t work) {
    return (done_ += work) >= between_looks && now();
  }
  bool now() {
    done_ = 0;
    return grace_ ? watch_.poll_in_grace(owner_) : watch_.poll(owner_);
  }
  // From here on the grace counts, not the deadline: what was reached must still be said.
  void grant_grace() { grace_ = true; }
  Reason reason() const { return watch_.reason(); }

  // Whether there is a deadline at all.
  bool limited() const { return watch_.limited(); }

  // A computation of so many values, begun now, each of about so many nanoseconds. In the grace it is given up as soon as its first part tells that the whole would take too long.
  class Work {
   public:
    Work(Patience& patience, double total, std::uint64_t each) : patience_(patience), total_(total), each_(each), began_(Watch::Clock::now()) {}
    // True if it is to end here, so many values after the last time this was asked.
    bool spent(std::uint64_t values) {
      done_ += static_cast<double>(values);
      if ((patience_.done_ += values * each_) < between_looks) return false;
      return patience_.now() || (patience_.grace_ && takes_too_long());
    }

   private:
    bool takes_too_long() const {
      const double taken = std::chrono::duration<double>(Watch::Clock::now() - began_).count();
      return taken > 0.005 && taken * (total_ - done_) > done_ * patience_.watch_.seconds_of_grace();
    }

    Patience& patience_;
    double total_, done_ = 0;
    std::uint64_t each_;
    Watch::Clock::time_point began_;
  };

 private:
  static constexpr std::uint64_t between_looks = 1'000'000;

  Watch& watch_;
  bool owner_, grace_ = false;
  std::uint64_t done_ = 0;
};

}  // namespace widemargin
