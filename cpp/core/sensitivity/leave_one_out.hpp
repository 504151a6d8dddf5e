// Leave-one-out machines by taking one coefficient after the other to 0 [Cauwenberghs2001; Glasmachers2008, section 9.1.2].
//
// A machine has a_n with 0 <= y_n a_n <= C_n and residuals F = K a + D a + b - y; F_n = 0 where a_n is free (set u), y_n F_n <= 0 where it is
// at its bound, y_n F_n >= 0 where it is 0. While a_p goes to 0 as (1 - t) a_p, free variables and intercept follow a straight line,
//
//   H [db; da_u] = a_p [1; K_up],    dF_i = K_iu da_u + db - K_ip a_p    (i not in u),    H = [0 1'; 1 K_uu + D_u],
//
// until a free variable meets a bound or a residual meets 0: then u changes by one, and so does the inverse of H, in |u|^2 operations. At
// t = 1 the machine is the one that was never shown example p, exactly, and F_p + y_p is its value there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/simd/ops.hpp"

namespace widemargin::sensitivity {

// The machine that examples are left out of. `inverse` is that of H for the examples `free`, border first if there is one, row by row.
struct TrainedMachine {
  const double* kernel;  // n x n
  std::size_t n;
  std::span<const double> signs, bounds, ridge, alpha, residual;
  double intercept;
  bool bordered;
  std::span<const std::int32_t> free;
  std::span<const double> inverse;
};

// The inverse of H for a set that changes by one example at a time.
class FreeInverse {
 public:
  void assign(const TrainedMachine& machine) {
    border_ = machine.bordered ? 1 : 0;
    set_.assign(machine.free.begin(), machine.free.end());
    size_ = set_.size() + border_;
    if (stride_ < size_ + 8) stride_ = size_ + size_ / 2 + 16, entries_.resize(stride_ * stride_);
    for (std::size_t r = 0; r < size_; ++r)
      for (std::size_t c = 0; c < size_; ++c) at(r, c) = machine.inverse[r * size_ + c];
  }

  const std::vector<std::int32_t>& set() const { return set_; }
  std::size_t border() const { return border_; }

  // direction = H^-1 right, both with the border first.
  void solve(const std::vector<double>& right, std::vector<double>& direction) {
    direction.assign(size_, 0.0);
    rows_.resize(size_), minus_.resize(size_);
    for (std::size_t r = 0; r < size_; ++r) rows_[r] = entries_.data() + r * stride_, minus_[r] = -right[r];
    simd::ops<double>().subtract_rows(direction.data(), rows_.data(), minus_.data(), size_, 0, size_);
  }

  // Takes the example at a position of the set out of it. False if the rest makes no regular system.
  bool remove(std::size_t position) {
    const std::size_t k = position + border_, last = size_ - 1;
    const double pivot = at(k, k);
    if (!(pivot > tiny * scale())) return false;
    for (std::size_t r = 0; r < size_; ++r) {
      const double factor = at(r, k) / pivot;
      if (r != k && factor != 0)
        for (std::size_t c = 0; c < size_; ++c)
          if (c != k) at(r, c) -= factor * at(k, c);
    }
    for (std::size_t c = 0; c < size_; ++c) at(k, c) = at(last, c);
    for (std::size_t r = 0; r < size_; ++r) at(r, k) = at(r, last);
    set_[position] = set_.back();
    set_.pop_back();
    --size_;
    return true;
  }

  // Takes an example into the set, given its kernel values with it (border first) and with itself. False if it depends on the others.
  bool add(std::int32_t example, const std::vector<double>& values, double own) {
    solve(values, scratch_);
    double schur = own;
    for (std::size_t c = 0; c < size_; ++c) schur -= values[c] * scratch_[c];
    if (!(schur > tiny * own)) return false;
    if (size_ + 1 > stride_) grow();
    for (std::size_t r = 0; r < size_; ++r) {
      const double factor = scratch_[r] / schur;
      for (std::size_t c = 0; c < size_; ++c) at(r, c) += factor * scratch_[c];
      at(r, size_) = at(size_, r) = -factor;
    }
    at(size_, size_) = 1 / schur;
    set_.push_back(example);
    ++size_;
    return true;
  }

 private:
  static constexpr double tiny = 1e-12;

  double& at(std::size_t r, std::size_t c) { return entries_[r * stride_ + c]; }

  double scale() {
    double largest = 0;
    for (std::size_t r = border_; r < size_; ++r) largest = std::max(largest, at(r, r));
    return largest;
  }

  void grow() {
    const std::size_t wider = stride_ + stride_ / 2 + 16;
    std::vector<double> moved(wider * wider);
    for (std::size_t r = 0; r < size_; ++r)
      for (std::size_t c = 0; c < size_; ++c) moved[r * wider + c] = at(r, c);
    entries_.swap(moved), stride_ = wider;
  }

  std::vector<std::int32_t> set_;
  std::vector<double> entries_, scratch_, minus_;
  std::vector<const double*> rows_;
  std::size_t size_ = 0, stride_ = 0, border_ = 0;
};

// Leaves examples of one machine out, one at a time. One object a thread.
class LeaveOneOut {
 public:
  explicit LeaveOneOut(const TrainedMachine& machine) : machine_(machine) {}

  // Follows the path for example p. False where it meets a degenerate set: the state is then of no use.
  bool run(std::int32_t p) {
    begin(p);
    if (const std::size_t position = place(p); position < inverse_.set().size()) {
      status_[p] = out;
      if (!inverse_.remove(position)) return false;
    }
    const double moving = machine_.alpha[p];
    const std::size_t patience = 20 * (inverse_.set().size() + 10);
    for (std::size_t events = 0; events < patience; ++events) {
      if (inverse_.set().empty() && machine_.bordered) return false;
      find_direction(p, moving);
      const Event next = first_event(p, 1.0 - gone_);
      advance(p, moving, next.step);
      if (next.kind == Event::end) return true;
      if (next.kind == Event::enters ? !enter(next.index) : !leave(next.index, next.kind == Event::meets_zero)) return false;
    }
    return false;
  }

  // Of the machine without p, after a run.
  const std::vector<double>& alpha() const { return alpha_; }
  double intercept() const { return intercept_; }
  double value(std::int32_t p) const { return residual_[p] + machine_.signs[p]; }

 private:
  enum Status : std::uint8_t { zero, free_, bound, out };
  struct Event {
    enum { end, meets_zero, meets_bound, enters } kind;
    std::size_t index;  // a position in the set, or an example
    double step;
  };

  void begin(std::int32_t p) {
    alpha_.assign(machine_.alpha.begin(), machine_.alpha.end());
    residual_.assign(machine_.residual.begin(), machine_.residual.end());
    intercept_ = machine_.intercept, gone_ = 0, left_ = -1;
    inverse_.assign(machine_);
    status_.assign(machine_.n, zero);
    for (std::size_t i = 0; i < machine_.n; ++i)
      if (machine_.bounds[i] <= 0) status_[i] = out;
      else if (alpha_[i] != 0) status_[i] = bound;
    for (const std::int32_t i : inverse_.set()) status_[i] = free_;
    if (status_[p] != free_) status_[p] = out;
  }

  std::size_t place(std::int32_t example) const {
    std::size_t position = 0;
    while (position < inverse_.set().size() && inverse_.set()[position] != example) ++position;
    return position;
  }

  bool leave(std::size_t position, bool to_zero) {
    const std::int32_t example = inverse_.set()[position];
    status_[example] = to_zero ? zero : bound;
    alpha_[example] = to_zero ? 0.0 : machine_.signs[example] * machine_.bounds[example];
    residual_[example] = 0, left_ = example;
    return inverse_.remove(position);
  }

  bool enter(std::size_t example) {
    right_.clear();
    if (machine_.bordered) right_.push_back(1.0);
    const double* row = machine_.kernel + example * machine_.n;
    for (const std::int32_t j : inverse_.set()) right_.push_back(row[j]);
    residual_[example] = 0, status_[example] = free_, left_ = -1;
    return inverse_.add(static_cast<std::int32_t>(example), right_, row[example] + machine_.ridge[example]);
  }

  void find_direction(std::int32_t p, double moving) {
    const std::size_t n = machine_.n;
    const double* row = machine_.kernel + static_cast<std::size_t>(p) * n;
    right_.clear();
    if (machine_.bordered) right_.push_back(moving);
    for (const std::int32_t j : inverse_.set()) right_.push_back(moving * row[j]);
    inverse_.solve(right_, direction_);
    slope_.assign(n, machine_.bordered ? direction_[0] : 0.0);
    slope_[p] -= machine_.ridge[p] * moving;
    rows_.assign(1, row), minus_.assign(1, moving);
    for (std::size_t k = 0; k < inverse_.set().size(); ++k) {
      rows_.push_back(machine_.kernel + static_cast<std::size_t>(inverse_.set()[k]) * n);
      minus_.push_back(-direction_[k + inverse_.border()]);
    }
    simd::ops<double>().subtract_rows(slope_.data(), rows_.data(), minus_.data(), rows_.size(), 0, n);
  }

  Event first_event(std::int32_t p, double limit) const {
    Event next{Event::end, 0, limit};
    for (std::size_t k = 0; k < inverse_.set().size(); ++k) {
      const std::int32_t j = inverse_.set()[k];
      const double size = machine_.signs[j] * alpha_[j], change = machine_.signs[j] * direction_[k + inverse_.border()];
      const double room = change < 0 ? size / -change : change > 0 ? (machine_.bounds[j] - size) / change : std::numeric_limits<double>::infinity();
      if (room < next.step) next = {change < 0 ? Event::meets_zero : Event::meets_bound, k, std::max(0.0, room)};
    }
    for (std::size_t i = 0; i < machine_.n; ++i) {
      if (status_[i] != zero && status_[i] != bound) continue;
      const double side = status_[i] == zero ? machine_.signs[i] : -machine_.signs[i];
      const double change = side * slope_[i];
      if (change >= 0 || static_cast<std::int32_t>(i) == p) continue;
      const double room = std::max(0.0, side * residual_[i]) / -change;
      // What has just met its bound is exactly there, and rounding must not bring it back.
      if (room < next.step && (static_cast<std::int32_t>(i) != left_ || room > 0)) next = {Event::enters, i, room};
    }
    return next;
  }

  void advance(std::int32_t p, double moving, double step) {
    for (std::size_t k = 0; k < inverse_.set().size(); ++k) alpha_[inverse_.set()[k]] += step * direction_[k + inverse_.border()];
    for (std::size_t i = 0; i < machine_.n; ++i) residual_[i] += step * slope_[i];
    if (machine_.bordered) intercept_ += step * direction_[0];
    gone_ += step;
    alpha_[p] = (1.0 - gone_) * moving;
  }

  const TrainedMachine& machine_;
  FreeInverse inverse_;
  std::vector<double> alpha_, residual_, right_, direction_, slope_, minus_;
  std::vector<const double*> rows_;
  std::vector<Status> status_;
  double intercept_ = 0, gone_ = 0;
  std::int32_t left_ = -1;
};

}  // namespace widemargin::sensitivity
