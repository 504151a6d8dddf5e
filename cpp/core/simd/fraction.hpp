// Numbers from 0 to 1 in two bytes: multiples of 1/65535. For copies of kernel values that a search for a step runs
// over, where the memory they take decides how fast it is; what is claimed about a solution comes from the kernel
// values themselves.
#pragma once

#include <cstdint>
#include <type_traits>

namespace widemargin::simd {

struct Fraction {
  static constexpr double unit = 1.0 / 65535;

  std::uint16_t parts;

  explicit operator double() const { return parts * unit; }
  explicit operator float() const { return static_cast<float>(parts * unit); }
};

// What is computed with values that are stored as T.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, Fraction>, float, T>;

// What gradients are kept in beside values of T. With fractions these are those of a subproblem, for part of the way.
template <class T>
using Slope = std::conditional_t<std::is_same_v<T, Fraction>, float, double>;

}  // namespace widemargin::simd
