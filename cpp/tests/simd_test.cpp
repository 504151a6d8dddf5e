// Every vector implementation this processor runs against the scalar baseline, on random input of awkward lengths.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/simd/ops.hpp"

namespace simd = widemargin::simd;

namespace {

int failures = 0;

void check(bool good, const char* implementation, const char* what, std::size_t n) {
  if (good) return;
  ++failures;
  std::printf("%s: %s differs from the baseline for n = %zu\n", implementation, what, n);
}

template <class T>
bool close(const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  for (std::size_t c = 0; c < a.size(); ++c)
    if (!(std::fabs(static_cast<double>(a[c]) - static_cast<double>(b[c])) <=
          tolerance * (1 + std::fabs(static_cast<double>(b[c])))))
      return false;
  return true;
}

template <class T>
class Comparison {
 public:
  Comparison(const char* name, std::size_t n, std::size_t d, unsigned seed)
      : name_(name), n_(n), d_(d), random_(seed), ours_(simd::ops<T>()), base_(simd::baseline::table<T>()) {}

  void run() {
    kernels();
    products();
    nearest();
    bits();
    scans();
    rows();
  }

 private:
  static constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-13;

  std::vector<T> values(std::size_t count, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<T> result(count);
    for (T& value : result) value = static_cast<T>(uniform(random_));
    return result;
  }

  void kernels() {
    std::vector<T> squared = values(n_, -1e-3, 300), ours(n_), base(n_);
    ours_.gaussian(squared.data(), ours.data(), n_, T(0.7));
    base_.gaussian(squared.data(), base.data(), n_, T(0.7));
    check(close(ours, base, tolerance), name_, "gaussian", n_);
    for (const double exponent : {0.3, 1.0, 4.5}) {
      ours = values(n_, 0, 1);
      ours[n_ / 2] = T(0), ours[n_ - 1] = T(1), ours[n_ / 3] = T(1e-30);
      base = ours;
      check(ours_.smallest(ours.data(), n_) == base_.smallest(base.data(), n_), name_, "smallest", n_);
      ours_.power(ours.data(), n_, T(exponent));
      base_.power(base.data(), n_, T(exponent));
      check(close(ours, base, 4 * tolerance), name_, "power", n_);
    }
    const std::vector<T> dot = values(n_, -3, 3), norms = values(n_, 0, 9);
    ours_.gaussian_from_dot(dot.data(), ours.data(), n_, T(0.3), T(4), norms.data());
    base_.gaussian_from_dot(dot.data(), base.data(), n_, T(0.3), T(4), norms.data());
    check(close(ours, base, 4 * tolerance), name_, "gaussian_from_dot", n_);
    for (const T sign : {T(1), T(-1)}) {
      ours_.toggle_feature(norms.data(), dot.data(), T(0.5), sign, ours.data(), n_);
      base_.toggle_feature(norms.data(), dot.data(), T(0.5), sign, base.data(), n_);
      check(close(ours, base, 16 * tolerance), name_, "toggle_feature", n_);
    }
  }

  void products() {
    const std::size_t width = (n_ + 127) / 128 * 128, n_rows = 7;
    const std::vector<T> panel = values(width * d_ + 128, -1, 1), rows = values(n_rows * d_, -1, 1);
    std::vector<T> ours(n_rows * n_), base(n_rows * n_);
    ours_.squared_distances(panel.data(), width, n_, rows.data(), n_rows, d_, ours.data(), n_);
    base_.squared_distances(panel.data(), width, n_, rows.data(), n_rows, d_, base.data(), n_);
    check(close(ours, base, tolerance * static_cast<double>(d_)), name_, "squared_distances", n_);
    ours_.dot_products(panel.data(), width, n_, rows.data(), n_rows, d_, ours.data(), n_);
    base_.dot_products(panel.data(), width, n_, rows.data(), n_rows, d_, base.data(), n_);
    check(close(ours, base, tolerance * static_cast<double>(d_)), name_, "dot_products", n_);
    std::vector<std::int32_t> index;
    for (std::size_t k = 0; k < d_; k += 2) index.push_back(static_cast<std::int32_t>(k));
    const std::vector<T> value = values(index.size(), -1, 1);
    ours.resize(n_), base.resize(n_);
    ours_.sparse_times_panel(panel.data(), width, n_, index.data(), value.data(), index.size(), ours.data());
    base_.sparse_times_panel(panel.data(), width, n_, index.data(), value.data(), index.size(), base.data());
    check(close(ours, base, tolerance * static_cast<double>(d_)), name_, "sparse_times_panel", n_);
    const std::vector<T> lanes = values(d_ * simd::sparse_lanes, -1, 1);
    ours.resize(simd::sparse_lanes), base.resize(simd::sparse_lanes);
    ours_.sparse_times_lanes(lanes.data(), index.data(), value.data(), index.size(), ours.data());
    base_.sparse_times_lanes(lanes.data(), index.data(), value.data(), index.size(), base.data());
    check(close(ours, base, tolerance * static_cast<double>(d_)), name_, "sparse_times_lanes", n_);
  }

  void nearest() {
    const std::size_t strip = simd::nearest_strip, width = (n_ + strip - 1) / strip * strip, n_rows = 75;
    std::vector<T> strips(width * d_), rows(n_rows * d_), offsets(width, std::numeric_limits<T>::infinity());
    // Small whole numbers have ties, and no rounding: the first column must win.
    for (std::vector<T>* some : {&strips, &rows})
      for (T& value : *some) value = static_cast<T>(static_cast<int>(random_() % 5) - 2);
    for (std::size_t c = 0; c < n_; ++c) offsets[c] = static_cast<T>(random_() % 3);
    std::vector<std::int32_t> ours(n_rows), base(n_rows);
    ours_.nearest_columns(strips.data(), offsets.data(), n_, rows.data(), n_rows, d_, ours.data());
    base_.nearest_columns(strips.data(), offsets.data(), n_, rows.data(), n_rows, d_, base.data());
    check(ours == base, name_, "nearest_columns", n_);
    const std::vector<T> row = values(n_, -1, 1), origin = values(n_, -1, 1);
    std::vector<T> our_sums = values(n_, -1, 1), base_sums = our_sums, our_squares = our_sums, base_squares = our_sums;
    ours_.add_moments(row.data(), origin.data(), T(0.5), T(3), our_sums.data(), our_squares.data(), n_);
    base_.add_moments(row.data(), origin.data(), T(0.5), T(3), base_sums.data(), base_squares.data(), n_);
    check(close(our_sums, base_sums, tolerance), name_, "add_moments", n_);
    check(close(our_squares, base_squares, tolerance), name_, "add_moments", n_);
  }

  void bits() {
    const std::size_t width = (n_ + 127) / 128 * 128, n_rows = 7, words = (d_ + 31) / 32;
    const auto random_words = [&](std::size_t count) {
      std::vector<std::uint32_t> result(count);
      for (std::uint32_t& word : result) word = static_cast<std::uint32_t>(random_());
      return result;
    };
    const std::vector<std::uint32_t> panel = random_words(width * words + 128), rows = random_words(n_rows * words);
    std::vector<T> ours(n_rows * n_), base(n_rows * n_);
    ours_.common_bits(panel.data(), width, n_, rows.data(), n_rows, words, T(0.25), ours.data(), n_);
    base_.common_bits(panel.data(), width, n_, rows.data(), n_rows, words, T(0.25), base.data(), n_);
    check(ours == base, name_, "common_bits", n_);
    std::vector<T> table(simd::gaussian_table);
    for (std::size_t k = 0; k < table.size(); ++k) table[k] = static_cast<T>(std::exp(-0.05 * static_cast<double>(k)));
    std::vector<T*> ours_out, base_out;
    for (std::size_t r = 0; r < n_rows; ++r)
      ours_out.push_back(ours.data() + r * n_), base_out.push_back(base.data() + r * n_);
    base_.gaussian_from_bits(panel.data(), width, n_, rows.data(), n_rows, words, T(0.05), nullptr, base_out.data());
    for (const T* known : {static_cast<const T*>(table.data()), static_cast<const T*>(nullptr)}) {
      ours_.gaussian_from_bits(panel.data(), width, n_, rows.data(), n_rows, words, T(0.05), known, ours_out.data());
      check(close(ours, base, 4 * tolerance), name_, "gaussian_from_bits", n_);
    }
  }

  void scans() {
    const std::vector<T> Ki = values(n_, 0, 0.9), Kj = values(n_, 0, 0.9), diagonal = values(n_, 1, 1.5);
    std::vector<double> G(n_), up(n_), down(n_);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::size_t c = 0; c < n_; ++c) {
      G[c] = std::round(4 * uniform(random_)) / 4;  // ties: the first position must win
      const double where = uniform(random_);
      up[c] = where > 0.6 ? 0 : 1 + where, down[c] = where < -0.6 ? 0 : 1 - where;
    }
    std::vector<simd::Flag> rises(n_), falls(n_);
    for (std::size_t c = 0; c < n_; ++c) rises[c] = up[c] > 0 ? -1 : 0, falls[c] = down[c] > 0 ? -1 : 0;
    std::vector<double> ours_G = G, base_G = G;
    const simd::MaximalViolatingPair ours =
        ours_.move(ours_G.data(), Ki.data(), Ki.data(), 0.3, rises.data(), falls.data(), n_);
    const simd::MaximalViolatingPair base =
        base_.move(base_G.data(), Ki.data(), Ki.data(), 0.3, rises.data(), falls.data(), n_);
    const auto same = [](const simd::MaximalViolatingPair& a, const simd::MaximalViolatingPair& b) {
      return a.up == b.up && a.i == b.i && a.down == b.down && a.j == b.j;
    };
    check(same(ours, base), name_, "pair of a move", n_);
    check(same(ours_.maximal_violating_pair(G.data(), rises.data(), falls.data(), n_),
               base_.maximal_violating_pair(G.data(), rises.data(), falls.data(), n_)),
          name_, "pair", n_);
    ours_.move(ours_G.data(), Ki.data(), Kj.data(), 0.3, rises.data(), falls.data(), n_);
    base_.move(base_G.data(), Ki.data(), Kj.data(), 0.3, rises.data(), falls.data(), n_);
    check(close(ours_G, base_G, 1e-14), name_, "move", n_);
    const simd::Pivot pivot{1.1, 1.2, 0.4, 0.8};
    partner(ours_.best_newton_partner, base_.best_newton_partner, "best_newton_partner", base_G, Ki, diagonal, falls,
            pivot);
    partner(ours_.best_ascending_partner, base_.best_ascending_partner, "best_ascending_partner", base_G, Ki, diagonal,
            down, pivot);
    const simd::Pivot low{-1.1, 1.2, 0.4, 0.8};
    partner(ours_.best_descending_partner, base_.best_descending_partner, "best_descending_partner", base_G, Ki,
            diagonal, up, low);
    partner(ours_.best_newton_riser, base_.best_newton_riser, "best_newton_riser", base_G, Ki, diagonal, rises, low);
    const simd::Pivot nobody{-9, 1.2, 0.4, 0.8};
    const simd::Partner none =
        ours_.best_newton_partner(base_G.data(), Ki.data(), diagonal.data(), falls.data(), n_, nobody);
    check(none.gain == -1 && none.at == -1, name_, "no partner", n_);
  }

  template <class Search, class Room>
  void partner(Search ours, Search base, const char* what, const std::vector<double>& G, const std::vector<T>& Ki,
               const std::vector<T>& diagonal, const std::vector<Room>& room, const simd::Pivot& pivot) {
    const simd::Partner a = ours(G.data(), Ki.data(), diagonal.data(), room.data(), n_, pivot);
    const simd::Partner b = base(G.data(), Ki.data(), diagonal.data(), room.data(), n_, pivot);
    check((a.at < 0) == (b.at < 0) && std::fabs(a.gain - b.gain) <= 1e-5 * (1 + std::fabs(b.gain)), name_, what, n_);
  }

  void rows() {
    const std::size_t n_rows = 11;
    const std::vector<T> block = values(n_rows * n_, -1, 1);
    std::vector<const T*> row(n_rows);
    std::vector<double> coefficient(n_rows), ours(n_, 0.5), base(n_, 0.5);
    for (std::size_t r = 0; r < n_rows; ++r)
      row[r] = block.data() + r * n_, coefficient[r] = 0.1 * static_cast<double>(r) - 0.4;
    ours_.subtract_rows(ours.data(), row.data(), coefficient.data(), n_rows, 1, n_);
    base_.subtract_rows(base.data(), row.data(), coefficient.data(), n_rows, 1, n_);
    check(close(ours, base, 1e-14), name_, "subtract_rows", n_);
    ours_.sum_rows(row.data(), coefficient.data(), n_rows, 0.25, ours.data(), n_);
    base_.sum_rows(row.data(), coefficient.data(), n_rows, 0.25, base.data(), n_);
    check(close(ours, base, 1e-13), name_, "sum_rows", n_);
    std::vector<double> counts[2];
    for (const auto& [ops, counted] : {std::pair{&ours_, &counts[0]}, std::pair{&base_, &counts[1]}}) {
      counted->assign(4 * n_, 1.0);
      base[n_ / 2] = 0;
      double* const at = counted->data();
      ops->vote(base.data(), at, at + n_, at + 2 * n_, at + 3 * n_, n_);
    }
    check(counts[0] == counts[1], name_, "vote", n_);
    std::vector<double> sums = ours;
    const double dot = ours_.add_and_dot(row[0], base.data(), 0.5, ours.data(), n_),
                 base_dot = base_.add_and_dot(row[0], base.data(), 0.5, sums.data(), n_);
    check(std::fabs(ours_.dot(row[0], base.data(), n_) - base_dot) <= 1e-12 * (1 + std::fabs(dot)), name_, "dot", n_);
    check(close(ours, sums, 1e-13) && std::fabs(dot - base_dot) <= 1e-12 * (1 + std::fabs(dot)), name_, "add_and_dot",
          n_);
  }

  const char* name_;
  std::size_t n_, d_;
  std::mt19937 random_;
  const simd::Ops<T>&ours_, &base_;
};

// The loops over fractions; their values are those of the baseline to the last digit of what they store.
void compare_fractions(const char* name, std::size_t n, unsigned seed) {
  using simd::Fraction;
  const simd::Ops<Fraction>&ours = simd::ops<Fraction>(), &base = simd::baseline::table<Fraction>();
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> a(n), b(n), diagonal(n, 1.0f);
  std::vector<float> G(n);
  std::vector<double> room(n);
  std::vector<simd::Flag> rises(n), falls(n);
  for (std::size_t c = 0; c < n; ++c) {
    a[c] = uniform(random), b[c] = uniform(random), G[c] = uniform(random),
    room[c] = c % 3 == 0 ? 0.0 : uniform(random);
    rises[c] = c % 4 == 0 ? 0 : -1, falls[c] = c % 5 == 0 ? 0 : -1;
  }
  std::vector<Fraction> Ka(n), Kb(n), expected(n);
  check(ours.from_floats(a.data(), Ka.data(), n) && base.from_floats(a.data(), expected.data(), n), name,
        "from_floats inside", n);
  ours.from_floats(b.data(), Kb.data(), n);
  bool same_parts = true, near = true;
  for (std::size_t c = 0; c < n; ++c) {
    same_parts = same_parts && std::abs(Ka[c].parts - expected[c].parts) <= 1;
    near = near && std::fabs(static_cast<double>(Ka[c]) - static_cast<double>(a[c])) <= 0.51 * Fraction::unit + 1e-7;
  }
  check(same_parts && near, name, "from_floats", n);
  std::vector<float> outside(a);
  outside[n - 1] = 1.5f;
  std::vector<Fraction> ignored(n);
  check(!ours.from_floats(outside.data(), ignored.data(), n), name, "from_floats outside", n);
  std::vector<std::uint16_t> masks((n + 15) / 16, 0);
  std::size_t count = 0;
  for (std::size_t c = 0; c < n; c += 1 + c % 3)
    masks[c / 16] = static_cast<std::uint16_t>(masks[c / 16] | 1u << c % 16), ++count;
  // What lies behind the values must stay as it is.
  const Fraction untouched{12345};
  std::vector<Fraction> picked(count + 16, untouched), picked_base(count + 16, untouched);
  std::vector<float> floats(count + 16, 7.0f), floats_base(count + 16, 7.0f);
  const bool inside = ours.pick(a.data(), masks.data(), masks.size(), picked.data(), count) &&
                      base.pick(a.data(), masks.data(), masks.size(), picked_base.data(), count);
  bool same_picked = inside && simd::ops<float>().pick(a.data(), masks.data(), masks.size(), floats.data(), count);
  simd::baseline::table<float>().pick(a.data(), masks.data(), masks.size(), floats_base.data(), count);
  for (std::size_t c = 0; c < count + 16; ++c)
    same_picked = same_picked && std::abs(picked[c].parts - picked_base[c].parts) <= (c < count ? 1 : 0) &&
                  floats[c] == floats_base[c];
  check(same_picked, name, "pick", n);
  outside[0] = -0.5f;
  check(!ours.pick(outside.data(), masks.data(), masks.size(), picked.data(), count), name, "pick outside", n);
  std::vector<float> ours_G(G), base_G(G);
  const auto same_end = [](double x, double y) { return x == y || std::fabs(x - y) < 1e-6; };
  const simd::MaximalViolatingPair found =
      ours.move(ours_G.data(), Ka.data(), Kb.data(), 0.3, rises.data(), falls.data(), n);
  const simd::MaximalViolatingPair wanted =
      base.move(base_G.data(), Ka.data(), Kb.data(), 0.3, rises.data(), falls.data(), n);
  check(close(ours_G, base_G, 1e-6) && same_end(found.up, wanted.up) && same_end(found.down, wanted.down), name,
        "move over fractions", n);
  const simd::Pivot pivot{0.9, 1.0, 0.5, 0.5};
  const auto same_gain = [](const simd::Partner& x, const simd::Partner& y) {
    return std::fabs(x.gain - y.gain) <= 1e-4 * (1 + std::fabs(y.gain));
  };
  check(same_gain(ours.best_newton_partner(G.data(), Ka.data(), diagonal.data(), falls.data(), n, pivot),
                  base.best_newton_partner(G.data(), Ka.data(), diagonal.data(), falls.data(), n, pivot)),
        name, "best_newton_partner over fractions", n);
  check(same_gain(ours.best_ascending_partner(G.data(), Ka.data(), diagonal.data(), room.data(), n, pivot),
                  base.best_ascending_partner(G.data(), Ka.data(), diagonal.data(), room.data(), n, pivot)),
        name, "best_ascending_partner over fractions", n);
  const Fraction* const rows[] = {Ka.data(), Kb.data()};
  const double coefficient[] = {0.25, -1.5};
  ours_G = base_G = G;
  ours.subtract_rows(ours_G.data(), rows, coefficient, 2, 0, n);
  base.subtract_rows(base_G.data(), rows, coefficient, 2, 0, n);
  check(close(ours_G, base_G, 1e-6), name, "subtract_rows over fractions", n);
}

}  // namespace

int main() {
  int compared = 0;
  for (const char* name : {"baseline", "avx2", "avx512", "avx512-popcount"}) {
    if (!simd::use_ops(name)) {
      std::printf("%s: not on this processor\n", name);
      continue;
    }
    for (const std::size_t n : {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 300, 1021})
      for (const std::size_t d : {1, 2, 9, 64, 100}) {
        Comparison<float>(name, n, d, static_cast<unsigned>(n * d)).run();
        Comparison<double>(name, n, d, static_cast<unsigned>(n * d)).run();
        compare_fractions(name, n, static_cast<unsigned>(n + d));
        ++compared;
      }
  }
  std::printf("%d comparisons, %d failures\n", compared, failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
