// Row sources as Python objects: each keeps the arrays it reads alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/rows/callable_rows.hpp"
#include "core/rows/class_shared_rows.hpp"
#include "core/rows/derived_rows.hpp"
#include "core/rows/gram_rows.hpp"
#include "core/rows/kernel_rows.hpp"
#include "core/rows/matrix_backed_rows.hpp"

namespace nb = nanobind;

namespace widemargin::bindings {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Vector<T>& values) {
  return {values.data(), values.shape(0)};
}

// Empty where no values were passed.
template <class T>
std::span<const T> view(const std::optional<Vector<T>>& values) {
  return values ? view(*values) : std::span<const T>{};
}

// Samples and whatever Python object holds their memory.
struct HeldSamples {
  std::shared_ptr<const Samples> samples;
  std::vector<nb::object> owners;
};

template <class T>
HeldSamples dense_samples(Matrix<T> X) {
  return {std::make_shared<DenseSamples<T>>(X.data(), X.shape(0), X.shape(1)), {nb::cast(X)}};
}

template <class T, class I>
HeldSamples csr_samples(Vector<T> values, Vector<I> indices, Vector<I> begins, std::size_t columns) {
  if (begins.shape(0) == 0 || indices.shape(0) != values.shape(0))
    throw std::invalid_argument("the arrays of a sparse matrix do not fit together");
  for (std::size_t t = 0; t < indices.shape(0); ++t)
    if (indices.data()[t] < 0 || static_cast<std::size_t>(indices.data()[t]) >= columns)
      throw std::invalid_argument("a column index of the sparse matrix lies outside its shape");
  for (std::size_t r = 0; r + 1 < begins.shape(0); ++r)
    if (begins.data()[r] > begins.data()[r + 1] || begins.data()[r] < 0)
      throw std::invalid_argument("the row pointers of the sparse matrix decrease");
  if (static_cast<std::size_t>(begins.data()[begins.shape(0) - 1]) > values.shape(0))
    throw std::invalid_argument("the row pointers of the sparse matrix pass its end");
  return {
      std::make_shared<CsrSamples<T, I>>(values.data(), indices.data(), begins.data(), begins.shape(0) - 1, columns),
      {nb::cast(values), nb::cast(indices), nb::cast(begins)}};
}

struct Source {
  std::unique_ptr<RowSource> rows;
  KernelRows* kernel = nullptr;  // rows, where it is a kernel of samples
  bool stays = false;            // its samples are changed in place, so that it is used again and again
  HeldSamples samples;
  std::vector<nb::object> owners;

  template <class Function>
  void each_owned(Function&& function) {
    for (nb::object& owner : samples.owners) function(owner);
    for (nb::object& owner : owners) function(owner);
  }
};

// The value that a parameter's text stands for.
template <class Value>
Value named(const std::string& parameter, const std::string& name,
            std::initializer_list<std::pair<const char*, Value>> choices) {
  std::string known;
  for (const auto& [choice, value] : choices) {
    if (name == choice) return value;
    known += (known.empty() ? "'" : ", '") + std::string(choice) + "'";
  }
  throw std::invalid_argument(parameter + "='" + name + "' is not one of " + known);
}

inline KernelKind kernel_kind(const std::string& name) {
  return named<KernelKind>("kernel", name,
                           {{"linear", KernelKind::linear},
                            {"poly", KernelKind::polynomial},
                            {"rbf", KernelKind::gaussian},
                            {"sigmoid", KernelKind::sigmoid},
                            {"squared-distance", KernelKind::squared_distance}});
}

// Memory for samples that come and go, in the form that suits those which are there now.
inline std::unique_ptr<Source> lasting_source(const HeldSamples& samples, const HeldSamples& now,
                                              const std::string& kernel, double gamma, double coef0, int degree) {
  if (samples.samples->dimension() != now.samples->dimension())
    throw std::invalid_argument("samples now and in memory differ in their dimension");
  auto source = std::make_unique<Source>();
  source->samples = samples;
  const KernelFunction function{kernel_kind(kernel), gamma, coef0, degree};
  auto rows = std::make_unique<KernelRows>(*samples.samples, function, choose_geometry(*now.samples, function));
  source->kernel = rows.get(), source->stays = true;
  source->rows = std::move(rows);
  return source;
}

inline std::unique_ptr<Source> kernel_source(const HeldSamples& samples, const std::string& kernel, double gamma,
                                             double coef0, int degree) {
  auto source = std::make_unique<Source>();
  source->samples = samples;
  auto rows = std::make_unique<KernelRows>(*samples.samples, KernelFunction{kernel_kind(kernel), gamma, coef0, degree});
  source->kernel = rows.get();
  source->rows = std::move(rows);
  return source;
}

template <class T>
std::unique_ptr<Source> gram_source(Matrix<T> gram, bool counted) {
  if (gram.shape(0) != gram.shape(1)) throw std::invalid_argument("a kernel matrix must be square");
  auto source = std::make_unique<Source>();
  source->rows = std::make_unique<GramRows<T>>(gram.data(), gram.shape(0), counted);
  source->owners.push_back(nb::cast(gram));
  return source;
}

// The same rows for all pairs of classes: `labels` are the class numbers of the samples, `bytes` what may be spent on
// sharing.
inline std::unique_ptr<Source> class_shared_source(nb::object base, Vector<Id> labels, std::size_t bytes) {
  const Source& shared = nb::cast<const Source&>(base);
  if (labels.shape(0) != shared.rows->size()) throw std::invalid_argument("labels and row source differ in length");
  for (std::size_t i = 0; i < labels.shape(0); ++i)
    if (labels.data()[i] < 0) throw std::invalid_argument("class numbers must not be negative");
  auto source = std::make_unique<Source>();
  source->rows = std::make_unique<ClassSharedRows>(
      *shared.rows, std::vector<Id>(labels.data(), labels.data() + labels.shape(0)), bytes);
  source->owners.push_back(std::move(base));
  return source;
}

// The same kernel, its float32 values looked up in a matrix of them.
inline std::unique_ptr<Source> matrix_backed_source(nb::object base, Matrix<float> matrix) {
  const Source& known = nb::cast<const Source&>(base);
  if (matrix.shape(0) != known.rows->size() || matrix.shape(1) != matrix.shape(0))
    throw std::invalid_argument("matrix and row source differ in size");
  auto source = std::make_unique<Source>();
  source->rows = std::make_unique<MatrixBackedRows>(*known.rows, matrix.data());
  source->owners = {std::move(base), nb::cast(matrix)};
  return source;
}

// k'(i, j) = scale_i scale_j k(base_i, base_j) + [i = j] ridge_i
inline std::unique_ptr<Source> derived_source(nb::object from, Vector<Id> base, std::optional<Vector<double>> scale,
                                              std::optional<Vector<double>> ridge) {
  const Source& origin = nb::cast<const Source&>(from);
  const std::size_t n = base.shape(0);
  const auto values = [n](const std::optional<Vector<double>>& given) {
    if (given && given->shape(0) != n) throw std::invalid_argument("base, scale and ridge differ in length");
    return given ? std::vector<double>(given->data(), given->data() + n) : std::vector<double>{};
  };
  for (std::size_t i = 0; i < n; ++i)
    if (base.data()[i] < 0 || static_cast<std::size_t>(base.data()[i]) >= origin.rows->size())
      throw std::invalid_argument("a sample lies outside the row source");
  auto source = std::make_unique<Source>();
  source->rows = std::make_unique<DerivedRows>(*origin.rows, std::vector<Id>(base.data(), base.data() + n),
                                               values(scale), values(ridge));
  source->owners.push_back(std::move(from));
  return source;
}

// `evaluate(rows, columns)` returns a float64 matrix of that shape.
inline std::unique_ptr<Source> callable_source(nb::object evaluate, std::size_t size,
                                               std::optional<Vector<double>> diagonal) {
  if (diagonal && diagonal->size() != size)
    throw std::invalid_argument("the diagonal must hold a number for each sample");
  auto source = std::make_unique<Source>();
  PyObject* function = evaluate.ptr();
  source->owners.push_back(std::move(evaluate));
  source->rows = std::make_unique<CallableRows>(
      [function](std::span<const Id> rows, std::span<const Id> columns, double* out) {
        nb::gil_scoped_acquire hold;
        const auto as_array = [](std::span<const Id> ids) {
          return nb::ndarray<nb::numpy, const Id, nb::ndim<1>>(ids.data(), {ids.size()}, nb::handle())
              .cast(nb::rv_policy::copy);
        };
        const nb::object result = nb::borrow<nb::object>(function)(as_array(rows), as_array(columns));
        const auto block = nb::cast<Matrix<double>>(result);
        if (block.shape(0) != rows.size() || block.shape(1) != columns.size())
          throw std::invalid_argument("the kernel returned a block of the wrong shape");
        std::copy_n(block.data(), rows.size() * columns.size(), out);
      },
      size, diagonal ? std::vector<double>(diagonal->data(), diagonal->data() + size) : std::vector<double>{});
  return source;
}

}  // namespace widemargin::bindings
