// Kernel rows among the samples that an online machine keeps: they grow as samples come and shrink as these leave.
//
// A sample that comes brings its values with all that were kept before. Those with samples that come later stand in
// their rows, from which a row is completed when it is asked for: every value is computed once, while memory allows and
// unless computing it takes no longer than fetching it. The rows that were not used for longest are given up where
// memory does not suffice, and computed anew when they are needed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/online/together.hpp"
#include "core/rows/row_source.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::online {

template <class T>
class KeptRows {
 public:
  using Value = T;

  // What a row holds: its values with the first `known` samples.
  struct Row {
    std::unique_ptr<T[]> values;
    std::size_t room = 0, known = 0;
    std::uint64_t used = 0;  // when, in uses of all rows
  };

  std::size_t size() const { return rows_.size(); }
  std::size_t capacity() const { return size(); }
  const T* diagonal() const { return diagonal_.data(); }
  Id sample(std::size_t p) const { return samples_[p]; }
  const std::vector<Id>& samples() const { return samples_; }
  std::uint64_t evaluations() const { return evaluations_; }
  void count(std::uint64_t evaluations) { evaluations_ += evaluations; }
  ThreadTeam& team() { return *team_; }

  // For a time the values come from here; position p is the source's sample ids[p]. Where the source is the `same` as
  // the last time, what was prepared of it still holds.
  void attach(const RowSource& source, ThreadTeam& team, std::size_t bytes, std::span<const Id> ids, bool same) {
    source_ = &source, team_ = &team;
    room_ = std::max<std::size_t>(bytes / sizeof(T), 1);
    if (!same || prepared_ > ids.size() || !std::equal(samples_.begin(), samples_.end(), ids.begin(), ids.end()))
      columns_.reset();
    samples_.assign(ids.begin(), ids.end());
  }
  // `stays`: the source is going to be there the next time.
  void detach(bool stays) {
    if (!stays) columns_.reset();
    source_ = nullptr, team_ = nullptr;
  }

  // The samples at hand, prepared to stand at the columns of blocks.
  const Columns<T>& prepare() {
    if (columns_ != nullptr && prepared_ < size()) {
      std::unique_ptr<Columns<T>> before = std::move(columns_);  // gone, if memory fails halfway
      if (source_->extend(*before, std::span<const Id>(samples_).subspan(prepared_))) columns_ = std::move(before);
    }
    if (columns_ == nullptr) columns_ = source_->prepare(samples_, true, *team_, T{});
    prepared_ = size();
    return *columns_;
  }

  // `values` are those with the samples at hand. Where memory fails, nothing has changed.
  void append(Id sample, const T* values, T diagonal) {
    Row row;
    row.known = size() + 1;
    row.values = room_for(row.known, row.room);
    std::copy_n(values, size(), row.values.get());
    row.values[size()] = diagonal;
    row.used = ++uses_;
    make_room(samples_, diagonal_, rows_);
    held_ += row.room;
    samples_.push_back(sample), diagonal_.push_back(diagonal), rows_.push_back(std::move(row));
    remember(size() - 1);
    give_up_rows();
  }
  void pop() {
    held_ -= rows_.back().room;
    samples_.pop_back(), diagonal_.pop_back(), rows_.pop_back();
    for (Row& row : rows_) row.known = std::min(row.known, size());
    if (prepared_ > size()) columns_.reset();
  }

  // Valid until two other rows have been asked for.
  const T* row(std::size_t p) {
    Row& own = rows_[p];
    own.used = ++uses_;
    remember(p);
    if (own.known < size()) complete(p);
    return own.values.get();
  }
  void rows(std::span<const Id> positions, const T** out) {
    for (std::size_t r = 0; r < positions.size(); ++r) out[r] = row(static_cast<std::size_t>(positions[r]));
  }

  // Only the samples at these positions stay, in this order, which is that of their positions.
  void keep(std::span<const Id> staying) {
    std::vector<std::uint16_t> masks((size() + 15) / 16, 0);
    for (const Id p : staying) masks[static_cast<std::size_t>(p) / 16] |= static_cast<std::uint16_t>(1 << (p % 16));
    for (std::size_t to = 0; to < staying.size(); ++to) {
      const std::size_t from = static_cast<std::size_t>(staying[to]);
      Row& own = rows_[from];
      const auto last = std::lower_bound(staying.begin(), staying.end(), static_cast<Id>(own.known));
      close_up(own, masks, staying.first(static_cast<std::size_t>(last - staying.begin())));
      if (to == from) continue;
      rows_[to] = std::move(own), samples_[to] = samples_[from], diagonal_[to] = diagonal_[from];
    }
    rows_.resize(staying.size()), samples_.resize(staying.size()), diagonal_.resize(staying.size());
    held_ = 0;
    for (const Row& row : rows_) held_ += row.room;
    columns_.reset();
    recent_.fill(none);
  }

  // For those who save a machine, and put it together again.
  const std::vector<Row>& held_rows() const { return rows_; }
  std::uint64_t uses() const { return uses_; }
  void restore(std::vector<Row> rows, std::vector<T> diagonal, std::uint64_t uses, std::uint64_t evaluations) {
    rows_ = std::move(rows), diagonal_ = std::move(diagonal), uses_ = uses, evaluations_ = evaluations;
    samples_.assign(rows_.size(), 0);
    held_ = 0;
    for (const Row& row : rows_) held_ += row.room;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  // Rooms come in few sizes, four to each power of 2, so that what one row gives back another one takes.
  static std::unique_ptr<T[]> room_for(std::size_t count, std::size_t& room) {
    const std::size_t step = std::max<std::size_t>(std::bit_ceil(count) / 8, 16);
    room = (count + step - 1) / step * step;
    return std::make_unique_for_overwrite<T[]>(room);
  }

  // Of the values that a row holds, those of samples that stay move together.
  static void close_up(Row& row, const std::vector<std::uint16_t>& masks, std::span<const Id> staying) {
    T* const values = row.values.get();
    std::size_t kept = 0;
    if constexpr (std::is_same_v<T, float>) {
      const std::size_t whole = row.known / 16;
      kept = static_cast<std::size_t>(std::lower_bound(staying.begin(), staying.end(), static_cast<Id>(16 * whole)) -
                                      staying.begin());
      simd::ops<float>().pick(values, masks.data(), whole, values, kept);
    }
    for (; kept < staying.size(); ++kept) values[kept] = values[static_cast<std::size_t>(staying[kept])];
    row.known = staying.size();
  }

  void remember(std::size_t p) {
    if (recent_[0] == p) return;
    if (recent_[1] != p) recent_[2] = recent_[1];
    recent_[1] = recent_[0], recent_[0] = p;
  }

  void complete(std::size_t p) {
    Row& own = rows_[p];
    if (own.room < size()) {
      std::size_t room = 0;
      std::unique_ptr<T[]> larger = room_for(size(), room);
      std::copy_n(own.values.get(), own.known, larger.get());
      held_ += room - own.room;
      own.values = std::move(larger), own.room = room;
      give_up_rows();
    }
    std::size_t c = own.known;
    if (source_->faster_than_memory() && columns_ != nullptr && c < prepared_) c = compute_prepared(p, c);
    for (; c < size(); ++c) {
      if (c == p)
        own.values[c] = diagonal_[c];
      else if (p < rows_[c].known)
        own.values[c] = rows_[c].values[p];
      else
        break;
    }
    if (c < size()) compute(p, c, own.values.get());
    own.known = size();
  }

  // The values from `first` on.
  void compute(std::size_t p, std::size_t first, T* values) {
    const std::span<const Id> own{&samples_[p], 1};
    if (columns_ == nullptr) prepare();
    if (first < prepared_) first = compute_prepared(p, first);
    if (first == size()) return;
    const auto rest = source_->prepare(std::span<const Id>(samples_).subspan(first), true, *team_, T{});
    T* const out = values + first;
    evaluations_ += source_->rows(own, *rest, 0, size() - first, &out, *team_);
  }

  // Those from `first` on with samples that stand at prepared columns; returns how many these are.
  std::size_t compute_prepared(std::size_t p, std::size_t first) {
    T* const out = rows_[p].values.get() + first;
    evaluations_ += source_->rows({&samples_[p], 1}, *columns_, first, prepared_, &out, *team_);
    return prepared_;
  }

  // The least recently used rows go, but those in use stay.
  void give_up_rows() {
    while (held_ > room_) {
      std::size_t oldest = none;
      for (std::size_t p = 0; p < size(); ++p)
        if (rows_[p].room > 0 && std::find(recent_.begin(), recent_.end(), p) == recent_.end() &&
            (oldest == none || rows_[p].used < rows_[oldest].used))
          oldest = p;
      if (oldest == none) return;
      held_ -= rows_[oldest].room;
      rows_[oldest].values.reset();
      rows_[oldest].room = rows_[oldest].known = 0;
    }
  }

  const RowSource* source_ = nullptr;
  ThreadTeam* team_ = nullptr;
  std::size_t room_ = std::numeric_limits<std::size_t>::max(), held_ = 0;  // numbers that may be, and are, held
  std::vector<Id> samples_;
  std::vector<T> diagonal_;
  std::vector<Row> rows_;
  std::array<std::size_t, 3> recent_{none, none, none};
  std::unique_ptr<Columns<T>> columns_;
  std::size_t prepared_ = 0;
  std::uint64_t uses_ = 0, evaluations_ = 0;
};

}  // namespace widemargin::online
