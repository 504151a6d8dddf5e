// How often sequences hold oligomers: exact ones, those that differ in a few letters, and those with gaps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/stopping.hpp"
#include "core/runtime/thread_team.hpp"

namespace widemargin::sequences {

// All oligomers of so many letters, numbered in alphabetical order; of two that are reverse complements of each other,
// the first stands for both where letters have partners.
class OligomerSpace {
 public:
  OligomerSpace(std::size_t letters, std::size_t k, std::span<const std::int64_t> partners)
      : letters_(static_cast<std::int64_t>(letters)), strides_(k), partners_(partners.begin(), partners.end()) {
    if (letters == 0 || k == 0) throw std::invalid_argument("oligomers have letters");
    if (!partners_.empty() && partners_.size() != letters) throw std::invalid_argument("every letter has a partner");
    for (std::size_t j = k; j-- > 0;) {
      strides_[j] = size_;
      if (size_ > (std::int64_t(1) << 62) / letters_) throw std::invalid_argument("there are too many oligomers");
      size_ *= letters_;
    }
  }

  std::size_t k() const { return strides_.size(); }
  std::int64_t letters() const { return letters_; }
  std::int64_t size() const { return size_; }
  std::int64_t stride(std::size_t j) const { return strides_[j]; }
  bool has_partners() const { return !partners_.empty(); }

  std::int64_t complement(std::int64_t code) const {
    std::int64_t found = 0;
    for (std::size_t j = 0; j < k(); ++j, code /= letters_)
      found = found * letters_ + partners_[static_cast<std::size_t>(code % letters_)];
    return found;
  }
  std::int64_t name(std::int64_t code) const { return has_partners() ? std::min(code, complement(code)) : code; }

  // Calls emit(code) for all oligomers that differ from one in at most so many letters.
  template <class Emit>
  void around(std::int64_t code, std::size_t mismatches, Emit&& emit) const {
    emit(code);
    if (mismatches > 0) differing(code, 0, mismatches, emit);
  }

  // How many these are.
  double around_size(std::size_t mismatches) const {
    double total = 0, ways = 1;
    for (std::size_t m = 0; m <= mismatches; ++m) {
      total += ways;
      ways *= static_cast<double>(k() - m) / static_cast<double>(m + 1) * static_cast<double>(letters_ - 1);
    }
    return total;
  }

 private:
  template <class Emit>
  void differing(std::int64_t code, std::size_t from, std::size_t left, Emit& emit) const {
    for (std::size_t j = from; j < k(); ++j) {
      const std::int64_t digit = code / strides_[j] % letters_, zeroed = code - digit * strides_[j];
      for (std::int64_t other = 0; other < letters_; ++other) {
        if (other == digit) continue;
        const std::int64_t changed = zeroed + other * strides_[j];
        emit(changed);
        if (left > 1) differing(changed, j + 1, left - 1, emit);
      }
    }
  }

  std::int64_t letters_, size_ = 1;
  std::vector<std::int64_t> strides_, partners_;
};

// Calls emit(code) once for each oligomer whose letters stand in a window in this order. The first place at which each
// letter can stand leads to every such oligomer by one way only, so that none has to be looked up.
class GappedWindow {
 public:
  GappedWindow(const OligomerSpace& space, std::size_t gaps) : space_(space), gaps_(gaps), before_(space.k() + gaps) {}

  template <class Emit>
  void operator()(const std::int16_t* window, Emit&& emit) {
    for (std::size_t p = 0; p < before_.size(); ++p) {
      before_[p] = 0;  // one behind the last place of the same letter
      for (std::size_t q = p; q-- > 0 && before_[p] == 0;)
        if (window[q] == window[p]) before_[p] = q + 1;
    }
    next(window, 0, 0, 0, emit);
  }

 private:
  template <class Emit>
  void next(const std::int16_t* window, std::size_t from, std::size_t j, std::int64_t code, Emit& emit) {
    const bool last = j + 1 == space_.k();
    for (std::size_t p = from; p <= gaps_ + j; ++p) {
      if (before_[p] > from) continue;
      const std::int64_t longer = code * space_.letters() + window[p];
      if (last)
        emit(longer);
      else
        next(window, p + 1, j + 1, longer, emit);
    }
  }

  const OligomerSpace& space_;
  std::size_t gaps_;
  std::vector<std::size_t> before_;
};

// A sparse row of counts for each sequence, by the codes of oligomers, or, where these are too many to keep a list for
// each, by their numbers among all that occur.
class Counts {
 public:
  static constexpr std::int64_t most_listed = std::int64_t(1) << 20;

  // `letters` are places in the alphabet, below 0 for one that is not in it; sequence i has those from begins[i] on.
  Counts(std::span<const std::int16_t> letters, std::span<const std::int64_t> begins, const OligomerSpace& space,
         std::size_t gaps, std::size_t mismatches, ThreadTeam& team, Deadline& deadline) {
    check(letters, begins, space);
    const std::size_t n = begins.size() - 1;
    if (space.size() <= most_listed) {
      n_codes_ = static_cast<std::size_t>(space.size());
      count<std::int32_t>(letters, begins, space, gaps, mismatches, codes_, team, deadline);
    } else {
      std::vector<std::int64_t> wide;
      count<std::int64_t>(letters, begins, space, gaps, mismatches, wide, team, deadline);
      known_ = wide;
      std::sort(known_.begin(), known_.end());
      known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
      known_.shrink_to_fit();
      n_codes_ = known_.size();
      if (n_codes_ > std::size_t(std::numeric_limits<std::int32_t>::max()))
        throw std::length_error("too many different oligomers");
      codes_.resize(wide.size());
      team.share((n + strip - 1) / strip, [&](std::size_t s, std::size_t) {
        const auto begin = begins_[s * strip], end = begins_[std::min(n, (s + 1) * strip)];
        for (std::size_t t = begin; t < end; ++t) codes_[t] = static_cast<std::int32_t>(place_of(wide[t]));
      });
    }
    for (const std::uint32_t value : values_) largest_ = std::max(largest_, value);
  }

  std::size_t size() const { return begins_.size() - 1; }
  std::size_t n_codes() const { return n_codes_; }
  std::size_t n_stored() const { return codes_.size(); }
  std::uint32_t largest() const { return largest_; }
  const std::vector<std::int32_t>& codes() const { return codes_; }

  // Codes of a sequence in order, and how often each occurs.
  std::span<const std::int32_t> codes(std::size_t i) const {
    return {codes_.data() + begins_[i], begins_[i + 1] - begins_[i]};
  }
  std::span<const std::uint32_t> values(std::size_t i) const {
    return {values_.data() + begins_[i], begins_[i + 1] - begins_[i]};
  }

  // The same counts by the numbers that the oligomers have in others; those that these do not hold are left out.
  Counts numbered_as(const Counts& others) const {
    Counts found;
    found.known_ = others.known_, found.n_codes_ = others.n_codes_, found.largest_ = largest_;
    std::vector<std::int32_t> place(n_codes_, -1);
    for (std::size_t c = 0, at = 0; c < n_codes_ && at < others.known_.size();) {
      if (known_[c] == others.known_[at])
        place[c++] = static_cast<std::int32_t>(at++);
      else
        known_[c] < others.known_[at] ? ++c : ++at;
    }
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t t = begins_[i]; t < begins_[i + 1]; ++t) {
        const std::int32_t to = place[static_cast<std::size_t>(codes_[t])];
        if (to >= 0) found.codes_.push_back(to), found.values_.push_back(values_[t]);
      }
      found.begins_.push_back(found.codes_.size());
    }
    return found;
  }

 private:
  static constexpr std::size_t strip = 16;

  Counts() = default;

  static void check(std::span<const std::int16_t> letters, std::span<const std::int64_t> begins,
                    const OligomerSpace& space) {
    if (begins.empty() || begins.front() != 0 || begins.back() != static_cast<std::int64_t>(letters.size()))
      throw std::invalid_argument("the arrays of the sequences do not fit together");
    for (std::size_t i = 0; i + 1 < begins.size(); ++i)
      if (begins[i] > begins[i + 1]) throw std::invalid_argument("the beginnings of the sequences decrease");
    for (const std::int16_t letter : letters)
      if (letter >= space.letters()) throw std::invalid_argument("a letter lies outside the alphabet");
  }

  std::size_t place_of(std::int64_t code) const {
    return static_cast<std::size_t>(std::lower_bound(known_.begin(), known_.end(), code) - known_.begin());
  }

  // What sequences hold, some of them at a time: one part for each strip of sequences, put together at the end.
  template <class Code>
  struct Part {
    std::vector<Code> codes;
    std::vector<std::uint32_t> values;
    std::vector<std::size_t> ends;
  };

  template <class Code>
  void count(std::span<const std::int16_t> letters, std::span<const std::int64_t> begins, const OligomerSpace& space,
             std::size_t gaps, std::size_t mismatches, std::vector<Code>& codes, ThreadTeam& team, Deadline& deadline) {
    const std::size_t n = begins.size() - 1, strips = (n + strip - 1) / strip;
    std::vector<Part<Code>> parts(strips);
    std::vector<std::vector<std::uint32_t>> tables(team.size());
    const auto work = [&](std::size_t s, std::size_t member) {
      TimeBudget budget(deadline, member == 0);
      GappedWindow gapped(space, gaps);
      for (std::size_t i = s * strip; i < std::min(n, (s + 1) * strip); ++i) {
        const auto of =
            letters.subspan(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(begins[i + 1] - begins[i]));
        if (!count_one(of, space, gaps, mismatches, gapped, tables[member], parts[s], budget)) return;
      }
    };
    team.share(strips, work, [&] { deadline.poll(); });
    if (deadline.stopped()) throw Stopped{deadline.reason()};
    std::size_t total = 0;
    for (const Part<Code>& part : parts) total += part.codes.size();
    codes.reserve(total), values_.reserve(total), begins_.reserve(n + 1);
    for (Part<Code>& part : parts) {
      for (const std::size_t end : part.ends) begins_.push_back(codes.size() + end);
      codes.insert(codes.end(), part.codes.begin(), part.codes.end());
      values_.insert(values_.end(), part.values.begin(), part.values.end());
      part = {};
    }
  }

  // Returns whether there was time for it.
  template <class Code>
  static bool count_one(std::span<const std::int16_t> letters, const OligomerSpace& space, std::size_t gaps,
                        std::size_t mismatches, GappedWindow& gapped, std::vector<std::uint32_t>& table,
                        Part<Code>& part, TimeBudget& budget) {
    constexpr bool listed = sizeof(Code) == sizeof(std::int32_t);
    std::vector<std::int64_t> seen;  // all, or those that the table holds
    if constexpr (listed) table.resize(static_cast<std::size_t>(space.size()), 0);
    std::uint64_t done = 0;
    const auto add = [&](std::int64_t code) {
      ++done;
      const std::int64_t name = space.name(code);
      if constexpr (listed) {
        if (table[static_cast<std::size_t>(name)]++ == 0) seen.push_back(name);
      } else {
        seen.push_back(name);
      }
    };
    const std::size_t width = space.k() + gaps;
    std::size_t known = 0;  // letters in a row up to here
    std::int64_t code = 0;
    for (std::size_t p = 0; p < letters.size(); ++p) {
      if (letters[p] < 0) {
        known = 0, code = 0;
        continue;
      }
      ++known;
      code = (code % space.stride(0)) * space.letters() + letters[p];  // of the last k letters
      if (known < width) continue;
      if (gaps > 0)
        gapped(letters.data() + (p + 1 - width), add);
      else
        space.around(code, mismatches, add);
      if (budget.spent(std::exchange(done, 0) * 2)) return false;
    }
    if constexpr (listed) {
      if (seen.size() >= table.size() / 16) {
        seen.clear();
        for (std::size_t c = 0; c < table.size(); ++c)
          if (table[c] != 0) seen.push_back(static_cast<std::int64_t>(c));
      } else {
        std::sort(seen.begin(), seen.end());
      }
      for (const std::int64_t one : seen) {
        part.codes.push_back(static_cast<Code>(one));
        part.values.push_back(std::exchange(table[static_cast<std::size_t>(one)], 0));
      }
    } else {
      std::sort(seen.begin(), seen.end());
      for (std::size_t begin = 0, end; begin < seen.size(); begin = end) {
        for (end = begin + 1; end < seen.size() && seen[end] == seen[begin];) ++end;
        part.codes.push_back(seen[begin]);
        part.values.push_back(static_cast<std::uint32_t>(end - begin));
      }
    }
    part.ends.push_back(part.codes.size());
    return true;
  }

  std::vector<std::size_t> begins_{0};
  std::vector<std::int32_t> codes_;
  std::vector<std::uint32_t> values_;
  std::vector<std::int64_t> known_;
  std::size_t n_codes_ = 0;
  std::uint32_t largest_ = 0;
};

}  // namespace widemargin::sequences
