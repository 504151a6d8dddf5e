// Rows of a kernel matrix that the user computed, or that was computed for the solver at once.
#pragma once

#include <type_traits>
#include <vector>

#include "core/rows/row_source.hpp"

namespace widemargin {

template <class T>
struct IdColumns final : Columns<T> {
  explicit IdColumns(std::span<const Id> columns) : ids(columns.begin(), columns.end()) {}
  std::vector<Id> ids;
};

template <class S>
class GramRows final : public RowSourceOfBothTypes<GramRows<S>> {
 public:
  // Values that are `counted` count as evaluated when they are looked up.
  GramRows(const S* gram, std::size_t size, bool counted = false) : gram_(gram), size_(size), counted_(counted) {}

  std::size_t size() const override { return size_; }
  double diagonal(Id id) const override {
    return static_cast<double>(gram_[static_cast<std::size_t>(id) * (size_ + 1)]);
  }

  const double* whole_matrix() const override {
    if constexpr (std::is_same_v<S, double>)
      return counted_ ? nullptr : gram_;
    else
      return nullptr;
  }

  std::size_t column_bytes(std::size_t) const override { return sizeof(Id); }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool, ThreadTeam&) const {
    return std::make_unique<IdColumns<T>>(ids);
  }
  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam& team) const {
    const std::vector<Id>& at = static_cast<const IdColumns<T>&>(columns).ids;
    team.share(ids.size(), [&](std::size_t r, std::size_t) {
      const S* row = gram_ + static_cast<std::size_t>(ids[r]) * size_;
      for (std::size_t c = first; c < last; ++c) out[r][c - first] = static_cast<T>(row[at[c]]);
    });
    return counted_ ? ids.size() * (last - first) : 0;
  }

 private:
  const S* gram_;
  std::size_t size_;
  bool counted_;
};

}  // namespace widemargin
