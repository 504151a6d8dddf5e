// Kernel rows of one problem in the order of its active set: computed when first asked for, kept while memory lasts.
//
// The cache consists of equally long slots, least recently used first out. A row is kept as a prefix of the column
// order it was computed in. Shrinking reorders columns stably, so the known part of a row is a prefix of every later
// order too: a row is brought into the current order when it is next used, and extended, not recomputed, if variables
// have come back since. If not all active rows fit, shrinking also shortens the slots, and more rows fit.
//
// Memory that is touched for the first time may cost more than kernel values do. So the cache starts small, and
// doubles, up to what it may take, whenever a quarter as many rows as it holds have had to be computed again. Where
// values are as cheap as memory it may stay so small that it lives in the processor's cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/outcome.hpp"
#include "core/rows/row_source.hpp"
#include "core/rows/slabs.hpp"
#include "core/runtime/scratch.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

template <class T>
class CachedRows {
 public:
  using Value = T;

  // `ids` are the samples behind the variables: a subset view of the source. `stay_small`: computing rows anew is as
  // good as keeping them.
  CachedRows(const RowSource& source, std::vector<Id> ids, std::size_t cache_bytes, std::size_t least_rows,
             bool stay_small, SlabPool& pool, ThreadTeam& team, TimeBudget& budget)
      : source_(source),
        stay_small_(stay_small),
        arena_(pool),
        team_(team),
        budget_(budget),
        ids_(std::move(ids)),
        active_(ids_.size()),
        diagonal_(ids_.size()),
        slot_of_(ids_.size(), none),
        variable_(ids_.size()),
        computed_(ids_.size(), 0) {
    for (std::size_t p = 0; p < ids_.size(); ++p) {
      diagonal_[p] = static_cast<T>(source.diagonal(ids_[p]));
      if (budget.spent(source.diagonal_work())) throw Stopped{budget.reason()};
    }
    std::iota(variable_.begin(), variable_.end(), Id{0});
    where_.push_back(variable_);
    // Prepared columns are part of the cache's budget, unless they would take more than half of it; so is what solvers
    // and verification work in, if not everything fits.
    const std::size_t row_bytes = padded(ids_.size()) * sizeof(T),
                      column_bytes = ids_.size() * source.column_bytes(sizeof(T));
    keep_columns_ = ids_.size() <= least_rows || column_bytes <= cache_bytes / 2;
    const std::size_t spent = (keep_columns_ ? column_bytes : 0) + std::min(cache_bytes / 4, working_bytes);
    const std::size_t bytes =
        cache_bytes >= ids_.size() * row_bytes ? cache_bytes : cache_bytes - std::min(cache_bytes, spent);
    const std::size_t wanted = std::max(bytes / row_bytes, std::min(ids_.size(), least_rows));
    room_ = std::min(wanted, ids_.size()) * padded(ids_.size());
    arena_.set_longest(padded(ids_.size()));
    set_stride(padded(ids_.size()));
  }

  std::size_t size() const { return ids_.size(); }
  std::size_t active() const { return active_; }
  std::size_t capacity() const { return slots_.size(); }
  const T* diagonal() const { return diagonal_.data(); }
  std::uint64_t evaluations() const { return evaluations_; }
  bool holds_everything() const { return slots_.size() >= active_; }
  bool held_everything_so_far() const { return !evicted_; }

  // The first active() entries of a row. The pointer stays good while the two most recent rows are in use.
  const T* row(std::size_t position) {
    const Id p = static_cast<Id>(position);
    const T* found;
    rows({&p, 1}, &found);
    return found;
  }

  // Several rows, all of them valid together; there may be at most capacity() of them.
  void rows(std::span<const Id> positions, const T** out) {
    use(positions.size());
    stale_.clear(), missing_.clear();
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const std::size_t slot = slot_for(positions[r]);
      out[r] = slot_row(slot);
      if (slots_[slot].epoch != epoch()) stale_.push_back(slot);
    }
    renew(stale_);
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const std::size_t slot = static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(positions[r])]);
      if (slots_[slot].length < active_) missing_.push_back(slot);
    }
    std::stable_sort(missing_.begin(), missing_.end(),
                     [this](std::size_t a, std::size_t b) { return slots_[a].length < slots_[b].length; });
    for (std::size_t begin = 0; begin < missing_.size();) {
      const std::size_t length = slots_[missing_[begin]].length;
      std::size_t end = begin;
      const std::size_t most = budget_.limited() ? source_.rows_between_polls(active_ - length) : at_once;
      while (end < missing_.size() && end - begin < most && slots_[missing_[end]].length == length) ++end;
      extend({missing_.data() + begin, end - begin}, length);
      begin = end;
    }
  }

  // The active part of a row if it is there already, else null.
  const T* known_row(std::size_t position) {
    const Id slot = slot_of_[position];
    if (slot == none) return nullptr;
    const std::size_t s = static_cast<std::size_t>(slot);
    if (slots_[s].epoch != epoch()) renew({&s, 1});
    return slots_[s].length >= active_ ? slot_row(s) : nullptr;
  }

  // Kernel values among a few positions, without making rows of them: out[r][c], r and c over `positions`.
  void block(std::span<const Id> positions, T* const* out) {
    std::vector<Id> ids;
    for (const Id p : positions) ids.push_back(ids_[static_cast<std::size_t>(p)]);
    evaluations_ += source_.rows(ids, *source_.prepare(ids, true, team_, T{}), 0, ids.size(), out, team_);
  }

  // Position p takes what stood at order[p]; `order` is a stable partition of the active positions [0, active()) into
  // those that stay active (the first `active`) and the rest, or, with active == size(), the identity: the whole
  // problem becomes active again.
  void reorder(std::span<const Id> order, std::size_t active) {
    const bool shrinks = active < active_;
    active_ = active;
    columns_.reset();
    if (shrinks) {
      if (where_.size() == most_epochs) renew_all();
      permute(ids_, order);
      permute(variable_, order);
      permute(slot_of_, order);
      permute(diagonal_, order);
      for (std::size_t p = 0; p < ids_.size(); ++p)
        if (slot_of_[p] != none) slots_[static_cast<std::size_t>(slot_of_[p])].position = static_cast<Id>(p);
      where_.push_back(positions_now());
    }
    if (!shrinks || slots_.size() < active_) {
      if (padded(active_) == stride_) return;
      renew_all();
      set_stride(padded(active_));
    }
  }

  // Rows that lack the same columns.
  struct Incomplete {
    std::vector<Id> rows, columns;  // positions
    std::vector<double> coefficients;
  };

  // gradient[p] -= sum_k coefficients[k] K[positions[k]][p] as far as these rows are known. Returns what is missing.
  // Rows of one column order are summed in that order first.
  std::vector<Incomplete> subtract_known_rows(std::span<const Id> positions, std::span<const double> coefficients,
                                              double* gradient) {
    using Known = std::pair<std::size_t, std::size_t>;  // a column order, and how many columns of it
    const auto known_of = [this](Id position) -> Known {
      const Id s = slot_of_[static_cast<std::size_t>(position)];
      if (s == none || slots_[static_cast<std::size_t>(s)].length == 0) return {0, 0};
      return {slots_[static_cast<std::size_t>(s)].epoch, slots_[static_cast<std::size_t>(s)].length};
    };
    std::map<Known, std::size_t> count;
    for (const Id p : positions) ++count[known_of(p)];
    std::map<Known, Incomplete> alike;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const Known known = known_of(positions[k]);
      // Preparing the missing columns of a few rows alone would cost more than their known ones are worth.
      Incomplete& rows = alike[known.second < ids_.size() && count[known] < at_once ? Known{0, 0} : known];
      rows.rows.push_back(positions[k]);
      rows.coefficients.push_back(coefficients[k]);
    }
    std::vector<Incomplete> incomplete;
    std::vector<double> sum;
    for (auto& [known_part, rows] : alike) {
      const auto& [epoch, length] = known_part;
      std::vector<const T*> known;
      if (length > 0)
        for (const Id p : rows.rows)
          known.push_back(slot_row(static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(p)])));
      sum.assign(length, 0.0);
      subtract(sum.data(), known, rows.coefficients, length);
      for (std::size_t p = 0; p < ids_.size(); ++p) {
        const std::size_t at = static_cast<std::size_t>(where_[epoch][static_cast<std::size_t>(variable_[p])]);
        if (at < length)
          gradient[p] += sum[at];
        else
          rows.columns.push_back(static_cast<Id>(p));
      }
      if (!rows.columns.empty()) incomplete.push_back(std::move(rows));
    }
    return incomplete;
  }

  // gradient[p] -= sum_k coefficients[k] rows[k][p] for p < n
  void subtract(double* gradient, const std::vector<const T*>& rows, const std::vector<double>& coefficients,
                std::size_t n) {
    constexpr std::size_t part = 2048;
    team_.share((n + part - 1) / part, [&](std::size_t piece, std::size_t) {
      simd::ops<T>().subtract_rows(gradient, rows.data(), coefficients.data(), rows.size(), piece * part,
                                   std::min(n, (piece + 1) * part));
    });
  }

  const RowSource& source() const { return source_; }
  std::span<const Id> ids() const { return ids_; }
  ThreadTeam& team() { return team_; }
  TimeBudget& budget() { return budget_; }
  void count(std::uint64_t evaluations) { evaluations_ += evaluations; }

 private:
  static constexpr Id none = -1;
  static constexpr std::size_t at_once = 64;  // rows computed between two looks at the clock
  static constexpr std::size_t most_epochs = 6;
  static constexpr std::size_t first_bytes = std::size_t{256} << 20, first_rows = 1024;
  static constexpr std::size_t working_bytes = std::size_t{10} << 20;
  static constexpr std::size_t small_bytes = std::size_t{8} << 20, small_rows = 128;

  struct Slot {
    Id position = none;
    std::size_t length = 0;  // entries known, of
    std::size_t epoch = 0;   // the column order with this number
    std::size_t newer = 0, older = 0;
  };

  T* slot_row(std::size_t slot) { return arena_.row(slot, stride_); }

  static std::size_t padded(std::size_t n) { return (n + 15) / 16 * 16; }

  std::size_t epoch() const { return where_.size() - 1; }

  std::vector<Id> positions_now() const {
    std::vector<Id> positions(variable_.size());
    for (std::size_t p = 0; p < variable_.size(); ++p)
      positions[static_cast<std::size_t>(variable_[p])] = static_cast<Id>(p);
    return positions;
  }

  // Brings rows of older orders into the current one, as far as their active part is known.
  void renew(std::span<const std::size_t> slots) {
    team_.share(slots.size(), [&](std::size_t k, std::size_t) {
      const Scratch<T, CachedRows> memory(active_);
      T* const moved = memory.data();
      Slot& slot = slots_[slots[k]];
      T* row = slot_row(slots[k]);
      const std::vector<Id>& before = where_[slot.epoch];
      std::size_t known = 0;
      for (; known < active_; ++known) {
        const std::size_t p = static_cast<std::size_t>(before[static_cast<std::size_t>(variable_[known])]);
        if (p >= slot.length) break;
        moved[known] = row[p];
      }
      std::copy_n(moved, known, row);
      slot.length = known;
      slot.epoch = epoch();
    });
  }

  // Brings all rows into the current order and forgets the older ones.
  void renew_all() {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < slots_.size(); ++s)
      if (slots_[s].position != none && slots_[s].epoch != epoch()) all.push_back(s);
    renew(all);
    where_.erase(where_.begin(), where_.end() - 1);
    for (Slot& slot : slots_) slot.epoch = 0;
  }

  void extend(std::span<const std::size_t> slots, std::size_t length) {
    if (!columns_) columns_ = source_.prepare({ids_.data(), active_}, keep_columns_, team_, T{});
    std::vector<Id> ids;
    std::vector<T*> out;
    for (const std::size_t s : slots) {
      ids.push_back(ids_[static_cast<std::size_t>(slots_[s].position)]);
      out.push_back(slot_row(s) + length);
    }
    evaluations_ += source_.rows(ids, *columns_, length, active_, out.data(), team_);
    for (const std::size_t s : slots) slots_[s].length = active_;
    if (budget_.spent(slots.size() * (active_ - length) * source_.value_work())) throw Stopped{budget_.reason()};
  }

  // The slot of a row, made the most recently used one; an empty or the oldest slot is given to a row that has none.
  std::size_t slot_for(Id position) {
    Id& slot = slot_of_[static_cast<std::size_t>(position)];
    if (slot == none) {
      remember_missing(static_cast<std::size_t>(variable_[static_cast<std::size_t>(position)]));
      slot = static_cast<Id>(slots_[newest_].newer);  // the ring's neighbour past the newest is the oldest
      Slot& taken = slots_[static_cast<std::size_t>(slot)];
      if (taken.position != none)
        slot_of_[static_cast<std::size_t>(taken.position)] = none, evicted_ = in_use_ == slots_.size();
      taken.position = position;
      taken.length = 0;
      taken.epoch = epoch();
    }
    touch(static_cast<std::size_t>(slot));
    return static_cast<std::size_t>(slot);
  }

  void remember_missing(std::size_t variable) {
    if (computed_[variable] == 0)
      computed_[variable] = 1;
    else
      ++computed_again_;
    if (4 * computed_again_ <= in_use_ || stay_small_) return;
    computed_again_ = 0;
    use(2 * in_use_);
  }

  void use(std::size_t slots) {
    for (; in_use_ < std::min(slots, slots_.size()); ++in_use_) {  // as the oldest: the next to be taken
      const std::size_t oldest = slots_[newest_].newer;
      slots_[in_use_].older = newest_;
      slots_[in_use_].newer = oldest;
      slots_[newest_].newer = in_use_;
      slots_[oldest].older = in_use_;
    }
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

  // How many rows of this length the cache starts with.
  std::size_t at_first(std::size_t stride) const {
    const std::size_t bytes = stride * sizeof(T);
    return stay_small_ ? std::max(small_bytes / bytes, small_rows) : std::max(first_bytes / bytes, first_rows);
  }

  // Re-cuts the arena into slots of another length and keeps the most recently used rows, each as far as it fits.
  void set_stride(std::size_t stride) {
    if (stride == stride_) return;
    const std::size_t capacity = std::min(room_ / stride, ids_.size()), some = std::min(capacity, at_first(stride));
    const std::size_t most = stay_small_ ? some : capacity;
    std::vector<std::size_t> keep;  // slots, most recent first
    if (!slots_.empty())
      for (std::size_t s = newest_, seen = 0; seen < in_use_ && keep.size() < most; ++seen, s = slots_[s].older)
        if (slots_[s].position != none && slots_[s].length > 0) keep.push_back(s);
    std::vector<Slot> old;
    old.swap(slots_);
    slots_.resize(capacity);
    in_use_ = std::max(some, keep.size());
    for (std::size_t s = 0; s < in_use_; ++s)
      slots_[s].newer = (s + 1) % in_use_, slots_[s].older = (s + in_use_ - 1) % in_use_;
    std::fill(slot_of_.begin(), slot_of_.end(), none);
    // First together at the old length, then apart (or further together) to the new one: no row is overwritten before
    // it moved.
    std::vector<std::size_t> in_place = keep;
    std::sort(in_place.begin(), in_place.end());
    std::vector<std::size_t> target(old.size());
    for (std::size_t t = 0; t < in_place.size(); ++t) {
      const Slot& slot = old[in_place[t]];
      target[in_place[t]] = t;
      if (in_place[t] != t) std::copy_n(slot_row(in_place[t]), slot.length, slot_row(t));
      slots_[t].position = slot.position;
      slots_[t].length = std::min(slot.length, stride);
      slots_[t].epoch = slot.epoch;
      slot_of_[static_cast<std::size_t>(slot.position)] = static_cast<Id>(t);
    }
    for (std::size_t k = 0; k < in_place.size(); ++k) {
      const std::size_t t = stride < stride_ ? k : in_place.size() - 1 - k;
      std::memmove(arena_.row(t, stride), arena_.row(t, stride_), slots_[t].length * sizeof(T));
    }
    stride_ = stride;
    newest_ = in_use_ - 1;
    for (auto s = keep.rbegin(); s != keep.rend(); ++s) touch(target[*s]);
  }

  const RowSource& source_;
  bool stay_small_;
  RowArena<T> arena_;
  std::size_t room_ = 0;  // values that may be held
  bool keep_columns_ = true, evicted_ = false;
  ThreadTeam& team_;
  TimeBudget& budget_;
  std::vector<Id> ids_;
  std::size_t active_;
  std::vector<T> diagonal_;
  std::vector<Id> slot_of_;
  std::vector<Id> variable_;            // position -> variable
  std::vector<std::vector<Id>> where_;  // of each column order still in use: variable -> position
  std::unique_ptr<Columns<T>> columns_;
  std::size_t stride_ = 0, newest_ = 0;
  std::size_t in_use_ = 0;              // slots [0, in_use_) form the ring
  std::vector<std::uint8_t> computed_;  // by variable: its row has been computed before
  std::size_t computed_again_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::size_t> stale_, missing_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace widemargin
