// Squared distances over a subset of the features, kept as a matrix. A feature more or less changes every entry by one
// squared difference, d times less work than computing them anew [Lebrun2006, section 3: the kernel K_beta].
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/thread_team.hpp"
#include "core/simd/ops.hpp"

namespace widemargin {

// A feature that is taken in (sign 1) or left out (-1): its values in the samples behind rows and behind columns.
struct ToggledFeature {
  const float* of_rows;
  const float* of_columns;
  float sign;
};

// out = the distances (n_rows x n_columns) with the feature toggled; may be the same matrix.
inline void toggle_feature(const float* squared, std::size_t n_rows, std::size_t n_columns,
                           const ToggledFeature& feature, float* out, ThreadTeam& team) {
  constexpr std::size_t some_entries = std::size_t{1} << 16;
  const std::size_t strip = std::max<std::size_t>(1, some_entries / std::max<std::size_t>(n_columns, 1));
  team.share((n_rows + strip - 1) / strip, [&](std::size_t piece, std::size_t) {
    for (std::size_t r = piece * strip; r < std::min(n_rows, (piece + 1) * strip); ++r)
      simd::ops<float>().toggle_feature(squared + r * n_columns, feature.of_columns, feature.of_rows[r], feature.sign,
                                        out + r * n_columns, n_columns);
  });
}

// values[c] = sum_s coefficients[s] exp(-gamma d(rows[s], c)), where d are the distances, with a feature toggled if one
// is given. Sums are in double and the same for any number of threads.
inline void add_gaussian_rows(const float* squared, std::size_t n_columns, std::span<const Id> rows,
                              std::span<const double> coefficients, float gamma, const ToggledFeature* feature,
                              double* values, ThreadTeam& team) {
  constexpr std::size_t width = 512, at_once = 32;
  const std::vector<double> subtracted = [&] {
    std::vector<double> result(coefficients.begin(), coefficients.end());
    for (double& one : result) one = -one;
    return result;
  }();
  team.share((n_columns + width - 1) / width, [&](std::size_t piece, std::size_t) {
    const simd::Ops<float>& ops = simd::ops<float>();
    const std::size_t first = piece * width, some = std::min(width, n_columns - first);
    std::vector<float> block(at_once * width);
    const float* lines[at_once];
    for (std::size_t s = 0; s < rows.size(); s += at_once) {
      const std::size_t count = std::min(at_once, rows.size() - s);
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t row = static_cast<std::size_t>(rows[s + r]);
        const float* from = squared + row * n_columns + first;
        float* to = block.data() + r * width;
        lines[r] = to;
        if (feature != nullptr) {
          ops.toggle_feature(from, feature->of_columns + first, feature->of_rows[row], feature->sign, to, some);
          from = to;
        }
        ops.gaussian(from, to, some, gamma);
      }
      ops.subtract_rows(values + first, lines, subtracted.data() + s, count, 0, some);
    }
  });
}

}  // namespace widemargin
