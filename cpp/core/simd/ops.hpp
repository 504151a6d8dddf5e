// The loops that decide how fast the library is, each behind one function pointer.
//
// Implementations: `baseline` (plain scalar loops, the definition of what is meant), `avx2`, `avx512` and
// `avx512-popcount` (one source, vector.inl, compiled thrice). The best one this processor runs is chosen once; tests
// compare all of them with the baseline. WIDEMARGIN_SIMD=<name> narrows the choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/simd/fraction.hpp"

namespace widemargin::simd {

using Flag = std::int8_t;  // all bits set: yes; 0: no

// The maximal violating pair: i may rise and has the largest gradient of all that may, j may fall and has the smallest.
// The KKT violation is the difference of the two gradients.
struct MaximalViolatingPair {
  double up;       // max { G_n : n may rise }, -inf if there is none
  std::int64_t i;  // its first position, -1 if there is none
  double down;     // min { G_n : n may fall }, +inf if there is none
  std::int64_t j;
};

struct Partner {
  double gain;  // -1 if no candidate is a violating pair
  std::int64_t at;
};

// The scalars of a pair search around a fixed variable i.
struct Pivot {
  double gradient;   // G_i
  double diagonal;   // K_ii
  double room_up;    // U_i - a_i
  double room_down;  // a_i - L_i
};

// T is the storage type of kernel values; gradients and rooms are double. Where it only matters whether there is room,
// a flag says so.
template <class T>
struct Ops {
  // out = exp(-gamma * max(squared, 0)) for squared distances
  void (*gaussian)(const T* squared, T* out, std::size_t n, T gamma);
  // out = exp(-gamma * max(row_norm + norms - 2 dot, 0)) for dot products
  void (*gaussian_from_dot)(const T* dot, T* out, std::size_t n, T gamma, T row_norm, const T* norms);
  // out[r][c] = sum_k (rows[r * d + k] - panel[k * width + c])^2 for c < w
  void (*squared_distances)(const T* panel, std::size_t width, std::size_t w, const T* rows, std::size_t n_rows,
                            std::size_t d, T* out, std::size_t stride);
  // out = max(squared + sign (x - z)^2, 0): squared distances to one sample with a feature more (sign 1) or less (-1),
  // in which it is z and the others are x; out may be squared
  void (*toggle_feature)(const T* squared, const T* x, T z, T sign, T* out, std::size_t n);
  // out[r][c] = sum_k rows[r * d + k] * panel[k * width + c] for c < w; for a few rows, where GEMM does not pay
  void (*dot_products)(const T* panel, std::size_t width, std::size_t w, const T* rows, std::size_t n_rows,
                       std::size_t d, T* out, std::size_t stride);
  // nearest[r] = the c < w with the largest sum_k rows[r * d + k] * column_c[k] - offsets[c], the first of them: the
  // nearest column, if offsets are half their squared norms. Columns lie in strips of `nearest_strip`, each of which
  // holds d lines; those that fill up the last strip have an infinite offset.
  void (*nearest_columns)(const T* strips, const T* offsets, std::size_t w, const T* rows, std::size_t n_rows,
                          std::size_t d, std::int32_t* nearest);
  // sums += weight * y and squares += weight * y^2 for y = scale * (row - origin)
  void (*add_moments)(const T* row, const T* origin, T scale, T weight, T* sums, T* squares, std::size_t n);
  // out[c] = sum_t value[t] * panel[index[t] * width + c] for c < w
  void (*sparse_times_panel)(const T* panel, std::size_t width, std::size_t w, const std::int32_t* index,
                             const T* value, std::size_t nnz, T* out);
  // out[r] = sum_t value[t] * lanes[index[t] * sparse_lanes + r] for all `sparse_lanes` rows at once
  void (*sparse_times_lanes)(const T* lanes, const std::int32_t* index, const T* value, std::size_t nnz, T* out);
  // out[r][c] = scale * (number of ones that rows[r * words ..] and column c of panel[k * width + c] have in common)
  // for c < w
  void (*common_bits)(const std::uint32_t* panel, std::size_t width, std::size_t w, const std::uint32_t* rows,
                      std::size_t n_rows, std::size_t words, T scale, T* out, std::size_t stride);
  // out[r][c] = exp(-gamma * (number of bits in which row r and column c differ)); table[k] = exp(-gamma k) for
  // k < gaussian_table, or null if there may be larger numbers
  void (*gaussian_from_bits)(const std::uint32_t* panel, std::size_t width, std::size_t w, const std::uint32_t* rows,
                             std::size_t n_rows, std::size_t words, T gamma, const T* table, T* const* out);
  // values <- values^power for values in [0, 1] and power > 0
  void (*power)(T* values, std::size_t n, T power);
  T (*smallest)(const T* values, std::size_t n);
  // The values whose bits are set, 16 to a mask, in order; there are `count` of them. Always true.
  bool (*pick)(const float* row, const std::uint16_t* masks, std::size_t n_masks, T* out, std::size_t count);

  MaximalViolatingPair (*maximal_violating_pair)(const double* G, const Flag* rises, const Flag* falls, std::size_t n);
  // G <- G - mu (K_i - K_j), and the new maximal violating pair [Glasmachers2008, Algorithm 4.2, steps 3 and 4]
  MaximalViolatingPair (*move)(double* G, const T* Ki, const T* Kj, double mu, const Flag* rises, const Flag* falls,
                               std::size_t n);
  // max over j in I_down with G_j < G_i of the Newton gain (G_i - G_j)^2 / (K_ii + K_jj - 2 K_ij) [Glasmachers2008,
  // eq. 4.6, 4.7]
  Partner (*best_newton_partner)(const double* G, const T* Ki, const T* diagonal, const Flag* falls, std::size_t n,
                                 Pivot i);
  // the same with i as the descending variable, over j in I_up with G_j > G_i
  Partner (*best_newton_riser)(const double* G, const T* Ki, const T* diagonal, const Flag* rises, std::size_t n,
                               Pivot i);
  // best_newton_partner with the gain of the truncated step, over all j that form a violating pair with i as the
  // ascending variable
  Partner (*best_ascending_partner)(const double* G, const T* Ki, const T* diagonal, const double* room_down,
                                    std::size_t n, Pivot i);
  // ... and with i as the descending variable
  Partner (*best_descending_partner)(const double* G, const T* Ki, const T* diagonal, const double* room_up,
                                     std::size_t n, Pivot i);
  // G[c] -= sum_r coefficient[r] * rows[r][c], accumulated in double
  void (*subtract_rows)(double* G, const T* const* rows, const double* coefficient, std::size_t n_rows,
                        std::size_t first, std::size_t last);
  // out[c] = start + sum_r coefficient[r] * rows[r][c], accumulated in double
  void (*sum_rows)(const T* const* rows, const double* coefficient, std::size_t n_rows, double start, double* out,
                   std::size_t n);
  // What n decision values of two classes add to the votes and to the sums of either: a value below 0 is a vote for the
  // second one.
  void (*vote)(const double* values, double* first, double* second, double* first_sums, double* second_sums,
               std::size_t n);
  // sums += weight * row, and the dot product of row and x, both accumulated in double
  double (*add_and_dot)(const T* row, const double* x, double weight, double* sums, std::size_t n);
  // the dot product of row and x, accumulated in double
  double (*dot)(const T* row, const double* x, std::size_t n);
};

// The loops of an SMO step over fractions, with gradients in float.
template <>
struct Ops<Fraction> {
  // The nearest fractions; false if a value lies outside of [0, 1].
  bool (*from_floats)(const float* values, Fraction* out, std::size_t n);
  // The nearest fractions to the values whose bits are set, 16 to a mask, in order; there are `count` of them. False as
  // above.
  bool (*pick)(const float* row, const std::uint16_t* masks, std::size_t n_masks, Fraction* out, std::size_t count);
  MaximalViolatingPair (*maximal_violating_pair)(const float* G, const Flag* rises, const Flag* falls, std::size_t n);
  MaximalViolatingPair (*move)(float* G, const Fraction* Ki, const Fraction* Kj, double mu, const Flag* rises,
                               const Flag* falls, std::size_t n);
  Partner (*best_newton_partner)(const float* G, const Fraction* Ki, const float* diagonal, const Flag* falls,
                                 std::size_t n, Pivot i);
  Partner (*best_ascending_partner)(const float* G, const Fraction* Ki, const float* diagonal, const double* room_down,
                                    std::size_t n, Pivot i);
  void (*subtract_rows)(float* G, const Fraction* const* rows, const double* coefficient, std::size_t n_rows,
                        std::size_t first, std::size_t last);
};

inline constexpr std::size_t sparse_lanes = 16;
inline constexpr std::size_t nearest_strip = 48;
inline constexpr std::size_t gaussian_table = 128;
// Directions of (nearly) no curvature (duplicates, indefinite kernels) are treated as having this one; `diagonal` is
// that of either variable, for they have the same where there is no curvature.
template <class R>
R least_curvature(double diagonal) {
  const R least = static_cast<R>(1e-12 * (diagonal < 0 ? -diagonal : diagonal));
  return least > std::numeric_limits<R>::min() ? least : std::numeric_limits<R>::min();
}

template <class T>
const Ops<T>& ops();  // the implementation in use
template <>
const Ops<float>& ops<float>();
template <>
const Ops<double>& ops<double>();
template <>
const Ops<Fraction>& ops<Fraction>();
const char* ops_name();   // throws, as all of these do at first, if WIDEMARGIN_SIMD names none that this processor runs
bool counts_bits_fast();  // the implementation in use has an instruction for it
bool use_ops(const char* name);  // false if this processor cannot run it or the name is unknown

namespace baseline {
template <class T>
const Ops<T>& table();
}
namespace avx2 {
template <class T>
const Ops<T>& table();
}
namespace avx512 {
template <class T>
const Ops<T>& table();
}
namespace avx512_popcount {
template <class T>
const Ops<T>& table();
}

}  // namespace widemargin::simd
