// Where in some sequences each oligomer occurs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/sequences/oligomers.hpp"

namespace widemargin::sequences {

class ColumnIndex {
 public:
  struct Occurrence {
    std::int32_t column, place;
  };

  // Columns are numbered from `first` on; places count from `low`.
  ColumnIndex(const Oligomers& oligomers, std::span<const Id> ids, std::size_t first, std::int32_t low)
      : begins_(oligomers.n_codes() + 1, 0) {
    for (const Id id : ids)
      for (const Oligomer& one : oligomers.grouped(static_cast<std::size_t>(id)))
        ++begins_[static_cast<std::size_t>(one.code) + 1];
    for (std::size_t c = 0; c + 1 < begins_.size(); ++c) begins_[c + 1] += begins_[c];
    occurrences_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t c = 0; c < ids.size(); ++c)
      for (const Oligomer& one : oligomers.grouped(static_cast<std::size_t>(ids[c])))
        occurrences_[next[static_cast<std::size_t>(one.code)]++] = {static_cast<std::int32_t>(first + c),
                                                                    one.place - low};
  }

  // Those of a code in columns first <= column < last, in order.
  std::span<const Occurrence> of(std::int32_t code, std::size_t first, std::size_t last) const {
    const auto before = [](const Occurrence& one, std::size_t column) {
      return static_cast<std::size_t>(one.column) < column;
    };
    const auto begin = occurrences_.begin() + static_cast<std::ptrdiff_t>(begins_[static_cast<std::size_t>(code)]);
    const auto end = occurrences_.begin() + static_cast<std::ptrdiff_t>(begins_[static_cast<std::size_t>(code) + 1]);
    const auto from = std::lower_bound(begin, end, first, before), to = std::lower_bound(from, end, last, before);
    return {from, to};
  }
  std::size_t count(std::int32_t code) const {
    return begins_[static_cast<std::size_t>(code) + 1] - begins_[static_cast<std::size_t>(code)];
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<Occurrence> occurrences_;
};

}  // namespace widemargin::sequences
