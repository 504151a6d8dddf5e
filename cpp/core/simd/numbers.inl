// Part of vector.inl: vectors of numbers, flags as masks, and loads that convert.
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

// choose: `values` where a flag is set, `others` elsewhere. max_where, min_where: the larger, or smaller, of both where
// a flag is set, what there was so far elsewhere.
#if WIDEMARGIN_SIMD_BYTES == 64
inline __mmask8 mask_of_8(const Flag* flags) {
  return static_cast<__mmask8>(_mm_movepi8_mask(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(flags))));
}
inline __mmask16 mask_of_16(const Flag* flags) {
  return _mm_movepi8_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(flags)));
}
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
// The larger half, then the larger half of that, and so forth.
inline double largest_of(Doubles v) {
  const __m256d half = _mm256_max_pd(_mm512_maskz_extractf64x4_pd(0xff, (__m512d)v, 0),
                                     _mm512_maskz_extractf64x4_pd(0xff, (__m512d)v, 1));
  const __m128d pair = _mm_max_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
  return _mm_cvtsd_f64(_mm_max_sd(pair, _mm_unpackhi_pd(pair, pair)));
}
inline float largest_of(Floats v) {
  const __m256 half =
      _mm256_max_ps(_mm512_maskz_extractf32x8_ps(0xff, (__m512)v, 0), _mm512_maskz_extractf32x8_ps(0xff, (__m512)v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)),
               pair = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}
inline int32_t smallest_of(Vec<int32_t, 2 * wide> v) {
  const __m256i half = _mm256_min_epi32(_mm512_maskz_extracti32x8_epi32(0xff, (__m512i)v, 0),
                                        _mm512_maskz_extracti32x8_epi32(0xff, (__m512i)v, 1));
  const __m128i four = _mm_min_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)),
                pair = _mm_min_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_min_epi32(pair, _mm_shuffle_epi32(pair, 0xb1)));
}
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
template <class V>
inline auto largest_of(V v) {
  auto most = v[0];
  for (size_t l = 1; l < sizeof(V) / sizeof(most); ++l) most = v[l] > most ? v[l] : most;
  return most;
}
inline int32_t smallest_of(Vec<int32_t, 2 * wide> v) { return -largest_of(-v); }
inline bool any_greater(Doubles a, Doubles b) {
  return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ)) != 0;
}
inline bool any_greater(Floats a, Floats b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ)) != 0;
}
inline bool any_equal(Doubles a, Doubles b) {
  return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ)) != 0;
}
inline bool any_equal(Floats a, Floats b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ)) != 0;
}
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
  return (Doubles)_mm512_maskz_cvtepi32_pd(
             0xff, _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))) *
         Fraction::unit;
#else
  return (Doubles)_mm256_cvtepi32_pd(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))) *
         Fraction::unit;
#endif
}

}  // namespace
}  // namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE
