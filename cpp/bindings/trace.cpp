#include "bindings/trace.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/row_problems.hpp"
#include "core/smo/trace.hpp"

using namespace nb::literals;

namespace widemargin::bindings {
namespace {

struct Traced {
  smo::Trace trace;
  std::vector<double> alpha, gradient;
  Reason reason;
};

// From 0, or from a feasible point that comes with its gradient.
DualState start_of(const Task& task, const DualProblem& problem) {
  DualState state(problem);
  if (!task.alpha) return state;
  if (!task.gradient) throw std::invalid_argument("a start of a trace comes with its gradient");
  for (std::size_t p = 0; p < state.size(); ++p) {
    const double value = task.alpha->data()[p];
    if (!(value >= task.lower.data()[p] && value <= task.upper.data()[p]))
      throw std::invalid_argument("the start lies outside the box");
    state.put(p, value);
    state.gradient[p] = task.gradient->data()[p] + (state.linear[p] - problem.linear[p]);
  }
  return state;
}

template <class T>
Traced traced(const Source& source, const Task& task, Selection selection, std::size_t planning_ahead,
              std::size_t shrink_every, std::size_t cache_bytes, const StoppingCriterion& stop, std::size_t n_threads) {
  constexpr std::size_t least_rows = 64;
  const DualProblem problem = task.problem();
  Deadline deadline(1e10, interruption_pending);
  TimeBudget budget(deadline, true);
  SlabPool pool;
  ThreadTeam team(n_threads);
  CachedRows<T> rows(*source.rows, {task.ids.data(), task.ids.data() + task.ids.shape(0)}, cache_bytes, least_rows,
                     false, pool, team, budget);
  Traced found;
  DualState state = start_of(task, problem);
  smo::ShrinkingActiveSet active_set(shrink_every > 0 ? smo::ShrinkingRule::standard : smo::ShrinkingRule::none,
                                     smo::NewtonSteps(0), stop.tolerance, std::max<std::size_t>(shrink_every, 1),
                                     smo::steps_per_crossing);
  smo::TracedActiveSet traced_active_set(active_set, found.trace);
  std::int64_t iterations = 0;
  // As in a solve: the recomputed violation differs by rounding.
  const StoppingCriterion inner{0.95 * stop.tolerance, stop.max_iterations};
  try {
    found.reason = smo::run(state, rows, inner, budget, smo::TracedSelection(selection),
                            smo::TracedStep(planning_ahead, found.trace), traced_active_set, iterations);
  } catch (const Stopped& stopped) {
    found.reason = stopped.reason;
  }
  found.alpha.resize(state.size()), found.gradient.resize(state.size());
  for (std::size_t p = 0; p < state.size(); ++p) {
    const std::size_t v = static_cast<std::size_t>(state.variable[p]);
    found.alpha[v] = state.alpha[p], found.gradient[v] = state.smooth_gradient(p);
  }
  return found;
}

Traced trace_smo(const Source& source, const Task& task, const std::string& selection, std::size_t planning_ahead,
                 std::size_t shrink_every, bool double_precision, std::size_t cache_bytes, double tolerance,
                 std::int64_t max_iterations, std::size_t n_threads) {
  const Selection rule = selection_named(selection);
  if (rule == Selection::automatic)
    throw std::invalid_argument("selection='auto' depends on the cache; a trace follows one rule");
  require_threads(n_threads);
  check_task(task, *source.rows);
  const StoppingCriterion stop{tolerance, max_iterations};
  Traced found;
  {
    nb::gil_scoped_release release;
    found = double_precision
                ? traced<double>(source, task, rule, planning_ahead, shrink_every, cache_bytes, stop, n_threads)
                : traced<float>(source, task, rule, planning_ahead, shrink_every, cache_bytes, stop, n_threads);
  }
  if (found.reason == Reason::interrupted) throw nb::python_error();
  return found;
}

template <class Member>
auto array_of(Member member) {
  return [member](const Traced& t) { return numpy_array(std::vector(t.trace.*member)); };
}

}  // namespace

void define_trace(nb::module_& m) {
  constexpr auto copied = nb::rv_policy::automatic;
  nb::class_<Traced>(m, "Trace")
      .def_prop_ro("i", array_of(&smo::Trace::i), copied)
      .def_prop_ro("j", array_of(&smo::Trace::j), copied)
      .def_prop_ro("size", array_of(&smo::Trace::size), copied)
      .def_prop_ro("slope", array_of(&smo::Trace::slope), copied)
      .def_prop_ro("curvature", array_of(&smo::Trace::curvature), copied)
      .def_prop_ro("kind", array_of(&smo::Trace::kind), copied)
      .def_prop_ro("active", array_of(&smo::Trace::active), copied)
      .def_prop_ro(
          "alpha", [](const Traced& t) { return numpy_array(std::vector<double>(t.alpha)); }, copied)
      .def_prop_ro(
          "gradient", [](const Traced& t) { return numpy_array(std::vector<double>(t.gradient)); }, copied)
      .def_prop_ro("converged", [](const Traced& t) { return t.reason == Reason::converged; });
  m.def("trace_smo", &trace_smo, "source"_a, "task"_a, "selection"_a, "planning_ahead"_a, "shrink_every"_a,
        "double_precision"_a, "cache_bytes"_a, "tolerance"_a, "max_iterations"_a, "n_threads"_a);
}

}  // namespace widemargin::bindings
