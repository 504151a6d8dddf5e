// Chains of problems on a kernel matrix, and the matrices themselves.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/problems.hpp"
#include "core/chain/matrix_chain.hpp"
#include "core/runtime/buffer.hpp"

namespace widemargin::bindings {

struct SolvedLink : Solved {
  bool repeated;
  double rounding;
};

// Stands for the number of a sample whose kernel values are all 0; such samples come last.
inline constexpr Id resembles_nothing = -1;

inline std::vector<SolvedLink> as_solved(std::vector<chain::LinkSolution> solutions) {
  std::vector<SolvedLink> solved;
  for (chain::LinkSolution& one : solutions)
    solved.push_back({{numpy_array(std::move(one.alpha)), numpy_array(std::move(one.gradient)), one.outcome},
                      one.repeated,
                      one.rounding});
  return solved;
}

inline void check_link(const Task& link, std::size_t n) {
  check_problem(link, n);
  if (!link.ridge) return;
  if (link.ridge->shape(0) != n) throw std::invalid_argument("the ridge differs in length from the problem");
  for (std::size_t p = 0; p < n; ++p)
    if (!(link.ridge->data()[p] >= 0) || !std::isfinite(link.ridge->data()[p]))
      throw std::invalid_argument("a ridge must be a finite number of at least 0; that of variable " +
                                  std::to_string(p) + " is not");
}

inline chain::Link link_of(const Task& task) {
  return {task.problem(), task.ridge ? view(*task.ridge) : std::span<const double>{}};
}

// The problems of a chain, over `ids` of so many samples or all of them, with all that they refer to but the signal;
// and the clock.
struct ChainParts {
  ChainParts(std::size_t examples, std::optional<Vector<Id>> ids, std::vector<Task> links,
             std::optional<Vector<double>> start, double max_seconds, double grace_seconds, const StopSignal* signal)
      : ids(ids),
        tasks(std::move(links)),
        given_start(start),
        n(ids ? ids->shape(0) : examples),
        deadline(max_seconds, grace_seconds, end_wanted(signal)) {
    if (tasks.empty()) throw std::invalid_argument("a chain needs one problem at least");
    if (start && start->shape(0) != n) throw std::invalid_argument("the start differs in length from the problems");
    for (std::size_t p = 0; start && p < n; ++p)
      if (!std::isfinite(start->data()[p]))
        throw std::invalid_argument("a start must hold finite numbers; variable " + std::to_string(p) + " does not");
    for (std::size_t p = 0; ids && p < n; ++p) {
      const Id id = ids->data()[p];
      if (id == resembles_nothing && (p + 1 == n || ids->data()[p + 1] == resembles_nothing)) continue;
      if (id < 0 || static_cast<std::size_t>(id) >= examples)
        throw std::invalid_argument("an id lies outside the kernel");
    }
    for (const Task& task : tasks) check_link(task, n), this->links.push_back(link_of(task));
  }

  // The gradient at the start comes with the first problem.
  Start start() const {
    const std::optional<Vector<double>>& gradient = tasks.front().gradient;
    return {given_start ? view(*given_start) : std::span<const double>{},
            given_start && gradient ? view(*gradient) : std::span<const double>{}};
  }

  void raise_what_interrupted() const {
    if (deadline.stopped() && deadline.reason() == Reason::interrupted && PyErr_Occurred() != nullptr)
      throw nb::python_error();
  }

  // Refuses rather than waits: who has the chain may wait for the interpreter, which the caller has.
  std::unique_lock<std::mutex> taken() {
    std::unique_lock alone(advancing, std::try_to_lock);
    if (!alone) throw std::runtime_error("another thread is at this chain");
    return alone;
  }

  std::optional<Vector<Id>> ids;
  std::vector<Task> tasks;
  std::optional<Vector<double>> given_start;
  std::size_t n;
  Deadline deadline;
  std::vector<chain::Link> links;
  std::mutex advancing;
};

// A chain of problems on a kernel matrix. Some links at a time are solved, by one thread at a time.
class HeldChain {
 public:
  HeldChain(Matrix<float> kernel, std::optional<Vector<Id>> ids, std::vector<Task> links,
            std::optional<Vector<double>> start, double tolerance, std::int64_t max_iterations, double max_seconds,
            const StopSignal* signal, double grace_seconds)
      : kernel_(kernel), parts_(kernel.shape(0), ids, std::move(links), start, max_seconds, grace_seconds, signal) {
    if (kernel.shape(1) != kernel.shape(0)) throw std::invalid_argument("a kernel matrix must be square");
    chain_.emplace(kernel_.data(), parts_.n, parts_.links, parts_.start(), StoppingCriterion{tolerance, max_iterations},
                   parts_.deadline);
  }

  std::vector<SolvedLink> advance(std::size_t links) {
    const std::unique_lock alone = parts_.taken();
    std::vector<chain::LinkSolution> solutions;
    if (chain_) {
      nb::gil_scoped_release release;
      if (parts_.ids && part_.size() == 0) gather();
      solutions = chain_->advance(links);
      if (chain_->ended()) let_go();
    }
    parts_.raise_what_interrupted();
    return as_solved(std::move(solutions));
  }

  // Lets go of what was gathered of the kernel, until the next call.
  void rest() {
    const std::unique_lock alone = parts_.taken();
    if (chain_) chain_->rest();
    part_ = Buffer<float>();
  }

 private:
  // The kernel of the samples, in a place of its own.
  void gather() {
    const std::size_t size = kernel_.shape(0), n = parts_.n;
    part_ = Buffer<float>(n * n);
    const Id* ids = parts_.ids->data();
    const std::size_t known = static_cast<std::size_t>(std::find(ids, ids + n, resembles_nothing) - ids);
    for (std::size_t r = 0; r < known; ++r) {
      const float* row = kernel_.data() + static_cast<std::size_t>(ids[r]) * size;
      float* to = part_.data() + r * n;
      for (std::size_t c = 0; c < known; ++c) to[c] = row[ids[c]];
      std::fill_n(to + known, n - known, 0.0f);
    }
    std::fill(part_.data() + known * n, part_.data() + n * n, 0.0f);
    chain_->move_to(part_.data());
  }

  void let_go() {
    chain_.reset();
    part_ = Buffer<float>();
  }

  Matrix<float> kernel_;
  ChainParts parts_;
  Buffer<float> part_;
  std::optional<chain::MatrixChain> chain_;  // until its last link is solved
};

// Whether `link` provably has the solution `alpha` of the problem before.
inline bool same_solution(const Task& before, const Task& link, Vector<double> alpha) {
  check_link(before, alpha.shape(0)), check_link(link, alpha.shape(0));
  return chain::same_solution(link_of(before), link_of(link), {{alpha.data(), alpha.data() + alpha.shape(0)}, {}, {}});
}

// Kernel values from squared distances or dot products, written to `out`.
inline void apply_kernel(Matrix<float> base, const std::string& kernel, double gamma, double coef0, int degree,
                         nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, std::size_t n_threads,
                         double max_seconds, const StopSignal* signal) {
  if (base.shape(0) != out.shape(0) || base.shape(1) != out.shape(1))
    throw std::invalid_argument("the result has another shape than the matrix");
  if (n_threads == 0) throw std::invalid_argument("n_threads must be at least 1");
  const KernelFunction function{kernel_kind(kernel), gamma, coef0, degree};
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    const std::size_t m = base.shape(1);
    const auto apply = [&](std::size_t r, std::size_t member) {
      if (!deadline.poll(member == 0)) function.from_base(base.data() + r * m, out.data() + r * m, m);
    };
    team.share(base.shape(0), apply);
  });
}

}  // namespace widemargin::bindings
