// Part of vector.inl: kernel values from samples, distances or counts of common bits.
namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE {
namespace {

// exp for x <= 0: 2^k e^r with |r| <= ln(2)/2, e^r by its Taylor polynomial (relative error below one unit in the last
// place); results under the smallest normal number are 0. k is read off the low mantissa bits after adding 1.5 *
// 2^(mantissa width).
template <class T>
struct ExpParts;
template <>
struct ExpParts<float> {
  using Bits = int32_t;
  static constexpr float round_shift = 12582912.0f, log2e = 1.44269504f, ln2_high = 0.693359375f,
                         ln2_low = -2.12194440e-4f, least = -87.0f;
  static constexpr int mantissa = 23, bias = 127, degree = 7;
};
template <>
struct ExpParts<double> {
  using Bits = int64_t;
  static constexpr double round_shift = 6755399441055744.0, log2e = 1.4426950408889634,
                          ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10, least = -708.0;
  static constexpr int mantissa = 52, bias = 1023, degree = 13;
};
constexpr double inverse_factorial[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

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

template <class T>
void toggle_feature(const T* squared, const T* x, T z, T sign, T* out, size_t n) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  for (size_t c = 0; c < n; c += step) {
    const V difference = load_first<V>(x + c, n - c) - z;
    store_first(out + c, max_of(load_first<V>(squared + c, n - c) + sign * difference * difference, V{}), n - c);
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
inline void panel_rows(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out,
                       size_t stride) {
  size_t r = 0;
  for (; r + 4 <= n_rows; r += 4) panel_strips<Term, 4, 4>(panel, width, w, rows + r * d, d, out + r * stride, stride);
  for (; r < n_rows; ++r) panel_strips<Term, 1, 8>(panel, width, w, rows + r * d, d, out + r * stride, stride);
}

template <class T>
void squared_distances(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out,
                       size_t stride) {
  panel_rows<SquaredDifference>(panel, width, w, rows, n_rows, d, out, stride);
}

template <class T>
void dot_products(const T* panel, size_t width, size_t w, const T* rows, size_t n_rows, size_t d, T* out,
                  size_t stride) {
  panel_rows<Product>(panel, width, w, rows, n_rows, d, out, stride);
}

// A whole number of the size of T.
template <class T>
struct Whole;
template <>
struct Whole<float> {
  using type = int32_t;
};
template <>
struct Whole<double> {
  using type = int64_t;
};

// R rows by S vectors of columns, all sums in registers; each lane keeps the best of its columns so far.
template <int R, int S, class T, class I = typename Whole<T>::type>
inline void nearest_in_strip(const T* strip, const T* offsets, size_t first, const T* rows, size_t d, T* best, I* at) {
  constexpr size_t step = bytes / sizeof(T);
  using V = Vec<T, step>;
  using Places = Vec<I, step>;
  V sum[R][S];
  for (int s = 0; s < S; ++s)
    for (int r = 0; r < R; ++r) sum[r][s] = -load<V>(offsets + static_cast<size_t>(s) * step);
  for (size_t k = 0; k < d; ++k)
    for (int s = 0; s < S; ++s) {
      const V x = load<V>(strip + k * nearest_strip + static_cast<size_t>(s) * step);
      for (int r = 0; r < R; ++r) sum[r][s] += x * rows[static_cast<size_t>(r) * d + k];
    }
  Places lane{};
  for (size_t l = 0; l < step; ++l) lane[l] = static_cast<I>(l);
  for (int r = 0; r < R; ++r) {
    V highest = load<V>(best + static_cast<size_t>(r) * step);
    Places place = load<Places>(at + static_cast<size_t>(r) * step);
    for (int s = 0; s < S; ++s) {
      const auto better = sum[r][s] > highest;
      highest = better ? sum[r][s] : highest;
      place = better ? lane + static_cast<I>(first + static_cast<size_t>(s) * step) : place;
    }
    store(best + static_cast<size_t>(r) * step, highest);
    store(at + static_cast<size_t>(r) * step, place);
  }
}

template <int S, class T, class I = typename Whole<T>::type>
inline void nearest_of_rows(const T* strip, const T* offsets, size_t first, const T* rows, size_t n_rows, size_t d,
                            T* best, I* at) {
  constexpr size_t step = bytes / sizeof(T);
  constexpr int together = bytes == 64 ? 8 : 4;  // as many sums as there are registers for
  size_t r = 0;
  for (; r + together <= n_rows; r += together)
    nearest_in_strip<together, S>(strip, offsets, first, rows + r * d, d, best + r * step, at + r * step);
  for (; r < n_rows; ++r)
    nearest_in_strip<1, S>(strip, offsets, first, rows + r * d, d, best + r * step, at + r * step);
}

template <class T>
void nearest_columns(const T* strips, const T* offsets, size_t w, const T* rows, size_t n_rows, size_t d,
                     int32_t* nearest) {
  constexpr size_t step = bytes / sizeof(T), some = 64;  // rows that stay in the first cache while strips pass by
  using I = typename Whole<T>::type;
  for (size_t begin = 0; begin < n_rows; begin += some) {
    const size_t count = n_rows - begin < some ? n_rows - begin : some;
    const T* tile = rows + begin * d;
    T best[some * step];
    I at[some * step];
    for (size_t l = 0; l < count * step; ++l) best[l] = static_cast<T>(-infinity), at[l] = 0;
    for (size_t c = 0; c < w; c += 3 * step) {
      const T* strip = strips + c / nearest_strip * nearest_strip * d + c % nearest_strip;
      if (w - c > 2 * step)
        nearest_of_rows<3>(strip, offsets + c, c, tile, count, d, best, at);
      else if (w - c > step)
        nearest_of_rows<2>(strip, offsets + c, c, tile, count, d, best, at);
      else
        nearest_of_rows<1>(strip, offsets + c, c, tile, count, d, best, at);
    }
    for (size_t r = 0; r < count; ++r) {
      size_t found = r * step;
      for (size_t l = found + 1; l < (r + 1) * step; ++l)
        if (best[l] > best[found] || (best[l] == best[found] && at[l] < at[found])) found = l;
      nearest[begin + r] = static_cast<int32_t>(at[found]);
    }
  }
}

template <class T>
void add_moments(const T* row, const T* origin, T scale, T weight, T* sums, T* squares, size_t n) {
  using V = Vec<T, bytes / sizeof(T)>;
  constexpr size_t step = bytes / sizeof(T);
  size_t c = 0;
  for (; c + step <= n; c += step) {
    const V y = scale * (load<V>(row + c) - load<V>(origin + c)), weighted = weight * y;
    store(sums + c, load<V>(sums + c) + weighted);
    store(squares + c, load<V>(squares + c) + weighted * y);
  }
  for (; c < n; ++c) {
    const T y = scale * (row[c] - origin[c]);
    sums[c] += weight * y;
    squares[c] += weight * y * y;
  }
}

template <class T>
void sparse_times_panel(const T* panel, size_t width, size_t w, const int32_t* index, const T* value, size_t nnz,
                        T* out) {
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

// R rows by strips of S vectors; `use(row, column, columns left, count)` takes the counts. Panels are padded to a
// multiple of the strip.
template <class Term, int R, int S, class T, class Use>
inline void bit_strips(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t words,
                       const Use& use) {
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
inline void bit_rows(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows, size_t words,
                     const Use& use) {
  size_t first = 0;
  const auto from_first = [&](size_t r, size_t c, size_t left, Counts<T> count) { use(first + r, c, left, count); };
  for (; first + 4 <= n_rows; first += 4)
    bit_strips<Term, 4, 1, T>(panel, width, w, rows + first * words, words, from_first);
  for (; first < n_rows; ++first) bit_strips<Term, 1, 4, T>(panel, width, w, rows + first * words, words, from_first);
}

template <class T>
void common_bits(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows, size_t words,
                 T scale, T* out, size_t stride) {
  bit_rows<Common, T>(panel, width, w, rows, n_rows, words, [=](size_t r, size_t c, size_t left, Counts<T> count) {
    store_first(out + r * stride + c, scale * as_numbers<T>(count), left);
  });
}

// exp(-gamma * count): looked up in registers where the vectors are wide enough for the whole table.
template <class T>
struct ByFormula {
  T gamma;
  inline Vec<T, bytes / sizeof(T)> operator()(Counts<T> count) const {
    return exp_nonpositive<T>(-gamma * as_numbers<T>(count));
  }
};
#if WIDEMARGIN_SIMD_BYTES == 64
struct ByTable {
  using V = Vec<float, 16>;
  V entry[8];
  explicit ByTable(const float* table) {
    for (size_t e = 0; e < 8; ++e) entry[e] = load<V>(table + 16 * e);
  }
  inline V operator()(Counts<float> count) const {
    const Vec<int32_t, 16> at = (Vec<int32_t, 16>)count, in_odd_quarter = (at & 32) != 0,
                           in_upper_half = (at & 64) != 0;
    const V a = __builtin_shuffle(entry[0], entry[1], at), b = __builtin_shuffle(entry[2], entry[3], at);
    const V c = __builtin_shuffle(entry[4], entry[5], at), d = __builtin_shuffle(entry[6], entry[7], at);
    return in_upper_half ? (in_odd_quarter ? d : c) : (in_odd_quarter ? b : a);
  }
};
#endif

template <class T>
void gaussian_from_bits(const uint32_t* panel, size_t width, size_t w, const uint32_t* rows, size_t n_rows,
                        size_t words, T gamma, const T* table, T* const* out) {
  const auto each = [&](const auto& gaussian_of) {
    bit_rows<Different, T>(panel, width, w, rows, n_rows, words, [&](size_t r, size_t c, size_t left, Counts<T> count) {
      store_first(out[r] + c, gaussian_of(count), left);
    });
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

// log for normal x in (0, 1]: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)) by its
// series.
template <class T, class V>
inline V log_positive(V x) {
  using P = ExpParts<T>;
  using BitsVec = Vec<typename P::Bits, sizeof(V) / sizeof(T)>;
  constexpr typename P::Bits mantissa_mask = (typename P::Bits(1) << P::mantissa) - 1,
                             bias_bits = typename P::Bits(P::bias) << P::mantissa;
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
    store_first(values + c,
                x < smallest_normal
                    ? V{}
                    : exp_nonpositive<T>(min_of(power * log_positive<T>(max_of(x, smallest_normal)), V{})),
                n - c);
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

}  // namespace
}  // namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE
