// Rows of a kernel derived from another one:
//
//   k'(i, j) = s_i s_j k(b_i, b_j) + [i = j] r_i
//
// `base` b says which sample of the other kernel stands behind a sample (twice the same: regression), `scale` s is a
// label, or 0 for a sample that has nothing in common with any other (a machine without intercept), `ridge` r is what
// the square loss adds to the diagonal.
#pragma once

#include <algorithm>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/buffer.hpp"

namespace widemargin {

class DerivedRows final : public RowSourceOfBothTypes<DerivedRows> {
 public:
  // Empty `scale` or `ridge`: all ones, all zeros.
  DerivedRows(const RowSource& source, std::vector<Id> base, std::vector<double> scale, std::vector<double> ridge)
      : source_(source), base_(std::move(base)), scale_(std::move(scale)), ridge_(std::move(ridge)) {
    std::vector<std::uint8_t> seen(source.size(), 0);
    for (const Id b : base_) repeats_ = repeats_ || seen[static_cast<std::size_t>(b)]++ != 0;
  }

  std::size_t size() const override { return base_.size(); }
  double diagonal(Id id) const override {
    const double s = scale(id);
    return s * s * source_.diagonal(base(id)) + ridge(id);
  }
  std::uint64_t diagonal_work() const override { return source_.diagonal_work(); }
  std::uint64_t value_work() const override { return source_.value_work(); }
  std::size_t rows_between_polls(std::size_t columns) const override { return source_.rows_between_polls(columns); }
  double ridge(Id id) const override { return ridge_.empty() ? 0.0 : ridge_[static_cast<std::size_t>(id)]; }
  bool fits_floats() const override { return source_.fits_floats(); }
  bool faster_than_memory() const override { return source_.faster_than_memory() && !repeats_; }
  bool faster_than_steps() const override { return source_.faster_than_steps(); }
  std::size_t column_bytes(std::size_t value_size) const override {
    return source_.column_bytes(value_size) + 2 * sizeof(Id);
  }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool keep, ThreadTeam& team) const {
    auto result = std::make_unique<Derived<T>>();
    result->ids.assign(ids.begin(), ids.end());
    std::vector<Id> behind;
    if (repeats_) {
      std::vector<Id> column_of(source_.size(), -1);
      for (const Id id : ids) {
        Id& column = column_of[static_cast<std::size_t>(base(id))];
        if (column < 0) column = static_cast<Id>(behind.size()), behind.push_back(base(id));
        result->source_column.push_back(column);
      }
      if (behind.size() == ids.size()) result->source_column.clear();
    } else {
      for (const Id id : ids) behind.push_back(base(id));
    }
    result->different = behind.size();
    result->columns = source_.prepare(behind, keep, team, T{});
    if (!ridge_.empty()) {
      for (std::size_t c = 0; c < ids.size(); ++c) result->places.push_back({ids[c], static_cast<Id>(c)});
      std::sort(result->places.begin(), result->places.end());
    }
    return result;
  }

  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& prepared, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam& team) const {
    const Derived<T>& columns = static_cast<const Derived<T>&>(prepared);
    std::vector<Id> behind;
    for (const Id id : ids) behind.push_back(base(id));
    const std::uint64_t evaluated = columns.source_column.empty()
                                        ? source_.rows(behind, *columns.columns, first, last, out, team)
                                        : spread(behind, columns, first, last, out, team);
    for (std::size_t r = 0; r < ids.size(); ++r) {
      if (!scale_.empty())
        for (std::size_t c = first; c < last; ++c)
          out[r][c - first] *= static_cast<T>(scale(ids[r]) * scale(columns.ids[c]));
      if (ridge_.empty()) continue;
      const auto [begin, end] = std::equal_range(columns.places.begin(), columns.places.end(), Place{ids[r], 0});
      for (auto place = begin; place != end; ++place) {
        const std::size_t c = static_cast<std::size_t>(place->column);
        if (c >= first && c < last) out[r][c - first] += static_cast<T>(ridge(ids[r]));
      }
    }
    return evaluated;
  }

 private:
  struct Place {
    Id id, column;
    bool operator<(const Place& other) const { return id < other.id; }
  };

  template <class T>
  struct Derived final : Columns<T> {
    std::unique_ptr<Columns<T>> columns;  // of the source, each of its samples once
    std::size_t different = 0;
    std::vector<Id> source_column;  // column -> column of the source; empty: the same
    std::vector<Id> ids;
    std::vector<Place> places;  // sorted by id; only where there is a ridge
  };

  Id base(Id id) const { return base_[static_cast<std::size_t>(id)]; }
  double scale(Id id) const { return scale_.empty() ? 1.0 : scale_[static_cast<std::size_t>(id)]; }

  // Each value is computed once and written wherever its sample stands.
  template <class T>
  std::uint64_t spread(const std::vector<Id>& behind, const Derived<T>& columns, std::size_t first, std::size_t last,
                       T* const* out, ThreadTeam& team) const {
    Buffer<T> values(behind.size() * columns.different);  // of this call alone: the source may be derived as well
    std::vector<T*> row(behind.size());
    for (std::size_t r = 0; r < behind.size(); ++r) row[r] = values.data() + r * columns.different;
    const std::uint64_t evaluated = source_.rows(behind, *columns.columns, 0, columns.different, row.data(), team);
    team.share(behind.size(), [&](std::size_t r, std::size_t) {
      const Id* column = columns.source_column.data();
      for (std::size_t c = first; c < last; ++c) out[r][c - first] = row[r][column[c]];
    });
    return evaluated;
  }

  const RowSource& source_;
  std::vector<Id> base_;
  std::vector<double> scale_, ridge_;
  bool repeats_ = false;
};

}  // namespace widemargin
