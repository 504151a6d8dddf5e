// Distances over subsets of the features, from and to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <span>
#include <stdexcept>

#include "bindings/sources.hpp"
#include "core/matrices/feature_distances.hpp"

namespace widemargin::bindings {

using WritableMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WritableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline ToggledFeature toggled(const Matrix<float>& squared, const Vector<float>& of_rows,
                              const Vector<float>& of_columns, bool taken_in) {
  if (of_rows.shape(0) != squared.shape(0) || of_columns.shape(0) != squared.shape(1))
    throw std::invalid_argument("the feature and the distances differ in their numbers of samples");
  return {of_rows.data(), of_columns.data(), taken_in ? 1.0f : -1.0f};
}

inline void toggle_feature_of(Matrix<float> squared, Vector<float> of_rows, Vector<float> of_columns, bool taken_in,
                              WritableMatrix out, std::size_t n_threads) {
  if (out.shape(0) != squared.shape(0) || out.shape(1) != squared.shape(1))
    throw std::invalid_argument("out and the distances differ in shape");
  const ToggledFeature feature = toggled(squared, of_rows, of_columns, taken_in);
  nb::gil_scoped_release free;
  ThreadTeam team(n_threads);
  toggle_feature(squared.data(), squared.shape(0), squared.shape(1), feature, out.data(), team);
}

inline void add_gaussian_rows_of(Matrix<float> squared, Vector<Id> rows, Vector<double> coefficients, double gamma,
                                 std::optional<Vector<float>> of_rows, std::optional<Vector<float>> of_columns,
                                 bool taken_in, WritableVector values, std::size_t n_threads) {
  if (rows.shape(0) != coefficients.shape(0) || values.shape(0) != squared.shape(1))
    throw std::invalid_argument("rows, coefficients and values do not fit together");
  for (std::size_t s = 0; s < rows.shape(0); ++s)
    if (rows.data()[s] < 0 || static_cast<std::size_t>(rows.data()[s]) >= squared.shape(0))
      throw std::invalid_argument("a row lies outside of the distances");
  if (of_rows.has_value() != of_columns.has_value())
    throw std::invalid_argument("a feature that is toggled needs its values of rows and of columns");
  std::optional<ToggledFeature> feature;
  if (of_rows) feature = toggled(squared, *of_rows, *of_columns, taken_in);
  nb::gil_scoped_release free;
  ThreadTeam team(n_threads);
  add_gaussian_rows(squared.data(), squared.shape(1), {rows.data(), rows.shape(0)},
                    {coefficients.data(), coefficients.shape(0)}, static_cast<float>(gamma),
                    feature ? &*feature : nullptr, values.data(), team);
}

}  // namespace widemargin::bindings
