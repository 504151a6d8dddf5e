// The extension module: conversions only.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bindings/chains.hpp"
#include "bindings/collected.hpp"
#include "bindings/feature_distances.hpp"
#include "bindings/one_at_a_time.hpp"
#include "bindings/online.hpp"
#include "bindings/problems.hpp"
#include "bindings/quantization.hpp"
#include "bindings/row_problems.hpp"
#include "bindings/sensitivity.hpp"
#include "bindings/sequences.hpp"
#include "bindings/sources.hpp"
#include "bindings/trace.hpp"
#include "core/geometric/maxminover.hpp"
#include "core/linear_algebra/blas.hpp"
#include "core/matrices/kernel_matrix.hpp"
#include "core/matrices/symmetry.hpp"
#include "core/nu_border.hpp"
#include "core/pairs/pair_votes.hpp"
#include "core/rows/row_sums.hpp"
#include "core/solve.hpp"
#include "core/solve/feasible.hpp"

using namespace nb::literals;

namespace widemargin::bindings {
namespace {

const char* reason_name(Reason reason) {
  switch (reason) {
    case Reason::converged: return "converged";
    case Reason::iteration_budget: return "iteration budget";
    case Reason::time_budget: return "time budget";
    case Reason::interrupted: return "interrupted";
    case Reason::unbounded: return "unbounded";
    case Reason::overflow: return "overflow";
    case Reason::stalled: break;
  }
  return "stalled";
}

// A store of kernel rows and the source they come from.
struct HeldStore {
  nb::object owner;
  geometric::KernelStore store;
  OneAtATime using_it{"this store of kernel rows"};

  HeldStore(nb::object source, std::size_t bytes)
      : owner(source), store(*nb::cast<const Source&>(source).rows, bytes) {}

  template <class Function>
  void each_owned(Function&& function) {
    function(owner);
  }

  // Whoever works on it may do so without the interpreter.
  OneAtATime::Turn taken() const { return using_it.taken(); }

  void transform(nb::object source, double power, std::size_t n_threads) {
    const OneAtATime::Turn alone = taken();
    const RowSource& rows = *nb::cast<const Source&>(source).rows;
    if (rows.size() != store.size())
      throw std::invalid_argument("the new kernel has another number of samples than the store");
    if (!(power > 0) || !std::isfinite(power))
      throw std::invalid_argument("the power of a transformation must be a positive number");
    {
      nb::gil_scoped_release release;
      ThreadTeam team(n_threads);
      store.transform(rows, power, team);
    }
    owner = std::move(source);
  }
};

geometric::MaxMinOverResult max_min_over(HeldStore& held, Vector<double> ridge, Vector<double> alpha, double gap,
                                         std::int64_t recompute_every, std::int64_t max_iterations, double max_seconds,
                                         double grace_seconds, std::size_t n_threads, const StopSignal* signal) {
  const OneAtATime::Turn alone = held.taken();
  const std::size_t n = held.store.size();
  if (ridge.shape(0) != n || alpha.shape(0) != n)
    throw std::invalid_argument("ridge, start and kernel differ in their number of samples");
  for (std::size_t i = 0; i < n; ++i) {
    if (!(ridge.data()[i] > 0) || !std::isfinite(ridge.data()[i]))
      throw std::invalid_argument("every ridge must be a positive number");
    if (!(alpha.data()[i] >= 0) || !std::isfinite(alpha.data()[i]))
      throw std::invalid_argument("a start must hold finite numbers of at least 0");
  }
  if (recompute_every < 1) throw std::invalid_argument("recompute_every must be at least 1");
  geometric::MaxMinOverResult result;
  {
    nb::gil_scoped_release release;
    Deadline deadline(max_seconds, grace_seconds, end_wanted(signal));
    TimeBudget budget(deadline, true);
    ThreadTeam team(n_threads);
    geometric::MaxMinOver solver(held.store, {ridge.data(), ridge.data() + n}, team, budget);
    result = solver.run({alpha.data(), alpha.data() + n}, {gap, max_iterations, recompute_every});
  }
  if (result.reason == Reason::interrupted && PyErr_Occurred() != nullptr) throw nb::python_error();
  return result;
}

// The rows of a source, laid out so that other samples fit in beside its own: only bits may not suit these.
KernelRows beside(const Source& source, const Samples& others) {
  if (source.kernel->geometry().layout != Layout::bits) return *source.kernel;
  return {*source.samples.samples, source.kernel->kernel(), &others};
}

// A matrix whose memory is handed on to the next one.
template <class T>
nb::ndarray<nb::numpy, T> empty_matrix(std::size_t n, std::size_t m) {
  auto* buffer = new Buffer<T>(n * m);
  nb::capsule owner(buffer, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(buffer->data(), {n, m}, owner);
}

void check_ids(Vector<Id> ids, std::size_t n) {
  for (std::size_t r = 0; r < ids.shape(0); ++r)
    if (ids.data()[r] < 0 || static_cast<std::size_t>(ids.data()[r]) >= n)
      throw std::invalid_argument("an id lies outside the row source");
}

template <class T>
Symmetry symmetry(Matrix<T> matrix, std::size_t n_threads) {
  if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("the matrix must be square");
  nb::gil_scoped_release release;
  ThreadTeam team(require_threads(n_threads));
  return symmetry_of(matrix.data(), matrix.shape(0), team);
}

template <class T>
bool looks_symmetric(Matrix<T> matrix, double tolerance, std::size_t n_threads) {
  if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("the matrix must be square");
  nb::gil_scoped_release release;
  ThreadTeam team(require_threads(n_threads));
  return widemargin::looks_symmetric(matrix.data(), matrix.shape(0), tolerance, team);
}

// The kernel among some samples of any source.
nb::ndarray<nb::numpy, float> kernel_among(const Source& source, Vector<Id> ids, std::size_t n_threads,
                                           double max_seconds, const StopSignal* signal) {
  constexpr std::size_t at_once = 64;
  check_ids(ids, source.rows->size());
  const std::size_t n = ids.shape(0);
  const std::span<const Id> all{ids.data(), n};
  nb::ndarray<nb::numpy, float> matrix = empty_matrix<float>(n, n);
  float* const values = matrix.data();
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(require_threads(n_threads));
    const std::unique_ptr<Columns<float>> columns = source.rows->prepare(all, true, team, float{});
    std::vector<float*> to(at_once);
    for (std::size_t begin = 0; begin < n && !deadline.poll(true); begin += at_once) {
      const std::size_t some = std::min(at_once, n - begin);
      for (std::size_t r = 0; r < some; ++r) to[r] = values + (begin + r) * n;
      source.rows->rows(all.subspan(begin, some), *columns, 0, n, to.data(), team);
    }
  });
  return matrix;
}

// sum_r coefficients[f][r] k(x_rows[r], x_columns[c]): a row for each f.
nb::ndarray<nb::numpy, double> combined_rows(const Source& source, Vector<Id> rows, Matrix<double> coefficients,
                                             Vector<Id> columns, std::size_t n_threads, double max_seconds,
                                             const StopSignal* signal) {
  check_ids(rows, source.rows->size()), check_ids(columns, source.rows->size());
  if (coefficients.shape(1) != rows.shape(0)) throw std::invalid_argument("coefficients and rows differ in number");
  const std::size_t functions = coefficients.shape(0), n = columns.shape(0);
  nb::ndarray<nb::numpy, double> found = empty_matrix<double>(functions, n);
  std::fill_n(found.data(), functions * n, 0.0);
  RowGroup all{0, rows.shape(0), {}};
  for (std::size_t f = 0; f < functions; ++f)
    all.sums.push_back({coefficients.data() + f * rows.shape(0), found.data() + f * n});
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    TimeBudget budget(deadline, true);
    ThreadTeam team(require_threads(n_threads));
    const auto prepare = [&](std::size_t first, std::size_t width) {
      return source.rows->prepare(view(columns).subspan(first, width), true, team, float{});
    };
    add_row_sums<float>(*source.rows, view(rows), {&all, 1}, n, prepare, team, budget);
  });
  return found;
}

template <class T>
nb::ndarray<nb::numpy, T> matrix_of(const Source& rows, const HeldSamples* columns, std::size_t n_threads,
                                    double max_seconds, const StopSignal* signal) {
  if (rows.kernel == nullptr) throw std::invalid_argument("only a kernel of samples has a kernel matrix to compute");
  if (columns != nullptr && columns->samples->dimension() != rows.samples.samples->dimension())
    throw std::invalid_argument("rows and columns differ in their number of features");
  const Samples& right = columns != nullptr ? *columns->samples : *rows.samples.samples;
  const std::size_t n = rows.rows->size(), m = right.size();
  nb::ndarray<nb::numpy, T> matrix = empty_matrix<T>(n, m);
  T* const values = matrix.data();
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    const KernelRows source = beside(rows, right);
    if (std::is_same_v<T, double> || source.fits_floats()) {
      kernel_matrix(source, *rows.samples.samples, right, columns == nullptr, values, team, deadline);
    } else {  // what values are computed from needs the range of a double; what comes of it may well fit
      Buffer<double> wide(n * m);
      kernel_matrix(source, *rows.samples.samples, right, columns == nullptr, wide.data(), team, deadline);
      std::transform(wide.data(), wide.data() + n * m, values, [](double value) { return static_cast<T>(value); });
    }
  });
  return matrix;
}

// dual_coef: (k - 1) x n_support as in scikit-learn; n_support: per class. Returns one row of decision values per pair,
// without intercepts. A single group of support vectors has one row of coefficients for each of any number of functions
// instead.
nb::ndarray<nb::numpy, double> decision_values(const Source& support, const HeldSamples& samples,
                                               Matrix<double> dual_coef, const std::vector<std::size_t>& n_support,
                                               bool double_precision, std::size_t n_threads) {
  if (support.kernel == nullptr) throw std::invalid_argument("only a kernel of samples can be evaluated on new ones");
  const std::size_t k = n_support.size(), n_vectors = dual_coef.shape(1), n = samples.samples->size();
  std::vector<RowGroup> classes(k);
  std::size_t begin = 0;
  for (std::size_t c = 0; c < k; ++c) {
    classes[c].first = begin;
    classes[c].last = begin += n_support[c];
  }
  if (support.samples.samples->dimension() != samples.samples->dimension())
    throw std::invalid_argument("support vectors and samples differ in their number of columns");
  if (k == 0 || begin != n_vectors || (k > 1 && dual_coef.shape(0) != k - 1) || support.rows->size() != n_vectors)
    throw std::invalid_argument("coefficients and support vectors differ in number");
  const std::size_t functions = k == 1 ? dual_coef.shape(0) : k * (k - 1) / 2;
  nb::ndarray<nb::numpy, double> values = empty_matrix<double>(functions, n);
  std::fill_n(values.data(), functions * n, 0.0);
  double* function = values.data();
  if (k == 1)
    for (std::size_t f = 0; f < functions; ++f, function += n)
      classes[0].sums.push_back({dual_coef.data() + f * n_vectors, function});
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t b = a + 1; b < k; ++b, function += n) {
      classes[a].sums.push_back({dual_coef.data() + (b - 1) * n_vectors + classes[a].first, function});
      classes[b].sums.push_back({dual_coef.data() + a * n_vectors + classes[b].first, function});
    }
  run_or_raise(1e10, nullptr, [&](Deadline& deadline) {
    TimeBudget budget(deadline, true);
    ThreadTeam team(n_threads);
    const KernelRows source = beside(support, *samples.samples);
    std::vector<Id> ids(std::max(n_vectors, n));
    std::iota(ids.begin(), ids.end(), Id{0});
    const auto add = [&](auto precision) {
      using T = decltype(precision);
      const auto prepare = [&](std::size_t first, std::size_t width) {
        return source.pack<T>(*samples.samples, {ids.data() + first, width}, true, team);
      };
      add_row_sums<T>(source, ids, classes, n, prepare, team, budget);
    };
    if (double_precision || !source.fits_floats())
      add(double{});
    else
      add(float{});
  });
  return values;
}

void require_pairs(std::size_t pairs, std::size_t classes) {
  if (classes < 2 || pairs != classes * (classes - 1) / 2)
    throw std::invalid_argument("there must be a function for each pair of classes");
}

// A number for each sample and class, from decision values of all pairs of classes: a row for each pair.
nb::ndarray<nb::numpy, double> tallied(Matrix<double> values, std::size_t classes, const std::string& rule) {
  constexpr std::size_t width = 64;
  const std::size_t n = values.shape(1);
  require_pairs(values.shape(0), classes);
  nb::ndarray<nb::numpy, double> found = empty_matrix<double>(n, classes);
  pairs::Tally tally(rule_named(rule), classes, std::min(width, n));
  for (std::size_t begin = 0; begin < n; begin += width) {
    const std::size_t some = std::min(width, n - begin);
    const double* of_pair = values.data() + begin;
    if (begin > 0) tally.begin();
    for (std::size_t a = 0; a < classes; ++a)
      for (std::size_t b = a + 1; b < classes; ++b, of_pair += n) tally.add(a, b, of_pair, some);
    tally.write(some, found.data() + begin * classes);
  }
  return found;
}

// The same for samples whose decision values nobody keeps; support vectors and coefficients as in decision_values.
nb::ndarray<nb::numpy, double> pair_votes(const Source& support, const HeldSamples& samples, Matrix<double> dual_coef,
                                          const std::vector<std::size_t>& n_support, Vector<double> intercepts,
                                          const std::string& rule, bool double_precision, std::size_t n_threads) {
  if (support.kernel == nullptr) throw std::invalid_argument("only a kernel of samples can be evaluated on new ones");
  const std::size_t k = n_support.size(), n_vectors = dual_coef.shape(1), n = samples.samples->size();
  if (support.samples.samples->dimension() != samples.samples->dimension())
    throw std::invalid_argument("support vectors and samples differ in their number of columns");
  require_pairs(intercepts.shape(0), k);
  if (std::accumulate(n_support.begin(), n_support.end(), std::size_t{0}) != n_vectors || dual_coef.shape(0) != k - 1 ||
      support.rows->size() != n_vectors)
    throw std::invalid_argument("coefficients and support vectors differ in number");
  const pairs::Rule by = rule_named(rule);
  nb::ndarray<nb::numpy, double> found = empty_matrix<double>(n, k);
  const pairs::PairFunctions functions{dual_coef.data(), n_support, view(intercepts)};
  run_or_raise(1e10, nullptr, [&](Deadline& deadline) {
    ThreadTeam team(require_threads(n_threads));
    const KernelRows source = beside(support, *samples.samples);
    if (double_precision || !source.fits_floats())
      pairs::add_pair_votes<double>(source, *samples.samples, functions, by, found.data(), team, deadline);
    else
      pairs::add_pair_votes<float>(source, *samples.samples, functions, by, found.data(), team, deadline);
  });
  return found;
}

void require_equal_lengths(const Vector<double>& first, std::initializer_list<const Vector<double>*> others) {
  for (const Vector<double>* other : others)
    if (other->shape(0) != first.shape(0)) throw std::invalid_argument("the vectors differ in length");
}

std::pair<double, double> slopes_of_sum(Vector<double> slopes, Vector<double> sizes, Vector<double> bounds) {
  require_equal_lengths(slopes, {&sizes, &bounds});
  return slopes_inside(view(slopes), view(sizes), view(bounds));
}

double gap_of_prices(Vector<double> tilt, Vector<double> alpha, Vector<double> lower, Vector<double> upper) {
  require_equal_lengths(tilt, {&alpha, &lower, &upper});
  return gap_above_prices(view(tilt), view(alpha), view(lower), view(upper));
}

nb::ndarray<nb::numpy, double> projected(Vector<double> alpha, Vector<double> lower, Vector<double> upper,
                                         double total) {
  std::vector<double> point(alpha.data(), alpha.data() + alpha.shape(0));
  require_equal_lengths(alpha, {&lower, &upper});
  if (!project(point, view(lower), view(upper), total))
    throw std::invalid_argument("total=" + std::to_string(total) + " lies outside what the sums of the bounds admit");
  return numpy_array(std::move(point));
}

// SciPy exports its BLAS as capsules named by their C signature; another integer type would be another signature.
void take_blas(nb::dict blas_capsules, nb::dict lapack_capsules) {
  const auto pointer = [](const nb::dict& capsules, const char* name, const std::string& begins) {
    PyObject* capsule = nb::object(capsules[name]).ptr();
    const char* signature = PyCapsule_GetName(capsule);
    if (signature == nullptr || std::string(signature).compare(0, begins.size(), begins) != 0)
      throw std::runtime_error(std::string("SciPy exports ") + name +
                               " with another signature than 32-bit integers: " + (signature ? signature : "none"));
    return PyCapsule_GetPointer(capsule, signature);
  };
  const std::string product = "void (char *, char *, int *, int *, int *";
  blas::sgemm = reinterpret_cast<blas::Sgemm*>(pointer(blas_capsules, "sgemm", product));
  blas::dgemm = reinterpret_cast<blas::Dgemm*>(pointer(blas_capsules, "dgemm", product));
  blas::dsyrk = reinterpret_cast<blas::Dsyrk*>(pointer(blas_capsules, "dsyrk", "void (char *, char *, int *, int *, "));
  blas::ddot = reinterpret_cast<blas::Ddot*>(pointer(blas_capsules, "ddot", ""));
  blas::dpotrf = reinterpret_cast<blas::Dpotrf*>(pointer(lapack_capsules, "dpotrf", "void (char *, int *, "));
  blas::dpotrs = reinterpret_cast<blas::Dpotrs*>(pointer(lapack_capsules, "dpotrs", "void (char *, int *, int *, "));
  blas::dpocon = reinterpret_cast<blas::Dpocon*>(pointer(lapack_capsules, "dpocon", "void (char *, int *, "));
  blas::dpstrf = reinterpret_cast<blas::Dpstrf*>(pointer(lapack_capsules, "dpstrf", "void (char *, int *, "));
}

}  // namespace
}  // namespace widemargin::bindings

NB_MODULE(_core, m) {
  using namespace widemargin;
  using namespace widemargin::bindings;

  simd::ops_name();  // an environment that asks for what is not there is refused now, as an ImportError
  process_mutex();   // whoever forks from here on holds it meanwhile

  nb::class_<HeldSamples>(m, "Samples").def_prop_ro("size", [](const HeldSamples& e) { return e.samples->size(); });
  m.def("dense_samples", &dense_samples<float>, "X"_a);
  m.def("dense_samples", &dense_samples<double>, "X"_a);
  m.def("csr_samples", &csr_samples<float, std::int32_t>, "values"_a, "indices"_a, "begins"_a, "columns"_a);
  m.def("csr_samples", &csr_samples<float, std::int64_t>, "values"_a, "indices"_a, "begins"_a, "columns"_a);
  m.def("csr_samples", &csr_samples<double, std::int32_t>, "values"_a, "indices"_a, "begins"_a, "columns"_a);
  m.def("csr_samples", &csr_samples<double, std::int64_t>, "values"_a, "indices"_a, "begins"_a, "columns"_a);

  nb::class_<Source>(m, "RowSource", nb::type_slots(collected<Source>()))
      .def_prop_ro("size", [](const Source& s) { return s.rows->size(); })
      .def_prop_ro("of_samples", [](const Source& s) { return s.kernel != nullptr; })
      .def_prop_ro("fits_float32", [](const Source& s) { return s.rows->fits_floats(); })
      .def(
          "suits",
          [](const Source& s, const HeldSamples& others) {
            return s.kernel != nullptr && s.samples.samples->dimension() == others.samples->dimension() &&
                   s.kernel->suits(*others.samples);
          },
          "others"_a)
      .def("diagonal", [](const Source& s) {
        std::vector<double> values(s.rows->size());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = s.rows->diagonal(static_cast<Id>(i));
        return numpy_array(std::move(values));
      });
  m.def("kernel_source", &kernel_source, "samples"_a, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a);
  m.def("lasting_source", &lasting_source, "samples"_a, "now"_a, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a);
  m.def("gram_source", &gram_source<float>, "gram"_a, "counted"_a = false);
  m.def("gram_source", &gram_source<double>, "gram"_a, "counted"_a = false);
  m.def("class_shared_source", &class_shared_source, "source"_a, "labels"_a, "bytes"_a);
  m.def("matrix_backed_source", &matrix_backed_source, "source"_a, "matrix"_a);
  m.def("derived_source", &derived_source, "source"_a, "base"_a, "scale"_a = nb::none(), "ridge"_a = nb::none());
  m.def("kernel_among", &kernel_among, "source"_a, "ids"_a, "n_threads"_a, "max_seconds"_a = 1e10,
        "signal"_a.none() = nb::none());
  m.def("combined_rows", &combined_rows, "source"_a, "rows"_a, "coefficients"_a, "columns"_a, "n_threads"_a,
        "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());
  m.def("callable_source", &callable_source, "evaluate"_a, "size"_a, "diagonal"_a = nb::none());
  bind_sequences(m);

  nb::class_<Outcome>(m, "Outcome")
      .def_prop_ro("reason", [](const Outcome& o) { return reason_name(o.reason); })
      .def_ro("kkt_violation", &Outcome::kkt_violation)
      .def_ro("duality_gap", &Outcome::duality_gap)
      .def_ro("objective", &Outcome::objective)
      .def_prop_ro("intercept", [](const Outcome& o) { return o.intercept[0]; })
      .def_prop_ro("second_intercept", [](const Outcome& o) { return o.intercept[1]; })
      .def_ro("iterations", &Outcome::iterations)
      .def_ro("kernel_evaluations", &Outcome::kernel_evaluations)
      .def_ro("kernel_operations", &Outcome::kernel_operations)
      .def_ro("seconds", &Outcome::seconds)
      .def_prop_ro("precision", [](const Outcome& o) { return o.double_precision ? "float64" : "float32"; });
  nb::class_<Task>(m, "Task").def(
      "__init__",
      [](Task* self, Vector<Id> ids, Vector<double> linear, Vector<double> lower, Vector<double> upper,
         std::optional<Vector<double>> alpha, std::optional<Vector<double>> gradient, std::pair<double, double> total,
         std::optional<Vector<std::uint8_t>> group, std::optional<Vector<double>> kink,
         std::optional<Vector<double>> ridge) {
        new (self) Task{ids, linear, lower, upper, alpha, gradient, {total.first, total.second}, group, kink, ridge};
      },
      "ids"_a, "linear"_a, "lower"_a, "upper"_a, "alpha"_a = nb::none(), "gradient"_a = nb::none(),
      "total"_a = std::pair<double, double>{0, 0}, "group"_a = nb::none(), "kink"_a = nb::none(),
      "ridge"_a = nb::none());
  nb::class_<Solved>(m, "Solved")
      .def_ro("alpha", &Solved::alpha, nb::rv_policy::automatic)
      .def_ro("gradient", &Solved::gradient, nb::rv_policy::automatic)
      .def_ro("outcome", &Solved::outcome);
  m.def("solve_all", &solve_all, "source"_a, "tasks"_a, "solver"_a, "selection"_a, "planning_ahead"_a, "shrinking"_a,
        "double_precision"_a, "cache_bytes"_a, "tolerance"_a, "max_iterations"_a, "max_seconds"_a, "grace_seconds"_a,
        "n_threads"_a);

  nb::class_<StopSignal>(m, "StopSignal")
      .def(nb::init<>())
      .def("request", [](StopSignal& s) { s.requested = true; })
      .def_prop_ro("requested", [](const StopSignal& s) { return s.requested.load(); });
  nb::class_<SolvedLink, Solved>(m, "SolvedLink")
      .def_ro("repeated", &SolvedLink::repeated)
      .def_ro("rounding", &SolvedLink::rounding)
      .def_ro("blur", &SolvedLink::blur);
  nb::class_<HeldChain>(m, "Chain")
      .def(nb::init<Matrix<float>, std::optional<Vector<Id>>, std::vector<Task>, std::optional<Vector<double>>, double,
                    std::int64_t, double, const StopSignal*, double>(),
           "kernel"_a, "ids"_a.none(), "links"_a, "start"_a.none(), "tolerance"_a, "max_iterations"_a, "max_seconds"_a,
           "signal"_a.none() = nb::none(), "grace_seconds"_a = 0.0, nb::keep_alive<1, 9>())
      .def("advance", &HeldChain::advance, "links"_a)
      .def("rest", &HeldChain::rest);
  nb::class_<LaneProblems>(m, "LaneProblems")
      .def(nb::init<Vector<Id>, Vector<std::int64_t>, Vector<double>, Matrix<double>, Matrix<double>,
                    std::optional<Matrix<double>>>(),
           "ids"_a, "begins"_a, "linear"_a, "lower"_a, "upper"_a, "ridge"_a.none() = nb::none());
  nb::class_<SolvedTogether>(m, "SolvedTogether")
      .def_ro("alpha", &SolvedTogether::alpha, nb::rv_policy::automatic)
      .def_ro("gradient", &SolvedTogether::gradient, nb::rv_policy::automatic)
      .def_ro("outcomes", &SolvedTogether::outcomes, nb::rv_policy::automatic);
  nb::list columns, reasons;
  for (const char* name : outcome_columns) columns.append(name);
  for (int r = 0; r <= static_cast<int>(Reason::overflow); ++r) reasons.append(reason_name(static_cast<Reason>(r)));
  m.attr("OUTCOME_COLUMNS") = nb::tuple(columns), m.attr("REASONS") = nb::tuple(reasons);
  m.def("solve_together", &solve_together, "source"_a, "problems"_a, "start"_a.none(), "solver"_a, "selection"_a,
        "planning_ahead"_a, "shrinking"_a, "double_precision"_a, "cache_bytes"_a, "tolerance"_a, "max_iterations"_a,
        "max_seconds"_a, "grace_seconds"_a, "n_threads"_a);
  nb::class_<SolvedLanes>(m, "SolvedLanes")
      .def_ro("alpha", &SolvedLanes::alpha, nb::rv_policy::automatic)
      .def_ro("intercepts", &SolvedLanes::intercepts, nb::rv_policy::automatic)
      .def_ro("values", &SolvedLanes::values, nb::rv_policy::automatic)
      .def_ro("kkt_violations", &SolvedLanes::kkt_violations, nb::rv_policy::automatic)
      .def_ro("duality_gaps", &SolvedLanes::duality_gaps, nb::rv_policy::automatic)
      .def_ro("objectives", &SolvedLanes::objectives, nb::rv_policy::automatic)
      .def_ro("roundings", &SolvedLanes::roundings, nb::rv_policy::automatic)
      .def_ro("blurs", &SolvedLanes::blurs, nb::rv_policy::automatic)
      .def_prop_ro("reason", [](const SolvedLanes& s) { return reason_name(s.reason); })
      .def_ro("repeated", &SolvedLanes::repeated)
      .def_ro("iterations", &SolvedLanes::iterations)
      .def_ro("seconds", &SolvedLanes::seconds);
  nb::class_<HeldLanes>(m, "Lanes")
      .def(nb::init<Matrix<float>, nb::object, Vector<Id>, std::optional<Vector<double>>, std::optional<Matrix<Id>>,
                    std::size_t, const std::vector<std::string>&, bool, double, std::int64_t, double, const StopSignal*,
                    double>(),
           "kernel"_a, "problems"_a, "asked"_a, "start"_a.none(), "classes"_a.none(), "n_classes"_a, "rules"_a,
           "keeps"_a, "tolerance"_a, "max_iterations"_a, "max_seconds"_a, "signal"_a.none() = nb::none(),
           "grace_seconds"_a = 0.0, nb::keep_alive<1, 13>())
      .def("advance", &HeldLanes::advance, "links"_a);
  nb::class_<HeldRowChain>(m, "RowChain", nb::type_slots(collected<HeldRowChain>()))
      .def(nb::init<nb::object, std::optional<Vector<Id>>, std::vector<Task>, std::optional<Vector<double>>,
                    const std::string&, const std::string&, std::size_t, bool, bool, std::size_t, double, std::int64_t,
                    double, double, std::size_t, const StopSignal*>(),
           "source"_a, "ids"_a.none(), "links"_a, "start"_a.none(), "solver"_a, "selection"_a, "planning_ahead"_a,
           "shrinking"_a, "double_precision"_a, "cache_bytes"_a, "tolerance"_a, "max_iterations"_a, "max_seconds"_a,
           "grace_seconds"_a, "n_threads"_a, "signal"_a.none() = nb::none(), nb::keep_alive<1, 17>())
      .def("advance", &HeldRowChain::advance, "links"_a);
  nb::class_<HeldMachine>(m, "ExactMachine")
      .def(nb::init<Matrix<double>, Vector<std::int64_t>, Vector<std::int64_t>, Vector<double>, Vector<double>,
                    std::optional<Vector<double>>, bool, Vector<std::int64_t>, Vector<double>, Vector<double>, double,
                    double, double, int>(),
           "kernel"_a, "row_of"_a, "column_of"_a, "signs"_a, "bounds"_a, "ridge"_a.none(), "bordered"_a, "known"_a,
           "alpha"_a, "values"_a, "intercept"_a, "well_conditioned"_a, "dependent"_a, "corrections"_a)
      .def_prop_ro("found", &HeldMachine::found)
      .def_prop_ro(
          "alpha", [](const HeldMachine& h) { return numpy_array(std::vector<double>(h.machine().alpha())); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "values", [](const HeldMachine& h) { return numpy_array(std::vector<double>(h.machine().values())); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "free", [](const HeldMachine& h) { return numpy_array(std::vector<std::int64_t>(h.machine().free())); },
          nb::rv_policy::automatic)
      .def_prop_ro("dependent", [](const HeldMachine& h) { return h.machine().dependent(); })
      .def_prop_ro(
          "bounded", [](const HeldMachine& h) { return numpy_array(std::vector<std::int64_t>(h.machine().bounded())); },
          nb::rv_policy::automatic)
      .def_prop_ro("intercept", [](const HeldMachine& h) { return h.machine().intercept(); })
      .def_prop_ro("moved", [](const HeldMachine& h) { return h.machine().moved(); })
      .def("adjoint", &HeldMachine::adjoint, "of_values"_a, "of_coefficients"_a = nb::none());
  m.def("likeliest_slope", &likeliest_slope, "margins"_a, "weights"_a, "largest"_a);
  nb::class_<LeftOut>(m, "LeftOut")
      .def_ro("values", &LeftOut::values, nb::rv_policy::automatic)
      .def_ro("found", &LeftOut::found, nb::rv_policy::automatic)
      .def_ro("intercepts", &LeftOut::intercepts, nb::rv_policy::automatic)
      .def_ro("alphas", &LeftOut::alphas, nb::rv_policy::automatic);
  m.def("leave_one_out", &leave_one_out, "kernel"_a, "signs"_a, "bounds"_a, "ridge"_a, "alpha"_a, "residual"_a,
        "intercept"_a, "bordered"_a, "free"_a, "inverse"_a, "samples"_a, "keep"_a, "n_threads"_a,
        "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());
  m.def("same_solution", &same_solution, "before"_a, "link"_a, "alpha"_a);
  m.def("apply_kernel", &apply_kernel, "base"_a, "kernel"_a, "gamma"_a, "coef0"_a, "degree"_a, "out"_a, "n_threads"_a,
        "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());

  nb::class_<HeldStore>(m, "KernelStore", nb::type_slots(collected<HeldStore>()))
      .def(nb::init<nb::object, std::size_t>(), "source"_a, "bytes"_a)
      .def_prop_ro("size", [](const HeldStore& h) { return h.store.size(); })
      .def_prop_ro("held", [](HeldStore& h) { return h.taken(), h.store.held(); })
      .def_prop_ro("evaluations", [](HeldStore& h) { return h.taken(), h.store.evaluations(); })
      .def(
          "row",
          [](HeldStore& h, std::size_t i) {
            const OneAtATime::Turn alone = h.taken();
            if (i >= h.store.size()) throw std::invalid_argument("there is no such row");
            ThreadTeam team(1);
            const float* row = h.store.row(i, team);
            return numpy_array(std::vector<double>(row, row + h.store.size()));
          },
          "i"_a)
      .def("transform", &HeldStore::transform, "source"_a, "power"_a, "n_threads"_a);
  nb::class_<geometric::MaxMinOverResult>(m, "MaxMinOverResult")
      .def_prop_ro(
          "alpha", [](const geometric::MaxMinOverResult& r) { return numpy_array(std::vector<double>(r.alpha)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "s", [](const geometric::MaxMinOverResult& r) { return numpy_array(std::vector<double>(r.s)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "gaps", [](const geometric::MaxMinOverResult& r) { return numpy_array(std::vector<double>(r.gaps)); },
          nb::rv_policy::automatic)
      .def_ro("rho", &geometric::MaxMinOverResult::rho)
      .def_ro("gap", &geometric::MaxMinOverResult::gap)
      .def_ro("known", &geometric::MaxMinOverResult::known)
      .def_ro("iterations", &geometric::MaxMinOverResult::iterations)
      .def_prop_ro("reason", [](const geometric::MaxMinOverResult& r) { return reason_name(r.reason); });
  m.def("max_min_over", &max_min_over, "store"_a, "ridge"_a, "alpha"_a, "gap"_a, "recompute_every"_a,
        "max_iterations"_a, "max_seconds"_a, "grace_seconds"_a, "n_threads"_a, "signal"_a.none() = nb::none());

  m.def("empty_matrix_float32", &empty_matrix<float>, "n"_a, "m"_a);
  nb::exception<StoppedError>(m, "StoppedError", PyExc_TimeoutError);
  m.def("kernel_matrix_float32", &matrix_of<float>, "rows"_a, "columns"_a.none(), "n_threads"_a, "max_seconds"_a = 1e10,
        "signal"_a.none() = nb::none());
  m.def("kernel_matrix_float64", &matrix_of<double>, "rows"_a, "columns"_a.none(), "n_threads"_a,
        "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());
  m.def("tallied", &tallied, "values"_a, "classes"_a, "rule"_a);
  m.def("pair_votes", &pair_votes, "support"_a, "samples"_a, "dual_coef"_a, "n_support"_a, "intercepts"_a, "rule"_a,
        "double_precision"_a, "n_threads"_a);
  m.def("decision_values", &decision_values, "support"_a, "samples"_a, "dual_coef"_a, "n_support"_a,
        "double_precision"_a, "n_threads"_a);
  m.def("toggle_feature", &toggle_feature_of, "squared"_a, "of_rows"_a, "of_columns"_a, "taken_in"_a, "out"_a,
        "n_threads"_a);
  m.def("add_gaussian_rows", &add_gaussian_rows_of, "squared"_a, "rows"_a, "coefficients"_a, "gamma"_a,
        "of_rows"_a.none(), "of_columns"_a.none(), "taken_in"_a, "values"_a, "n_threads"_a);
  nb::class_<quantization::Codebook>(m, "Codebook")
      .def_prop_ro(
          "prototypes",
          [](const quantization::Codebook& c) {
            return numpy_matrix(std::vector<double>(c.prototypes), c.counts.size());
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "weights", [](const quantization::Codebook& c) { return numpy_array(std::vector<double>(c.weights)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "counts", [](const quantization::Codebook& c) { return numpy_array(std::vector<std::int64_t>(c.counts)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "labels", [](const quantization::Codebook& c) { return numpy_array(std::vector<std::int32_t>(c.labels)); },
          nb::rv_policy::automatic)
      .def_ro("distortion", &quantization::Codebook::distortion)
      .def_ro("rounds", &quantization::Codebook::rounds)
      .def_ro("evaluations", &quantization::Codebook::evaluations)
      .def_prop_ro("reason", [](const quantization::Codebook& c) { return reason_name(c.reason); });
  nb::class_<HeldLbg>(m, "Lbg")
      .def(nb::init<const HeldSamples&, Vector<double>, double, std::int64_t, bool>(), "samples"_a, "weights"_a,
           "tolerance"_a, "max_rounds"_a, "double_precision"_a)
      .def("level", &HeldLbg::level, "number"_a, "n_threads"_a, "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());
  m.def("nearest_prototypes", &nearest_prototypes_of, "samples"_a, "prototypes"_a, "n_threads"_a,
        "max_seconds"_a = 1e10, "signal"_a.none() = nb::none());
  m.def("slopes_inside", &slopes_of_sum, "slopes"_a, "sizes"_a, "bounds"_a);
  m.def("gap_above_prices", &gap_of_prices, "tilt"_a, "alpha"_a, "lower"_a, "upper"_a);
  nb::class_<Symmetry>(m, "Symmetry")
      .def_ro("largest", &Symmetry::largest)
      .def_ro("difference", &Symmetry::difference)
      .def_ro("row", &Symmetry::row)
      .def_ro("column", &Symmetry::column);
  m.def("looks_symmetric", &bindings::looks_symmetric<float>, "matrix"_a, "tolerance"_a, "n_threads"_a);
  m.def("looks_symmetric", &bindings::looks_symmetric<double>, "matrix"_a, "tolerance"_a, "n_threads"_a);
  m.def("symmetry", &symmetry<float>, "matrix"_a, "n_threads"_a);
  m.def("symmetry", &symmetry<double>, "matrix"_a, "n_threads"_a);
  m.def("project", &projected, "alpha"_a, "lower"_a, "upper"_a, "total"_a);
  m.def("keep_memory", [](std::size_t bytes) { keep_memory(bytes); }, "bytes"_a);
  m.def("release_memory", [] {
    ThreadLocalMemory::clear_all();
    release_memory();
  });
  define_trace(m);
  define_online(m);
  m.def("refuse_memory", [](std::int64_t after) { pieces_until_refusal = after; }, "after"_a);
  m.def("take_blas", &take_blas, "blas"_a, "lapack"_a);
  m.def("simd_name", [] { return simd::ops_name(); });
  m.def("use_simd", [](const std::string& name) { return simd::use_ops(name.c_str()); }, "name"_a);
}
