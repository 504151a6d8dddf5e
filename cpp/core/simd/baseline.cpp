// The scalar twins: what every vector version must equal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/simd/ops.hpp"

namespace widemargin::simd {

namespace baseline {
namespace {

template <class N>
MaximalViolatingPair maximal_violating_pair(const N* G, const Flag* rises, const Flag* falls, std::size_t n) {
  MaximalViolatingPair found{-std::numeric_limits<double>::infinity(), -1, std::numeric_limits<double>::infinity(), -1};
  for (std::size_t c = 0; c < n; ++c) {
    if (rises[c] != 0 && G[c] > found.up) found.up = G[c], found.i = static_cast<std::int64_t>(c);
    if (falls[c] != 0 && G[c] < found.down) found.down = G[c], found.j = static_cast<std::int64_t>(c);
  }
  return found;
}

template <class T>
void gaussian(const T* squared, T* out, std::size_t n, T gamma) {
  for (std::size_t c = 0; c < n; ++c) out[c] = std::exp(-gamma * std::max(squared[c], T(0)));
}

template <class T>
void gaussian_from_dot(const T* dot, T* out, std::size_t n, T gamma, T row_norm, const T* norms) {
  for (std::size_t c = 0; c < n; ++c) out[c] = std::exp(-gamma * std::max(row_norm + norms[c] - 2 * dot[c], T(0)));
}

template <class T>
void squared_distances(const T* panel, std::size_t width, std::size_t w, const T* rows, std::size_t n_rows,
                       std::size_t d, T* out, std::size_t stride) {
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < w; ++c) {
      T sum = 0;
      for (std::size_t k = 0; k < d; ++k) {
        const T difference = panel[k * width + c] - rows[r * d + k];
        sum += difference * difference;
      }
      out[r * stride + c] = sum;
    }
}

template <class T>
void toggle_feature(const T* squared, const T* x, T z, T sign, T* out, std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) out[c] = std::max(squared[c] + sign * (x[c] - z) * (x[c] - z), T(0));
}

template <class T>
void dot_products(const T* panel, std::size_t width, std::size_t w, const T* rows, std::size_t n_rows, std::size_t d,
                  T* out, std::size_t stride) {
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < w; ++c) {
      T sum = 0;
      for (std::size_t k = 0; k < d; ++k) sum += rows[r * d + k] * panel[k * width + c];
      out[r * stride + c] = sum;
    }
}

template <class T>
void nearest_columns(const T* strips, const T* offsets, std::size_t w, const T* rows, std::size_t n_rows, std::size_t d,
                     std::int32_t* nearest) {
  for (std::size_t r = 0; r < n_rows; ++r) {
    T best = -std::numeric_limits<T>::infinity();
    nearest[r] = 0;
    for (std::size_t c = 0; c < w; ++c) {
      const T* column = strips + c / nearest_strip * nearest_strip * d + c % nearest_strip;
      T sum = -offsets[c];
      for (std::size_t k = 0; k < d; ++k) sum += rows[r * d + k] * column[k * nearest_strip];
      if (sum > best) best = sum, nearest[r] = static_cast<std::int32_t>(c);
    }
  }
}

template <class T>
void add_moments(const T* row, const T* origin, T scale, T weight, T* sums, T* squares, std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) {
    const T y = scale * (row[c] - origin[c]);
    sums[c] += weight * y;
    squares[c] += weight * y * y;
  }
}

template <class T>
void sparse_times_panel(const T* panel, std::size_t width, std::size_t w, const std::int32_t* index, const T* value,
                        std::size_t nnz, T* out) {
  std::fill(out, out + w, T(0));
  for (std::size_t t = 0; t < nnz; ++t)
    for (std::size_t c = 0; c < w; ++c) out[c] += value[t] * panel[static_cast<std::size_t>(index[t]) * width + c];
}

template <class T>
void sparse_times_lanes(const T* lanes, const std::int32_t* index, const T* value, std::size_t nnz, T* out) {
  std::fill(out, out + sparse_lanes, T(0));
  for (std::size_t t = 0; t < nnz; ++t)
    for (std::size_t r = 0; r < sparse_lanes; ++r)
      out[r] += value[t] * lanes[static_cast<std::size_t>(index[t]) * sparse_lanes + r];
}

template <class T>
void common_bits(const std::uint32_t* panel, std::size_t width, std::size_t w, const std::uint32_t* rows,
                 std::size_t n_rows, std::size_t words, T scale, T* out, std::size_t stride) {
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < w; ++c) {
      int count = 0;
      for (std::size_t k = 0; k < words; ++k) count += std::popcount(rows[r * words + k] & panel[k * width + c]);
      out[r * stride + c] = scale * static_cast<T>(count);
    }
}

template <class T>
void gaussian_from_bits(const std::uint32_t* panel, std::size_t width, std::size_t w, const std::uint32_t* rows,
                        std::size_t n_rows, std::size_t words, T gamma, const T*, T* const* out) {
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < w; ++c) {
      int count = 0;
      for (std::size_t k = 0; k < words; ++k) count += std::popcount(rows[r * words + k] ^ panel[k * width + c]);
      out[r][c] = std::exp(-gamma * static_cast<T>(count));
    }
}

template <class T>
void power(T* values, std::size_t n, T power) {
  for (std::size_t c = 0; c < n; ++c) values[c] = std::pow(values[c], power);
}

template <class T>
T smallest(const T* values, std::size_t n) {
  return n == 0 ? T(0) : *std::min_element(values, values + n);
}

template <class T>
MaximalViolatingPair move(Slope<T>* G, const T* Ki, const T* Kj, double mu, const Flag* rises, const Flag* falls,
                          std::size_t n) {
  for (std::size_t c = 0; c < n; ++c)
    G[c] = static_cast<Slope<T>>(G[c] - mu * (static_cast<double>(Ki[c]) - static_cast<double>(Kj[c])));
  return maximal_violating_pair(G, rises, falls, n);
}

// Both orientations of a Newton step; `sign` is +1 where i ascends and -1 where it descends.
template <class T>
Partner best_newton(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* may, std::size_t n, Pivot i,
                    double sign) {
  Partner best{-1, -1};
  for (std::size_t c = 0; c < n; ++c) {
    const double slope = sign * (i.gradient - G[c]);
    if (!(may[c] != 0 && slope > 0)) continue;
    const double curvature = std::max<double>(i.diagonal + diagonal[c] - 2.0 * static_cast<double>(Ki[c]),
                                              least_curvature<Real<T>>(i.diagonal));
    const double gain = slope * slope / curvature;
    if (gain > best.gain) best = {gain, static_cast<std::int64_t>(c)};
  }
  return best;
}

template <class T>
Partner best_newton_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* falls, std::size_t n,
                            Pivot i) {
  return best_newton(G, Ki, diagonal, falls, n, i, 1.0);
}

template <class T>
Partner best_newton_riser(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* rises, std::size_t n,
                          Pivot i) {
  return best_newton(G, Ki, diagonal, rises, n, i, -1.0);
}

// g_B of [Glasmachers2008, section 4.3.5]: the gain of the step truncated at the box.
double truncated_gain(double slope, double curvature, double room) {
  const double mu = std::min(slope / curvature, room);
  return mu * (slope - 0.5 * curvature * mu);
}

template <class T>
Partner best_ascending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_down,
                               std::size_t n, Pivot i) {
  Partner best{-1, -1};
  for (std::size_t c = 0; c < n; ++c) {
    const double slope = i.gradient - G[c];
    const double room = std::min(i.room_up, room_down[c]);
    if (!(room > 0 && slope > 0)) continue;
    const double gain = truncated_gain(slope,
                                       std::max<double>(i.diagonal + diagonal[c] - 2.0 * static_cast<double>(Ki[c]),
                                                        least_curvature<Real<T>>(i.diagonal)),
                                       room);
    if (gain > best.gain) best = {gain, static_cast<std::int64_t>(c)};
  }
  return best;
}

template <class T>
Partner best_descending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_up,
                                std::size_t n, Pivot i) {
  Partner best{-1, -1};
  for (std::size_t c = 0; c < n; ++c) {
    const double slope = G[c] - i.gradient;
    const double room = std::min(i.room_down, room_up[c]);
    if (!(room > 0 && slope > 0)) continue;
    const double gain = truncated_gain(slope,
                                       std::max<double>(i.diagonal + diagonal[c] - 2.0 * static_cast<double>(Ki[c]),
                                                        least_curvature<Real<T>>(i.diagonal)),
                                       room);
    if (gain > best.gain) best = {gain, static_cast<std::int64_t>(c)};
  }
  return best;
}

template <class T>
void subtract_rows(Slope<T>* G, const T* const* rows, const double* coefficient, std::size_t n_rows, std::size_t first,
                   std::size_t last) {
  for (std::size_t c = first; c < last; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < n_rows; ++r) sum += coefficient[r] * static_cast<double>(rows[r][c]);
    G[c] = static_cast<Slope<T>>(G[c] - sum);
  }
}

template <class T>
void sum_rows(const T* const* rows, const double* coefficient, std::size_t n_rows, double start, double* out,
              std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < n_rows; ++r) sum += coefficient[r] * static_cast<double>(rows[r][c]);
    out[c] = sum + start;
  }
}

void vote(const double* values, double* first, double* second, double* first_sums, double* second_sums, std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) {
    first[c] += values[c] < 0 ? 0 : 1, second[c] += values[c] < 0 ? 1 : 0;
    first_sums[c] += values[c], second_sums[c] -= values[c];
  }
}

template <class T>
double add_and_dot(const T* row, const double* x, double weight, double* sums, std::size_t n) {
  double dot = 0;
  for (std::size_t c = 0; c < n; ++c) {
    const double value = static_cast<double>(row[c]);
    sums[c] += weight * value, dot += x[c] * value;
  }
  return dot;
}

template <class T>
double dot(const T* row, const double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t c = 0; c < n; ++c) sum += x[c] * static_cast<double>(row[c]);
  return sum;
}

bool from_floats(const float* values, Fraction* out, std::size_t n) {
  bool inside = true;
  for (std::size_t c = 0; c < n; ++c) {
    inside = inside && values[c] >= 0.0f && values[c] <= 1.0f;
    out[c].parts = static_cast<std::uint16_t>(std::clamp(values[c], 0.0f, 1.0f) * 65535.0f + 0.5f);
  }
  return inside;
}

template <class T>
bool pick(const float* row, const std::uint16_t* masks, std::size_t n_masks, T* out, std::size_t) {
  bool held = true;
  for (std::size_t b = 0; b < n_masks; ++b)
    for (unsigned left = masks[b]; left != 0; left &= left - 1, ++out) {
      const float value = row[16 * b + static_cast<std::size_t>(std::countr_zero(left))];
      if constexpr (std::is_same_v<T, Fraction>)
        held = from_floats(&value, out, 1) && held;
      else
        *out = value;
    }
  return held;
}

}  // namespace

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

}  // namespace baseline
}  // namespace widemargin::simd
