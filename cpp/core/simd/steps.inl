// Part of vector.inl: what steps of the solvers do with gradients and kernel rows.
namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE {
namespace {

// G - mu (a - b)
template <class T>
inline Doubles moved(const double* G, const T* a, const T* b, double mu) {
  return load<Doubles>(G) - mu * (load_as_double(a) - load_as_double(b));
}
inline Floats moved(const float* G, const Fraction* a, const Fraction* b, double mu) {
#if WIDEMARGIN_SIMD_BYTES == 64
  const auto parts = [](const Fraction* p) {
    return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  };
  const Floats difference = (Floats)_mm512_maskz_cvtepi32_ps(0xffff, _mm512_sub_epi32(parts(a), parts(b)));
#else
  const auto parts = [](const Fraction* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  };
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
  const Floats parts = (Floats)_mm512_maskz_cvtepi32_ps(
      0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a))));
#else
  const Floats parts =
      (Floats)_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))));
#endif
  return c - static_cast<float>(2 * Fraction::unit) * parts;
}

// The two ends of what `value` and `vector` return for one position or `wide` of them. Their positions are looked for
// in the stretch that holds them, afterwards: following them on the way would double the work.
template <class N, class Value, class Vector>
inline MaximalViolatingPair ends(const N* G, const Flag* rises, const Flag* falls, size_t n, const Value& value,
                                 const Vector& vector) {
  using V = Numbers<N>;
  constexpr size_t stretch = 256, step = bytes / sizeof(N);
  constexpr N infinite = static_cast<N>(infinity);
  N most = -infinite, least = infinite;
  size_t up_stretch = n, down_stretch = n;
  const V none = splat<V>(-infinite);
  for (size_t first = 0; first < n; first += stretch) {
    const size_t last = n - first < stretch ? n : first + stretch;
    V up = none, down = -none;
    size_t c = first;
    for (; c + step <= last; c += step) {
      const V g = vector(c);
      up = max_where(rises + c, g, up);
      down = min_where(falls + c, g, down);
    }
    if (any_greater(up, splat<V>(most))) most = largest_of(up), up_stretch = first;
    if (any_greater(splat<V>(least), down)) least = -largest_of(-down), down_stretch = first;
    for (; c < last; ++c) {
      const N g = value(c);
      if (rises[c] != 0 && g > most) most = g, up_stretch = first;
      if (falls[c] != 0 && g < least) least = g, down_stretch = first;
    }
  }
  const auto position = [&](const Flag* may, N end, size_t from) -> int64_t {
    size_t c = from;
    while (c + step <= n &&
           !any_equal(choose(may + c, load<V>(G + c), splat<V>(static_cast<N>(__builtin_nan("")))), splat<V>(end)))
      c += step;
    for (; c < n; ++c)
      if (may[c] != 0 && G[c] == end) return static_cast<int64_t>(c);
    return -1;
  };
  return {most, position(rises, most, up_stretch), least, position(falls, least, down_stretch)};
}

template <class N>
MaximalViolatingPair maximal_violating_pair(const N* G, const Flag* rises, const Flag* falls, size_t n) {
  return ends(G, rises, falls, n, [&](size_t c) { return G[c]; }, [&](size_t c) { return load<Numbers<N>>(G + c); });
}

template <class T>
MaximalViolatingPair move(Slope<T>* G, const T* Ki, const T* Kj, double mu, const Flag* rises, const Flag* falls,
                          size_t n) {
  using N = Slope<T>;
  return ends(
      G, rises, falls, n,
      [&](size_t c) {
        return G[c] = static_cast<N>(G[c] - mu * (static_cast<double>(Ki[c]) - static_cast<double>(Kj[c])));
      },
      [&](size_t c) {
        const Numbers<N> g = moved(G + c, Ki + c, Kj + c, mu);
        store(G + c, g);
        return g;
      });
}

// As many numbers as a vector holds gradients, of the type that is computed with.
template <class T>
using Reals = Vec<Real<T>, bytes / sizeof(Slope<T>)>;

// The largest of some gains and the first position that has it; nothing if none is positive.
template <class V, class Mask>
inline Partner first_of_largest(V gains, Mask at) {
  Partner best{-1, -1};
  for (size_t l = 0; l < sizeof(V) / sizeof(gains[0]); ++l)
    if (at[l] >= 0 && (gains[l] > best.gain || (gains[l] == best.gain && at[l] < best.at)))
      best = {static_cast<double>(gains[l]), at[l]};
  return best;
}
inline Partner first_of_largest(Floats gains, Vec<int32_t, 2 * wide> at) {
  const float largest = largest_of(gains);
  if (!(largest > 0)) return {-1, -1};
  const Vec<int32_t, 2 * wide> none = splat<Vec<int32_t, 2 * wide>>(std::numeric_limits<int32_t>::max());
  return {static_cast<double>(largest), smallest_of(gains == splat<Floats>(largest) ? at : none)};
}

// The first of the largest gains, if one is positive; `vector` and `value` return those of some positions and of one.
// Gains only rank candidates, so they are computed in the storage type of the kernel: a float division is several times
// as fast.
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
  Partner best = first_of_largest(most, at);
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
  const R least = least_curvature<R>(Kii);
  return q > least ? q : least;
}

template <class T>
inline Reals<T> curvatures(const T* Ki, const Real<T>* diagonal, double Kii) {
  using V = Reals<T>;
  return max_of(minus_twice(static_cast<Real<T>>(Kii) + load<V>(diagonal), Ki),
                splat<V>(least_curvature<Real<T>>(Kii)));
}

// Both orientations of a Newton step; `sign` is +1 where i ascends and -1 where it descends.
template <class T>
inline Partner best_newton(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* may, size_t n, Pivot i,
                           Slope<T> sign) {
  using R = Real<T>;
  using N = Slope<T>;
  using V = Reals<T>;
  const N Gi = static_cast<N>(i.gradient);
  return largest_gain<T>(
      n,
      [&](size_t c) {
        const R s = static_cast<R>(sign * (Gi - G[c]));
        return may[c] != 0 && s > 0 ? s * s / scalar_curvature(Ki, diagonal, c, i.diagonal) : R(0);
      },
      [&](size_t c) {
        const Numbers<N> slope = max_where(may + c, sign * (Gi - load<Numbers<N>>(G + c)), Numbers<N>{});
        const V s = __builtin_convertvector(slope, V);
        return s * s / curvatures(Ki + c, diagonal + c, i.diagonal);
      });
}

template <class T>
Partner best_newton_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* falls, size_t n,
                            Pivot i) {
  return best_newton(G, Ki, diagonal, falls, n, i, Slope<T>(1));
}

template <class T>
Partner best_newton_riser(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const Flag* rises, size_t n,
                          Pivot i) {
  return best_newton(G, Ki, diagonal, rises, n, i, Slope<T>(-1));
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

// Both orientations of a truncated step; `sign` is +1 where i ascends (partners descend into room_down) and -1 where i
// descends.
template <class T>
inline Partner best_truncated(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room, size_t n,
                              Pivot i, double own_room, Slope<T> sign) {
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
        const V s = __builtin_convertvector(sign * (Gi - load<Numbers<N>>(G + c)), V),
                limit = limits<V>(room + c, own_room);
        const V q = curvatures(Ki + c, diagonal + c, i.diagonal), mu = min_of(s / q, limit);
        return (s > 0) & (limit > 0) ? mu * (s - R(0.5) * q * mu) : V{};
      });
}

template <class T>
Partner best_ascending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_down,
                               size_t n, Pivot i) {
  return best_truncated(G, Ki, diagonal, room_down, n, i, i.room_up, Slope<T>(1));
}

template <class T>
Partner best_descending_partner(const Slope<T>* G, const T* Ki, const Real<T>* diagonal, const double* room_up,
                                size_t n, Pivot i) {
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
void subtract_rows(Slope<T>* G, const T* const* rows, const double* coefficient, size_t n_rows, size_t first,
                   size_t last) {
  constexpr size_t chunk = 2048;  // 16 KB of gradient stay in the first-level cache while the rows stream past it
  for (size_t begin = first; begin < last; begin += chunk) {
    const size_t end = begin + chunk < last ? begin + chunk : last;
    size_t r = 0;
    for (; r + 8 <= n_rows; r += 8) subtract_group<T, 8>(G, rows + r, coefficient + r, begin, end);
    for (; r < n_rows; ++r) subtract_group<T, 1>(G, rows + r, coefficient + r, begin, end);
  }
}

template <class T, int V>
inline void sum_columns(const T* const* rows, const double* coefficient, size_t n_rows, double start, double* out,
                        size_t c) {
  Doubles sums[V];
  for (int v = 0; v < V; ++v) sums[v] = splat<Doubles>(0.0);
  for (size_t r = 0; r < n_rows; ++r)
    for (int v = 0; v < V; ++v) sums[v] += coefficient[r] * load_as_double(rows[r] + c + static_cast<size_t>(v) * wide);
  for (int v = 0; v < V; ++v) store(out + c + static_cast<size_t>(v) * wide, sums[v] + start);
}

template <class T>
void sum_rows(const T* const* rows, const double* coefficient, size_t n_rows, double start, double* out, size_t n) {
  size_t c = 0;
  for (; c + 8 * wide <= n; c += 8 * wide) sum_columns<T, 8>(rows, coefficient, n_rows, start, out, c);
  for (; c + wide <= n; c += wide) sum_columns<T, 1>(rows, coefficient, n_rows, start, out, c);
  for (; c < n; ++c) {
    double sum = 0;
    for (size_t r = 0; r < n_rows; ++r) sum += coefficient[r] * static_cast<double>(rows[r][c]);
    out[c] = sum + start;
  }
}

inline void vote(const double* values, double* first, double* second, double* first_sums, double* second_sums,
                 size_t n) {
  const Doubles none = splat<Doubles>(0.0), one = splat<Doubles>(1.0);
  size_t c = 0;
  for (; c + wide <= n; c += wide) {
    const Doubles value = load<Doubles>(values + c);
    store(first + c, load<Doubles>(first + c) + (value < none ? none : one));
    store(second + c, load<Doubles>(second + c) + (value < none ? one : none));
    store(first_sums + c, load<Doubles>(first_sums + c) + value);
    store(second_sums + c, load<Doubles>(second_sums + c) - value);
  }
  for (; c < n; ++c) {
    first[c] += values[c] < 0 ? 0 : 1, second[c] += values[c] < 0 ? 1 : 0;
    first_sums[c] += values[c], second_sums[c] -= values[c];
  }
}

template <class T>
double add_and_dot(const T* row, const double* x, double weight, double* sums, size_t n) {
  Doubles dot = splat<Doubles>(0.0);
  size_t c = 0;
  for (; c + wide <= n; c += wide) {
    const Doubles values = load_as_double(row + c);
    store(sums + c, load<Doubles>(sums + c) + weight * values);
    dot += load<Doubles>(x + c) * values;
  }
  double total = 0;
  for (size_t l = 0; l < wide; ++l) total += dot[l];
  for (; c < n; ++c) {
    const double value = static_cast<double>(row[c]);
    sums[c] += weight * value, total += x[c] * value;
  }
  return total;
}

template <class T>
double dot(const T* row, const double* x, size_t n) {
  Doubles some = splat<Doubles>(0.0), others = some;
  size_t c = 0;
  for (; c + 2 * wide <= n; c += 2 * wide) {
    some += load<Doubles>(x + c) * load_as_double(row + c);
    others += load<Doubles>(x + c + wide) * load_as_double(row + c + wide);
  }
  some += others;
  double total = 0;
  for (size_t l = 0; l < wide; ++l) total += some[l];
  for (; c < n; ++c) total += x[c] * static_cast<double>(row[c]);
  return total;
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
  const __m512 one = _mm512_set1_ps(1.0f),
               inside = _mm512_maskz_max_ps(0xffff, _mm512_maskz_min_ps(0xffff, v, one), _mm512_setzero_ps());
  const __m512i parts = _mm512_maskz_cvttps_epi32(
      0xffff, _mm512_add_ps(_mm512_mul_ps(inside, _mm512_set1_ps(65535.0f)), _mm512_set1_ps(0.5f)));
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
      // What is written beyond those that were found is overwritten by the next ones; the last ones end where they
      // must.
      const unsigned found = static_cast<unsigned>(__builtin_popcount(mask)),
                     kept = at + 16 <= count ? 0xffffu : (1u << found) - 1;
      const __mmask16 wanted = static_cast<__mmask16>(mask);
      held = store_picked(out + at, static_cast<__mmask16>(kept),
                          _mm512_maskz_compress_ps(wanted, _mm512_maskz_loadu_ps(wanted, row + 16 * b))) &&
             held;
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
}  // namespace widemargin::simd::WIDEMARGIN_SIMD_NAMESPACE
