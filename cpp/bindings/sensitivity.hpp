// Machines solved for exactly, differentiated, and without one of their samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/problems.hpp"
#include "core/runtime/thread_team.hpp"
#include "core/sensitivity/exact_machine.hpp"
#include "core/sensitivity/leave_one_out.hpp"
#include "core/sensitivity/slope.hpp"

namespace widemargin::bindings {

// An exact machine, with the arrays that it refers to; without corrections it is taken as it is.
class HeldMachine {
 public:
  HeldMachine(Matrix<double> kernel, Vector<std::int64_t> row_of, Vector<std::int64_t> column_of, Vector<double> signs,
              Vector<double> bounds, std::optional<Vector<double>> ridge, bool bordered, Vector<std::int64_t> known,
              Vector<double> alpha, Vector<double> values, double intercept, double well_conditioned, double dependent,
              int corrections)
      : kept_{kernel, row_of, column_of, signs, bounds, ridge, known},
        n_(signs.shape(0)),
        machine_({kernel.data(), kernel.shape(1), view(row_of), view(column_of)}, view(signs), view(bounds),
                 view(ridge), bordered, view(known), {well_conditioned, dependent}) {
    for (const std::size_t size : {row_of.shape(0), column_of.shape(0), bounds.shape(0), alpha.shape(0),
                                   values.shape(0), ridge ? ridge->shape(0) : n_})
      if (size != n_) throw std::invalid_argument("a vector differs in length from the signs");
    require_places(row_of, kernel.shape(0)), require_places(column_of, kernel.shape(1)), require_places(known, n_);
    for (std::size_t k = 0; k < known.shape(0); ++k) require_row(static_cast<std::size_t>(known.data()[k]));
    for (std::size_t i = 0; i < n_; ++i) {
      if (alpha.data()[i] == 0) continue;
      if (column_of.data()[i] < 0) throw std::invalid_argument("a support vector has no column in the kernel");
      if (ridge || std::abs(alpha.data()[i]) < bounds.data()[i]) require_row(i);
    }
    nb::gil_scoped_release release;
    if (corrections > 0)
      found_ = machine_.solve(view(alpha), view(values), intercept, corrections);
    else
      machine_.take(view(alpha), view(values), intercept);
  }

  bool found() const { return found_; }
  const sensitivity::ExactMachine& machine() const { return machine_; }

  std::pair<nb::ndarray<nb::numpy, double>, double> adjoint(Vector<double> of_values,
                                                            std::optional<Vector<double>> of_coefficients) const {
    if (of_values.shape(0) != n_ || (of_coefficients && of_coefficients->shape(0) != n_))
      throw std::invalid_argument("a vector differs in length from the signs");
    for (std::size_t i = 0; i < n_; ++i)
      if (of_values.data()[i] != 0) require_row(i);
    std::vector<double> left(of_values.data(), of_values.data() + n_);
    double slope = 0;
    {
      nb::gil_scoped_release release;
      slope = machine_.adjoint(left, view(of_coefficients));
    }
    return {numpy_array(std::move(left)), slope};
  }

 private:
  struct Arrays {
    Matrix<double> kernel;
    Vector<std::int64_t> row_of, column_of;
    Vector<double> signs, bounds;
    std::optional<Vector<double>> ridge;
    Vector<std::int64_t> known;
  };

  static void require_places(const Vector<std::int64_t>& places, std::size_t size) {
    for (std::size_t k = 0; k < places.shape(0); ++k)
      if (places.data()[k] < -1 || places.data()[k] >= static_cast<std::int64_t>(size))
        throw std::invalid_argument("a place lies outside the kernel");
  }

  void require_row(std::size_t i) const {
    if (i >= n_ || kept_.row_of.data()[i] < 0)
      throw std::invalid_argument("a sample whose kernel values are needed has no row in the kernel");
  }

  Arrays kept_;
  std::size_t n_;
  sensitivity::ExactMachine machine_;
  bool found_ = false;
};

inline double likeliest_slope(Vector<double> margins, Vector<double> weights, double largest) {
  if (weights.shape(0) != margins.shape(0)) throw std::invalid_argument("weights differ in length from margins");
  return sensitivity::likeliest_slope(view(margins), view(weights), largest);
}

// Values of the machines without each of `samples` at the sample left out; which of them were found; and, if wanted,
// their coefficients (one row each) and intercepts.
struct LeftOut {
  nb::ndarray<nb::numpy, double> values;
  nb::ndarray<nb::numpy, std::uint8_t> found;
  nb::ndarray<nb::numpy, double> intercepts;
  nb::ndarray<nb::numpy, double> alphas;
};

// Residuals up to this, in units of the margin, are followed all along.
inline constexpr double near_residual = 0.2;

inline LeftOut leave_one_out(Matrix<double> kernel, Vector<double> signs, Vector<double> bounds, Vector<double> ridge,
                             Vector<double> alpha, Vector<double> residual, double intercept, bool bordered,
                             Vector<std::int32_t> free, Matrix<double> inverse, Vector<std::int32_t> samples, bool keep,
                             std::size_t n_threads, double max_seconds, const StopSignal* signal) {
  const std::size_t n = kernel.shape(0), m = samples.shape(0), size = free.shape(0) + (bordered ? 1 : 0);
  if (kernel.shape(1) != n) throw std::invalid_argument("a kernel matrix must be square");
  for (const Vector<double>& one : {signs, bounds, ridge, alpha, residual})
    if (one.shape(0) != n) throw std::invalid_argument("a vector differs in length from the kernel");
  if (inverse.shape(0) != size || inverse.shape(1) != size)
    throw std::invalid_argument("the inverse differs in size from the free variables");
  for (const Vector<std::int32_t>& some : {free, samples})
    for (std::size_t k = 0; k < some.shape(0); ++k)
      if (some.data()[k] < 0 || static_cast<std::size_t>(some.data()[k]) >= n)
        throw std::invalid_argument("a sample lies outside the kernel");
  if (n_threads == 0) throw std::invalid_argument("n_threads must be at least 1");
  const sensitivity::TrainedMachine machine{view(signs), view(bounds),   view(ridge),
                                            view(alpha), view(residual), intercept,
                                            bordered,    view(free),     {inverse.data(), size * size}};
  std::vector<double> values(m), intercepts(m), alphas(keep ? m * n : 0);
  std::vector<std::uint8_t> found(m);
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    const sensitivity::OrderedKernel near(kernel.data(), machine, near_residual);
    std::vector<sensitivity::LeaveOneOut> paths(team.size(), sensitivity::LeaveOneOut(machine, near));
    const auto run = [&](std::size_t k, sensitivity::LeaveOneOut& path) {
      const auto end = path.run(static_cast<std::size_t>(samples.data()[k]));
      if (end != sensitivity::LeaveOneOut::End::found) return end;
      found[k] = 1, values[k] = path.value(), intercepts[k] = path.intercept();
      if (keep) path.copy_alpha(alphas.data() + k * n);
      return end;
    };
    std::vector<std::uint8_t> again(m);
    team.share(m, [&](std::size_t k, std::size_t member) {
      if (!deadline.poll(member == 0)) again[k] = run(k, paths[member]) == sensitivity::LeaveOneOut::End::changed_far;
    });
    if (std::find(again.begin(), again.end(), 1) != again.end()) {
      const sensitivity::OrderedKernel all(kernel.data(), machine, std::numeric_limits<double>::infinity());
      std::vector<sensitivity::LeaveOneOut> wider(team.size(), sensitivity::LeaveOneOut(machine, all));
      team.share(m, [&](std::size_t k, std::size_t member) {
        if (again[k] && !deadline.poll(member == 0)) run(k, wider[member]);
      });
    }
  });
  return {numpy_array(std::move(values)), numpy_array(std::move(found)), numpy_array(std::move(intercepts)),
          numpy_array(std::move(alphas))};
}

}  // namespace widemargin::bindings
