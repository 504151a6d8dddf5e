// Chains of problems on a kernel matrix, and the matrices themselves.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/problems.hpp"
#include "core/buffer.hpp"
#include "core/grid/chain.hpp"

namespace widemargin::bindings {

// Lets one thread end what others compute.
struct StopSignal {
  std::atomic<bool> requested{false};
};

struct ChainTask {
  std::optional<Vector<Id>> ids;  // rows and columns of the matrix; all of them if not given
  std::vector<Task> links;
  std::optional<Vector<double>> start;
};

struct SolvedLink : Solved {
  bool repeated;
};

inline void check_chain(const ChainTask& chain, std::size_t size) {
  const std::size_t n = chain.ids ? chain.ids->shape(0) : size;
  if (chain.links.empty()) throw std::invalid_argument("a chain needs one problem at least");
  if (chain.start && chain.start->shape(0) != n) throw std::invalid_argument("the start differs in length from the problems");
  for (const Task& link : chain.links) {
    check_problem(link, n);
    if (!link.ridge) continue;
    if (link.ridge->shape(0) != n) throw std::invalid_argument("the ridge differs in length from the problem");
    for (std::size_t p = 0; p < n; ++p)
      if (!(link.ridge->data()[p] >= 0) || !std::isfinite(link.ridge->data()[p]))
        throw std::invalid_argument("a ridge must be a finite number of at least 0; that of variable " + std::to_string(p) + " is not");
  }
  for (std::size_t p = 0; chain.start && p < n; ++p)
    if (!std::isfinite(chain.start->data()[p])) throw std::invalid_argument("a start must hold finite numbers; variable " + std::to_string(p) + " does not");
  if (!chain.ids) return;
  for (std::size_t p = 0; p < n; ++p)
    if (chain.ids->data()[p] < 0 || static_cast<std::size_t>(chain.ids->data()[p]) >= size) throw std::invalid_argument("an id lies outside the kernel matrix");
}

inline std::vector<grid::Link> links_of(const ChainTask& chain) {
  std::vector<grid::Link> links;
  for (const Task& link : chain.links) links.push_back({link.problem(), link.ridge ? view(*link.ridge) : std::span<const double>{}});
  return links;
}

inline std::span<const double> start_of(const ChainTask& chain) { return chain.start ? view(*chain.start) : std::span<const double>{}; }

inline std::vector<SolvedLink> as_solved(std::vector<grid::LinkSolution> solutions) {
  std::vector<SolvedLink> solved;
  for (grid::LinkSolution& one : solutions) solved.push_back({{numpy_array(std::move(one.alpha)), numpy_array(std::move(one.gradient)), one.outcome}, one.repeated});
  return solved;
}

// Chains of problems on a kernel matrix, spread over the threads.
inline std::vector<std::vector<SolvedLink>> solve_chains(Matrix<float> kernel, const std::vector<ChainTask>& chains, double tolerance, std::int64_t max_iterations,
                                                  double max_seconds, std::size_t n_threads, const StopSignal* signal) {
  const std::size_t size = kernel.shape(0);
  if (kernel.shape(1) != size) throw std::invalid_argument("a kernel matrix must be square");
  if (n_threads == 0) throw std::invalid_argument("n_threads must be at least 1");
  for (const ChainTask& chain : chains) check_chain(chain, size);
  std::vector<std::vector<grid::LinkSolution>> solutions(chains.size());
  bool interrupted = false;
  {
    nb::gil_scoped_release release;
    Watch watch(max_seconds, [signal] { return (signal != nullptr && signal->requested.load()) || interruption_pending(); });
    std::exception_ptr failure;
    std::mutex failing;
    ThreadTeam team(n_threads);
    team.share(
        chains.size(),
        [&](std::size_t t, std::size_t member) {
          try {
            const ChainTask& chain = chains[t];
            Buffer<float> part;
            const float* matrix = kernel.data();
            const std::size_t n = chain.ids ? chain.ids->shape(0) : size;
            if (chain.ids) {
              part = Buffer<float>(n * n);
              for (std::size_t r = 0; r < n; ++r) {
                const float* row = kernel.data() + static_cast<std::size_t>(chain.ids->data()[r]) * size;
                for (std::size_t c = 0; c < n; ++c) part.data()[r * n + c] = row[chain.ids->data()[c]];
              }
              matrix = part.data();
            }
            solutions[t] = grid::Chain(matrix, n, {tolerance, max_iterations}, watch, member == 0).run(links_of(chain), start_of(chain));
          } catch (...) {
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
          }
        },
        [&] { watch.poll(); });
    if (failure) std::rethrow_exception(failure);
    interrupted = watch.stopped() && watch.reason() == Reason::interrupted;
  }
  if (interrupted && PyErr_Occurred() != nullptr) throw nb::python_error();
  std::vector<std::vector<SolvedLink>> solved;
  for (std::vector<grid::LinkSolution>& links : solutions) solved.push_back(as_solved(std::move(links)));
  return solved;
}

// Whether `link` provably has the solution `alpha` of the problem before.
inline bool same_solution(const Task& before, const Task& link, Vector<double> alpha) {
  const ChainTask both{std::nullopt, {before, link}, std::nullopt};
  check_chain(both, alpha.shape(0));
  const std::vector<grid::Link> links = links_of(both);
  return grid::same_solution(links[0], links[1], {{alpha.data(), alpha.data() + alpha.shape(0)}, {}, {}});
}

// Kernel values from squared distances or dot products, written to `out`.
inline void apply_kernel(Matrix<float> base, const std::string& kernel, double gamma, double coef0, int degree,
                  nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, std::size_t n_threads) {
  if (base.shape(0) != out.shape(0) || base.shape(1) != out.shape(1)) throw std::invalid_argument("the result has another shape than the matrix");
  if (n_threads == 0) throw std::invalid_argument("n_threads must be at least 1");
  const KernelFunction function{kernel_kind(kernel), gamma, coef0, degree};
  nb::gil_scoped_release release;
  ThreadTeam team(n_threads);
  const std::size_t m = base.shape(1);
  team.share(base.shape(0), [&](std::size_t r, std::size_t) { function.from_base(base.data() + r * m, out.data() + r * m, m); });
}

}  // namespace widemargin::bindings
