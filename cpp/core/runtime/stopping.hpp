// Stopping: when a computation ends before it has converged, and how it learns of it.
//
//   StoppingCriterion   what a solver was asked for: a tolerance, at most so many iterations
//   StopSignal          how one thread ends what others compute
//   Deadline            the time limit and the interruption of one computation, shared by all its threads
//   TimeBudget          one thread's view of the deadline, cheap enough to be asked in an inner loop
//   Stopped             thrown where a computation has to end halfway
//
// What was reached at the deadline must still be reported: for that there is a grace period of some seconds, the same
// for all parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

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

struct StoppingCriterion {
  double tolerance = 1e-3;  // on the KKT violation
  std::int64_t max_iterations = std::numeric_limits<std::int64_t>::max();
};

struct Stopped {
  Reason reason;
};

struct StopSignal {
  std::atomic<bool> requested{false};
};

// Any thread may poll; only the thread that made the deadline asks `interrupted`, and not more often than every few
// milliseconds.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // Both may be below 0: a time limit or a grace period that is over already.
  Deadline(double max_seconds, double grace_seconds, std::function<bool()> interrupted)
      : interrupted_(std::move(interrupted)), start_(Clock::now()) {
    if (max_seconds >= 1e9) return;
    end_ = start_ + duration(max_seconds);
    if (grace_seconds < 1e9) end_of_grace_ = end_ + duration(grace_seconds);
  }
  // Without anything to report after the end.
  Deadline(double max_seconds, std::function<bool()> interrupted)
      : Deadline(max_seconds, 0.0, std::move(interrupted)) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_of_grace() const { return std::chrono::duration<double>(end_of_grace_ - Clock::now()).count(); }
  bool limited() const { return end_ != Clock::time_point::max(); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  Reason reason() const { return reason_.load(); }

  // True once the computation has to end.
  bool poll(bool owner = true) {
    if (stopped()) return true;
    const Clock::time_point now = Clock::now();
    if (now >= end_) return stop(Reason::time_budget);
    return owner && poll_interruption();
  }

  // The same with the end of the grace period for the time limit.
  bool poll_in_grace(bool owner) {
    if (stopped() && reason() == Reason::interrupted) return true;
    if (Clock::now() >= end_of_grace_) return stop(Reason::time_budget);
    return owner && poll_interruption();
  }

  // Ends all parts, for reasons that are reported elsewhere.
  void cancel() { stop(Reason::interrupted); }

 private:
  bool poll_interruption() {
    const Clock::time_point now = Clock::now();
    if (!interrupted_ || now - asked_ < std::chrono::milliseconds(20))
      return stopped() && reason() == Reason::interrupted;
    asked_ = now;
    return interrupted_() && stop(Reason::interrupted);
  }

  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(seconds, -1e9)));
  }

  bool stop(Reason reason) {
    // An interruption is an exception that waits to be raised: a thread that meets the time limit meanwhile must not
    // hide it.
    if (reason != Reason::time_budget) reason_.store(reason);
    stopped_.store(true);
    return true;
  }

  std::function<bool()> interrupted_;
  Clock::time_point start_, asked_{}, end_ = Clock::time_point::max(), end_of_grace_ = Clock::time_point::max();
  std::atomic<bool> stopped_{false};
  std::atomic<Reason> reason_{Reason::time_budget};
};

// Counts work between two looks at the clock, in units of about a nanosecond.
class TimeBudget {
 public:
  TimeBudget(Deadline& deadline, bool owner) : deadline_(deadline), owner_(owner) {}

  // True once the budget is used up; looks at the clock only after enough work.
  bool spent(std::uint64_t work) { return (done_ += work) >= between_looks && over(); }
  // The same with a look at the clock now.
  bool over() {
    done_ = 0;
    return grace_ ? deadline_.poll_in_grace(owner_) : deadline_.poll(owner_);
  }
  // From here on the grace period counts, not the time limit.
  void grant_grace() { grace_ = true; }
  Reason reason() const { return deadline_.reason(); }

  // Whether there is a time limit at all.
  bool limited() const { return deadline_.limited(); }

  // A computation of `total` values that begins now, each of about `each` nanoseconds. In the grace period it is given
  // up as soon as its first part shows that the whole would take too long.
  class Forecast {
   public:
    Forecast(TimeBudget& budget, double total, std::uint64_t each)
        : budget_(budget), total_(total), each_(each), began_(Deadline::Clock::now()) {}
    // True if it has to end here, `values` values after the last call.
    bool spent(std::uint64_t values) {
      done_ += static_cast<double>(values);
      if ((budget_.done_ += values * each_) < between_looks) return false;
      return budget_.over() || (budget_.grace_ && takes_too_long());
    }

   private:
    bool takes_too_long() const {
      const double taken = std::chrono::duration<double>(Deadline::Clock::now() - began_).count();
      return taken > 0.005 && taken * (total_ - done_) > done_ * budget_.deadline_.seconds_of_grace();
    }

    TimeBudget& budget_;
    double total_, done_ = 0;
    std::uint64_t each_;
    Deadline::Clock::time_point began_;
  };

 private:
  static constexpr std::uint64_t between_looks = 1'000'000;

  Deadline& deadline_;
  bool owner_, grace_ = false;
  std::uint64_t done_ = 0;
};

}  // namespace widemargin
