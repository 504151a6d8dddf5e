// A whole kernel matrix. Of a symmetric one only the upper tiles are computed; each is mirrored while it is in cache.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/outcome.hpp"
#include "core/rows/kernel_rows.hpp"

namespace widemargin {

template <class T>
void transpose(const T* from, std::size_t from_stride, std::size_t n_rows, std::size_t n_columns, T* to,
               std::size_t to_stride) {
  constexpr std::size_t tile = 16;
  for (std::size_t r0 = 0; r0 < n_rows; r0 += tile)
    for (std::size_t c0 = 0; c0 < n_columns; c0 += tile)
      for (std::size_t c = c0; c < std::min(c0 + tile, n_columns); ++c)
        for (std::size_t r = r0; r < std::min(r0 + tile, n_rows); ++r)
          to[c * to_stride + r] = from[r * from_stride + c];
}

// Throws Stopped if the deadline ends it.
template <class T>
void kernel_matrix(const KernelRows& source, const Samples& left, const Samples& right, bool symmetric, T* out,
                   ThreadTeam& team, Deadline& deadline) {
  constexpr std::size_t strip = 256;
  const std::size_t n = left.size(), m = right.size();
  std::vector<Id> ids(std::max(n, m));
  std::iota(ids.begin(), ids.end(), Id{0});
  const std::unique_ptr<Columns<T>> columns = source.pack<T>(right, {ids.data(), m}, true, team);
  // A member computes whole strips alone: rows of the strip against all columns from its diagonal on.
  const std::size_t strips = (n + strip - 1) / strip;
  const auto compute = [&](std::size_t s, std::size_t member) {
    ThreadTeam alone(1);
    const std::size_t r0 = s * strip, r1 = std::min(n, r0 + strip);
    std::vector<T*> rows(r1 - r0);
    const PackedRows<T> packed(left, {ids.data() + r0, r1 - r0}, source.geometry());
    const KernelBlock<T> block(source.kernel(), packed, static_cast<const Panels<T>&>(*columns));
    for (std::size_t c0 = symmetric ? r0 : 0; c0 < m; c0 += strip) {
      if (deadline.poll(member == 0)) return;
      const std::size_t c1 = std::min(m, c0 + strip);
      for (std::size_t r = r0; r < r1; ++r) rows[r - r0] = out + r * m + c0;
      block.compute(c0, c1, rows.data(), alone);
      if (symmetric && c0 > r0) transpose(out + r0 * m + c0, m, r1 - r0, c1 - c0, out + c0 * m + r0, m);
    }
    for (std::size_t r = r0; symmetric && r < r1; ++r)  // the diagonal tile, symmetric to the last bit
      for (std::size_t c = r0; c < r; ++c) out[r * m + c] = out[c * m + r];
  };
  const auto idle = [&] { deadline.poll(); };
  team.share(strips, compute,
             strips > 8 ? std::function<void()>(idle) : nullptr);  // few strips are done before it would matter
  if (deadline.stopped()) throw Stopped{deadline.reason()};
}

}  // namespace widemargin
