// Leave-one-out machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "bindings/chains.hpp"
#include "core/sensitivity/leave_one_out.hpp"
#include "core/thread_team.hpp"

namespace widemargin::bindings {

// Values of the machines without each of `examples` at the example left out; which of them were found; and, if wanted, their coefficients
// (one row each) and intercepts.
struct LeftOut {
  nb::ndarray<nb::numpy, double> values;
  nb::ndarray<nb::numpy, std::uint8_t> found;
  nb::ndarray<nb::numpy, double> intercepts;
  nb::ndarray<nb::numpy, double> alphas;
};

// Residuals up to this, in units of the margin, are followed all along.
inline constexpr double near_residual = 0.2;

inline LeftOut leave_one_out(Matrix<double> kernel, Vector<double> signs, Vector<double> bounds, Vector<double> ridge, Vector<double> alpha, Vector<double> residual,
                             double intercept, bool bordered, Vector<std::int32_t> free, Matrix<double> inverse, Vector<std::int32_t> examples, bool keep, std::size_t n_threads,
                             double max_seconds, const StopSignal* signal) {
  const std::size_t n = kernel.shape(0), m = examples.shape(0), size = free.shape(0) + (bordered ? 1 : 0);
  if (kernel.shape(1) != n) throw std::invalid_argument("a kernel matrix must be square");
  for (const Vector<double>& one : {signs, bounds, ridge, alpha, residual})
    if (one.shape(0) != n) throw std::invalid_argument("a vector differs in length from the kernel");
  if (inverse.shape(0) != size || inverse.shape(1) != size) throw std::invalid_argument("the inverse differs in size from the free variables");
  for (const Vector<std::int32_t>& some : {free, examples})
    for (std::size_t k = 0; k < some.shape(0); ++k)
      if (some.data()[k] < 0 || static_cast<std::size_t>(some.data()[k]) >= n) throw std::invalid_argument("an example lies outside the kernel");
  if (n_threads == 0) throw std::invalid_argument("n_threads must be at least 1");
  const sensitivity::TrainedMachine machine{view(signs), view(bounds), view(ridge), view(alpha), view(residual), intercept, bordered, view(free), {inverse.data(), size * size}};
  std::vector<double> values(m), intercepts(m), alphas(keep ? m * n : 0);
  std::vector<std::uint8_t> found(m);
  Watch watch(max_seconds, end_wanted(signal));
  {
    nb::gil_scoped_release release;
    ThreadTeam team(n_threads);
    const sensitivity::OrderedKernel near(kernel.data(), machine, near_residual);
    std::vector<sensitivity::LeaveOneOut> paths(team.size(), sensitivity::LeaveOneOut(machine, near));
    const auto run = [&](std::size_t k, sensitivity::LeaveOneOut& path) {
      const auto end = path.run(static_cast<std::size_t>(examples.data()[k]));
      if (end != sensitivity::LeaveOneOut::End::found) return end;
      found[k] = 1, values[k] = path.value(), intercepts[k] = path.intercept();
      if (keep) path.copy_alpha(alphas.data() + k * n);
      return end;
    };
    std::vector<std::uint8_t> again(m);
    team.share(m, [&](std::size_t k, std::size_t member) {
      if (!watch.poll(member == 0)) again[k] = run(k, paths[member]) == sensitivity::LeaveOneOut::End::changed_far;
    });
    if (std::find(again.begin(), again.end(), 1) != again.end()) {
      const sensitivity::OrderedKernel all(kernel.data(), machine, std::numeric_limits<double>::infinity());
      std::vector<sensitivity::LeaveOneOut> wider(team.size(), sensitivity::LeaveOneOut(machine, all));
      team.share(m, [&](std::size_t k, std::size_t member) {
        if (again[k] && !watch.poll(member == 0)) run(k, wider[member]);
      });
    }
  }
  if (watch.stopped()) raise_stopped();
  return {numpy_array(std::move(values)), numpy_array(std::move(found)), numpy_array(std::move(intercepts)), numpy_array(std::move(alphas))};
}

}  // namespace widemargin::bindings
