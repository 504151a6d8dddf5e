// Samples packed to stand at the columns of kernel blocks, in the layout that suits them best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/kernels/kernel_function.hpp"
#include "core/rows/row_source.hpp"
#include "core/rows/samples.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/scratch.hpp"

namespace widemargin {

enum class Layout {
  bits,            // every entry is 0 or one other value: dot products by counting bits
  distances,       // dense panels; squared differences directly: few dimensions, no cancellation
  products,        // dense panels; dot products by GEMM
  sparse_rows,     // dense panels, sparse rows: each non-zero of a row adds a multiple of one panel line
  sparse_columns,  // sparse columns, 16 rows spread over the lanes of a vector: very many dimensions
};

// How the samples of a kernel are laid out, decided once from a few of them.
struct Geometry {
  Layout layout = Layout::products;
  std::size_t dimension = 0;
  std::size_t width = 0;      // columns in a panel
  std::vector<double> shift;  // subtracted from every sample; empty if there is no point in it
  double one = 1;             // bits: the value that is not 0
  std::vector<float> table;   // bits: the Gaussian of every distance, if there are few
  bool fits_floats =
      true;  // squares of the entries, and the kernel's own numbers, neither vanish nor overflow in float

  std::size_t words() const { return (dimension + 31) / 32; }

  const double* shift_or_null() const { return shift.empty() ? nullptr : shift.data(); }
  const float* table_or_null(float) const { return table.empty() ? nullptr : table.data(); }
  const double* table_or_null(double) const { return nullptr; }
};

// Distances do not change under a shift but their rounding error does: samples far from the origin, compared with
// their spread, are centred. The centre is the mean of some of them; any point near the data would do. `others`, if
// there are any, are going to be compared with the samples.
inline Geometry choose_geometry(const Samples& samples, const KernelFunction& kernel, const Samples* others = nullptr) {
  constexpr std::size_t sample_size = 512;
  const std::size_t n = samples.size(), d = samples.dimension(),
                    step = std::max<std::size_t>(1, (n + sample_size - 1) / sample_size);
  std::vector<double> mean(d, 0.0), squares(d, 0.0), row(d);
  std::int64_t nonzeros = 0;
  double sampled = 0, one = 0;
  bool two_values = true;
  for (std::size_t i = 0; i < n; i += step, ++sampled) {
    samples.copy_row(i, nullptr, row.data());
    for (std::size_t k = 0; k < d; ++k) mean[k] += row[k];
    for (std::size_t k = 0; k < d; ++k) squares[k] += row[k] * row[k];
    for (std::size_t k = 0; k < d; ++k) nonzeros += row[k] != 0;
    for (std::size_t k = 0; k < d && one == 0; ++k) one = row[k];
    two_values = two_values && all_zero_or(row.data(), d, one);
  }
  double squared_mean = 0, squared_norm = 0;
  for (double& m : mean) m /= sampled, squared_mean += m * m;
  for (const double square : squares) squared_norm += square / sampled;
  const double nonzero = static_cast<double>(nonzeros);
  const double density = nonzero / (sampled * static_cast<double>(std::max<std::size_t>(d, 1)));

  Geometry geometry;
  geometry.dimension = d;
  const auto moderate = [](double number) {
    return number == 0 || (std::fabs(number) > 1e-30 && std::fabs(number) < 1e30);
  };
  geometry.fits_floats = moderate(squared_norm) &&
                         (kernel.kind == KernelKind::linear || (moderate(kernel.gamma) && moderate(kernel.coef0)));
  const bool gaussian = kernel.of_distances();
  const double steps_per_word = simd::counts_bits_fast() ? 2 : 10;
  if (two_values && nonzero / sampled >= steps_per_word * static_cast<double>(geometry.words()) &&
      samples.only_zero_and(one) && (others == nullptr || others->only_zero_and(one))) {
    geometry.layout = Layout::bits, geometry.width = 512, geometry.one = one;
    if (kernel.kind == KernelKind::gaussian && d < simd::gaussian_table)
      for (std::size_t k = 0; k < simd::gaussian_table; ++k)
        geometry.table.push_back(static_cast<float>(std::exp(-kernel.gamma * one * one * static_cast<double>(k))));
    return geometry;
  }
  if (gaussian && squared_norm > 4 * (squared_norm - squared_mean)) geometry.shift = mean;
  if (d > 2048 && density < 0.02 && geometry.shift.empty())
    geometry.layout = Layout::sparse_columns, geometry.width = 256;
  else if (d >= 16 && density < 0.35 && geometry.shift.empty())
    geometry.layout = Layout::sparse_rows, geometry.width = 64;
  else if (gaussian && d <= 24)
    geometry.layout = Layout::distances, geometry.width = 256;
  else
    geometry.layout = Layout::products, geometry.width = 128;
  return geometry;
}

template <class T>
T squared_norm(const T* x, std::size_t d) {
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  return static_cast<T>(sum);
}

// The bits of a sample that are not 0, 32 to a word; returns how many.
inline std::size_t pack_bits(const Samples& samples, Id id, const Geometry& geometry, std::uint32_t* words) {
  const Scratch<std::int32_t, Geometry> index_memory(geometry.dimension);
  const Scratch<double, Geometry> value_memory(
      geometry.dimension);  // as wide as any that was given: a small one must not become 0
  std::int32_t* const index = index_memory.data();
  double* const value = value_memory.data();
  const std::size_t nnz = samples.nonzeros(static_cast<std::size_t>(id), index, value);
  std::size_t ones = 0;
  std::fill(words, words + geometry.words(), 0u);
  for (std::size_t t = 0; t < nnz; ++t) {
    if (value[t] == 0) continue;  // stored all the same
    words[index[t] / 32] |= 1u << (index[t] % 32);
    ++ones;
  }
  return ones;
}

template <class T>
class Panels final : public Columns<T> {
 public:
  using Panel = Scratch<T, Panels>;

  // What one panel looks like to a block computation.
  struct View {
    const T* dense = nullptr;             // [dimension][width]
    const std::int32_t* index = nullptr;  // sparse_columns: the non-zeros of column c are begin[c] .. begin[c + 1]
    const T* value = nullptr;
    const std::size_t* begin = nullptr;
    const std::uint32_t* bits = nullptr;  // [words][width]
    std::optional<Panel> packed = {};     // what `dense` points to, if it was packed for this view
  };

  // Dense panels are packed once and kept, or, where memory is short, packed anew by each view.
  Panels(const Samples& samples, std::span<const Id> ids, const Geometry& geometry, bool keep, ThreadTeam& team)
      : samples_(samples), geometry_(geometry), ids_(ids.begin(), ids.end()), norms_(ids.size()) {
    if (geometry.layout == Layout::bits) {
      pack_all_bits(team);
      return;
    }
    if (geometry.layout == Layout::sparse_columns) {
      append_sparse(ids);
      return;
    }
    if (keep) dense_ = Buffer<T>(panels() * panel_size() + overrun);
    team.share(panels(), [&](std::size_t p, std::size_t) {
      const std::optional<Panel> packed = keep ? std::nullopt : std::optional<Panel>(panel_size() + overrun);
      T* const target = keep ? dense_.data() + p * panel_size() : packed->data();
      pack(p, target);
      const std::size_t width = geometry_.width, w = std::min(width, size() - p * width);
      for (std::size_t c = 0; c < w; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < geometry_.dimension; ++k)
          sum += static_cast<double>(target[k * width + c]) * static_cast<double>(target[k * width + c]);
        norms_[p * width + c] = static_cast<T>(sum);
      }
    });
    if (keep) std::fill(dense_.data() + panels() * panel_size(), dense_.data() + dense_.size(), T(0));
  }

  // Further samples stand behind the others, at columns that are kept.
  void append(std::span<const Id> ids) {
    const std::size_t width = geometry_.width, before = panels();
    const std::size_t after = (size() + ids.size() + width - 1) / width;
    ids_.reserve(size() + ids.size()), norms_.resize(size() + ids.size());
    if (geometry_.layout == Layout::sparse_columns) {
      append_sparse(ids);
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      return;
    }
    const std::size_t lines = geometry_.layout == Layout::bits ? geometry_.words() : geometry_.dimension;
    std::vector<std::uint32_t> words(geometry_.words());
    std::vector<T> row(geometry_.dimension);
    if (geometry_.layout == Layout::bits)
      make_room(bits_, before * lines * width, after * lines * width + overrun);
    else
      make_room(dense_, before * lines * width, after * lines * width + overrun);
    const auto write = [&](auto* panels, const auto& column) {
      auto* const first = panels + size() / width * lines * width + size() % width;
      for (std::size_t k = 0; k < lines; ++k) first[k * width] = column[k];
    };
    for (const Id id : ids) {
      if (geometry_.layout == Layout::bits) {
        norms_[size()] = norm_of_bits(pack_bits(samples_, id, geometry_, words.data()));
        write(bits_.data(), words);
      } else {
        samples_.copy_row(static_cast<std::size_t>(id), geometry_.shift_or_null(), row.data());
        norms_[size()] = squared_norm(row.data(), row.size());
        write(dense_.data(), row);
      }
      ids_.push_back(id);
    }
  }

  const Geometry& geometry() const { return geometry_; }
  std::size_t size() const { return ids_.size(); }
  std::size_t panels() const { return (size() + geometry_.width - 1) / geometry_.width; }
  const T* norms() const { return norms_.data(); }

  View view(std::size_t panel) const {
    if (geometry_.layout == Layout::bits) return {.bits = bits_.data() + panel * geometry_.words() * geometry_.width};
    if (geometry_.layout == Layout::sparse_columns)
      return {.index = index_.data(), .value = value_.data(), .begin = begin_.data() + panel * geometry_.width};
    if (dense_.size() > 0) return {.dense = dense_.data() + panel * panel_size()};
    Panel packed(panel_size() + overrun);
    pack(panel, packed.data());
    return {.dense = packed.data(), .packed = std::move(packed)};
  }

 private:
  static constexpr std::size_t overrun = 128;  // the vector loops read whole strips

  std::size_t panel_size() const { return geometry_.width * geometry_.dimension; }

  // Columns become contiguous: some rows at a time are converted side by side, then written as pieces of each panel
  // line.
  void pack(std::size_t p, T* panel) const {
    constexpr std::size_t some = 16;
    const std::size_t d = geometry_.dimension, width = geometry_.width, w = std::min(width, size() - p * width);
    struct RowsOfPanel;
    const Scratch<T, RowsOfPanel> memory(some * d);
    T* const rows = memory.data();
    for (std::size_t c0 = 0; c0 < width; c0 += some) {
      for (std::size_t c = c0; c < c0 + some; ++c) {
        T* row = rows + (c - c0) * d;
        if (c < w)
          samples_.copy_row(static_cast<std::size_t>(ids_[p * width + c]), geometry_.shift_or_null(), row);
        else
          std::fill(row, row + d, T(0));
      }
      for (std::size_t k = 0; k < d; ++k)
        for (std::size_t c = 0; c < some; ++c) panel[k * width + c0 + c] = rows[c * d + k];
    }
  }

  void append_sparse(std::span<const Id> ids) {
    std::vector<std::int32_t> index(geometry_.dimension);
    std::vector<T> value(geometry_.dimension);
    for (const Id id : ids) {
      const std::size_t nnz = samples_.nonzeros(static_cast<std::size_t>(id), index.data(), value.data());
      index_.insert(index_.end(), index.begin(), index.begin() + static_cast<std::ptrdiff_t>(nnz));
      value_.insert(value_.end(), value.begin(), value.begin() + static_cast<std::ptrdiff_t>(nnz));
      norms_[begin_.size() - 1] = squared_norm(value.data(), nnz);
      begin_.push_back(index_.size());
    }
  }

  T norm_of_bits(std::size_t ones) const {
    return static_cast<T>(geometry_.one * geometry_.one * static_cast<double>(ones));
  }

  // Room for more, the new part of it 0.
  template <class V>
  static void make_room(Buffer<V>& memory, std::size_t used, std::size_t needed) {
    if (needed <= memory.size()) return;
    Buffer<V> larger(needed + needed / 4);
    std::copy_n(memory.data(), used, larger.data());
    std::fill(larger.data() + used, larger.data() + larger.size(), V(0));
    memory = std::move(larger);
  }

  void pack_all_bits(ThreadTeam& team) {
    const std::size_t words = geometry_.words(), width = geometry_.width;
    bits_ = Buffer<std::uint32_t>(panels() * words * width + overrun);
    team.share(panels(), [&](std::size_t p, std::size_t) {
      std::uint32_t* panel = bits_.data() + p * words * width;
      std::vector<std::uint32_t> column(words);
      for (std::size_t c = 0; c < width; ++c) {
        const std::size_t at = p * width + c;
        if (at < size())
          norms_[at] = norm_of_bits(pack_bits(samples_, ids_[at], geometry_, column.data()));
        else
          std::fill(column.begin(), column.end(), 0u);
        for (std::size_t k = 0; k < words; ++k) panel[k * width + c] = column[k];
      }
    });
  }

  const Samples& samples_;
  Geometry geometry_;
  std::vector<Id> ids_;
  Buffer<std::uint32_t> bits_;
  std::vector<T> norms_;
  Buffer<T> dense_;
  std::vector<std::int32_t> index_;
  std::vector<T> value_;
  std::vector<std::size_t> begin_{0};
};

// The rows of one block request, gathered once and read by every panel.
template <class T>
struct PackedRows {
  std::size_t count = 0;
  std::vector<T> norms;
  Buffer<T> dense;                  // count x dimension; or, for sparse_columns, groups of [dimension][sparse_lanes]
  std::vector<std::int32_t> index;  // sparse_rows
  std::vector<T> value;
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> bits;  // [count][words]

  PackedRows(const Samples& samples, std::span<const Id> ids, const Geometry& geometry)
      : count(ids.size()), norms(ids.size()) {
    const std::size_t d = geometry.dimension;
    if (geometry.layout == Layout::bits) {
      bits.resize(count * geometry.words());
      for (std::size_t r = 0; r < count; ++r)
        norms[r] = static_cast<T>(
            geometry.one * geometry.one *
            static_cast<double>(pack_bits(samples, ids[r], geometry, bits.data() + r * geometry.words())));
      return;
    }
    if (geometry.layout == Layout::sparse_rows || geometry.layout == Layout::sparse_columns) {
      std::vector<std::int32_t> row_index(d);
      std::vector<T> row_value(d);
      const bool lanes = geometry.layout == Layout::sparse_columns;
      if (lanes) {
        dense = Buffer<T>((count + simd::sparse_lanes - 1) / simd::sparse_lanes * simd::sparse_lanes * d);
        std::fill(dense.data(), dense.data() + dense.size(), T(0));
      }
      begin.assign(1, 0);
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t nnz = samples.nonzeros(static_cast<std::size_t>(ids[r]), row_index.data(), row_value.data());
        norms[r] = squared_norm(row_value.data(), nnz);
        if (lanes) {
          T* group = dense.data() + r / simd::sparse_lanes * simd::sparse_lanes * d;
          for (std::size_t t = 0; t < nnz; ++t)
            group[static_cast<std::size_t>(row_index[t]) * simd::sparse_lanes + r % simd::sparse_lanes] = row_value[t];
        } else {
          index.insert(index.end(), row_index.begin(), row_index.begin() + static_cast<std::ptrdiff_t>(nnz));
          value.insert(value.end(), row_value.begin(), row_value.begin() + static_cast<std::ptrdiff_t>(nnz));
          begin.push_back(index.size());
        }
      }
      return;
    }
    dense = Buffer<T>(count * d);
    for (std::size_t r = 0; r < count; ++r) {
      samples.copy_row(static_cast<std::size_t>(ids[r]), geometry.shift_or_null(), dense.data() + r * d);
      norms[r] = squared_norm(dense.data() + r * d, d);
    }
  }
};

}  // namespace widemargin
