// One vector source for every instruction set, written in GCC/Clang vector extensions. The including file sets
// WIDEMARGIN_SIMD_NAMESPACE and WIDEMARGIN_SIMD_BYTES and is compiled with the matching machine flags. Nothing from the standard
// library is used here: an inline function compiled with wider flags could be picked by the linker for everybody.
#include "core/simd/ops.hpp"

#include <immintrin.h>

namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE {
namespace {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;

constexpr size_t bytes = WIDEMARGIN_SIMD_BYTES;
constexpr size_t wide = bytes / sizeof(double);  // doubles in a vector
constexpr double infinity = __builtin_inf();

template <class T, size_t N>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, size_t N>
using Vec = typename VectorOf<T, N>::type;

template <class V, class T>
inline V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <class V, class T>
inline void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}
template <class V, class T>
inline V splat(T x) {
  return V{} + x;
}
template <class V>
inline V max_of(V a, V b) {
  return a > b ? a : b;
}
template <class V>
inline V min_of(V a, V b) {
  return a < b ? a : b;
}

using Doubles = Vec<double, wide>;
using Floats = Vec<float, 2 * wide>;
template <class N>
using Numbers = Vec<N, bytes / sizeof(N)>;

// choose: `values` where a flag is set, `others` elsewhere. max_where, min_where: the larger, or smaller, of both where a flag is set, what
// there was so far elsewhere.
#if WIDEMARGIN_SIMD_BYTES == 64
inline __mmask8 mask_of_8(const Flag* flags) { return static_cast<__mmask8>(_mm_movepi8_mask(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(flags)))); }
inline __mmask16 mask_of_16(const Flag* flags) { return _mm_movepi8_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(flags))); }
inline Doubles choose(const Flag* flags, Doubles values, Doubles others) {
  return (Doubles)_mm512_mask_mov_pd((__m512d)others, mask_of_8(flags), (__m512d)values);
}
inline Floats choose(const Flag* flags, Floats values, Floats others) {
  return (Floats)_mm512_mask_mov_ps((__m512)others, mask_of_16(flags), (__m512)values);
}
inline Doubles max_where(const Flag* flags, Doubles values, Doubles so_far) {
  return (Doubles)_mm512_mask_max_pd((__m512d)so_far, mask_of_8(flags), (__m512d)so_far, (__m512d)values);
}
inline Floats max_where(const Flag* flags, Floats values, Floats so_far) {
  return (Floats)_mm512_mask_max_ps((__m512)so_far, mask_of_16(flags), (__m512)so_far, (__m512)values);
}
inline Doubles min_where(const Flag* flags, Doubles values, Doubles so_far) {
  return (Doubles)_mm512_mask_min_pd((__m512d)so_far, mask_of_8(flags), (__m512d)so_far, (__m512d)values);
}
inline Floats min_where(const Flag* flags, Floats values, Floats so_far) {
  return (Floats)_mm512_mask_min_ps((__m512)so_far, mask_of_16(flags), (__m512)so_far, (__m512)values);
}
inline bool any_greater(Doubles a, Doubles b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0; }
inline bool any_greater(Floats a, Floats b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0; }
inline bool any_equal(Doubles a, Doubles b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ) != 0; }
inline bool any_equal(Floats a, Floats b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ) != 0; }
#else
inline Doubles choose(const Flag* flags, Doubles values, Doubles others) {
  const __m256i mask = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(load<int32_t>(flags)));
  return (Doubles)_mm256_blendv_pd((__m256d)others, (__m256d)values, _mm256_castsi256_pd(mask));
}
inline Floats choose(const Flag* flags, Floats values, Floats others) {
  const __m256i mask = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(flags)));
  return (Floats)_mm256_blendv_ps((__m256)others, (__m256)values, _mm256_castsi256_ps(mask));
}
template <class V>
inline V max_where(const Flag* flags, V values, V so_far) {
  return max_of(choose(flags, values, so_far), so_far);
}
template <class V>
inline V min_where(const Flag* flags, V values, V so_far) {
  return min_of(choose(flags, values, so_far), so_far);
}
inline bool any_greater(Doubles a, Doubles b) { return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ)) != 0; }
inline bool any_greater(Floats a, Floats b) { return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ)) != 0; }
inline bool any_equal(Doubles a, Doubles b) { return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ)) != 0; }
inline bool any_equal(Floats a, Floats b) { return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ)) != 0; }
#endif
inline Doubles load_as_double(const double* p) { return load<Doubles>(p); }
inline Doubles load_as_double(const float* p) {
#if WIDEMARGIN_SIMD_BYTES == 64
  return (Doubles)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#else
  return (Doubles)_mm256_cvtps_pd(_mm_loadu_ps(p));
#endif
}

inline Doubles load_as_double(const Fraction* p) {
#if WIDEMARGIN_SIMD_BYTES == 64
  return (Doubles)_mm512_maskz_cvtepi32_pd(0xff, _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))) * Fraction::unit;
#else
  return (Doubles)_mm256_cvtepi32_pd(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))) * Fraction::unit;
#endif
}
// G - mu (a - b)
template <class T>
inline Doubles moved(const double* G, const T* a, const T* b, double mu) {
  return load<Doubles>(G) - mu * (load_as_double(a) - load_as_double(b));
}
inline Floats moved(const float* G, const Fraction* a, const Fraction* b, double mu) {
#if WIDEMARGIN_SIMD_BYTES == 64
  const auto parts = [](const Fraction* p) { return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); };
  const Floats difference = (Floats)_mm512_maskz_cvtepi32_ps(0xffff, _mm512_sub_epi32(parts(a), parts(b)));
#else
  const auto parts = [](const Fraction* p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); };
  const Floats difference = (Floats)_mm256_cvtepi32_ps(_mm256_sub_epi32(parts(a), parts(b)));
#endif
  return load<Floats>(G) - static_cast<float>(mu * Fraction::unit) * difference;
}
// c - 2 a, for as many values as a vector holds gradients
template <class T>
inline Vec<T, wide> minus_twice(Vec<T, wide> c, const T* a) {
  return c - 2 * load<Vec<T, wide>>(a);
}
inline Floats minus_twice(Floats c, const Fraction* a) {
#if WIDEMARGIN_SIMD_BYTES == 64
  const Floats parts = (Floats)_mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a))));
#else
  const Floats parts = (Floats)_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))));
#endif
  return c - static_cast<float>(2 * Fraction::unit) * parts;
}

// exp for x <= 0: 2^k e^r with |r| <= ln(2)/2, e^r by its Taylor polynomial (relative error below one unit in the last place);
// results under the smallest normal number are 0. k is read off the low mantissa bits after adding 1.5 * 2^(mantissa width).
template <class T>
struct ExpParts;
template <>
struct ExpParts<float> {
  using Bits = int32_t;
  static constexpr float round_shift = 12582912.0f, log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f, least = -87.0f;
  static constexpr int mantissa = 23, bias = 127, degree = 7;
};
template <>
struct ExpParts<double> {
  using Bits = int64_t;
  static constexpr double round_shift = 6755399441055744.0, log2e = 1.4426950408889634, ln2_high = 6.93147180369123816490e-01,
                          ln2_low = 1.90821492927058770002e-10, least = -708.0;
  static constexpr int mantissa = 52, bias = 1023, degree = 13;
};
constexpr double inverse_factorial[] = {1.0,          1.0,           1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,        1.0 / 720,
                                        1.0 / 5040,   1.0 / 40320,   1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800,  1.0 / 479001600,  1.0 / 6227020800};

template <class T, class V>
inline V exp_nonpositive(V x) {
  using P = ExpParts<T>;
  using BitsVec = Vec<typename P::Bits, sizeof(V) / sizeof(T)>;
  const V bounded = max_of(x, splat<V>(P::least));
  const V shifted = bounded * P::log2e + P::round_shift;
  const V k = shifted - P::round_shift;
  const V r = (bounded - k * P::ln2_high) - k * P::ln2_low;
  V e = splat<V>(static_cast<T>(inverse_factorial[P::degree]));
  for (int t = P::degree - 1; t >= 0; --t) e = e * r + static_cast<T>(inverse_factorial[t]);
  const BitsVec scale = ((BitsVec)shifted + P::bias) << P::mantissa;
  return x < P::least ? V{} : e * (V)scale;
}

template <class V, class T>
inline V load_first(const T* p, size_t count) {
  if (count >= sizeof(V) / sizeof(T)) return load<V>(p);
  T lanes[sizeof(V) / sizeof(T)] = {};
  for (size_t l = 0; l < count; ++l) lanes[l] = p[l];
  return load<V>(lanes);
}

template <class V, class T>
inline void store_first(T* p, V v, size_t count) {
  if (count >= sizeof(V) / sizeof(T)) {
    store(p, v);
    return;
  }
  T lanes[sizeof(V) / sizeof(T)];
  store(lanes, v);
  for (size_t l = 0; l < count; ++l) p[l] = lanes[l];
}

template <class T>
void gaussian(const T* squared, T* out, size_t n, T gamma) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < n; c += step)
    store_first(out + c, exp_nonpositive<T>(-gamma * max_of(load_first<V>(squared + c, n - c), V{})), n - c);
}

template <class T>
void gaussian_from_dot(const T* dot, T* out, size_t n, T gamma, T row_norm, const T* norms) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < n; c += step) {
    const V squared = (row_norm + load_first<V>(norms + c, n - c)) - 2 * load_first<V>(dot + c, n - c);
    store_first(out + c, exp_nonpositive<T>(-gamma * max_of(squared, V{})), n - c);
  }
}

// What a strip adds up over the dimensions.
struct SquaredDifference {
  template <class V, class T>
  static inline void add(V& sum, V x, T z) {
    const V difference = x - z;
    sum += difference * difference;
  }
};
struct Product {
  template <class V, class T>
  static inline void add(V& sum, V x, T z) {
    sum += x * z;
  }
};

// R rows by strips of S vectors, all sums in registers. Panels are padded to a multiple of the strip.
template <class Term, int R, int S, class T>
inline void panel_strips(const T* panel, size_t width, size_t w, const T* rows, size_t d, T* out, size_t stride) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < w; c += S * step) {
    V sum[R][S] = {};
    for (size_t k = 0; k < d; ++k) {
      const T* line = panel + k * width + c;
      for (int s = 0; s < S; ++s) {
        const V x = load<V>(line + static_cast<size_t>(s) * step);
        for (int r = 0; r < R; ++r) Term::add(sum[r][s], x, rows[static_cast<size_t>(r) * d + k]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int s = 0; s < S; ++s) {
        const size_t at = c + static_cast<size_t>(s) * step;
        if (at < w) store_first(out + static_cast<size_t>(r) * stride + at, sum[r][s], w - at);
      }
  }
}

template <class Term, class T>
inline void panel_rows(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out, size_t stride) {
  size_t r = 0;
  for (; r + 4 <= n_rows; r += 4) panel_strips<Term, 4, 4>(panel, width, w, rows + r * d, d, out + r * stride, stride);
  for (; r < n_rows; ++r) panel_strips<Term, 1, 8>(panel, width, w, rows + r * d, d, out + r * stride, stride);
}

template <class T>
void squared_distances(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out, size_t stride) {
  panel_rows<SquaredDifference>(panel, width, w, rows, n_rows, d, out, stride);
}

template <class T>
void dot_products(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out, size_t stride) {
  panel_rows<Product>(panel, width, w, rows, n_rows, d, out, stride);
}

template <class T>
void sparse_times_panel(const T* panel, size_t width, size_t w, const int32_t* index, const T* value, size_t nnz, T* out) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < w; c += 4 * step) {
    V a{}, b{}, e{}, f{};
    for (size_t t = 0; t < nnz; ++t) {
      const T* column = panel + static_cast<size_t>(index[t]) * width + c;
      const T x = value[t];
      a += x * load<V>(column);
      b += x * load<V>(column + step);
      e += x * load<V>(column + 2 * step);
      f += x * load<V>(column + 3 * step);
    }
    store_first(out + c, a, w - c);
    if (w - c > step) store_first(out + c + step, b, w - c - step);
    if (w - c > 2 * step) store_first(out + c + 2 * step, e, w - c - 2 * step);
    if (w - c > 3 * step) store_first(out + c + 3 * step, f, w - c - 3 * step);
  }
}

template <class T>
void sparse_times_lanes(const T* lanes, const int32_t* index, const T* value, size_t nnz, T* out) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T), parts = sparse_lanes / step;
  V sum[parts] = {};
  for (size_t t = 0; t < nnz; ++t) {
    const T* row = lanes + static_cast<size_t>(index[t]) * sparse_lanes;
    for (size_t p = 0; p < parts; ++p) sum[p] += value[t] * load<V>(row + p * step);
  }
  for (size_t p = 0; p < parts; ++p) store(out + p * step, sum[p]);
}

// The number of ones in each lane.
template <class W>
inline W ones(W x) {
#ifdef __AVX512VPOPCNTDQ__
  if constexpr (sizeof(W) == 64)
    return (W)_mm512_popcnt_epi32((__m512i)x);
  else
    return (W)_mm256_popcnt_epi32((__m256i)x);
#else
  x -= (x >> 1) & 0x55555555u;
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24;
#endif
}

// Counts for R rows against S vectors of columns.
template <class Term, int R, int S, class W>
inline void count_bits(const uint32_t* panel, size_t width, const uint32_t* rows, size_t words, W (*count)[S]) {
  constexpr size_t step = sizeof(W) / sizeof(uint32_t);
  for (int r = 0; r < R; ++r)
    for (int s = 0; s < S; ++s) count[r][s] = W{};
  for (size_t k = 0; k < words; ++k)
    for (int s = 0; s < S; ++s) {
      const W x = load<W>(panel + k * width + static_cast<size_t>(s) * step);
      for (int r = 0; r < R; ++r) count[r][s] += ones(Term::of(x, rows[static_cast<size_t>(r) * words + k]));
    }
}
struct Common {
  template <class W>
  static inline W of(W x, uint32_t z) {
    return x & z;
  }
};
struct Different {
  template <class W>
  static inline W of(W x, uint32_t z) {
    return x ^ z;
  }
};

// As many counts as a vector holds numbers.
template <class T>
using Counts = Vec<uint32_t, bytes / sizeof(T)>;

template <class T>
inline Vec<T, bytes / sizeof(T)> as_numbers(Counts<T> count) {
  return __builtin_convertvector((Vec<int32_t, bytes / sizeof(T)>)count, Vec<T, bytes / sizeof(T)>);
}

// R rows by strips of S vectors; `use(row, column, columns left, count)` takes the counts. Panels are padded to a multiple of the strip.
template <class Term, int R, int S, class T, class Use>
inline void bit_strips(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t words, const Use& use) {
  constexpr size_t step = bytes / sizeof(T);
  Counts<T> count[R][S];
  size_t c = 0;
  for (; c + S * step <= w; c += S * step) {
    count_bits<Term, R, S>(panel + c, width, rows, words, count);
    for (int r = 0; r < R; ++r)
      for (int s = 0; s < S; ++s) use(static_cast<size_t>(r), c + static_cast<size_t>(s) * step, step, count[r][s]);
  }
  if (c == w) return;
  count_bits<Term, R, S>(panel + c, width, rows, words, count);
  for (int r = 0; r < R; ++r)
    for (int s = 0; s < S; ++s) {
      const size_t at = c + static_cast<size_t>(s) * step;
      if (at < w) use(static_cast<size_t>(r), at, w - at, count[r][s]);
    }
}

template <class Term, class T, class Use>
inline void bit_rows(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows, size_t words, const Use& use) {
  size_t first = 0;
  const auto from_first = [&](size_t r, size_t c, size_t left, Counts<T> count) { use(first + r, c, left, count); };
  for (; first + 4 <= n_rows; first += 4) bit_strips<Term, 4, 1, T>(panel, width, w, rows + first * words, words, from_first);
  for (; first < n_rows; ++first) bit_strips<Term, 1, 4, T>(panel, width, w, rows + first * words, words, from_first);
}

template <class T>
void common_bits(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows, size_t words, T scale, T* out, size_t stride) {
  bit_rows<Common, T>(panel, width, w, rows, n_rows, words,
                      [=](size_t r, size_t c, size_t left, Counts<T> count) { store_first(out + r * stride + c, scale * as_numbers<T>(count), left); });
}

// exp(-gamma * count): looked up in registers where the vectors are wide enough for the whole table.
template <class T>
struct ByFormula {
  T gamma;
  inline Vec<T, bytes / sizeof(T)> operator()(Counts<T> count) const { return exp_nonpositive<T>(-gamma * as_numbers<T>(count)); }
};
#if WIDEMARGIN_SIMD_BYTES == 64
struct ByTable {
  using V = Vec<float, 16>;
  V entry[8];
  explicit ByTable(const float* table) {
    for (size_t e = 0; e < 8; ++e) entry[e] = load<V>(table + 16 * e);
  }
  inline V operator()(Counts<float> count) const {
    const Vec<int32_t, 16> at = (Vec<int32_t, 16>)count, in_odd_quarter = (at & 32) != 0, in_upper_half = (at & 64) != 0;
    const V a = __builtin_shuffle(entry[0], entry[1], at), b = __builtin_shuffle(entry[2], entry[3], at);
    const V c = __builtin_shuffle(entry[4], entry[5], at), d = __builtin_shuffle(entry[6], entry[7], at);
    return in_upper_half ? (in_odd_quarter ? d : c) : (in_odd_quarter ? b : a);
  }
};
#endif

template <class T>
void gaussian_from_bits(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows, size_t words, T gamma, const T* table, T* const* out) {
  const auto each = [&](const auto& gaussian_of) {
    bit_rows<Different, T>(panel, width, w, rows, n_rows, words,
                           [&](size_t r, size_t c, size_t left, Counts<T> count) { store_first(out[r] + c, gaussian_of(count), left); });
  };
#if WIDEMARGIN_SIMD_BYTES == 64
  if constexpr (sizeof(T) == sizeof(float)) {
    if (table != nullptr) {
      each(ByTable(table));
      return;
    }
  }
#endif
  static_cast<void>(table);
  each(ByFormula<T>{gamma});
}

// log for normal x in (0, 1]: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)) by its series.
template <class T, class V>
inline V log_positive(V x) {
  using P = ExpParts<T>;
  using BitsVec = Vec<typename P::Bits, sizeof(V) / sizeof(T)>;
  constexpr typename P::Bits mantissa_mask = (typename P::Bits(1) << P::mantissa) - 1, bias_bits = typename P::Bits(P::bias) << P::mantissa;
  const BitsVec bits = (BitsVec)x;
  V m = (V)((bits & mantissa_mask) | bias_bits);
  V k = __builtin_convertvector((bits >> P::mantissa) - P::bias, V);
  const BitsVec large = m > T(1.41421356237309504880);
  m = large ? m * T(0.5) : m;
  k = large ? k + T(1) : k;
  const V z = (m - T(1)) / (m + T(1)), zz = z * z;
  constexpr int terms = sizeof(T) == 4 ? 5 : 11;
  V series = splat<V>(T(1) / T(2 * terms + 1));
  for (int t = terms - 1; t >= 0; --t) series = series * zz + T(1) / T(2 * t + 1);
  return k * P::ln2_high + (k * P::ln2_low + 2 * z * series);
}

template <class T>
void power(T* values, size_t n, T power) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < n; c += step) {
    const V x = load_first<V>(values + c, n - c);
    const V smallest_normal = splat<V>(sizeof(T) == 4 ? T(1.17549435e-38) : T(2.2250738585072014e-308));
    store_first(values + c, x < smallest_normal ? V{} : exp_nonpositive<T>(min_of(power * log_positive<T>(max_of(x, smallest_normal)), V{})), n - c);
  }
}

template <class T>
T smallest(const T* values, size_t n) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  T found = n > 0 ? values[0] : T(0);
  V least = splat<V>(found);
  size_t c = 0;
  for (; c + step <= n; c += step) least = min_of(load<V>(values + c), least);
  for (size_t l = 0; l < step; ++l)
    if (least[l] < found) found = least[l];
  for (; c < n; ++c)
    if (values[c] < found) found = values[c];
  return found;
}

// The two ends of what `value` and `vector` return for one position or `wide` of them. Their positions are looked for in the stretch that
// holds them, afterwards: following them on the way would double the work.
template <class N, class Value, class Vector>
inline Lead ends(const N* G, const Flag* rises, const Flag* falls, size_t n, const Value& value, const Vector& vector) {
  using V = Numbers<N>;
  constexpr size_t stretch = 256, step = bytes / sizeof(N);
  constexpr N endless = static_cast<N>(infinity);
  N most = -endless, least = endless;
  size_t up_stretch = n, down_stretch = n;
  const V none = splat<V>(-endless);
  for (size_t first = 0; first < n; first += stretch) {
    const size_t last = n - first < stretch ? n : first + stretch;
    V up = none, down = -none;
    size_t c = first;
    for (; c + step <= last; c += step) {
      const V g = vector(c);
      up = max_where(rises + c, g, up);
      down = min_where(falls + c, g, down);
    }
    if (any_greater(up, splat<V>(most))) {
      for (size_t l = 0; l < step; ++l)
        if (up[l] > most) most = up[l];
      up_stretch = first;
    }
    if (any_greater(splat<V>(least), down)) {
      for (size_t l = 0; l < step; ++l)
        if (down[l] < least) least = down[l];
      down_stretch = first;
    }
    for (; c < last; ++c) {
      const N g = value(c);
      if (rises[c] != 0 && g > most) most = g, up_stretch = first;
      if (falls[c] != 0 && g < least) least = g, down_stretch = first;
    }
  }
  const auto position = [&](const Flag* may, N end, size_t from) -> int64_t {
    size_t c = from;
    while (c + step <= n && !any_equal(choose(may + c, load<V>(G + c), splat<V>(static_cast<N>(__builtin_nan("")))), splat<V>(end))) c += step;
    for (; c < n; ++c)
      if (may[c] != 0 && G[c] == end) return static_cast<int64_t>(c);
    return -1;
  };
  return {most, position(rises, most, up_stretch), least, position(falls, least, down_stretch)};
}

template <class N>
Lead lead(const N* G, const Flag* rises, const Flag* falls, size_t n) {
  return ends(G, rises, falls, n, [&](size_t c) { return G[c]; }, [&](size_t c) { return load<Numbers<N>>(G + c); });
}

template <class T>
Lead move(Slope<T>* G, const T* Ki, const T* Kj, double mu, const Flag* rises, const Flag* falls, size_t n) {
  using N = Slope<T>;
  return ends(
      G, rises, falls, n, [&](size_t c) { return G[c] = static_cast<N>(G[c] - mu * (static_cast<double>(Ki[c]) - static_cast<double>(Kj[c]))); },
      [&](size_t c) {
        const Numbers<N> g = moved(G + c, Ki + c, Kj + c, mu);
        store(G + c, g);
        return g;
      });
}

// As many numbers as a vector holds gradients, of the type that is computed with.
template <class T>
using Reals = Vec<Real<T>, bytes / sizeof(Slope<T>)>;

// The first of the largest gains, if one is positive; `vector` and `value` return those of some positions and of one. Gains only rank
// candidates, so they are computed in the storage type of the kernel: a float division is several times as fast.
template <class T, class Value, class Vector>
inline Partner largest_gain(size_t n, const Value& value, const Vector& vector) {
  using R = Real<T>;
  using V = Reals<T>;
  using Bits = typename ExpParts<R>::Bits;
  constexpr size_t step = sizeof(V) / sizeof(R);
  using Mask = Vec<Bits, step>;
  V most{};
  Mask at = splat<Mask>(Bits(-1)), position;
  for (size_t l = 0; l < step; ++l) position[l] = static_cast<Bits>(l);
  size_t c = 0;
  for (; c + step <= n; c += step) {
    const V gain = vector(c);
    const Mask better = gain > most;
    most = better ? gain : most;
    at = better ? position : at;
    position += static_cast<Bits>(step);
  }
  Partner best{-1, -1};
  for (size_t l = 0; l < step; ++l)
    if (at[l] >= 0 && (most[l] > best.gain || (most[l] == best.gain && at[l] < best.at))) best = {static_cast<double>(most[l]), at[l]};
  for (; c < n; ++c) {
    const double gain = static_cast<double>(value(c));
    if (gain > 0 && gain > best.gain) best = {gain, static_cast<int64_t>(c)};
  }
  return best;
}

template <class T>
inline Real<T> scalar_curvature(const T* Ki, const Real<T>* diagonal, size_t c, double Kii) {
  using R = Real<T>;
  const R q = static_cast<R>(Kii) + diagonal[c] - 2 * static_cast<R>(Ki[c]);
  return q > R(least_curvature) ? q : R(least_curvature);
}

template <class T>
inline Reals<T> curvatures(const T* Ki, const Real<T>* diagonal, double Kii) {
  using V = Reals<T>;
  return max_of(minus_twice(static_cast<Real<T>>(Kii) + load<V>(diagonal), Ki), splat<V>(Real<T>(least_curvature)));
}

template <class T>
Partner best_newton_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* falls, size_t n, Pivot i) {
  using R = Real<T>;
  using N = Slope<T>;
  using V = Reals<T>;
  const N Gi = static_cast<N>(i.gradient);
  return largest_gain<T>(
      n,
      [&](size_t c) {
        const R s = static_cast<R>(Gi - G[c]);
        return falls[c] != 0 && s > 0 ? s * s / scalar_curvature(Ki, diagonal, c, i.diagonal) : R(0);
      },
      [&](size_t c) {
        const Numbers<N> slope = max_where(falls + c, Gi - load<Numbers<N>>(G + c), Numbers<N>{});
        const V s = __builtin_convertvector(slope, V);
        return s * s / curvatures(Ki + c, diagonal + c, i.diagonal);
      });
}

// How far a step may go: the smaller one of two rooms.
template <class V>
inline V limits(const double* room, double own_room) {
  using R = decltype(V{}[0] + 0);
  using Part = Vec<R, wide>;
  V found;
  for (size_t l = 0; l < sizeof(V) / sizeof(R); l += wide) {
    const Part part = __builtin_convertvector(min_of(load<Doubles>(room + l), splat<Doubles>(own_room)), Part);
    __builtin_memcpy(reinterpret_cast<char*>(&found) + l * sizeof(R), &part, sizeof(Part));
  }
  return found;
}

// Both orientations of a truncated step; `sign` is +1 where i ascends (partners descend into room_down) and -1 where i descends.
template <class T>
inline Partner best_truncated(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room, size_t n, Pivot i, double own_room, Slope<T> sign) {
  using R = Real<T>;
  using N = Slope<T>;
  using V = Reals<T>;
  const N Gi = static_cast<N>(i.gradient);
  return largest_gain<T>(
      n,
      [&](size_t c) {
        const R s = static_cast<R>(sign * (Gi - G[c])), limit = static_cast<R>(room[c] < own_room ? room[c] : own_room);
        if (!(limit > 0 && s > 0)) return R(0);
        const R q = scalar_curvature(Ki, diagonal, c, i.diagonal), mu = s / q < limit ? s / q : limit;
        return mu * (s - R(0.5) * q * mu);
      },
      [&](size_t c) {
        const V s = __builtin_convertvector(sign * (Gi - load<Numbers<N>>(G + c)), V), limit = limits<V>(room + c, own_room);
        const V q = curvatures(Ki + c, diagonal + c, i.diagonal), mu = min_of(s / q, limit);
        return (s > 0) & (limit > 0) ? mu * (s - R(0.5) * q * mu) : V{};
      });
}

template <class T>
Partner best_ascending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_down, size_t n, Pivot i) {
  return best_truncated(G, Ki, diagonal, room_down, n, i, i.room_up, Slope<T>(1));
}

template <class T>
Partner best_descending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_up, size_t n, Pivot i) {
  return best_truncated(G, Ki, diagonal, room_up, n, i, i.room_down, Slope<T>(-1));
}

template <class T, int R>
inline void subtract_group(Slope<T>* G, const T* const* rows, const double* coefficient, size_t first, size_t last) {
  using V = Vec<Slope<T>, wide>;
  size_t c = first;
  for (; c + wide <= last; c += wide) {
    Doubles sum = coefficient[0] * load_as_double(rows[0] + c);
    for (int r = 1; r < R; ++r) sum += coefficient[r] * load_as_double(rows[r] + c);
    store(G + c, __builtin_convertvector(__builtin_convertvector(load<V>(G + c), Doubles) - sum, V));
  }
  for (; c < last; ++c) {
    double sum = coefficient[0] * static_cast<double>(rows[0][c]);
    for (int r = 1; r < R; ++r) sum += coefficient[r] * static_cast<double>(rows[r][c]);
    G[c] = static_cast<Slope<T>>(G[c] - sum);
  }
}

template <class T>
void subtract_rows(Slope<T>* G, const T* const* rows, const double* coefficient, size_t n_rows, size_t first, size_t last) {
  constexpr size_t chunk = 2048;  // 16 KB of gradient stay in the first-level cache while the rows stream past it
  for (size_t begin = first; begin < last; begin += chunk) {
    const size_t end = begin + chunk < last ? begin + chunk : last;
    size_t r = 0;
    for (; r + 8 <= n_rows; r += 8) subtract_group<T, 8>(G, rows + r, coefficient + r, begin, end);
    for (; r < n_rows; ++r) subtract_group<T, 1>(G, rows + r, coefficient + r, begin, end);
  }
}

bool from_floats(const float* values, Fraction* out, size_t n) {
  using V = Vec<float, wide>;
  using Parts = Vec<std::uint16_t, wide>;
  V least = splat<V>(0.0f), most = splat<V>(1.0f);
  size_t c = 0;
  for (; c + wide <= n; c += wide) {
    const V v = load<V>(values + c);
    least = min_of(v, least), most = max_of(v, most);
    const V parts = max_of(min_of(v, splat<V>(1.0f)), splat<V>(0.0f)) * 65535.0f + 0.5f;
    store(out + c, __builtin_convertvector(__builtin_convertvector(parts, Vec<int32_t, wide>), Parts));
  }
  bool inside = true;
  for (size_t l = 0; l < wide; ++l) inside = inside && least[l] >= 0.0f && most[l] <= 1.0f;
  for (; c < n; ++c) {
    inside = inside && values[c] >= 0.0f && values[c] <= 1.0f;
    const float v = values[c] < 0.0f ? 0.0f : values[c] > 1.0f ? 1.0f : values[c];
    out[c].parts = static_cast<std::uint16_t>(v * 65535.0f + 0.5f);
  }
  return inside;
}

#if WIDEMARGIN_SIMD_BYTES == 64
inline bool store_picked(float* out, __mmask16 kept, __m512 v) {
  _mm512_mask_storeu_ps(out, kept, v);
  return true;
}
inline bool store_picked(Fraction* out, __mmask16 kept, __m512 v) {
  const __m512 one = _mm512_set1_ps(1.0f), inside = _mm512_maskz_max_ps(0xffff, _mm512_maskz_min_ps(0xffff, v, one), _mm512_setzero_ps());
  const __m512i parts = _mm512_maskz_cvttps_epi32(0xffff, _mm512_add_ps(_mm512_mul_ps(inside, _mm512_set1_ps(65535.0f)), _mm512_set1_ps(0.5f)));
  _mm256_mask_storeu_epi16(out, kept, _mm512_maskz_cvtepi32_epi16(0xffff, parts));
  return _mm512_cmp_ps_mask(v, inside, _CMP_NEQ_UQ) == 0;
}
#endif

template <class T>
bool pick(const float* row, const std::uint16_t* masks, size_t n_masks, T* out, size_t count) {
  size_t at = 0;
  bool held = true;
  for (size_t b = 0; b < n_masks; ++b) {
    const unsigned mask = masks[b];
#if WIDEMARGIN_SIMD_BYTES == 64
    if constexpr (sizeof(T) <= sizeof(float)) {
      // What is written beyond those that were found is overwritten by the next ones; the last ones end where they must.
      const unsigned found = static_cast<unsigned>(__builtin_popcount(mask)), kept = at + 16 <= count ? 0xffffu : (1u << found) - 1;
      const __mmask16 wanted = static_cast<__mmask16>(mask);
      held = store_picked(out + at, static_cast<__mmask16>(kept), _mm512_maskz_compress_ps(wanted, _mm512_maskz_loadu_ps(wanted, row + 16 * b))) && held;
      at += found;
      continue;
    }
#endif
    for (unsigned left = mask; left != 0; left &= left - 1, ++at) {
      const float* value = row + 16 * b + static_cast<size_t>(__builtin_ctz(left));
      if constexpr (sizeof(T) >= sizeof(float))
        out[at] = *value;
      else
        held = from_floats(value, out + at, 1) && held;
    }
  }
  static_cast<void>(count);
  return held;
}

}  // namespace

template <class T>
const Ops<T>& table() {
  static constexpr Ops<T> ops{.gaussian = gaussian<T>,
                              .gaussian_from_dot = gaussian_from_dot<T>,
                              .squared_distances = squared_distances<T>,
                              .dot_products = dot_products<T>,
                              .sparse_times_panel = sparse_times_panel<T>,
                              .sparse_times_lanes = sparse_times_lanes<T>,
                              .common_bits = common_bits<T>,
                              .gaussian_from_bits = gaussian_from_bits<T>,
                              .power = power<T>,
                              .smallest = smallest<T>,
                              .pick = pick<T>,
                              .lead = lead<double>,
                              .move = move<T>,
                              .best_newton_partner = best_newton_partner<T>,
                              .best_ascending_partner = best_ascending_partner<T>,
                              .best_descending_partner = best_descending_partner<T>,
                              .subtract_rows = subtract_rows<T>};
  return ops;
}
template <>
const Ops<Fraction>& table<Fraction>() {
  static constexpr Ops<Fraction> ops{.from_floats = from_floats,
                                     .pick = pick<Fraction>,
                                     .lead = lead<float>,
                                     .move = move<Fraction>,
                                     .best_newton_partner = best_newton_partner<Fraction>,
                                     .best_ascending_partner = best_ascending_partner<Fraction>,
                                     .subtract_rows = subtract_rows<Fraction>};
  return ops;
}
template const Ops<float>& table<float>();
template const Ops<double>& table<double>();

}  // namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE
