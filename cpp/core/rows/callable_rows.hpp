// Rows of a kernel that somebody else evaluates, a block at a time.
#pragma once

#include <functional>
#include <vector>

#include "core/rows/gram_rows.hpp"

namespace widemargin {

class CallableRows final : public RowSource {
 public:
  // Fills out (row-major, rows.size() x columns.size()).
  using Evaluate = std::function<void(std::span<const Id> rows, std::span<const Id> columns, double* out)>;

  // Without a diagonal, its entries are evaluated one by one.
  CallableRows(Evaluate evaluate, std::size_t size, std::vector<double> diagonal) : evaluate_(std::move(evaluate)), size_(size), diagonal_(std::move(diagonal)) {}

  std::size_t size() const override { return size_; }
  double diagonal(Id id) const override {
    if (!diagonal_.empty()) return diagonal_[id];
    double value = 0;
    evaluate_({&id, 1}, {&id, 1}, &value);
    return value;
  }

  std::size_t column_bytes(std::size_t) const override { return sizeof(Id); }
  std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool, ThreadTeam&, float) const override { return std::make_unique<IdColumns<float>>(ids); }
  std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool, ThreadTeam&, double) const override { return std::make_unique<IdColumns<double>>(ids); }

  std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first, std::size_t last, float* const* out,
                     ThreadTeam&) const override {
    return compute(ids, columns, first, last, out);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first, std::size_t last, double* const* out,
                     ThreadTeam&) const override {
    return compute(ids, columns, first, last, out);
  }

 private:
  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last, T* const* out) const {
    const std::vector<Id>& at = static_cast<const IdColumns<T>&>(columns).ids;
    const std::size_t width = last - first;
    std::vector<double> block(ids.size() * width);
    if (block.empty()) return 0;  // a user's function need not know what to make of nothing
    evaluate_(ids, {at.data() + first, width}, block.data());
    for (std::size_t r = 0; r < ids.size(); ++r)
      for (std::size_t c = 0; c < width; ++c) out[r][c] = static_cast<T>(block[r * width + c]);
    return block.size();
  }

  Evaluate evaluate_;
  std::size_t size_;
  std::vector<double> diagonal_;
};

}  // namespace widemargin
