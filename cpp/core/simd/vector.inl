// One vector source for every instruction set, written in GCC/Clang vector extensions. The including file sets
// WIDEMARGIN_SIMD_NAMESPACE and WIDEMARGIN_SIMD_BYTES and is compiled with the matching machine flags. Nothing from the
// standard library is used here: an inline function compiled with wider flags could be picked by the linker for
// everybody.
#include "core/simd/ops.hpp"

#include <immintrin.h>

#include "core/simd/numbers.inl"  // first: the others are written in its terms

#include "core/simd/kernel_values.inl"
#include "core/simd/steps.inl"

namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE {

template <class T>
const Ops<T>& table() {
  static constexpr Ops<T> ops{.gaussian = gaussian<T>,
                              .gaussian_from_dot = gaussian_from_dot<T>,
                              .squared_distances = squared_distances<T>,
                              .toggle_feature = toggle_feature<T>,
                              .dot_products = dot_products<T>,
                              .nearest_columns = nearest_columns<T>,
                              .add_moments = add_moments<T>,
                              .sparse_times_panel = sparse_times_panel<T>,
                              .sparse_times_lanes = sparse_times_lanes<T>,
                              .common_bits = common_bits<T>,
                              .gaussian_from_bits = gaussian_from_bits<T>,
                              .power = power<T>,
                              .smallest = smallest<T>,
                              .pick = pick<T>,
                              .maximal_violating_pair = maximal_violating_pair<double>,
                              .move = move<T>,
                              .best_newton_partner = best_newton_partner<T>,
                              .best_newton_riser = best_newton_riser<T>,
                              .best_ascending_partner = best_ascending_partner<T>,
                              .best_descending_partner = best_descending_partner<T>,
                              .subtract_rows = subtract_rows<T>,
                              .sum_rows = sum_rows<T>,
                              .vote = vote,
                              .add_and_dot = add_and_dot<T>,
                              .dot = dot<T>};
  return ops;
}
template <>
const Ops<Fraction>& table<Fraction>() {
  static constexpr Ops<Fraction> ops{.from_floats = from_floats,
                                     .pick = pick<Fraction>,
                                     .maximal_violating_pair = maximal_violating_pair<float>,
                                     .move = move<Fraction>,
                                     .best_newton_partner = best_newton_partner<Fraction>,
                                     .best_ascending_partner = best_ascending_partner<Fraction>,
                                     .subtract_rows = subtract_rows<Fraction>};
  return ops;
}
template const Ops<float>& table<float>();
template const Ops<double>& table<double>();

}  // namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE
