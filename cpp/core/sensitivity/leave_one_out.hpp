// Leave-one-out machines by taking one coefficient after the other to 0 [Cauwenberghs2001; Glasmachers2008,
// section 9.1.2].
//
// A machine has a_n with 0 <= y_n a_n <= C_n and residuals F = K a + D a + b - y; F_n = 0 where a_n is free (set u),
// y_n F_n <= 0 where it is at its bound, y_n F_n >= 0 where it is 0. While a_p goes to 0 as (1 - t) a_p, free variables
// and intercept follow a straight line,
//
//   H [db; da_u] = a_p [1; K_up],    dF_i = K_iu da_u + db - K_ip a_p    (i not in u),    H = [0 1'; 1 K_uu + D_u],
//
// until a free variable meets a bound or a residual meets 0: then u changes by one, and so does the inverse of H, in
// |u|^2 operations. At t = 1 the machine is the one that was never shown sample p, exactly, and F_p + y_p is its value
// there.
//
// Residuals far from 0 hardly ever get there. They are left aside on the way, and looked at once, at the end: if one of
// them has changed sides the path is followed again with all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/simd/ops.hpp"

namespace widemargin::sensitivity {

// The machine that samples are left out of. `inverse` is that of H for the samples `free`, border first if there is
// one, row by row.
struct TrainedMachine {
  std::span<const double> signs, bounds, ridge, alpha, residual;
  double intercept;
  bool bordered;
  std::span<const std::int32_t> free;
  std::span<const double> inverse;
};

// Kernel values of a machine with its samples in another order: first those with a residual of at most `reach`, whose
// rows are at hand.
class OrderedKernel {
 public:
  OrderedKernel(const double* kernel, const TrainedMachine& machine, double reach)
      : kernel_(kernel), n_(machine.signs.size()), order_(n_), place_(n_) {
    std::size_t front = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool near = std::abs(machine.residual[i]) <= reach && machine.bounds[i] > 0;
      place_[i] = near ? front : n_ - 1 - (i - front);
      order_[place_[i]] = i;
      front += near;
    }
    near_ = front;
    rows_.resize(near_ * n_);
    for (std::size_t k = 0; k < near_; ++k) gather(order_[k], rows_.data() + k * n_);
  }

  std::size_t size() const { return n_; }
  std::size_t near() const { return near_; }
  std::size_t sample(std::size_t place) const { return order_[place]; }
  std::size_t place(std::size_t sample) const { return place_[sample]; }
  const double* row(std::size_t place) const { return rows_.data() + place * n_; }

  void gather(std::size_t sample, double* out) const {
    const double* row = kernel_ + sample * n_;
    for (std::size_t c = 0; c < n_; ++c) out[c] = row[order_[c]];
  }

 private:
  const double* kernel_;
  std::size_t n_, near_ = 0;
  std::vector<std::size_t> order_, place_;
  std::vector<double> rows_;
};

// The inverse of H for a set that changes by one sample at a time.
class FreeInverse {
 public:
  void assign(const TrainedMachine& machine, const OrderedKernel& kernel) {
    border_ = machine.bordered ? 1 : 0;
    set_.resize(machine.free.size());
    for (std::size_t k = 0; k < set_.size(); ++k) set_[k] = kernel.place(machine.free[k]);
    size_ = set_.size() + border_;
    stride_ = size_ + 16, entries_.resize(stride_ * stride_);
    for (std::size_t r = 0; r < size_; ++r)
      for (std::size_t c = 0; c < size_; ++c) at(r, c) = machine.inverse[r * size_ + c];
  }

  const std::vector<std::size_t>& set() const { return set_; }
  std::size_t border() const { return border_; }

  // direction = H^-1 right, both with the border first.
  void solve(const std::vector<double>& right, std::vector<double>& direction) {
    direction.assign(size_, 0.0);
    rows_.resize(size_), minus_.resize(size_);
    for (std::size_t r = 0; r < size_; ++r) rows_[r] = row(r), minus_[r] = -right[r];
    simd::ops<double>().subtract_rows(direction.data(), rows_.data(), minus_.data(), size_, 0, size_);
  }

  // Takes the sample at a position of the set out of it. False if the rest makes no regular system.
  bool remove(std::size_t position) {
    const std::size_t k = position + border_, last = size_ - 1;
    const double pivot = at(k, k);
    if (!(pivot > tiny * scale())) return false;
    scratch_.assign(row(k), row(k) + size_);
    for (std::size_t r = 0; r < size_; ++r) add_to_row(r, -scratch_[r] / pivot);
    for (std::size_t c = 0; c < size_; ++c) at(k, c) = at(last, c);
    for (std::size_t r = 0; r < size_; ++r) at(r, k) = at(r, last);
    set_[position] = set_.back();
    set_.pop_back();
    --size_;
    return true;
  }

  // Takes a sample into the set, given its kernel values with it (border first) and with itself. False if it depends
  // on the others.
  bool add(std::size_t sample, const std::vector<double>& values, double own) {
    solve(values, scratch_);
    double schur = own;
    for (std::size_t c = 0; c < size_; ++c) schur -= values[c] * scratch_[c];
    if (!(schur > tiny * own)) return false;
    if (size_ + 1 > stride_) grow();
    for (std::size_t r = 0; r < size_; ++r) {
      add_to_row(r, scratch_[r] / schur);
      at(r, size_) = at(size_, r) = -scratch_[r] / schur;
    }
    at(size_, size_) = 1 / schur;
    set_.push_back(sample);
    ++size_;
    return true;
  }

 private:
  static constexpr double tiny = 1e-12;

  double* row(std::size_t r) { return entries_.data() + r * stride_; }

  // Row r plus `factor` times `scratch_`.
  void add_to_row(std::size_t r, double factor) {
    const double* other = scratch_.data();
    const double minus = -factor;
    simd::ops<double>().subtract_rows(row(r), &other, &minus, 1, 0, size_);
  }

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

  std::vector<std::size_t> set_;
  std::vector<double> entries_, scratch_, minus_;
  std::vector<const double*> rows_;
  std::size_t size_ = 0, stride_ = 0, border_ = 0;
};

// Leaves samples of one machine out, one at a time. One object a thread. Samples are known by their places in an
// ordered kernel.
class LeaveOneOut {
 public:
  enum class End { found, changed_far, degenerate };

  LeaveOneOut(const TrainedMachine& machine, const OrderedKernel& kernel) : machine_(machine), kernel_(kernel) {
    const std::size_t n = kernel.size();
    for (std::vector<double>* one : {&signs_, &bounds_, &ridge_, &start_, &residual_at_start_}) one->resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = kernel.sample(k);
      signs_[k] = machine.signs[i], bounds_[k] = machine.bounds[i], ridge_[k] = machine.ridge[i];
      start_[k] = machine.alpha[i], residual_at_start_[k] = machine.residual[i];
    }
    inverse_at_start_.assign(machine, kernel);
    status_at_start_.assign(n, zero);
    for (std::size_t k = 0; k < n; ++k)
      if (bounds_[k] <= 0)
        status_at_start_[k] = out;
      else if (start_[k] != 0)
        status_at_start_[k] = signs_[k] * start_[k] < bounds_[k] ? held : bound;
    for (const std::size_t k : inverse_at_start_.set()) status_at_start_[k] = free_;
    own_row_.resize(n);
  }

  // Follows the path for a sample. Unless it was found, the state is of no use.
  End run(std::size_t sample) {
    const std::size_t p = kernel_.place(sample);
    begin(p);
    if (status_at_start_[p] == free_ && !inverse_.remove(position_of(p))) return End::degenerate;
    const std::size_t most_events = 20 * (inverse_.set().size() + 10);
    for (std::size_t events = 0; events < most_events; ++events) {
      if (inverse_.set().empty() && machine_.bordered) return End::degenerate;
      find_direction(p);
      const Event next = first_event(1.0 - gone_);
      advance(next.step);
      if (next.kind == Event::end) return finish(p);
      if (next.kind == Event::enters ? !enter(next.index) : !leave(next.index, next.kind == Event::meets_zero))
        return End::degenerate;
    }
    return End::degenerate;
  }

  // Of the machine without the sample, after a run.
  double value() const { return value_; }
  double intercept() const { return intercept_; }
  void copy_alpha(double* to) const {
    for (std::size_t k = 0; k < alpha_.size(); ++k) to[kernel_.sample(k)] = alpha_[k];
  }

 private:
  enum Status : std::uint8_t {
    zero,
    free_,
    bound,
    held,
    out
  };  // held: inside its box, but its sample depends on free ones
  struct Event {
    enum { end, meets_zero, meets_bound, enters } kind;
    std::size_t index;  // a position in the set, or a place
    double step;
  };
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  static constexpr double unmoved = 1e-11;  // slopes below this, relative to what they are sums of, are rounding

  void begin(std::size_t p) {
    alpha_ = start_, residual_ = residual_at_start_, status_ = status_at_start_;
    inverse_ = inverse_at_start_;
    intercept_ = machine_.intercept, gone_ = 0, left_ = nobody;
    moving_ = start_[p], own_residual_ = residual_[p];
    status_[p] = out;
    if (p < kernel_.near())
      std::copy_n(kernel_.row(p), kernel_.size(), own_row_.begin());
    else
      kernel_.gather(kernel_.sample(p), own_row_.data());
  }

  std::size_t position_of(std::size_t place) const {
    return static_cast<std::size_t>(std::find(inverse_.set().begin(), inverse_.set().end(), place) -
                                    inverse_.set().begin());
  }

  bool leave(std::size_t position, bool to_zero) {
    const std::size_t k = inverse_.set()[position];
    status_[k] = to_zero ? zero : bound;
    alpha_[k] = to_zero ? 0.0 : signs_[k] * bounds_[k];
    residual_[k] = 0, left_ = k;
    return inverse_.remove(position);
  }

  bool enter(std::size_t k) {
    right_.clear();
    if (machine_.bordered) right_.push_back(1.0);
    const double* row = kernel_.row(k);
    for (const std::size_t j : inverse_.set()) right_.push_back(row[j]);
    residual_[k] = 0, status_[k] = free_, left_ = nobody;
    return inverse_.add(k, right_, row[k] + ridge_[k]);
  }

  void find_direction(std::size_t p) {
    right_.clear();
    if (machine_.bordered) right_.push_back(moving_);
    for (const std::size_t j : inverse_.set()) right_.push_back(moving_ * own_row_[j]);
    inverse_.solve(right_, direction_);
    own_slope_ = -moving_ * (own_row_[p] + ridge_[p]);
    for (std::size_t k = 0; k < direction_.size(); ++k) own_slope_ += direction_[k] * right_[k] / moving_;
    slope_.assign(kernel_.near(), machine_.bordered ? direction_[0] : 0.0);
    rows_.assign(1, own_row_.data()), minus_.assign(1, moving_);
    for (std::size_t k = 0; k < inverse_.set().size(); ++k) {
      rows_.push_back(kernel_.row(inverse_.set()[k]));
      minus_.push_back(-direction_[k + inverse_.border()]);
    }
    simd::ops<double>().subtract_rows(slope_.data(), rows_.data(), minus_.data(), rows_.size(), 0, kernel_.near());
    scale_ = 0;
    for (const double weight : minus_) scale_ += std::abs(weight);
    scale_ *= own_row_[p];
  }

  Event first_event(double limit) const {
    Event next{Event::end, 0, limit};
    for (std::size_t k = 0; k < inverse_.set().size(); ++k) {
      const std::size_t j = inverse_.set()[k];
      const double size = signs_[j] * alpha_[j], change = signs_[j] * direction_[k + inverse_.border()];
      const double room = change < 0   ? size / -change
                          : change > 0 ? (bounds_[j] - size) / change
                                       : std::numeric_limits<double>::infinity();
      if (room < next.step) next = {change < 0 ? Event::meets_zero : Event::meets_bound, k, std::max(0.0, room)};
    }
    // Residuals of samples that depend on free ones stay what they are, but for rounding.
    const double rounding = unmoved * scale_;
    for (std::size_t k = 0; k < kernel_.near(); ++k) {
      if (status_[k] == free_ || status_[k] == out) continue;
      const double side = status_[k] == zero ? signs_[k] : status_[k] == bound ? -signs_[k] : 1.0;
      const double change = status_[k] == held ? -std::abs(slope_[k]) : side * slope_[k];
      if (change >= -rounding) continue;
      const double room = std::max(0.0, side * residual_[k]) / -change;
      // What has just met its bound is exactly there, and rounding must not bring it back.
      if (room < next.step && (k != left_ || room > 0)) next = {Event::enters, k, room};
    }
    return next;
  }

  void advance(double step) {
    for (std::size_t k = 0; k < inverse_.set().size(); ++k)
      alpha_[inverse_.set()[k]] += step * direction_[k + inverse_.border()];
    for (std::size_t k = 0; k < kernel_.near(); ++k) residual_[k] += step * slope_[k];
    if (machine_.bordered) intercept_ += step * direction_[0];
    own_residual_ += step * own_slope_;
    gone_ += step;
  }

  // Looks at the residuals that were left aside.
  End finish(std::size_t p) {
    alpha_[p] = 0, value_ = own_residual_ + signs_[p];
    const std::size_t n = kernel_.size(), near = kernel_.near();
    if (near == n) return End::found;
    rows_.assign(1, own_row_.data()), minus_.assign(1, moving_);
    for (std::size_t k = 0; k < near; ++k)
      if (k != p && alpha_[k] != start_[k]) rows_.push_back(kernel_.row(k)), minus_.push_back(start_[k] - alpha_[k]);
    for (std::size_t k = near; k < n; ++k) residual_[k] += intercept_ - machine_.intercept;
    simd::ops<double>().subtract_rows(residual_.data(), rows_.data(), minus_.data(), rows_.size(), near, n);
    for (std::size_t k = near; k < n; ++k) {
      const double side = status_[k] == zero ? signs_[k] : status_[k] == bound ? -signs_[k] : 0.0;
      if (side * residual_[k] < 0) return End::changed_far;
    }
    return End::found;
  }

  const TrainedMachine& machine_;
  const OrderedKernel& kernel_;
  FreeInverse inverse_, inverse_at_start_;
  std::vector<double> signs_, bounds_, ridge_, start_, residual_at_start_;
  std::vector<double> alpha_, residual_, right_, direction_, slope_, minus_, own_row_;
  std::vector<const double*> rows_;
  std::vector<Status> status_, status_at_start_;
  double intercept_ = 0, gone_ = 0, moving_ = 0, own_residual_ = 0, own_slope_ = 0, scale_ = 0, value_ = 0;
  std::size_t left_ = nobody;
};

}  // namespace widemargin::sensitivity
