// Dual problems as they come from Python, and solutions as they go back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/sources.hpp"
#include "bindings/stopping.hpp"
#include "core/dual_problem.hpp"
#include "core/outcome.hpp"

namespace widemargin::bindings {

template <class T>
nb::ndarray<nb::numpy, T> numpy_array(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner);
}

// Of so many rows.
template <class T>
nb::ndarray<nb::numpy, T> numpy_matrix(std::vector<T> values, std::size_t rows) {
  const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {rows, columns}, owner);
}

struct Task {
  Vector<Id> ids;
  Vector<double> linear, lower, upper;
  std::optional<Vector<double>> alpha, gradient;
  std::array<double, 2> total;
  std::optional<Vector<std::uint8_t>> group;
  std::optional<Vector<double>> kink;
  std::optional<Vector<double>> ridge;  // chains only: elsewhere the row source has it

  DualProblem problem() const { return {view(linear), view(lower), view(upper), total, view(group), view(kink)}; }
};

struct Solved {
  nb::ndarray<nb::numpy, double> alpha, gradient;
  Outcome outcome;
};

inline void check_problem(const Task& task, std::size_t n) {
  if (task.linear.shape(0) != n || task.lower.shape(0) != n || task.upper.shape(0) != n)
    throw std::invalid_argument("ids, linear, lower and upper differ in length");
  if (task.group && task.group->shape(0) != n)
    throw std::invalid_argument("the groups differ in length from the problem");
  if (task.kink && task.kink->shape(0) != n) throw std::invalid_argument("the kinks differ in length from the problem");
  if (task.kink && task.group) throw std::invalid_argument("a problem with kinks has one constant sum, and no groups");
  if ((task.alpha && task.alpha->shape(0) != n) || (task.gradient && task.gradient->shape(0) != n))
    throw std::invalid_argument("the start differs in length from the problem");
  for (std::size_t p = 0; p < n; ++p) {
    if (!std::isfinite(task.linear.data()[p]) || (task.alpha && !std::isfinite(task.alpha->data()[p])) ||
        (task.gradient && !std::isfinite(task.gradient->data()[p])))
      throw std::invalid_argument("linear, start and start_gradient must hold finite numbers; variable " +
                                  std::to_string(p) + " does not");
    if (task.group && task.group->data()[p] > 1)
      throw std::invalid_argument("a variable is in neither of the two groups");
    if (!(task.lower.data()[p] <= task.upper.data()[p]))
      throw std::invalid_argument("a lower bound exceeds its upper bound");
    if (task.kink && !(task.kink->data()[p] >= 0 && std::isfinite(task.kink->data()[p]) && task.lower.data()[p] <= 0 &&
                       task.upper.data()[p] >= 0))
      throw std::invalid_argument(
          "a kink must be a finite number of at least 0 in a box that contains 0; that of variable " +
          std::to_string(p) + " is not");
  }
}

}  // namespace widemargin::bindings
