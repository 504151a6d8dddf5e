// Chains of problems on a kernel matrix, and the matrices themselves.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bindings/one_at_a_time.hpp"
#include "bindings/problems.hpp"
#include "core/chain/matrix_chain.hpp"
#include "core/chain/side_by_side.hpp"
#include "core/runtime/buffer.hpp"

namespace widemargin::bindings {

struct SolvedLink : Solved {
  bool repeated;
  double rounding, blur;
};

using chain::resembles_nothing;

inline std::vector<SolvedLink> as_solved(std::vector<chain::LinkSolution> solutions) {
  std::vector<SolvedLink> solved;
  for (chain::LinkSolution& one : solutions)
    solved.push_back({{numpy_array(std::move(one.alpha)), numpy_array(std::move(one.gradient)), one.outcome},
                      one.repeated,
                      one.rounding,
                      one.blur});
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

inline chain::Link link_of(const Task& task) { return {task.problem(), view(task.ridge)}; }

// The problems of a chain, over `ids` of so many samples or all of them, with all that they refer to but the signal;
// and the clock.
struct ChainParts {
  ChainParts(std::size_t samples, std::optional<Vector<Id>> ids, std::vector<Task> links,
             std::optional<Vector<double>> start, double max_seconds, double grace_seconds, const StopSignal* signal)
      : ids(ids),
        tasks(std::move(links)),
        given_start(start),
        n(ids ? ids->shape(0) : samples),
        deadline(max_seconds, grace_seconds, end_wanted(signal)) {
    if (tasks.empty()) throw std::invalid_argument("a chain needs one problem at least");
    if (start && start->shape(0) != n) throw std::invalid_argument("the start differs in length from the problems");
    for (std::size_t p = 0; start && p < n; ++p)
      if (!std::isfinite(start->data()[p]))
        throw std::invalid_argument("a start must hold finite numbers; variable " + std::to_string(p) + " does not");
    for (std::size_t p = 0; ids && p < n; ++p) {
      const Id id = ids->data()[p];
      if (id == resembles_nothing && (p + 1 == n || ids->data()[p + 1] == resembles_nothing)) continue;
      if (id < 0 || static_cast<std::size_t>(id) >= samples)
        throw std::invalid_argument("an id lies outside the kernel");
    }
    for (const Task& task : tasks) check_link(task, n), this->links.push_back(link_of(task));
  }

  // The gradient at the start comes with the first problem.
  Start start() const {
    const std::optional<Vector<double>>& gradient = tasks.front().gradient;
    return {view(given_start), given_start && gradient ? view(*gradient) : std::span<const double>{}};
  }

  void raise_what_interrupted() const {
    if (deadline.stopped() && deadline.reason() == Reason::interrupted && PyErr_Occurred() != nullptr)
      throw nb::python_error();
  }

  std::optional<Vector<Id>> ids;
  std::vector<Task> tasks;
  std::optional<Vector<double>> given_start;
  std::size_t n;
  Deadline deadline;
  std::vector<chain::Link> links;
  OneAtATime advancing{"this chain"};
};

// A chain of problems on a kernel matrix. Some links at a time are solved, by one thread at a time.
class HeldChain {
 public:
  HeldChain(Matrix<float> kernel, std::optional<Vector<Id>> ids, std::vector<Task> links,
            std::optional<Vector<double>> start, double tolerance, std::int64_t max_iterations, double max_seconds,
            const StopSignal* signal, double grace_seconds)
      : kernel_(kernel), parts_(kernel.shape(0), ids, std::move(links), start, max_seconds, grace_seconds, signal) {
    if (kernel.shape(1) != kernel.shape(0)) throw std::invalid_argument("a kernel matrix must be square");
    chain_.emplace(chain::KernelView(kernel_.data(), parts_.n), parts_.links, parts_.start(),
                   StoppingCriterion{tolerance, max_iterations}, parts_.deadline);
  }

  std::vector<SolvedLink> advance(std::size_t links) {
    const OneAtATime::Turn alone = parts_.advancing.taken();
    std::vector<chain::LinkSolution> solutions;
    if (chain_) {
      nb::gil_scoped_release release;
      if (parts_.ids && part_.size() == 0) gather();
      solutions = chain_->advance(links);
      if (chain_->ended()) drop_chain();
    }
    parts_.raise_what_interrupted();
    return as_solved(std::move(solutions));
  }

  // Releases what was gathered of the kernel, until the next call.
  void rest() {
    const OneAtATime::Turn alone = parts_.advancing.taken();
    if (chain_) chain_->rest();
    part_ = Buffer<float>();
  }

 private:
  // The kernel of the samples, in a place of its own.
  void gather() {
    part_ = Buffer<float>(parts_.n * parts_.n);
    chain::KernelView(kernel_.data(), kernel_.shape(0), view(*parts_.ids)).copy_to(part_.data());
    chain_->move_to(chain::KernelView(part_.data(), parts_.n));
  }

  void drop_chain() {
    chain_.reset();
    part_ = Buffer<float>();
  }

  Matrix<float> kernel_;
  ChainParts parts_;
  Buffer<float> part_;
  std::optional<chain::MatrixChain> chain_;  // until its last link is solved
};

// The problems of chains side by side: variables of all chains one after the other, each with a row of bounds (and of
// what the square loss adds to the diagonal) for every link.
class LaneProblems {
 public:
  LaneProblems(Vector<Id> ids, Vector<std::int64_t> begins, Vector<double> linear, Matrix<double> lower,
               Matrix<double> upper, std::optional<Matrix<double>> ridge)
      : ids(ids), begins(begins), linear(linear), lower(lower), upper(upper), ridge(ridge) {
    const std::size_t total = ids.shape(0), n_links = lower.shape(0);
    const auto differs = [&](const Matrix<double>& one) { return one.shape(0) != n_links || one.shape(1) != total; };
    if (linear.shape(0) != total || differs(lower) || differs(upper) || (ridge && differs(*ridge)))
      throw std::invalid_argument("ids, linear, lower, upper and ridge differ in length");
    if (n_links == 0 || begins.shape(0) < 2 || begins.data()[0] != 0 ||
        begins.data()[lanes()] != static_cast<std::int64_t>(total) ||
        !std::is_sorted(begins.data(), begins.data() + lanes() + 1))
      throw std::invalid_argument("begins must ascend from 0 to the number of variables, and there must be a link");
    for (std::size_t v = 0; v < n_links * total; ++v) {
      if (!(lower.data()[v] <= upper.data()[v])) throw std::invalid_argument("a lower bound exceeds its upper bound");
      if (ridge && !(ridge->data()[v] >= 0 && std::isfinite(ridge->data()[v])))
        throw std::invalid_argument("a ridge must be a finite number of at least 0");
    }
    for (std::size_t v = 0; v < total; ++v)
      if (!std::isfinite(linear.data()[v])) throw std::invalid_argument("linear must hold finite numbers");
  }

  std::size_t lanes() const { return begins.shape(0) - 1; }
  std::size_t links() const { return lower.shape(0); }
  std::size_t begin(std::size_t at) const { return static_cast<std::size_t>(begins.data()[at]); }

  // Refuses samples beyond so many, and starts that do not fit. Whether the last sample of a chain may resemble nothing
  // depends on what it is solved on.
  void check(std::size_t samples, const std::optional<Vector<double>>& start, bool on_matrix) const {
    if (start && start->shape(0) != ids.shape(0))
      throw std::invalid_argument("the start differs in length from the problems");
    for (std::size_t v = 0; start && v < start->shape(0); ++v)
      if (!std::isfinite(start->data()[v])) throw std::invalid_argument("a start must hold finite numbers");
    for (std::size_t at = 0; at < lanes(); ++at)
      for (std::size_t v = begin(at); v < begin(at + 1); ++v) {
        const Id id = ids.data()[v];
        if (on_matrix && id == resembles_nothing && v + 1 == begin(at + 1)) continue;
        if (id < 0 || static_cast<std::size_t>(id) >= samples)
          throw std::invalid_argument("an id lies outside the kernel");
      }
  }

  chain::SideBySide::Lanes table(std::span<const double> start) const {
    return {
        view(ids), view(begins), links(), linear.data(), lower.data(), upper.data(), ridge ? ridge->data() : nullptr,
        start};
  }

  Vector<Id> ids;
  Vector<std::int64_t> begins;
  Vector<double> linear;
  Matrix<double> lower, upper;
  std::optional<Matrix<double>> ridge;
};

inline pairs::Rule rule_named(const std::string& name) {
  return named<pairs::Rule>("rule", name,
                            {{"votes", pairs::Rule::votes},
                             {"votes-alone", pairs::Rule::votes_alone},
                             {"fuzzy-minimum", pairs::Rule::memberships}});
}

// A link of all chains: coefficients of all variables, what is known of each, and a row of values for each chain, or of
// what they say for each sample asked for.
struct SolvedLanes {
  nb::ndarray<nb::numpy, double> alpha, intercepts, values, kkt_violations, duality_gaps, objectives, roundings, blurs;
  Reason reason;  // of the first chain that has not converged
  bool repeated;
  std::int64_t iterations;
  double seconds;
};

inline SolvedLanes as_solved(chain::SideBySide::Solved solved, std::size_t rows) {
  return {numpy_array(std::move(solved.alpha)),
          numpy_array(std::move(solved.intercepts)),
          numpy_matrix(std::move(solved.values), rows),
          numpy_array(std::move(solved.kkt_violations)),
          numpy_array(std::move(solved.duality_gaps)),
          numpy_array(std::move(solved.objectives)),
          numpy_array(std::move(solved.roundings)),
          numpy_array(std::move(solved.blurs)),
          solved.reason,
          solved.repeated,
          solved.iterations,
          solved.seconds};
}

// Chains side by side on a kernel matrix, as HeldChain is one.
class HeldLanes {
 public:
  // `classes` are the numbers of the two classes of each chain, if what their values say by some `rules` is wanted.
  HeldLanes(Matrix<float> kernel, nb::object problems, Vector<Id> asked, std::optional<Vector<double>> start,
            std::optional<Matrix<Id>> classes, std::size_t n_classes, const std::vector<std::string>& rules, bool keeps,
            double tolerance, std::int64_t max_iterations, double max_seconds, const StopSignal* signal,
            double grace_seconds)
      : kernel_(kernel),
        owner_(problems),
        asked_(asked),
        start_(start),
        classes_(classes),
        deadline_(max_seconds, grace_seconds, end_wanted(signal)) {
    const LaneProblems& own = nb::cast<const LaneProblems&>(problems);
    const std::size_t size = kernel.shape(0);
    rows_ = classes ? rules.size() * asked.shape(0) : own.lanes();
    if (kernel.shape(1) != size) throw std::invalid_argument("a kernel matrix must be square");
    own.check(size, start, true);
    const auto within = [&](Id id) { return id >= 0 && static_cast<std::size_t>(id) < size; };
    if (!std::all_of(asked.data(), asked.data() + asked.shape(0), within))
      throw std::invalid_argument("an id lies outside the kernel");
    std::optional<chain::SideBySide::Counting> counting;
    if (classes) {
      const std::span<const Id> names(classes->data(), classes->size());
      const auto is_class = [&](Id c) { return c >= 0 && static_cast<std::size_t>(c) < n_classes; };
      if (names.size() != 2 * own.lanes() || !std::all_of(names.begin(), names.end(), is_class))
        throw std::invalid_argument("every chain must have two classes");
      counting = {{}, n_classes, names};
      for (const std::string& rule : rules) counting->rules.push_back(rule_named(rule));
    }
    chains_.emplace(kernel_.data(), size, own.table(view(start_)), view(asked_), counting,
                    StoppingCriterion{tolerance, max_iterations}, deadline_, keeps);
  }

  std::vector<SolvedLanes> advance(std::size_t links) {
    const OneAtATime::Turn alone = advancing_.taken();
    std::vector<chain::SideBySide::Solved> solved;
    {
      nb::gil_scoped_release release;
      solved = chains_->advance(links);
    }
    if (deadline_.stopped() && deadline_.reason() == Reason::interrupted && PyErr_Occurred() != nullptr)
      throw nb::python_error();
    std::vector<SolvedLanes> handed;
    for (chain::SideBySide::Solved& one : solved) handed.push_back(as_solved(std::move(one), rows_));
    return handed;
  }

 private:
  Matrix<float> kernel_;
  nb::object owner_;
  Vector<Id> asked_;
  std::optional<Vector<double>> start_;
  std::optional<Matrix<Id>> classes_;
  Deadline deadline_;
  std::size_t rows_;  // of the values that are handed out
  OneAtATime advancing_{"these chains"};
  std::optional<chain::SideBySide> chains_;
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
