// Rows of a kernel whose float32 values are known, in a matrix that several problems share; values in double are
// computed.
#pragma once

#include "core/rows/gram_rows.hpp"

namespace widemargin {

class MatrixBackedRows final : public RowSource {
 public:
  MatrixBackedRows(const RowSource& base, const float* matrix) : base_(base), known_(matrix, base.size()) {}

  std::size_t size() const override { return base_.size(); }
  double diagonal(Id id) const override { return base_.diagonal(id); }
  std::uint64_t diagonal_work() const override { return base_.diagonal_work(); }
  std::uint64_t value_work() const override { return base_.value_work(); }
  std::size_t rows_between_polls(std::size_t columns) const override { return base_.rows_between_polls(columns); }
  double ridge(Id id) const override { return base_.ridge(id); }
  bool fits_floats() const override { return base_.fits_floats(); }
  std::size_t column_bytes(std::size_t value_size) const override {
    return value_size == sizeof(float) ? known_.column_bytes(value_size) : base_.column_bytes(value_size);
  }

  std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team, float) const override {
    return known_.prepare(ids, keep, team, float{});
  }
  std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team,
                                           double) const override {
    return base_.prepare(ids, keep, team, double{});
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first, std::size_t last,
                     float* const* out, ThreadTeam& team) const override {
    return known_.rows(ids, columns, first, last, out, team);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first, std::size_t last,
                     double* const* out, ThreadTeam& team) const override {
    return base_.rows(ids, columns, first, last, out, team);
  }

 private:
  const RowSource& base_;
  GramRows<float> known_;
};

}  // namespace widemargin
