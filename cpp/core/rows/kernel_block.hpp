// Blocks of kernel values: packed rows against packed columns, tile by tile, the kernel applied while a tile is still
// in cache.
#pragma once

#include <algorithm>
#include <vector>

#include "core/linear_algebra/blas.hpp"
#include "core/rows/panels.hpp"

namespace widemargin {

template <class T>
class KernelBlock {
 public:
  KernelBlock(const KernelFunction& kernel, const PackedRows<T>& rows, const Panels<T>& columns)
      : kernel_(kernel),
        rows_(rows),
        columns_(columns),
        d_(columns.geometry().dimension),
        width_(columns.geometry().width) {}

  // out[r][c - first] for all rows and first <= c < last. The tiles are the same for any number of threads.
  void compute(std::size_t first, std::size_t last, T* const* out, ThreadTeam& team) const {
    if (first >= last || rows_.count == 0) return;
    const std::size_t first_panel = first / width_, n_panels = (last - 1) / width_ + 1 - first_panel;
    const std::size_t groups = (rows_.count + row_group - 1) / row_group;
    const auto tile = [&](std::size_t piece, T* scratch) {
      const std::size_t panel = first_panel + piece / groups, group = piece % groups;
      const std::size_t c0 = std::max(first, panel * width_), c1 = std::min(last, (panel + 1) * width_);
      compute_tile(panel, c0, c1, group * row_group, std::min(rows_.count, (group + 1) * row_group), first, out,
                   scratch);
    };
    const bool tiny = rows_.count * (last - first) * (d_ + 16) < 100'000;
    if (tiny || team.size() == 1) {
      const Scratch<T, KernelBlock> memory(row_group * width_);
      for (std::size_t piece = 0; piece < n_panels * groups; ++piece) tile(piece, memory.data());
    } else {
      team.share(n_panels * groups, [&](std::size_t piece, std::size_t) {
        tile(piece, Scratch<T, KernelBlock>(row_group * width_).data());
      });
    }
  }

 private:
  static constexpr std::size_t row_group = 64;
  static constexpr std::size_t few_rows = 4;

  void compute_tile(std::size_t panel, std::size_t c0, std::size_t c1, std::size_t r0, std::size_t r1,
                    std::size_t first, T* const* out, T* scratch) const {
    const typename Panels<T>::View view = columns_.view(panel);
    const std::size_t offset = c0 - panel * width_, w = c1 - c0;
    const simd::Ops<T>& ops = simd::ops<T>();
    switch (columns_.geometry().layout) {
      case Layout::bits: {
        const Geometry& geometry = columns_.geometry();
        if (kernel_.kind == KernelKind::gaussian) {
          T* targets[row_group];
          for (std::size_t r = r0; r < r1; ++r) targets[r - r0] = out[r] + (c0 - first);
          ops.gaussian_from_bits(view.bits + offset, width_, w, rows_.bits.data() + r0 * geometry.words(), r1 - r0,
                                 geometry.words(), static_cast<T>(kernel_.gamma * geometry.one * geometry.one),
                                 geometry.table_or_null(T{}), targets);
          return;
        }
        ops.common_bits(view.bits + offset, width_, w, rows_.bits.data() + r0 * geometry.words(), r1 - r0,
                        geometry.words(), static_cast<T>(geometry.one * geometry.one), scratch, width_);
        for (std::size_t r = r0; r < r1; ++r) finish(r, c0, w, scratch + (r - r0) * width_, out[r] + (c0 - first));
        return;
      }
      case Layout::distances:
        for (std::size_t r = r0; r < r1; r += 16) {
          const std::size_t some = std::min<std::size_t>(16, r1 - r);
          ops.squared_distances(view.dense + offset, width_, w, rows_.dense.data() + r * d_, some, d_, scratch, width_);
          for (std::size_t s = 0; s < some; ++s) kernel_.from_base(scratch + s * width_, out[r + s] + (c0 - first), w);
        }
        return;
      case Layout::products:
        if (r1 - r0 < few_rows)
          ops.dot_products(view.dense + offset, width_, w, rows_.dense.data() + r0 * d_, r1 - r0, d_, scratch, width_);
        else
          blas::gemm(static_cast<int>(w), static_cast<int>(r1 - r0), static_cast<int>(d_), view.dense + offset,
                     static_cast<int>(width_), rows_.dense.data() + r0 * d_, static_cast<int>(d_), scratch,
                     static_cast<int>(width_));
        if (w == 1) return finish_column(c0, r0, r1, scratch, out, c0 - first);
        for (std::size_t r = r0; r < r1; ++r) finish(r, c0, w, scratch + (r - r0) * width_, out[r] + (c0 - first));
        return;
      case Layout::sparse_rows:
        for (std::size_t r = r0; r < r1; ++r) {
          const std::size_t begin = rows_.begin[r];
          ops.sparse_times_panel(view.dense + offset, width_, w, rows_.index.data() + begin, rows_.value.data() + begin,
                                 rows_.begin[r + 1] - begin, scratch);
          finish(r, c0, w, scratch, out[r] + (c0 - first));
        }
        return;
      case Layout::sparse_columns:
        for (std::size_t r = r0; r < r1; r += simd::sparse_lanes) {
          const std::size_t some = std::min(simd::sparse_lanes, r1 - r);
          T sums[simd::sparse_lanes];
          for (std::size_t c = 0; c < w; ++c) {
            const std::size_t begin = view.begin[offset + c];
            ops.sparse_times_lanes(rows_.dense.data() + r * d_, view.index + begin, view.value + begin,
                                   view.begin[offset + c + 1] - begin, sums);
            for (std::size_t s = 0; s < some; ++s) scratch[s * width_ + c] = sums[s];
          }
          for (std::size_t s = 0; s < some; ++s) finish(r + s, c0, w, scratch + s * width_, out[r + s] + (c0 - first));
        }
        return;
    }
  }

  void finish(std::size_t r, std::size_t c0, std::size_t w, const T* dot, T* out) const {
    kernel_.from_dot(dot, out, w, rows_.norms[r], columns_.norms() + c0);
  }

  // A single column, whose values are taken for a row: functions of many numbers at once are faster.
  void finish_column(std::size_t c, std::size_t r0, std::size_t r1, const T* dot, T* const* out, std::size_t at) const {
    T values[row_group];
    for (std::size_t r = r0; r < r1; ++r) values[r - r0] = dot[(r - r0) * width_];
    kernel_.from_dot(values, values, r1 - r0, columns_.norms()[c], rows_.norms.data() + r0);
    for (std::size_t r = r0; r < r1; ++r) out[r][at] = values[r - r0];
  }

  const KernelFunction& kernel_;
  const PackedRows<T>& rows_;
  const Panels<T>& columns_;
  std::size_t d_, width_;
};

}  // namespace widemargin
