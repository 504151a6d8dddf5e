// Rows of a kernel that is a function of dot products or distances between samples.
#pragma once

#include "core/rows/kernel_block.hpp"

namespace widemargin {

class KernelRows final : public RowSourceOfBothTypes<KernelRows> {
 public:
  // `others` are samples that will stand at rows or columns beside the source's own.
  KernelRows(const Samples& samples, const KernelFunction& kernel, const Samples* others = nullptr)
      : KernelRows(samples, kernel, choose_geometry(samples, kernel, others)) {}
  KernelRows(const Samples& samples, const KernelFunction& kernel, Geometry geometry)
      : samples_(samples), kernel_(kernel), geometry_(std::move(geometry)) {}

  const KernelFunction& kernel() const { return kernel_; }
  const Geometry& geometry() const { return geometry_; }

  // Whether these samples may stand among the others.
  bool suits(const Samples& others) const {
    return geometry_.layout != Layout::bits || others.only_zero_and(geometry_.one);
  }

  std::size_t size() const override { return samples_.size(); }

  double diagonal(Id id) const override {
    if (kernel_.of_distances()) return kernel_.on_diagonal(0.0);
    std::vector<double> row(samples_.dimension());
    samples_.copy_row(static_cast<std::size_t>(id), nullptr, row.data());
    return kernel_.on_diagonal(squared_norm(row.data(), row.size()));
  }

  bool fits_floats() const override { return geometry_.fits_floats; }
  std::uint64_t value_work() const override { return 4 + geometry_.dimension / 8; }
  std::size_t rows_between_polls(std::size_t columns) const override {
    return std::clamp<std::size_t>((std::size_t{1} << 29) / std::max<std::size_t>(columns * geometry_.dimension, 1), 8,
                                   64);
  }

  bool faster_than_memory() const override {
    return geometry_.layout == Layout::bits && simd::counts_bits_fast() && geometry_.words() <= 8;
  }
  bool faster_than_steps() const override { return geometry_.layout == Layout::distances && geometry_.dimension <= 8; }

  std::size_t column_bytes(std::size_t value_size) const override {
    if (geometry_.layout == Layout::bits) return geometry_.words() * sizeof(std::uint32_t);
    return geometry_.layout == Layout::sparse_columns ? sizeof(Id) : geometry_.dimension * value_size;
  }

  bool extend(Columns<float>& columns, std::span<const Id> ids) const override { return append(columns, ids); }
  bool extend(Columns<double>& columns, std::span<const Id> ids) const override { return append(columns, ids); }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool keep, ThreadTeam& team) const {
    return pack<T>(samples_, ids, keep, team);
  }
  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam& team) const {
    const PackedRows<T> rows(samples_, ids, geometry_);
    KernelBlock<T>(kernel_, rows, static_cast<const Panels<T>&>(columns)).compute(first, last, out, team);
    return ids.size() * (last - first);
  }

  // Other samples at the columns: prediction and kernel matrices.
  template <class T>
  std::unique_ptr<Columns<T>> pack(const Samples& samples, std::span<const Id> ids, bool keep, ThreadTeam& team) const {
    return std::make_unique<Panels<T>>(samples, ids, geometry_, keep, team);
  }

 private:
  template <class T>
  static bool append(Columns<T>& columns, std::span<const Id> ids) {
    static_cast<Panels<T>&>(columns).append(ids);
    return true;
  }

  const Samples& samples_;
  KernelFunction kernel_;
  Geometry geometry_;
};

}  // namespace widemargin
