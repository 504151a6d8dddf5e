// Vectors that grow and shrink together, an entry for each sample.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/rows/row_source.hpp"

namespace widemargin::online {

// Room for one entry more in each of them, so that nothing can fail halfway through an append.
template <class... V>
void make_room(V&... vectors) {
  (..., (vectors.size() == vectors.capacity() ? vectors.reserve(2 * vectors.size() + 16) : void()));
}

// Only the entries at these positions stay, in this order, which is that of their positions.
template <class... V>
void pick(std::span<const Id> staying, V&... vectors) {
  const auto pick_of_one = [&](auto& values) {
    for (std::size_t p = 0; p < staying.size(); ++p) values[p] = values[static_cast<std::size_t>(staying[p])];
    values.resize(staying.size());
  };
  (..., pick_of_one(vectors));
}

}  // namespace widemargin::online
