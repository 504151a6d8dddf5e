// LASVM [Bordes2005; Glasmachers2008, chapter 8]: a machine that learns from one sample after the other.
//
//   for every sample that arrives
//     PROCESS    a step along the best pair that holds it; it is kept if its coefficient moves
//     REPROCESS  a step among the kept; those at 0 that improve with no partner, and wait for none, leave
//
// Several decision functions (each class against all others) share one set of kept samples, whose kernel values are
// computed once. A sample that leaves stays in its place, without a box, until there are enough of them to close up:
// the order of the kept is always that in which they came.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/online/arrivals.hpp"
#include "core/online/budget.hpp"
#include "core/online/decision.hpp"
#include "core/online/together.hpp"
#include "core/runtime/stopping.hpp"

namespace widemargin::online {

struct Rules {
  Selection selection = Selection::second_order;
  double tolerance = 1e-3;
  std::int64_t window = 0;  // samples that may stay kept at most, counted from the last one; 0: all
  std::size_t budget = 0;   // samples that may stay kept at most; 0: any number
};

// A sample that arrives: its number in the source, its class, and the largest size of its coefficients.
struct Arrival {
  Id sample;
  std::int32_t label;
  double bound;
};

// Where only one side of a problem is known there are no pairs; so many samples wait for the other one to come.
inline constexpr std::size_t waiting = 16;

template <class T>
class Machine {
 public:
  // Of two classes, the first one is positive; of more, each has a decision function of its own.
  explicit Machine(std::size_t classes) : decisions_(classes > 2 ? classes : 1) {}

  std::size_t size() const { return rows_.size(); }
  std::size_t alive() const { return size() - n_left_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  const KeptRows<T>& rows() const { return rows_; }
  const std::vector<std::int32_t>& labels() const { return label_; }
  const std::vector<double>& bounds() const { return bound_; }
  const std::vector<std::int64_t>& arrivals() const { return arrival_; }
  const std::vector<std::uint8_t>& left() const { return left_; }
  std::int64_t seen() const { return seen_; }

  // The source of kernel values from now on; position p is its sample ids[p]. To be called before all that follows, and
  // `detach` afterwards: source and team are held in between.
  // `same`: it is that of the last time, which was said to stay.
  void attach(const RowSource& source, ThreadTeam& team, std::size_t bytes, std::span<const Id> ids, bool same) {
    rows_.attach(source, team, bytes, ids, same);
    source_ = &source, team_ = &team;
    place_.assign(source.size(), Id{-1});
    for (std::size_t p = 0; p < size(); ++p) place_[static_cast<std::size_t>(ids[p])] = static_cast<Id>(p);
  }
  void detach(bool stays) {
    rows_.detach(stays);
    source_ = nullptr, team_ = nullptr;
  }

  // Learns from the samples in their order; returns how many time sufficed for.
  std::size_t learn(std::span<const Arrival> samples, const Rules& rules, TimeBudget& budget) {
    std::size_t done = 0;
    std::uint64_t computed = rows_.evaluations();
    bool stopped = budget.over();
    while (done < samples.size() && !stopped) {
      close_up();
      const std::span<const Arrival> some =
          samples.subspan(done, std::min(Arrivals<T>::at_most(*source_, size()), samples.size() - done));
      std::vector<Id> fresh;
      for (const Arrival& one : some)
        if (place_[static_cast<std::size_t>(one.sample)] < 0) fresh.push_back(one.sample);
      block_.compute(*source_, rows_, fresh, *team_);
      std::size_t row = 0;
      for (const Arrival& one : some) {
        stopped = budget.spent(work_of_one() + work_since(computed));
        if (stopped) break;
        const bool arrives = row < fresh.size() && one.sample == fresh[row];
        present(one, arrives ? row++ : no_row, rules);
        ++done;
      }
    }
    close_up();
    return done;
  }

  // Active learning [Bordes2005, section 4]: learns from the candidate that lies nearest to the decision boundary, or,
  // of more than two classes, between its two best ones; returns its number. None may be there twice.
  std::size_t learn_nearest(std::span<const Arrival> candidates, const Rules& rules) {
    close_up();
    std::vector<Id> fresh;
    std::vector<std::size_t> row;
    for (const Arrival& one : candidates) {
      const bool arrives = place_[static_cast<std::size_t>(one.sample)] < 0;
      row.push_back(arrives ? fresh.size() : no_row);
      if (arrives) fresh.push_back(one.sample);
    }
    block_.compute(*source_, rows_, fresh, *team_);
    intercept_.clear();
    for (const Decision& one : decisions_) intercept_.push_back(one.intercept());
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < candidates.size(); ++r) {
      look_at(candidates[r], row[r]);
      const double distance = ambiguity(candidates[r]);
      if (distance < least) least = distance, nearest = r;
    }
    present(candidates[nearest], row[nearest], rules);
    return nearest;
  }

  // The decision functions of samples of the source: out[q * ids.size() + r]. What that takes is not counted.
  void decide(std::span<const Id> ids, double* out) {
    const std::uint64_t evaluations = rows_.evaluations();
    block_.compute(*source_, rows_, ids, *team_);
    rows_.count(evaluations - rows_.evaluations());
    for (std::size_t q = 0; q < decisions_.size(); ++q) {
      const Decision& one = decisions_[q];
      const double b = one.intercept();
      for (std::size_t r = 0; r < ids.size(); ++r)
        out[q * ids.size() + r] = simd::ops<T>().dot(block_.of(r), one.state().alpha.data(), size()) + b;
    }
  }

  // REPROCESS so many times, or until nothing violates; returns how many steps there were.
  std::int64_t reprocess(std::int64_t most, const Rules& rules, TimeBudget& budget) {
    std::int64_t steps = 0;
    std::uint64_t computed = rows_.evaluations();
    bool moved = true;
    while (moved && steps < most && !budget.spent(work_of_one() + work_since(computed))) {
      moved = false;
      for (Decision& one : decisions_) moved = one.reprocess(rows_, rules.selection, rules.tolerance) || moved;
      note_zeros();
      steps += moved;
    }
    drop_idle(rules);
    return steps;
  }

  // These leave, whatever their coefficients are, and give up their places; others take the coefficients up. Those that
  // an interruption comes before stay.
  void forget(std::span<const Id> positions, TimeBudget& budget) {
    for (const Id p : positions) {
      if (budget.over() && budget.reason() == Reason::interrupted) break;
      let_go(static_cast<std::size_t>(p));
    }
    close_up(0);
  }

  // Other bounds for the kept samples. Where time does not suffice, or the kernel fails, the old ones stay; false then.
  bool set_bounds(std::span<const double> bounds, TimeBudget& budget) {
    close_up(0);
    std::vector<Decision> before = decisions_;
    bool done = true;
    try {
      for (Decision& one : decisions_) done = done && one.set_bounds(bounds, rows_, budget);
    } catch (...) {
      decisions_ = std::move(before);
      throw;
    }
    if (done)
      bound_.assign(bounds.begin(), bounds.end());
    else
      decisions_ = std::move(before);
    note_all();
    return done;
  }

  // These are kept, whatever they are worth: for machines that start from a model, whose points follow with `put`.
  void keep(std::span<const Arrival> samples) {
    std::vector<Id> ids;
    for (const Arrival& one : samples) ids.push_back(one.sample);
    block_.compute(*source_, rows_, ids, *team_);
    for (std::size_t r = 0; r < samples.size(); ++r, ++seen_) {
      look_at(samples[r], r);
      append(samples[r], r);
    }
  }
  void put(std::size_t decision, std::span<const double> alpha, std::span<const double> gradient) {
    decisions_[decision].put(alpha, gradient);
    note_all();
  }

  // As many samples leave as are too many; each is merged into another one.
  void stay_within(const Rules& rules) {
    while (rules.budget > 0 && alive() > rules.budget) {
      const Merger found = smallest_change<T>(decisions_, rows_, label_, left_);
      if (!all_zero(found.leaving) && found.into != found.leaving) {
        bound_[found.into] += bound_[found.leaving];
        for (Decision& one : decisions_) one.merge(found.leaving, found.into, rows_);
      }
      let_go(found.leaving);
      note_zeros();
    }
  }

  // Samples at 0 that improve with no partner, and wait for none, leave.
  void drop_idle(const Rules& rules) {
    std::size_t kept = 0;
    std::vector<std::size_t> leaving;
    for (const std::size_t p : idle_) {
      if (left_[p] != 0 || !all_zero(p)) {
        is_idle_[p] = 0;
        continue;
      }
      if (worth_keeping(p, alive() - leaving.size(), rules.tolerance))
        idle_[kept++] = p;
      else
        leaving.push_back(p);
    }
    idle_.resize(kept);
    for (const std::size_t p : leaving) is_idle_[p] = 0, let_go(p);
  }

  // Those that left give up their places, if they are more than a share of all.
  void close_up() { close_up(std::max<std::size_t>(32, size() / 6)); }
  void close_up(std::size_t at_most) {
    if (n_left_ <= at_most) return;
    std::vector<Id> staying;
    staying.reserve(alive());
    for (std::size_t p = 0; p < size(); ++p)
      if (left_[p] == 0) staying.push_back(static_cast<Id>(p));
    for (std::size_t p = 0; p < size(); ++p) place_[static_cast<std::size_t>(rows_.sample(p))] = Id{-1};
    rows_.keep(staying);
    for (Decision& one : decisions_) one.keep(staying);
    pick(staying, label_, bound_, arrival_, left_, is_idle_);
    n_left_ = 0;
    for (std::size_t p = 0; p < size(); ++p) place_[static_cast<std::size_t>(rows_.sample(p))] = static_cast<Id>(p);
    note_all();
  }

  // For those who save a machine, and put it together again.
  struct Saved {
    std::vector<typename KeptRows<T>::Row> rows;
    std::vector<T> diagonal;
    std::uint64_t uses, evaluations;
    std::vector<std::int32_t> label;
    std::vector<double> bound;
    std::vector<std::int64_t> arrival;
    std::vector<std::uint8_t> left;
    std::int64_t seen;
  };
  void restore(Saved saved, std::span<const double> alpha, std::span<const double> gradient,
               std::span<const std::int64_t> steps) {
    const std::size_t n = saved.label.size();
    for (std::size_t q = 0; q < decisions_.size(); ++q) {
      Decision one;
      for (std::size_t p = 0; p < n; ++p)
        one.append(y_of(saved.label[p], q), saved.left[p] != 0 ? 0.0 : saved.bound[p], gradient[q * n + p]);
      one.put(alpha.subspan(q * n, n), gradient.subspan(q * n, n));
      one.restore_steps(steps[q]);
      decisions_[q] = std::move(one);
    }
    rows_.restore(std::move(saved.rows), std::move(saved.diagonal), saved.uses, saved.evaluations);
    label_ = std::move(saved.label), bound_ = std::move(saved.bound), arrival_ = std::move(saved.arrival);
    left_ = std::move(saved.left), seen_ = saved.seen;
    n_left_ = static_cast<std::size_t>(std::count(left_.begin(), left_.end(), std::uint8_t{1}));
    is_idle_.assign(n, 0);
    note_all();
  }

 private:
  static constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

  double y_of(std::int32_t label, std::size_t decision) const {
    return static_cast<std::size_t>(label) == decision ? 1.0 : -1.0;
  }
  std::uint64_t work_of_one() const { return 2000 + 2 * size() * decisions_.size(); }
  // That of the kernel values since the last time.
  std::uint64_t work_since(std::uint64_t& computed) const {
    const std::uint64_t before = std::exchange(computed, rows_.evaluations());
    return (computed - before) * source_->value_work();
  }

  // One sample of the stream: PROCESS, then REPROCESS.
  void present(const Arrival& one, std::size_t row, const Rules& rules) {
    leave_window(rules);
    if (row == no_row)
      process_kept(static_cast<std::size_t>(place_[static_cast<std::size_t>(one.sample)]), one, rules);
    else
      process_new(one, row, rules);
    ++seen_;
    for (Decision& decision : decisions_) decision.reprocess(rows_, rules.selection, rules.tolerance);
    note_zeros();
    drop_idle(rules);
    stay_within(rules);
  }

  void process_new(const Arrival& one, std::size_t row, const Rules& rules) {
    look_at(one, row);
    bool wanted = false, waits = false;
    for (std::size_t q = 0; q < decisions_.size(); ++q) {
      wanted = wanted || decisions_[q].wants(y_of(one.label, q), gradient_[q], rules.tolerance);
      const double y = y_of(one.label, q);
      waits = waits || (decisions_[q].has_pairs() ? decisions_[q].awaits_partner(y, gradient_[q], rules.tolerance)
                                                  : alive() < waiting);
    }
    if (!wanted && !waits) return;
    append(one, row);
    const std::size_t p = size() - 1;
    for (Decision& decision : decisions_) decision.process(p, rows_, rules.selection, rules.tolerance);
    if (!all_zero(p) || waits) return;
    for (Decision& decision : decisions_) decision.pop();
    pop();
  }

  // A sample that is kept, or left a moment ago, comes by again.
  void process_kept(std::size_t p, const Arrival& one, const Rules& rules) {
    const bool came_back = left_[p] != 0;
    if (came_back) {
      left_[p] = 0, --n_left_;
      for (std::size_t q = 0; q < decisions_.size(); ++q) decisions_[q].take_back(p, y_of(one.label, q), one.bound);
      note(p);
    }
    arrival_[p] = seen_;
    for (Decision& decision : decisions_) decision.process(p, rows_, rules.selection, rules.tolerance);
    note_zeros();
    if (came_back && all_zero(p)) let_go(p);
  }

  // The gradients G = y - Ka of a sample that arrives, or has a position already.
  void look_at(const Arrival& one, std::size_t row) {
    gradient_.resize(decisions_.size());
    if (row == no_row) {
      const auto p = static_cast<std::size_t>(place_[static_cast<std::size_t>(one.sample)]);
      for (std::size_t q = 0; q < decisions_.size(); ++q) gradient_[q] = decisions_[q].state().gradient[p];
      return;
    }
    values_ = block_.of(row);
    for (std::size_t q = 0; q < decisions_.size(); ++q)
      gradient_[q] = y_of(one.label, q) - simd::ops<T>().dot(values_, decisions_[q].state().alpha.data(), size());
  }

  // The decision value of the sample that was looked at, or the difference of its two largest ones.
  double ambiguity(const Arrival& one) const {
    double first = -std::numeric_limits<double>::infinity(), second = first;
    for (std::size_t q = 0; q < decisions_.size(); ++q) {
      const double value = y_of(one.label, q) - gradient_[q] + intercept_[q];
      if (decisions_.size() == 1) return std::fabs(value);
      second = std::max(second, std::min(first, value));
      first = std::max(first, value);
    }
    return first - second;
  }

  void append(const Arrival& one, std::size_t row) {
    make_room(label_, bound_, arrival_, left_, is_idle_, idle_);
    rows_.append(one.sample, values_, static_cast<T>(source_->diagonal(one.sample)));
    for (std::size_t q = 0; q < decisions_.size(); ++q)
      decisions_[q].append(y_of(one.label, q), one.bound, gradient_[q]);
    label_.push_back(one.label), bound_.push_back(one.bound), arrival_.push_back(seen_);
    left_.push_back(0), is_idle_.push_back(0);
    place_[static_cast<std::size_t>(one.sample)] = static_cast<Id>(size() - 1);
    block_.appended(row);
    note(size() - 1);
  }
  void pop() {
    place_[static_cast<std::size_t>(rows_.sample(size() - 1))] = Id{-1};
    if (is_idle_.back() != 0) std::erase(idle_, size() - 1);
    rows_.pop();
    label_.pop_back(), bound_.pop_back(), arrival_.pop_back(), left_.pop_back(), is_idle_.pop_back();
    block_.popped();
  }

  bool all_zero(std::size_t p) const {
    for (const Decision& one : decisions_)
      if (one.state().alpha[p] != 0) return false;
    return true;
  }
  // One that is at 0, and among so many that stay.
  bool worth_keeping(std::size_t p, std::size_t staying, double tolerance) const {
    for (const Decision& one : decisions_)
      if (one.has_pairs() ? one.can_improve(p) || one.awaits_partner(p, tolerance) : staying <= waiting) return true;
    return false;
  }

  // Positions whose coefficients may all be 0 are looked at when samples leave.
  void note(std::size_t p) {
    if (is_idle_[p] != 0) return;
    is_idle_[p] = 1;
    idle_.push_back(p);
  }
  void note_zeros() {
    for (Decision& one : decisions_)
      for (const std::size_t p : one.taken_to_zero()) note(p);
  }
  void note_all() {
    idle_.clear();
    std::fill(is_idle_.begin(), is_idle_.end(), std::uint8_t{0});
    for (std::size_t p = 0; p < size(); ++p)
      if (left_[p] == 0 && all_zero(p)) note(p);
  }

  void let_go(std::size_t p) {
    if (left_[p] != 0) return;
    for (Decision& one : decisions_) one.let_go(p, rows_);
    left_[p] = 1, ++n_left_;
  }

  // Samples that came before the window leave, and a step follows for each that had a coefficient.
  void leave_window(const Rules& rules) {
    if (rules.window <= 0 || seen_ < rules.window) return;
    for (std::size_t p = 0; p < size(); ++p) {
      if (left_[p] != 0 || arrival_[p] > seen_ - rules.window) continue;
      const bool repair = !all_zero(p);
      let_go(p);
      if (!repair) continue;
      for (Decision& one : decisions_) one.reprocess(rows_, rules.selection, rules.tolerance);
      note_zeros();
    }
  }

  KeptRows<T> rows_;
  std::vector<Decision> decisions_;
  Arrivals<T> block_;
  std::vector<std::int32_t> label_;
  std::vector<double> bound_;
  std::vector<std::int64_t> arrival_;  // when each was last seen, in samples
  std::vector<std::uint8_t> left_, is_idle_;
  std::vector<std::size_t> idle_;
  std::vector<Id> place_;          // of each sample of the source, -1 if it is not here
  std::vector<double> gradient_;   // of the sample that arrives, one for each decision function
  std::vector<double> intercept_;  // of the decision functions, while candidates are compared
  const T* values_ = nullptr;      // its kernel values with those that are kept
  std::size_t n_left_ = 0;
  std::int64_t seen_ = 0;
  const RowSource* source_ = nullptr;
  ThreadTeam* team_ = nullptr;
};

}  // namespace widemargin::online
