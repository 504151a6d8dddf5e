// Kernel rows of the kept samples for the ordinary solvers: the values that an online machine stores are read where
// they are, all others are computed.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "core/online/kept_rows.hpp"
#include "core/rows/row_source.hpp"

namespace widemargin::online {

template <class T>
class StoredRows final : public RowSource {
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;

 public:
  // Sample p of `base` stands at position p. The rows must not change while they are read here.
  StoredRows(const RowSource& base, const KeptRows<T>& kept) : base_(base), rows_(kept.held_rows()) {
    for (std::size_t p = 0; p < rows_.size(); ++p)
      if (rows_[p].known == 0) behind_gaps_ = p + 1;
  }

  std::size_t size() const override { return base_.size(); }
  double diagonal(Id id) const override { return base_.diagonal(id); }
  std::uint64_t diagonal_work() const override { return base_.diagonal_work(); }
  std::uint64_t value_work() const override { return base_.value_work(); }
  std::size_t rows_between_polls(std::size_t columns) const override { return base_.rows_between_polls(columns); }
  double ridge(Id id) const override { return base_.ridge(id); }
  bool fits_floats() const override { return base_.fits_floats(); }
  bool faster_than_memory() const override { return behind_gaps_ == 0; }

  std::size_t column_bytes(std::size_t value_size) const override {
    if (value_size != sizeof(T)) return base_.column_bytes(value_size);
    return sizeof(Id) + (behind_gaps_ > 0 ? base_.column_bytes(value_size) : 0);
  }

  std::unique_ptr<Columns<T>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team, T) const override {
    auto columns = std::make_unique<Places>();
    columns->ids.assign(ids.begin(), ids.end());
    if (behind_gaps_ > 0) columns->computed = base_.prepare(ids, keep, team, T{});
    return columns;
  }
  std::unique_ptr<Columns<Other>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team, Other) const override {
    return base_.prepare(ids, keep, team, Other{});
  }

  std::uint64_t rows(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                     T* const* out, ThreadTeam& team) const override {
    const Places& all = static_cast<const Places&>(columns);
    team.share(ids.size(), [&](std::size_t r, std::size_t) {
      if (is_stored(ids[r])) read(ids[r], {all.ids.data() + first, last - first}, out[r]);
    });
    std::vector<Id> others;
    std::vector<T*> targets;
    for (std::size_t r = 0; r < ids.size(); ++r)
      if (!is_stored(ids[r])) others.push_back(ids[r]), targets.push_back(out[r]);
    return others.empty() ? 0 : base_.rows(others, *all.computed, first, last, targets.data(), team);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<Other>& columns, std::size_t first, std::size_t last,
                     Other* const* out, ThreadTeam& team) const override {
    return base_.rows(ids, columns, first, last, out, team);
  }

 private:
  struct Places final : Columns<T> {
    std::vector<Id> ids;
    std::unique_ptr<Columns<T>> computed;  // where some values are not stored
  };

  // Whether a whole row can be read: what it lacks itself stands in the rows of samples that came later, if none of
  // these was given up.
  bool is_stored(Id id) const {
    const std::size_t known = rows_[static_cast<std::size_t>(id)].known;
    return known > 0 && known >= behind_gaps_;
  }

  void read(Id id, std::span<const Id> columns, T* out) const {
    const std::size_t p = static_cast<std::size_t>(id), known = rows_[p].known;
    const T* const own = rows_[p].values.get();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t q = static_cast<std::size_t>(columns[c]);
      out[c] = q < known ? own[q] : rows_[q].values[p];
    }
  }

  const RowSource& base_;
  const std::vector<typename KeptRows<T>::Row>& rows_;
  std::size_t behind_gaps_ = 0;  // no row was given up at this position or later
};

}  // namespace widemargin::online
