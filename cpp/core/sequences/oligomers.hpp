// The oligomers of sequences: in the order they stand in, and grouped by what they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace widemargin::sequences {

struct Oligomer {
  std::int32_t code, place;
};

class Oligomers {
 public:
  // Sequence i has codes[begins[i]] ... codes[begins[i + 1] - 1], at places 0, 1, ... less origins[i]; a code below 0
  // is none.
  Oligomers(std::span<const std::int32_t> codes, std::span<const std::int64_t> begins,
            std::span<const std::int64_t> origins, std::size_t n_codes)
      : n_codes_(n_codes) {
    check(codes, begins, origins);
    const std::size_t n = origins.size();
    grouped_begins_.reserve(n + 1);
    grouped_begins_.push_back(0);
    grouped_.reserve(codes.size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t length = static_cast<std::size_t>(begins[i + 1] - begins[i]);
      const std::int32_t start = static_cast<std::int32_t>(-origins[i]);
      starts_.push_back(start);
      if (length > 0) {
        low_ = std::min(low_, start);
        high_ = std::max(high_, start + static_cast<std::int32_t>(length));
      }
      for (std::size_t j = 0; j < length; ++j) {
        const std::int32_t code = codes[static_cast<std::size_t>(begins[i]) + j];
        if (code >= 0) grouped_.push_back({code, start + static_cast<std::int32_t>(j)});
      }
      std::sort(
          grouped_.begin() + static_cast<std::ptrdiff_t>(grouped_begins_.back()), grouped_.end(),
          [](const Oligomer& a, const Oligomer& b) { return a.code != b.code ? a.code < b.code : a.place < b.place; });
      grouped_begins_.push_back(grouped_.size());
    }
    if (n_codes > most_packed) return;
    begins_.assign(begins.begin(), begins.end());
    packed_.reserve(codes.size());
    for (const std::int32_t code : codes)
      packed_.push_back(static_cast<std::uint16_t>(code < 0 ? n_codes : static_cast<std::size_t>(code)));
  }

  std::size_t size() const { return starts_.size(); }
  std::size_t n_codes() const { return n_codes_; }
  std::size_t n_oligomers() const { return grouped_.size(); }

  // All places lie in low() <= place < high().
  std::int32_t low() const { return low_; }
  std::int32_t high() const { return high_; }

  // The known oligomers of a sequence, by code and then by place.
  std::span<const Oligomer> grouped(std::size_t i) const {
    return {grouped_.data() + grouped_begins_[i], grouped_begins_[i + 1] - grouped_begins_[i]};
  }

  // All of them by place, from start(i) on, with n_codes() for one that is none; only where there are few codes.
  static constexpr std::size_t most_packed = 4096;
  std::span<const std::uint16_t> packed(std::size_t i) const {
    return {packed_.data() + begins_[i], static_cast<std::size_t>(begins_[i + 1] - begins_[i])};
  }
  std::int32_t start(std::size_t i) const { return starts_[i]; }

 private:
  void check(std::span<const std::int32_t> codes, std::span<const std::int64_t> begins,
             std::span<const std::int64_t> origins) const {
    if (begins.size() != origins.size() + 1 || begins.front() != 0 ||
        begins.back() != static_cast<std::int64_t>(codes.size()))
      throw std::invalid_argument("the arrays of the sequences do not fit together");
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 1;
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (begins[i] > begins[i + 1]) throw std::invalid_argument("the beginnings of the sequences decrease");
      if (-origins[i] < -most || begins[i + 1] - begins[i] - origins[i] > most || -origins[i] > most)
        throw std::invalid_argument("a place in a sequence is beyond what 32 bits hold");
    }
    for (const std::int32_t code : codes)
      if (code >= 0 && static_cast<std::size_t>(code) >= n_codes_)
        throw std::invalid_argument("the code of an oligomer is too large");
  }

  std::size_t n_codes_;
  std::int32_t low_ = std::numeric_limits<std::int32_t>::max(), high_ = std::numeric_limits<std::int32_t>::min();
  std::vector<Oligomer> grouped_;
  std::vector<std::size_t> grouped_begins_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int64_t> begins_;
  std::vector<std::uint16_t> packed_;
};

// Calls work(code, oligomers) for each code of a sequence and its places.
template <class Work>
void for_each_code(std::span<const Oligomer> grouped, Work&& work) {
  for (std::size_t begin = 0, end; begin < grouped.size(); begin = end) {
    const std::int32_t code = grouped[begin].code;
    for (end = begin + 1; end < grouped.size() && grouped[end].code == code;) ++end;
    work(code, grouped.subspan(begin, end - begin));
  }
}

}  // namespace widemargin::sequences
