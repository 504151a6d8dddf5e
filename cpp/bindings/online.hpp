// Online machines, from and to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/one_at_a_time.hpp"
#include "bindings/problems.hpp"
#include "bindings/row_problems.hpp"
#include "bindings/sources.hpp"
#include "bindings/stopping.hpp"
#include "core/certificate.hpp"
#include "core/online/machine.hpp"
#include "core/online/stored_rows.hpp"

namespace widemargin::bindings {

// How an online machine learns, and how long.
struct OnlineRules {
  online::Rules rules;
  std::size_t cache_bytes, n_threads;
  double max_seconds;
  const StopSignal* signal;
};

inline OnlineRules online_rules(const std::string& selection, double tolerance, std::int64_t window,
                                std::size_t cache_bytes, std::size_t n_threads, double max_seconds,
                                const StopSignal* signal, std::size_t budget) {
  const auto choice = named<online::Selection>("selection", selection,
                                               {{"second-order", online::Selection::second_order},
                                                {"maximal-violating-pair", online::Selection::maximal_violating_pair}});
  if (!(tolerance > 0)) throw std::invalid_argument("tolerance must be positive");
  return {{choice, tolerance, window, budget}, cache_bytes, require_threads(n_threads), max_seconds, signal};
}

// Every call names the source of kernel values, and which of its samples stands at each position: the machine itself
// holds no samples. One thread at a time may call it, and look at it.
class HeldOnline {
  template <class Get>
  decltype(auto) look(const Get& get) const {
    const OneAtATime::Turn alone = using_it_.taken();
    return std::visit(get, machine_);
  }

 public:
  using Single = online::Machine<float>;
  using Double = online::Machine<double>;

  HeldOnline(std::size_t classes, bool double_precision) : classes_(classes) {
    if (classes < 2) throw std::invalid_argument("classes must be at least 2, got " + std::to_string(classes));
    if (double_precision)
      machine_.emplace<Double>(classes);
    else
      machine_.emplace<Single>(classes);
  }

  std::size_t learn(const Source& source, Vector<Id> ids, Vector<Id> samples, Vector<std::int32_t> labels,
                    Vector<double> bounds, const OnlineRules& how) {
    const std::vector<online::Arrival> arrivals = checked(source, samples, labels, bounds);
    std::size_t done = 0;
    work(source, ids, how,
         [&](auto& machine, TimeBudget& budget) { done = machine.learn(arrivals, how.rules, budget); });
    return done;
  }
  std::size_t learn_nearest(const Source& source, Vector<Id> ids, Vector<Id> samples, Vector<std::int32_t> labels,
                            Vector<double> bounds, const OnlineRules& how) {
    const std::vector<online::Arrival> candidates = checked(source, samples, labels, bounds);
    const std::set<Id> distinct(samples.data(), samples.data() + samples.shape(0));
    if (candidates.empty() || distinct.size() != candidates.size())
      throw std::invalid_argument("there must be candidates, each of them once");
    std::size_t nearest = 0;
    work(source, ids, how, [&](auto& machine, TimeBudget&) { nearest = machine.learn_nearest(candidates, how.rules); });
    return nearest;
  }
  // A row for each decision function.
  nb::ndarray<nb::numpy, double> decide(const Source& source, Vector<Id> ids, Vector<Id> samples,
                                        const OnlineRules& how) {
    const std::size_t n = samples.shape(0);
    for (std::size_t k = 0; k < n; ++k)
      if (samples.data()[k] < 0 || static_cast<std::size_t>(samples.data()[k]) >= source.rows->size())
        throw std::invalid_argument("a sample lies outside the row source");
    const std::size_t functions = classes_ > 2 ? classes_ : 1;
    std::vector<double> values(functions * n);
    work(source, ids, how, [&](auto& machine, TimeBudget&) { machine.decide(view(samples), values.data()); });
    return numpy_matrix(std::move(values), functions);
  }
  std::int64_t reprocess(const Source& source, Vector<Id> ids, std::int64_t most, const OnlineRules& how) {
    std::int64_t steps = 0;
    work(source, ids, how,
         [&](auto& machine, TimeBudget& budget) { steps = machine.reprocess(most, how.rules, budget); });
    return steps;
  }
  void forget(const Source& source, Vector<Id> ids, Vector<Id> positions, const OnlineRules& how) {
    for (std::size_t k = 0; k < positions.shape(0); ++k)
      if (positions.data()[k] < 0 || static_cast<std::size_t>(positions.data()[k]) >= ids.shape(0))
        throw std::invalid_argument("there is no such position");
    work(source, ids, how, [&](auto& machine, TimeBudget& budget) { machine.forget(view(positions), budget); });
  }
  void keep(const Source& source, Vector<Id> ids, Vector<Id> samples, Vector<std::int32_t> labels,
            Vector<double> bounds, const OnlineRules& how) {
    const std::vector<online::Arrival> arrivals = checked(source, samples, labels, bounds);
    work(source, ids, how, [&](auto& machine, TimeBudget&) { machine.keep(arrivals); });
  }
  bool set_bounds(const Source& source, Vector<Id> ids, Vector<double> bounds, const OnlineRules& how) {
    if (bounds.shape(0) != ids.shape(0)) throw std::invalid_argument("there must be a bound for each position");
    for (std::size_t p = 0; p < bounds.shape(0); ++p)
      if (!(bounds.data()[p] >= 0) || !std::isfinite(bounds.data()[p]))
        throw std::invalid_argument("bounds must be finite numbers of at least 0");
    bool done = false;
    work(source, ids, how, [&](auto& machine, TimeBudget& budget) { done = machine.set_bounds(view(bounds), budget); });
    return done;
  }
  void put(std::size_t decision, Vector<double> alpha, Vector<double> gradient) {
    const OneAtATime::Turn alone = using_it_.taken();
    const auto checked_put = [&](auto& machine) {
      if (decision >= machine.decisions().size() || alpha.shape(0) != machine.size() ||
          gradient.shape(0) != machine.size())
        throw std::invalid_argument("a point differs from the machine in its size");
      machine.put(decision, view(alpha), view(gradient));
    };
    std::visit(checked_put, machine_);
  }
  // Samples at 0 that improve with no partner leave, and all that left give up their places.
  void tidy(const Source& source, Vector<Id> ids, const OnlineRules& how) {
    work(source, ids, how, [&](auto& machine, TimeBudget&) {
      machine.drop_idle(how.rules), machine.stay_within(how.rules), machine.close_up(0);
    });
  }

  // The ordinary solver on a problem over the positions, sample p of the source at position p. Values that are stored
  // are read, unless it takes no longer to compute them.
  std::vector<Solved> solve(const Source& source, const std::vector<Task>& tasks, const std::string& solver,
                            const std::string& selection, std::size_t planning_ahead, bool shrinking,
                            bool double_precision, std::size_t cache_bytes, double tolerance,
                            std::int64_t max_iterations, double max_seconds, double grace_seconds,
                            std::size_t n_threads) const {
    const OneAtATime::Turn alone = using_it_.taken();
    if (source.rows->size() != positions()) throw std::invalid_argument("there must be a sample for each position");
    const auto solve_over = [&](const RowSource& rows) {
      return solve_all_over(rows, tasks, solver, selection, planning_ahead, shrinking, double_precision, cache_bytes,
                            tolerance, max_iterations, max_seconds, grace_seconds, n_threads);
    };
    if (source.rows->faster_than_memory() || source.rows->faster_than_steps()) return solve_over(*source.rows);
    const auto solve_from_stored = [&]<class T>(const online::Machine<T>& machine) {
      return solve_over(online::StoredRows<T>(*source.rows, machine.rows()));
    };
    return std::visit(solve_from_stored, machine_);
  }

  std::size_t size() const {
    return look([](const auto& machine) { return machine.size(); });
  }
  std::int64_t seen() const {
    return look([](const auto& machine) { return machine.seen(); });
  }
  std::uint64_t evaluations() const {
    return look([](const auto& machine) { return machine.rows().evaluations(); });
  }
  // How many sources there have been: `samples` are numbers in the last one.
  std::uint64_t sources() const {
    return look([this](const auto&) { return sources_; });
  }
  bool double_precision() const { return std::holds_alternative<Double>(machine_); }

  auto samples() const {
    return copied<Id>([](const auto& machine) { return machine.rows().samples(); });
  }
  auto labels() const {
    return copied<std::int32_t>([](const auto& machine) { return machine.labels(); });
  }
  auto bounds() const {
    return copied<double>([](const auto& machine) { return machine.bounds(); });
  }
  auto arrivals() const {
    return copied<std::int64_t>([](const auto& machine) { return machine.arrivals(); });
  }
  auto left() const {
    return copied<std::uint8_t>([](const auto& machine) { return machine.left(); });
  }
  auto steps() const {
    return copied<std::int64_t>([](const auto& machine) { return steps_of(machine); });
  }
  // A row for each decision function.
  auto alpha() const {
    return look([](const auto& machine) { return by_decision(machine, alpha_of); });
  }
  auto gradient() const {
    return look([](const auto& machine) { return by_decision(machine, gradient_of); });
  }
  // Violation, gap, objective and intercept of each decision function, from the gradients at hand.
  auto certificates() const {
    return look([](const auto& machine) { return by_decision(machine, certificate_of); });
  }

  // All that a machine knows, as arrays.
  nb::tuple state() const {
    return look([]<class T>(const online::Machine<T>& machine) {
      std::vector<T> values, diagonal(machine.rows().diagonal(), machine.rows().diagonal() + machine.size());
      std::vector<std::int64_t> known, used;
      for (const auto& row : machine.rows().held_rows()) {
        values.insert(values.end(), row.values.get(), row.values.get() + row.known);
        known.push_back(static_cast<std::int64_t>(row.known)), used.push_back(static_cast<std::int64_t>(row.used));
      }
      return nb::make_tuple(by_decision(machine, alpha_of), by_decision(machine, gradient_of),
                            numpy_array(steps_of(machine)), array_of(machine.labels()), array_of(machine.bounds()),
                            array_of(machine.arrivals()), array_of(machine.left()), machine.seen(),
                            numpy_array(std::move(values)), numpy_array(std::move(diagonal)),
                            numpy_array(std::move(known)), numpy_array(std::move(used)), machine.rows().uses(),
                            machine.rows().evaluations());
    });
  }
  template <class T>
  void restore(Matrix<double> alpha, Matrix<double> gradient, Vector<std::int64_t> steps, Vector<std::int32_t> labels,
               Vector<double> bounds, Vector<std::int64_t> arrivals, Vector<std::uint8_t> left, std::int64_t seen,
               Vector<T> values, Vector<T> diagonal, Vector<std::int64_t> known, Vector<std::int64_t> used,
               std::uint64_t uses, std::uint64_t evaluations) {
    const OneAtATime::Turn alone = using_it_.taken();
    auto* const machine = std::get_if<online::Machine<T>>(&machine_);
    if (machine == nullptr) throw std::invalid_argument("the kernel values saved are of another type");
    const std::size_t n = labels.shape(0), functions = machine->decisions().size();
    if (alpha.shape(0) != functions || alpha.shape(1) != n || gradient.shape(0) != functions ||
        gradient.shape(1) != n || steps.shape(0) != functions || bounds.shape(0) != n || arrivals.shape(0) != n ||
        left.shape(0) != n || diagonal.shape(0) != n || known.shape(0) != n || used.shape(0) != n)
      throw std::invalid_argument("the arrays of a saved machine do not fit together");
    for (std::size_t p = 0; p < n; ++p) require_class(labels.data()[p]);
    typename online::Machine<T>::Saved saved{
        {},  copy_of(diagonal), uses, evaluations, copy_of(labels), copy_of(bounds), copy_of(arrivals), copy_of(left),
        seen};
    std::size_t begin = 0;
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t count = static_cast<std::size_t>(known.data()[p]);
      if (known.data()[p] < 0 || count > n || begin + count > values.shape(0))
        throw std::invalid_argument("the arrays of a saved machine do not fit together");
      typename online::KeptRows<T>::Row row;
      row.known = row.room = count, row.used = static_cast<std::uint64_t>(used.data()[p]);
      row.values = std::make_unique_for_overwrite<T[]>(count);
      std::copy_n(values.data() + begin, count, row.values.get());
      begin += count;
      saved.rows.push_back(std::move(row));
    }
    machine->restore(std::move(saved), {alpha.data(), functions * n}, {gradient.data(), functions * n}, view(steps));
  }

 private:
  template <class T>
  static std::vector<T> copy_of(const Vector<T>& values) {
    return {values.data(), values.data() + values.shape(0)};
  }

  std::vector<online::Arrival> checked(const Source& source, const Vector<Id>& samples,
                                       const Vector<std::int32_t>& labels, const Vector<double>& bounds) const {
    const std::size_t n = samples.shape(0);
    if (labels.shape(0) != n || bounds.shape(0) != n)
      throw std::invalid_argument("samples, labels and bounds differ in length");
    std::vector<online::Arrival> arrivals;
    arrivals.reserve(n);
    for (std::size_t k = 0; k < n; ++k) {
      const online::Arrival one{samples.data()[k], labels.data()[k], bounds.data()[k]};
      if (one.sample < 0 || static_cast<std::size_t>(one.sample) >= source.rows->size())
        throw std::invalid_argument("a sample lies outside the row source");
      require_class(one.label);
      if (!(one.bound >= 0) || !std::isfinite(one.bound))
        throw std::invalid_argument("bounds must be finite numbers of at least 0");
      arrivals.push_back(one);
    }
    return arrivals;
  }

  void require_class(std::int32_t label) const {
    if (label < 0 || static_cast<std::size_t>(label) >= classes_)
      throw std::invalid_argument("labels must be numbers of the " + std::to_string(classes_) + " classes, got " +
                                  std::to_string(label));
  }

  // For those whose turn it is.
  std::size_t positions() const {
    return std::visit([](const auto& machine) { return machine.size(); }, machine_);
  }

  // Runs work(machine, budget) without the interpreter; whatever it raises, the machine is as far as it came.
  template <class Work>
  void work(const Source& source, const Vector<Id>& ids, const OnlineRules& how, const Work& run) {
    const OneAtATime::Turn alone = using_it_.taken();
    if (how.rules.budget > 0 && how.rules.budget < classes_)
      throw std::invalid_argument("budget must be 0 or at least the number of classes, " + std::to_string(classes_) +
                                  ", got " + std::to_string(how.rules.budget));
    if (ids.shape(0) != positions())
      throw std::invalid_argument("there must be a sample of the source for each position");
    for (std::size_t p = 0; p < ids.shape(0); ++p)
      if (ids.data()[p] < 0 || static_cast<std::size_t>(ids.data()[p]) >= source.rows->size())
        throw std::invalid_argument("a position's sample lies outside the row source");
    bool interrupted = false;
    const nb::object lasting = source.stays ? nb::borrow(nb::find(source)) : nb::object();
    const bool same = source.stays && lasting.is(last_);
    if (!same) last_ = nb::object();
    {
      nb::gil_scoped_release release;
      Deadline deadline(how.max_seconds, end_wanted(how.signal));
      TimeBudget budget(deadline, true);
      ThreadTeam team(how.n_threads);
      std::visit(
          [&](auto& machine) {
            machine.attach(*source.rows, team, how.cache_bytes, view(ids), same);
            ++sources_;
            try {
              run(machine, budget);
            } catch (...) {
              machine.detach(source.stays);
              throw;
            }
            machine.detach(source.stays);
          },
          machine_);
      interrupted = deadline.stopped() && deadline.reason() == Reason::interrupted;
    }
    last_ = lasting;
    if (interrupted && PyErr_Occurred() != nullptr) throw nb::python_error();
  }

  template <class T, class Get>
  nb::ndarray<nb::numpy, T> copied(const Get& get) const {
    return look([&](const auto& machine) { return numpy_array(std::vector<T>(get(machine))); });
  }

  template <class T>
  static nb::ndarray<nb::numpy, T> array_of(const std::vector<T>& values) {
    return numpy_array(std::vector<T>(values));
  }
  static std::vector<double> alpha_of(const DualState& state) { return state.alpha; }
  static std::vector<double> gradient_of(const DualState& state) { return state.gradient; }
  static std::vector<double> certificate_of(const DualState& state) {
    const Certificate found = certify(state, [](std::size_t) { return 0.0; });
    return {found.kkt_violation, found.duality_gap, found.objective, found.intercept[0]};
  }
  template <class T>
  static std::vector<std::int64_t> steps_of(const online::Machine<T>& machine) {
    std::vector<std::int64_t> found;
    for (const online::Decision& one : machine.decisions()) found.push_back(one.steps());
    return found;
  }
  template <class T, class Get>
  static nb::ndarray<nb::numpy, double> by_decision(const online::Machine<T>& machine, const Get& get) {
    std::vector<double> all;
    for (const online::Decision& one : machine.decisions()) {
      const std::vector<double> own = get(one.state());
      all.insert(all.end(), own.begin(), own.end());
    }
    return numpy_matrix(std::move(all), machine.decisions().size());
  }

  OneAtATime using_it_{"this machine"};
  nb::object last_;  // the source of the last call, if it stays: what was prepared of it reads its samples
  std::size_t classes_;
  std::uint64_t sources_ = 0;
  std::variant<Single, Double> machine_{std::in_place_type<Single>, std::size_t{2}};
};

inline void define_online(nb::module_& m) {
  using namespace nb::literals;
  m.attr("WAITING") = online::waiting;
  nb::class_<OnlineRules>(m, "OnlineRules")
      .def(
          "__init__",
          [](OnlineRules* self, const std::string& selection, double tolerance, std::int64_t window,
             std::size_t cache_bytes, std::size_t n_threads, double max_seconds, const StopSignal* signal,
             std::size_t budget) {
            new (self) OnlineRules(
                online_rules(selection, tolerance, window, cache_bytes, n_threads, max_seconds, signal, budget));
          },
          "selection"_a, "tolerance"_a, "window"_a, "cache_bytes"_a, "n_threads"_a, "max_seconds"_a = 1e10,
          "signal"_a.none() = nb::none(), "budget"_a = 0, nb::keep_alive<1, 8>());
  nb::class_<HeldOnline>(m, "OnlineMachine")
      .def(nb::init<std::size_t, bool>(), "classes"_a, "double_precision"_a)
      .def("learn", &HeldOnline::learn, "source"_a, "ids"_a, "samples"_a, "labels"_a, "bounds"_a, "rules"_a)
      .def("learn_nearest", &HeldOnline::learn_nearest, "source"_a, "ids"_a, "samples"_a, "labels"_a, "bounds"_a,
           "rules"_a)
      .def("decide", &HeldOnline::decide, "source"_a, "ids"_a, "samples"_a, "rules"_a)
      .def("reprocess", &HeldOnline::reprocess, "source"_a, "ids"_a, "most"_a, "rules"_a)
      .def("forget", &HeldOnline::forget, "source"_a, "ids"_a, "positions"_a, "rules"_a)
      .def("keep", &HeldOnline::keep, "source"_a, "ids"_a, "samples"_a, "labels"_a, "bounds"_a, "rules"_a)
      .def("set_bounds", &HeldOnline::set_bounds, "source"_a, "ids"_a, "bounds"_a, "rules"_a)
      .def("put", &HeldOnline::put, "decision"_a, "alpha"_a, "gradient"_a)
      .def("solve", &HeldOnline::solve, "source"_a, "tasks"_a, "solver"_a, "selection"_a, "planning_ahead"_a,
           "shrinking"_a, "double_precision"_a, "cache_bytes"_a, "tolerance"_a, "max_iterations"_a, "max_seconds"_a,
           "grace_seconds"_a, "n_threads"_a)
      .def("tidy", &HeldOnline::tidy, "source"_a, "ids"_a, "rules"_a)
      .def_prop_ro("size", &HeldOnline::size)
      .def_prop_ro("seen", &HeldOnline::seen)
      .def_prop_ro("evaluations", &HeldOnline::evaluations)
      .def_prop_ro("sources", &HeldOnline::sources)
      .def_prop_ro("double_precision", &HeldOnline::double_precision)
      .def("samples", &HeldOnline::samples)
      .def("labels", &HeldOnline::labels)
      .def("bounds", &HeldOnline::bounds)
      .def("arrivals", &HeldOnline::arrivals)
      .def("left", &HeldOnline::left)
      .def("steps", &HeldOnline::steps)
      .def("alpha", &HeldOnline::alpha)
      .def("gradient", &HeldOnline::gradient)
      .def("certificates", &HeldOnline::certificates)
      .def("state", &HeldOnline::state)
      .def("restore", &HeldOnline::restore<float>)
      .def("restore", &HeldOnline::restore<double>);
}

}  // namespace widemargin::bindings
