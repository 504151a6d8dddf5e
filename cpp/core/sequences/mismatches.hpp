// Counts with mismatches without a list of them: all oligomers that differ from those of a sequence in a few letters
// are as good as all that there are, and sums over them are sums over letters, one place after the other.
//
// N is the matrix of ones where two oligomers differ in at most m letters, c the counts of a sequence. The counts with
// mismatches are N c, and kernel values
//
//   k(x, z) = (N c_x)' F (N c_z) = c_x' (N F N c_z),
//
// with F = 1, or, where reverse complements are the same, F = 1 + R - P: R turns an oligomer into its complement, P
// keeps those that are their own. So one sequence of a pair is spread over all oligomers, and the other looks up the
// few that it holds. Let A_d have ones where two oligomers differ in just d letters, and J be all ones over the letters
// at one place; then
//
//   sum_d t^d A_d = (1 + t (J - 1)) x ... x (1 + t (J - 1)),    a factor for each place,
//
// so N v = (A_0 + ... + A_m) v takes a pass for each place over the coefficients of t^0 ... t^m. All are whole numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/runtime/scratch.hpp"
#include "core/sequences/counts.hpp"

namespace widemargin::sequences {

class Mismatches {
 public:
  Mismatches(OligomerSpace space, std::size_t mismatches) : space_(std::move(space)), mismatches_(mismatches) {
    if (space_.size() > Counts::most_listed) throw std::invalid_argument("there are too many oligomers");
    if (mismatches >= space_.k()) throw std::invalid_argument("there must be fewer mismatches than letters");
    if (!space_.has_partners()) return;
    complements_.resize(size());
    for (std::size_t c = 0; c < size(); ++c)
      complements_[c] = static_cast<std::int32_t>(space_.complement(static_cast<std::int64_t>(c)));
  }

  std::size_t size() const { return static_cast<std::size_t>(space_.size()); }

  // Whether floats hold all sums of sequences that have at most so many oligomers.
  bool exact_in_floats(double oligomers) const {
    return 2.0 * oligomers * space_.around_size(mismatches_) < 16777216.0;
  }
  // c' N F N c, which takes one list and no sums.
  template <class T>
  double square(std::span<const std::int32_t> codes, std::span<const std::uint32_t> values, T* memory) const {
    list(codes, values, memory);
    double found = 0;
    for (std::size_t c = 0; c < size(); ++c) {
      const std::size_t other = complements_.empty() ? c : static_cast<std::size_t>(complements_[c]);
      if (other < c) continue;
      const double value = static_cast<double>(memory[c]) + (other > c ? static_cast<double>(memory[other]) : 0.0);
      found += value * value;
    }
    return found;
  }

  // What a sequence of so many different oligomers takes to be spread, in units of about a nanosecond.
  std::uint64_t work(std::size_t codes) const {
    return size() * space_.k() * mismatches_ / 2 +
           static_cast<std::uint64_t>(static_cast<double>(codes) * space_.around_size(mismatches_));
  }

  // N F N c; the result lies at the beginning of memory for scratch_size() numbers.
  std::size_t scratch_size() const { return (mismatches_ + 1) * size(); }
  template <class T>
  void spread(std::span<const std::int32_t> codes, std::span<const std::uint32_t> values, T* memory) const {
    const std::size_t n = size();
    list(codes, values, memory);
    std::fill_n(memory + n, n * mismatches_, T(0));
    for (std::size_t c = 0; c < complements_.size(); ++c) {
      const std::size_t other = static_cast<std::size_t>(complements_[c]);
      if (c < other) memory[c] = memory[other] = memory[c] + memory[other];
    }
    for (std::size_t j = 0; j < space_.k(); ++j)
      for (std::size_t degree = std::min(mismatches_, j + 1); degree > 0; --degree)
        add_others(memory + (degree - 1) * n, memory + degree * n, static_cast<std::size_t>(space_.stride(j)));
    for (std::size_t degree = 1; degree <= mismatches_; ++degree)
      for (std::size_t c = 0; c < n; ++c) memory[c] += memory[degree * n + c];
  }

 private:
  static constexpr std::size_t tile = 256;

  // N c, one oligomer after the other.
  template <class T>
  void list(std::span<const std::int32_t> codes, std::span<const std::uint32_t> values, T* memory) const {
    std::fill_n(memory, size(), T(0));
    for (std::size_t t = 0; t < codes.size(); ++t) {
      const T value = static_cast<T>(values[t]);
      space_.around(codes[t], mismatches_, [&](std::int64_t code) { memory[code] += value; });
    }
  }

  // to += (J - 1) from, over the letters at one place.
  template <class T>
  void add_others(const T* from, T* to, std::size_t stride) const {
    if (space_.letters() == 4 && stride == 1)
      add_others_in_a_row<4>(from, to);
    else if (space_.letters() == 4 && stride == 4)
      add_others_in_tiles<T, 4, 4>(from, to, stride);
    else
      add_others_in_tiles<T, 0, 0>(from, to, stride);
  }

  template <std::size_t Letters, class T>
  void add_others_in_a_row(const T* from, T* to) const {
    for (std::size_t c = 0; c < size(); c += Letters) {
      T sum = 0;
      for (std::size_t a = 0; a < Letters; ++a) sum += from[c + a];
      for (std::size_t a = 0; a < Letters; ++a) to[c + a] += sum - from[c + a];
    }
  }

  // Sizes that are known before are not 0.
  template <class T, std::size_t Letters, std::size_t Stride>
  void add_others_in_tiles(const T* from, T* to, std::size_t given_stride) const {
    const std::size_t letters = Letters != 0 ? Letters : static_cast<std::size_t>(space_.letters());
    const std::size_t stride = Stride != 0 ? Stride : given_stride;
    std::array<T, Stride != 0 ? Stride : tile> sums;
    for (std::size_t block = 0; block < size(); block += letters * stride) {
      for (std::size_t begin = 0; begin < stride; begin += sums.size()) {
        const std::size_t width = Stride != 0 ? Stride : std::min(sums.size(), stride - begin);
        const T* source = from + block + begin;
        T* target = to + block + begin;
        std::fill_n(sums.data(), width, T(0));
        for (std::size_t a = 0; a < letters; ++a)
          for (std::size_t o = 0; o < width; ++o) sums[o] += source[a * stride + o];
        for (std::size_t a = 0; a < letters; ++a)
          for (std::size_t o = 0; o < width; ++o) target[a * stride + o] += sums[o] - source[a * stride + o];
      }
    }
  }

  OligomerSpace space_;
  std::size_t mismatches_;
  std::vector<std::int32_t> complements_;
};

}  // namespace widemargin::sequences
