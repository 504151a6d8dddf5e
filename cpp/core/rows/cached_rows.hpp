// Kernel rows of one problem in the order of its active set: computed when first asked for, kept while memory lasts.
//
// The cache is one arena of equally long slots, least recently used first out. A row is kept as a prefix of the current column order:
// shrinking reorders columns stably, so what was computed stays usable, and a row that is too short after unshrinking is extended, not
// recomputed. If not all active rows fit, shrinking also shortens the slots, and more rows fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/outcome.hpp"
#include "core/rows/row_source.hpp"

namespace widemargin {

// Thrown where a computation meets its deadline or an interruption halfway.
struct Stopped {
  Reason reason;
};

template <class T>
class CachedRows {
 public:
  using Value = T;

  // `ids` are the examples behind the variables: a subset view of the source.
  CachedRows(const RowSource& source, std::vector<Id> ids, std::size_t cache_bytes, std::size_t least_rows, ThreadTeam& team, Patience& patience)
      : source_(source), team_(team), patience_(patience), ids_(std::move(ids)), active_(ids_.size()), diagonal_(ids_.size()),
        slot_of_(ids_.size(), none) {
    for (std::size_t p = 0; p < ids_.size(); ++p) diagonal_[p] = static_cast<T>(source.diagonal(ids_[p]));
    columns_ = source_.prepare(ids_, team_, T{});
    const std::size_t row_bytes = padded(ids_.size()) * sizeof(T);
    const std::size_t wanted = std::max(cache_bytes / row_bytes, std::min(ids_.size(), least_rows));
    arena_ = Buffer<T>(std::min(wanted, ids_.size()) * padded(ids_.size()));
    set_stride(padded(ids_.size()));
  }

  std::size_t size() const { return ids_.size(); }
  std::size_t active() const { return active_; }
  std::size_t capacity() const { return slots_.size(); }
  const T* diagonal() const { return diagonal_.data(); }
  std::uint64_t evaluations() const { return evaluations_; }
  bool holds_everything() const { return slots_.size() >= active_; }

  // The first active() entries of a row. The pointer stays good while the two most recent rows are in use.
  const T* row(std::size_t position) {
    const Id p = static_cast<Id>(position);
    const T* found;
    rows({&p, 1}, &found);
    return found;
  }

  // Several rows, all of them valid together; there may be at most capacity() of them.
  void rows(std::span<const Id> positions, const T** out) {
    missing_.clear();
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const std::size_t slot = slot_for(positions[r]);
      out[r] = arena_.data() + slot * stride_;
      if (slots_[slot].length < active_) missing_.push_back(slot);
    }
    if (missing_.empty()) return;
    std::stable_sort(missing_.begin(), missing_.end(), [this](std::size_t a, std::size_t b) { return slots_[a].length < slots_[b].length; });
    for (std::size_t begin = 0; begin < missing_.size();) {
      const std::size_t length = slots_[missing_[begin]].length;
      std::size_t end = begin;
      while (end < missing_.size() && end - begin < at_once && slots_[missing_[end]].length == length) ++end;
      extend({missing_.data() + begin, end - begin}, length);
      begin = end;
    }
  }

  // Position p takes what stood at order[p]; `order` is a stable partition of the active positions [0, active()) into those that stay
  // active (the first `active`) and the rest. With active == size() nothing moves: the whole problem becomes active again.
  void reorder(std::span<const Id> order, std::size_t active) {
    const std::size_t before = active_;
    std::vector<T> moved(before);
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      Slot& slot = slots_[s];
      if (slot.length == 0 || active >= before) continue;
      T* row = arena_.data() + s * stride_;
      const std::size_t known = std::min(slot.length, before);
      std::size_t kept = 0;
      while (kept < active && static_cast<std::size_t>(order[kept]) < known) moved[kept] = row[order[kept]], ++kept;
      if (known == before)  // a whole row keeps its inactive part too
        for (std::size_t p = active; p < before; ++p) moved[p] = row[order[p]];
      else
        slot.length = kept;
      std::copy_n(moved.begin(), known == before ? before : kept, row);
    }
    apply(order, ids_);
    apply(order, slot_of_);
    apply(order, diagonal_);
    for (std::size_t p = 0; p < ids_.size(); ++p)
      if (slot_of_[p] != none) slots_[static_cast<std::size_t>(slot_of_[p])].position = static_cast<Id>(p);
    active_ = active;
    if (active >= before || slots_.size() < active) set_stride(padded(active));
    columns_ = source_.prepare({ids_.data(), active_}, team_, T{});
  }

  // Calls use(row, position) for every row among `positions` that is held whole, that is, with its inactive part; returns the others.
  template <class Use>
  std::vector<Id> use_whole_rows(std::span<const Id> positions, Use&& use) {
    std::vector<Id> others;
    for (const Id p : positions) {
      const Id s = slot_of_[static_cast<std::size_t>(p)];
      if (s != none && slots_[static_cast<std::size_t>(s)].length == ids_.size())
        use(arena_.data() + static_cast<std::size_t>(s) * stride_, p);
      else
        others.push_back(p);
    }
    return others;
  }

  const RowSource& source() const { return source_; }
  std::span<const Id> ids() const { return ids_; }
  ThreadTeam& team() { return team_; }
  Patience& patience() { return patience_; }
  void count(std::uint64_t evaluations) { evaluations_ += evaluations; }

 private:
  static constexpr Id none = -1;
  static constexpr std::size_t at_once = 64;  // rows computed between two looks at the clock

  struct Slot {
    Id position = none;
    std::size_t length = 0;
    std::size_t newer = 0, older = 0;
  };

  static std::size_t padded(std::size_t n) { return (n + 15) / 16 * 16; }

  template <class V>
  void apply(std::span<const Id> order, std::vector<V>& values) const {
    std::vector<V> moved(values.size());
    for (std::size_t p = 0; p < values.size(); ++p) moved[p] = values[static_cast<std::size_t>(order[p])];
    values.swap(moved);
  }

  void extend(std::span<const std::size_t> slots, std::size_t length) {
    std::vector<Id> ids;
    std::vector<T*> out;
    for (const std::size_t s : slots) {
      ids.push_back(ids_[static_cast<std::size_t>(slots_[s].position)]);
      out.push_back(arena_.data() + s * stride_ + length);
    }
    source_.rows(ids, *columns_, length, active_, out.data(), team_);
    evaluations_ += slots.size() * (active_ - length);
    for (const std::size_t s : slots) slots_[s].length = active_;
    if (patience_.spent(slots.size() * (active_ - length) * 2)) throw Stopped{patience_.reason()};
  }

  // The slot of a row, made the most recently used one; an empty or the oldest slot is given to a row that has none.
  std::size_t slot_for(Id position) {
    Id& slot = slot_of_[static_cast<std::size_t>(position)];
    if (slot == none) {
      slot = static_cast<Id>(slots_[newest_].newer);  // the ring's neighbour past the newest is the oldest
      Slot& taken = slots_[static_cast<std::size_t>(slot)];
      if (taken.position != none) slot_of_[static_cast<std::size_t>(taken.position)] = none;
      taken.position = position;
      taken.length = 0;
    }
    touch(static_cast<std::size_t>(slot));
    return static_cast<std::size_t>(slot);
  }

  void touch(std::size_t s) {
    if (s == newest_) return;
    Slot& slot = slots_[s];
    if (slots_[newest_].newer == s) {  // the oldest: turning the ring is enough
      newest_ = s;
      return;
    }
    slots_[slot.older].newer = slot.newer;
    slots_[slot.newer].older = slot.older;
    const std::size_t oldest = slots_[newest_].newer;
    slot.older = newest_;
    slot.newer = oldest;
    slots_[newest_].newer = s;
    slots_[oldest].older = s;
    newest_ = s;
  }

  // Re-cuts the arena into slots of another length and keeps the most recently used rows, each as far as it fits.
  void set_stride(std::size_t stride) {
    if (stride == stride_) return;
    const std::size_t capacity = std::min(arena_.size() / stride, ids_.size());
    std::vector<std::size_t> keep;  // slots, most recent first
    if (!slots_.empty())
      for (std::size_t s = newest_, seen = 0; seen < slots_.size() && keep.size() < capacity; ++seen, s = slots_[s].older)
        if (slots_[s].position != none && slots_[s].length > 0) keep.push_back(s);
    std::vector<Slot> old;
    old.swap(slots_);
    slots_.resize(capacity);
    for (std::size_t s = 0; s < capacity; ++s) slots_[s].newer = (s + 1) % capacity, slots_[s].older = (s + capacity - 1) % capacity;
    std::fill(slot_of_.begin(), slot_of_.end(), none);
    // First together at the old length, then apart (or further together) to the new one: no row is overwritten before it moved.
    std::vector<std::size_t> in_place = keep;
    std::sort(in_place.begin(), in_place.end());
    std::vector<std::size_t> target(old.size());
    for (std::size_t t = 0; t < in_place.size(); ++t) {
      const Slot& slot = old[in_place[t]];
      target[in_place[t]] = t;
      std::copy_n(arena_.data() + in_place[t] * stride_, slot.length, arena_.data() + t * stride_);
      slots_[t].position = slot.position;
      slots_[t].length = std::min(slot.length, stride);
      slot_of_[static_cast<std::size_t>(slot.position)] = static_cast<Id>(t);
    }
    for (std::size_t k = 0; k < in_place.size(); ++k) {
      const std::size_t t = stride < stride_ ? k : in_place.size() - 1 - k;
      std::memmove(arena_.data() + t * stride, arena_.data() + t * stride_, slots_[t].length * sizeof(T));
    }
    stride_ = stride;
    newest_ = capacity - 1;
    for (auto s = keep.rbegin(); s != keep.rend(); ++s) touch(target[*s]);
  }

  const RowSource& source_;
  ThreadTeam& team_;
  Patience& patience_;
  std::vector<Id> ids_;
  std::size_t active_;
  std::vector<T> diagonal_;
  std::vector<Id> slot_of_;
  std::unique_ptr<Columns<T>> columns_;
  Buffer<T> arena_;
  std::size_t stride_ = 0, newest_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::size_t> missing_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace widemargin
