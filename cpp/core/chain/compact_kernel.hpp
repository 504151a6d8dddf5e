// The part of a kernel matrix that belongs to the variables worked on, gathered so that steps run over it in the
// processor's cache.
//
// A row is gathered when it is first asked for. Members come and go; where few come, the rows that are there get their
// columns, so that a member that stays from one problem to the next costs nothing.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "core/chain/kernel_view.hpp"
#include "core/rows/row_source.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/scratch.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::chain {

// T is float, or Fraction where memory is what a step waits for. Fractions are for kernels without a ridge, with values
// from 0 to 1.
template <class T>
class CompactKernel {
 public:
  using Value = T;

  // Its memory comes from the last one of the same thread: touching new memory would cost more than gathering.
  explicit CompactKernel(const KernelView& kernel) : kernel_(kernel), slot_of_(kernel.size(), none), values_(taken()) {}
  ~CompactKernel() { rest(); }
  CompactKernel(const CompactKernel&) = delete;
  CompactKernel& operator=(const CompactKernel&) = delete;

  std::size_t size() const { return members_.size(); }
  std::size_t capacity() const { return size(); }
  // Values of a row that may be read; those beyond the members mean nothing.
  std::size_t row_length() const { return stride_; }
  const std::vector<Id>& members() const { return members_; }
  bool holds(Id variable) const { return slot_of_[static_cast<std::size_t>(variable)] != none; }

  const T* row(std::size_t slot) {
    if (gathered_[slot] == 0) gather(slot);
    return at(slot);
  }
  void rows(std::span<const Id> slots, const T** out) {
    for (std::size_t r = 0; r < slots.size(); ++r) out[r] = row(static_cast<std::size_t>(slots[r]));
  }
  const simd::Real<T>* diagonal() const { return diagonal_.data(); }

  // False once a value came up that T does not hold.
  bool holds_its_values() const { return held_; }

  // Those of `wanted` that are not members become members; `unwanted` ones leave.
  void change(const std::vector<Id>& wanted, const std::vector<Id>& unwanted) {
    std::vector<std::size_t> holes;
    for (const Id v : unwanted) {
      Id& slot = slot_of_[static_cast<std::size_t>(v)];
      if (slot == none) continue;
      holes.push_back(static_cast<std::size_t>(slot));
      slot = none;
    }
    std::vector<Id> coming;
    for (const Id v : wanted)
      if (!holds(v)) coming.push_back(v);
    make_room(size() - holes.size() + coming.size());
    std::vector<std::size_t> fresh;
    std::size_t next = 0;
    for (const Id v : coming) {
      std::size_t slot;
      if (next < holes.size()) {
        slot = holes[next++];
        members_[slot] = v;
      } else {
        slot = members_.size();
        members_.push_back(v);
      }
      slot_of_[static_cast<std::size_t>(v)] = static_cast<Id>(slot);
      fresh.push_back(slot);
    }
    // Holes that are left are filled from the end.
    std::sort(holes.begin() + static_cast<std::ptrdiff_t>(next), holes.end(), std::greater<>());
    for (; next < holes.size(); ++next) {
      const std::size_t slot = holes[next], last = members_.size() - 1;
      if (slot != last) {
        const Id v = members_[last];
        members_[slot] = v;
        slot_of_[static_cast<std::size_t>(v)] = static_cast<Id>(slot);
        auto moved = std::find(fresh.begin(), fresh.end(), last);
        if (moved != fresh.end())
          *moved = slot;
        else
          fresh.push_back(slot);
      }
      members_.pop_back();
    }
    if (fresh.empty() && holes.empty()) return;
    if (fewer_than_a_quarter(fresh.size())) {
      look_for_order();
      for (const std::size_t s : fresh) set_diagonal(s), gathered_[s] = 0;
      add_columns(fresh);
    } else {
      start_anew();
    }
  }

  // What is added to the diagonal; empty for nothing.
  void set_ridge(std::span<const double> ridge) {
    ridge_ = ridge;
    for (std::size_t s = 0; s < size(); ++s) {
      set_diagonal(s);
      if constexpr (std::is_same_v<T, float>)
        if (gathered_[s] != 0) at(s)[s] = diagonal_[s];
    }
  }

  // Releases the values, not the members: their rows are gathered again when they are asked for.
  void rest() {
    release();
    std::fill(gathered_.begin(), gathered_.end(), 0);
  }
  // The same kernel is at another place from now on.
  void move_to(const KernelView& kernel) { kernel_ = kernel; }

 private:
  static constexpr Id none = -1;

  void start_anew() {
    std::sort(members_.begin(), members_.end());
    for (std::size_t s = 0; s < size(); ++s)
      slot_of_[static_cast<std::size_t>(members_[s])] = static_cast<Id>(s), set_diagonal(s);
    std::fill(gathered_.begin(), gathered_.end(), 0);
    look_for_order();
  }

  T* at(std::size_t slot) { return values_.data() + slot * stride_; }
  bool fewer_than_a_quarter(std::size_t count) const { return 4 * count < size(); }

  void make_room(std::size_t count) {
    if (values_.size() == 0) values_ = taken();
    if (count <= stride_ && values_.size() >= stride_ * stride_) return;
    const std::size_t stride = std::max(stride_, (std::min(kernel_.size(), count + count / 4) + 15) / 16 * 16);
    diagonal_.resize(stride), gathered_.resize(stride, 0);
    if (values_.size() < stride * stride) {
      Buffer<T> wider(stride * stride);
      for (std::size_t r = 0; r < size(); ++r)
        if (gathered_[r] != 0) std::copy_n(at(r), size(), wider.data() + r * stride);
      values_ = std::move(wider);
    } else {  // from the last row on, so that none is overwritten before it has moved
      for (std::size_t r = size(); r-- > 0;)
        if (gathered_[r] != 0) std::memmove(values_.data() + r * stride, at(r), size() * sizeof(T));
    }
    stride_ = stride;
  }

  using Kept = KeptBuffer<T, CompactKernel>;

  static Buffer<T> taken() {
    const std::unique_ptr<Buffer<T>> kept = Kept::take();
    return kept == nullptr ? Buffer<T>() : std::move(*kept);
  }
  // The larger of two is kept; if there is no memory for that, none is.
  void release() noexcept {
    std::unique_ptr<Buffer<T>> other = Kept::take();
    if (other == nullptr) other.reset(new (std::nothrow) Buffer<T>());
    if (other != nullptr && other->size() < values_.size()) *other = std::move(values_);
    Kept::keep(std::move(other));
    values_ = Buffer<T>();
  }

  void set_diagonal(std::size_t slot) {
    const std::size_t v = static_cast<std::size_t>(members_[slot]);
    diagonal_[slot] = static_cast<float>(static_cast<double>(kernel_.diagonal(v)) + (ridge_.empty() ? 0.0 : ridge_[v]));
  }

  void gather(std::size_t slot) {
    const std::size_t variable = static_cast<std::size_t>(members_[slot]);
    T* to = at(slot);
    gathered_[slot] = 1;
    if (variable >= kernel_.known()) {
      std::fill_n(to, size(), T{});
      if constexpr (std::is_same_v<T, float>) to[slot] = diagonal_[slot];
      return;
    }
    const float* from = kernel_.row(variable);
    // Where they are few, jumping from one to the next is cheaper than reading all that lies between.
    const std::size_t in_order = 8 * ascending_ < kernel_.size() ? 0 : ascending_;
    if (in_order > 0) held_ = pick(from, to) && held_;
    const auto value = [&](std::size_t c) {
      const std::size_t v = static_cast<std::size_t>(members_[c]);
      return v < kernel_.known() ? from[kernel_.column(v)] : 0.0f;
    };
    if constexpr (std::is_same_v<T, float>) {
      for (std::size_t c = in_order; c < size(); ++c) to[c] = value(c);
      to[slot] = diagonal_[slot];
    } else {
      floats_.resize(size() - in_order);
      for (std::size_t c = in_order; c < size(); ++c) floats_[c - in_order] = value(c);
      held_ = simd::ops<T>().from_floats(floats_.data(), to + in_order, floats_.size()) && held_;
    }
  }

  // Copies the columns of the leading members, which ascend, out of a row.
  bool pick(const float* row, T* to) const {
    bool held = true;
    std::size_t done = 0;
    for (const Picked& part : picked_) {
      held = simd::ops<T>().pick(row + part.column, masks_.data() + part.mask, part.n_masks, to + done,
                                 ascending_ - done) &&
             held;
      done += part.count;
    }
    return held;
  }

  // Members in the order of their columns, from the first slot on, can be picked from a row in one sweep.
  void look_for_order() {
    ascending_ = static_cast<std::size_t>(std::is_sorted_until(members_.begin(), members_.end()) - members_.begin());
    while (ascending_ > 0 && static_cast<std::size_t>(members_[ascending_ - 1]) >= kernel_.known()) --ascending_;
    picked_.clear(), masks_.clear();
    std::size_t s = 0;
    for (const KernelView::Stretch& stretch : kernel_.stretches()) {
      const std::size_t first = s, mask = masks_.size();
      for (; s < ascending_ && static_cast<std::size_t>(members_[s]) < stretch.end; ++s) {
        const std::size_t bit = static_cast<std::size_t>(members_[s]) - stretch.begin;
        masks_.resize(std::max(masks_.size(), mask + bit / 16 + 1), 0);
        masks_[mask + bit / 16] = static_cast<std::uint16_t>(masks_[mask + bit / 16] | 1u << bit % 16);
      }
      if (s > first) picked_.push_back({stretch.column, mask, masks_.size() - mask, s - first});
    }
  }

  // The kernel is symmetric: the columns of new members are their rows, which are gathered in order.
  void add_columns(const std::vector<std::size_t>& fresh) {
    constexpr std::size_t together = 64 / sizeof(T);  // a cache line of a row
    std::vector<const T*> rows;
    for (const std::size_t s : fresh) rows.push_back(row(s));
    for (std::size_t first = 0; first < size(); first += together) {
      const std::size_t last = std::min(size(), first + together);
      for (std::size_t k = 0; k < fresh.size(); ++k)
        for (std::size_t c = first; c < last; ++c) at(c)[fresh[k]] = rows[k][c];
    }
  }

  // Members within a stretch: where its columns begin, a bit for each column, 16 to a mask, and how many are members.
  struct Picked {
    std::size_t column, mask, n_masks, count;
  };

  KernelView kernel_;
  std::span<const double> ridge_;
  std::vector<Id> members_, slot_of_;  // slot -> variable and back
  std::size_t stride_ = 0;
  Buffer<T> values_;
  std::vector<simd::Real<T>> diagonal_;
  std::vector<std::uint8_t> gathered_;  // rows that are there
  std::vector<float> floats_;
  std::size_t ascending_ = 0;  // leading slots whose members ascend
  std::vector<Picked> picked_;
  std::vector<std::uint16_t> masks_;
  bool held_ = true;
};

}  // namespace widemargin::chain
