// Chains of problems on a kernel matrix, and the matrices themselves.
#pragma once

#include <algorithm>
#include <atomic>
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

struct SolvedLink : Solved {
  bool repeated;
};

// A chain of problems on a kernel matrix, with all that it refers to but the signal. Some links at a time are solved, by one thread at a time.
class HeldChain {
 public:
  HeldChain(Matrix<float> kernel, std::optional<Vector<Id>> ids, std::vector<Task> links, std::optional<Vector<double>> start, double tolerance,
            std::int64_t max_iterations, double max_seconds, const StopSignal* signal)
      : kernel_(kernel), ids_(ids), tasks_(std::move(links)), start_(start), n_(ids ? ids->shape(0) : kernel.shape(0)),
        watch_(max_seconds, [signal] { return (signal != nullptr && signal->requested.load()) || interruption_pending(); }) {
    check();
    for (const Task& task : tasks_) links_.push_back({task.problem(), task.ridge ? view(*task.ridge) : std::span<const double>{}});
    const std::span<const double> point = start_ ? view(*start_) : std::span<const double>{};
    chain_.emplace(kernel_.data(), n_, links_, point, StopRule{tolerance, max_iterations}, watch_);
  }

  std::vector<SolvedLink> advance(std::size_t links) {
    const std::unique_lock alone = taken();
    std::vector<grid::LinkSolution> solutions;
    if (chain_) {
      nb::gil_scoped_release release;
      if (ids_ && part_.size() == 0) gather();
      solutions = chain_->advance(links);
      if (chain_->ended()) let_go();
    }
    if (watch_.stopped() && watch_.reason() == Reason::interrupted && PyErr_Occurred() != nullptr) throw nb::python_error();
    std::vector<SolvedLink> solved;
    for (grid::LinkSolution& one : solutions)
      solved.push_back({{numpy_array(std::move(one.alpha)), numpy_array(std::move(one.gradient)), one.outcome}, one.repeated});
    return solved;
  }

  // Lets go of what was gathered of the kernel, until the next call.
  void rest() {
    const std::unique_lock alone = taken();
    if (chain_) chain_->rest();
    part_ = Buffer<float>();
  }

 private:
  static constexpr Id resembles_nothing = -1;

  // Refuses rather than waits: who has the chain may wait for the interpreter, which the caller has.
  std::unique_lock<std::mutex> taken() {
    std::unique_lock alone(advancing_, std::try_to_lock);
    if (!alone) throw std::runtime_error("another thread is at this chain");
    return alone;
  }

  // The kernel of the examples, in a place of its own.
  void gather() {
    part_ = Buffer<float>(n_ * n_);
    const std::size_t size = kernel_.shape(0);
    const Id* ids = ids_->data();
    const std::size_t known = static_cast<std::size_t>(std::find(ids, ids + n_, resembles_nothing) - ids);
    for (std::size_t r = 0; r < known; ++r) {
      const float* row = kernel_.data() + static_cast<std::size_t>(ids[r]) * size;
      float* to = part_.data() + r * n_;
      for (std::size_t c = 0; c < known; ++c) to[c] = row[ids[c]];
      std::fill_n(to + known, n_ - known, 0.0f);
    }
    std::fill(part_.data() + known * n_, part_.data() + n_ * n_, 0.0f);
    chain_->move_to(part_.data());
  }

  void let_go() {
    chain_.reset();
    part_ = Buffer<float>();
  }

  void check() const {
    if (kernel_.shape(1) != kernel_.shape(0)) throw std::invalid_argument("a kernel matrix must be square");
    if (tasks_.empty()) throw std::invalid_argument("a chain needs one problem at least");
    if (start_ && start_->shape(0) != n_) throw std::invalid_argument("the start differs in length from the problems");
    for (const Task& link : tasks_) {
      check_problem(link, n_);
      if (!link.ridge) continue;
      if (link.ridge->shape(0) != n_) throw std::invalid_argument("the ridge differs in length from the problem");
      for (std::size_t p = 0; p < n_; ++p)
        if (!(link.ridge->data()[p] >= 0) || !std::isfinite(link.ridge->data()[p]))
          throw std::invalid_argument("a ridge must be a finite number of at least 0; that of variable " + std::to_string(p) + " is not");
    }
    for (std::size_t p = 0; start_ && p < n_; ++p)
      if (!std::isfinite(start_->data()[p])) throw std::invalid_argument("a start must hold finite numbers; variable " + std::to_string(p) + " does not");
    for (std::size_t p = 0; ids_ && p < n_; ++p) {
      const Id id = ids_->data()[p];
      if (id == resembles_nothing && (p + 1 == n_ || ids_->data()[p + 1] == resembles_nothing)) continue;
      if (id < 0 || static_cast<std::size_t>(id) >= kernel_.shape(0)) throw std::invalid_argument("an id lies outside the kernel matrix");
    }
  }

  Matrix<float> kernel_;
  std::optional<Vector<Id>> ids_;  // rows and columns of the matrix, the last ones may resemble nothing; all of them if not given
  std::vector<Task> tasks_;
  std::optional<Vector<double>> start_;
  std::size_t n_;
  Watch watch_;
  std::vector<grid::Link> links_;
  Buffer<float> part_;
  std::optional<grid::Chain> chain_;  // until its last link is solved
  std::mutex advancing_;
};

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
