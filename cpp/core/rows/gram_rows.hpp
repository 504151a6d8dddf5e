// Rows of a kernel matrix that the user computed.
#pragma once

#include <vector>

#include "core/rows/row_source.hpp"

namespace widemargin {

template <class T>
struct IdColumns final : Columns<T> {
  explicit IdColumns(std::span<const Id> columns) : ids(columns.begin(), columns.end()) {}
  std::vector<Id> ids;
};

template <class S>
class GramRows final : public RowSource {
 public:
  GramRows(const S* gram, std::size_t size) : gram_(gram), size_(size) {}

  std::size_t size() const override { return size_; }
  double diagonal(Id id) const override { return static_cast<double>(gram_[static_cast<std::size_t>(id) * (size_ + 1)]); }

  std::size_t column_bytes(std::size_t) const override { return sizeof(Id); }
  std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool, ThreadTeam&, float) const override { return std::make_unique<IdColumns<float>>(ids); }
  std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool, ThreadTeam&, double) const override { return std::make_unique<IdColumns<double>>(ids); }

  std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first, std::size_t last, float* const* out,
                     ThreadTeam& team) const override {
    return gather(ids, columns, first, last, out, team);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first, std::size_t last, double* const* out,
                     ThreadTeam& team) const override {
    return gather(ids, columns, first, last, out, team);
  }

 private:
  template <class T>
  std::uint64_t gather(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last, T* const* out, ThreadTeam& team) const {
    const std::vector<Id>& at = static_cast<const IdColumns<T>&>(columns).ids;
    team.share(ids.size(), [&](std::size_t r, std::size_t) {
      const S* row = gram_ + static_cast<std::size_t>(ids[r]) * size_;
      for (std::size_t c = first; c < last; ++c) out[r][c - first] = static_cast<T>(row[at[c]]);
    });
    return 0;  // looked up, not evaluated
  }

  const S* gram_;
  std::size_t size_;
};

}  // namespace widemargin
