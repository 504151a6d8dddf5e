// Kernels of sequences, from and to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/sources.hpp"
#include "bindings/stopping.hpp"
#include "core/sequences/count_products.hpp"
#include "core/sequences/counts.hpp"
#include "core/sequences/mismatches.hpp"
#include "core/sequences/oligo_rows.hpp"
#include "core/sequences/oligo_slopes.hpp"

namespace widemargin::bindings {

using sequences::Counts;
using sequences::Mismatches;
using sequences::Oligomers;

inline std::span<const Id> checked_ids(const Vector<Id>& ids, std::size_t size) {
  for (const Id id : view(ids))
    if (id < 0 || static_cast<std::size_t>(id) >= size)
      throw std::invalid_argument("the number of a sequence is out of range");
  return view(ids);
}

// Some of the sequences, and a factor for each.
inline sequences::Side side_of(const Oligomers& oligomers, const Vector<Id>& ids,
                               const std::optional<Vector<double>>& factors) {
  checked_ids(ids, oligomers.size());
  if (factors && factors->shape(0) != ids.shape(0))
    throw std::invalid_argument("there must be a factor for every sequence");
  return {view(ids), view(factors)};
}

inline void oligo_sums(const Oligomers& left, Vector<Id> left_ids, std::optional<Vector<double>> left_factors,
                       const Oligomers& right, Vector<Id> right_ids, std::optional<Vector<double>> right_factors,
                       Vector<double> near, std::optional<Vector<double>> weights, bool symmetric,
                       nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, std::size_t n_threads,
                       double max_seconds, const StopSignal* signal) {
  const sequences::Side rows = side_of(left, left_ids, left_factors),
                        columns = side_of(right, right_ids, right_factors);
  if (out.shape(0) != rows.ids.size() || out.shape(1) != columns.ids.size() ||
      (symmetric && rows.ids.size() != columns.ids.size()))
    throw std::invalid_argument("out and the sequences differ in number");
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    const sequences::OligoTerm<double> term(left, right, view(near), view(weights));
    ThreadTeam team(n_threads);
    sequences::sums_between(term, rows, columns, symmetric, out.data(), team, deadline);
  });
}

inline std::vector<double> oligo_sums_within(const Oligomers& oligomers, Vector<double> near,
                                             std::optional<Vector<double>> weights, std::size_t n_threads,
                                             double max_seconds, const StopSignal* signal) {
  std::vector<double> found(oligomers.size());
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    const sequences::OligoTerm<double> term(oligomers, oligomers, view(near), view(weights));
    ThreadTeam team(n_threads);
    sequences::sums_within(term, found.data(), team, deadline);
  });
  return found;
}

using SlopePair = std::pair<double, std::vector<double>>;

inline SlopePair oligo_pull_back(Matrix<double> W, const Oligomers& left, Vector<Id> left_ids,
                                 std::optional<Vector<double>> left_factors, const Oligomers& right,
                                 Vector<Id> right_ids, std::optional<Vector<double>> right_factors, Vector<double> near,
                                 Vector<double> slope, std::optional<Vector<double>> weights, bool symmetric,
                                 std::size_t n_threads, double max_seconds, const StopSignal* signal) {
  const sequences::Side rows = side_of(left, left_ids, left_factors),
                        columns = side_of(right, right_ids, right_factors);
  if (W.shape(0) != rows.ids.size() || W.shape(1) != columns.ids.size() ||
      (symmetric && rows.ids.size() != columns.ids.size()))
    throw std::invalid_argument("W and the sequences differ in number");
  sequences::Slopes found;
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    const sequences::OligoTerm<double> own(left, right, view(near), view(weights));
    const sequences::OligoTerm<double> steep(left, right, view(slope), view(weights));
    ThreadTeam team(n_threads);
    found = sequences::pull_back({own, steep}, W.data(), rows, columns, symmetric, weights.has_value(), team, deadline);
  });
  return {found.by_sigma, std::move(found.by_code)};
}

inline SlopePair oligo_pull_back_within(Vector<double> w, const Oligomers& oligomers, Vector<Id> ids,
                                        Vector<double> near, Vector<double> slope,
                                        std::optional<Vector<double>> weights, std::size_t n_threads,
                                        double max_seconds, const StopSignal* signal) {
  const sequences::Side some = side_of(oligomers, ids, w);
  sequences::Slopes found;
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    const sequences::OligoTerm<double> own(oligomers, oligomers, view(near), view(weights));
    const sequences::OligoTerm<double> steep(oligomers, oligomers, view(slope), view(weights));
    ThreadTeam team(n_threads);
    found = sequences::pull_back_within({own, steep}, some, weights.has_value(), team, deadline);
  });
  return {found.by_sigma, std::move(found.by_code)};
}

// Each term: oligomers, closeness by distance, weights of oligomers or None, a factor for each sequence.
inline std::unique_ptr<Source> oligo_source(nb::list terms, Vector<double> diagonal) {
  std::vector<sequences::OligoRows::Part> parts;
  auto source = std::make_unique<Source>();
  for (const nb::handle one : terms) {
    const nb::tuple term = nb::cast<nb::tuple>(one);
    const auto near = nb::cast<Vector<double>>(term[1]), factors = nb::cast<Vector<double>>(term[3]);
    const auto weights = nb::cast<std::optional<Vector<double>>>(term[2]);
    parts.push_back({nb::cast<const Oligomers&>(term[0]), view(near), view(weights), view(factors)});
    source->owners.push_back(nb::borrow<nb::object>(term));
  }
  source->rows = std::make_unique<sequences::OligoRows>(
      parts, std::vector<double>(diagonal.data(), diagonal.data() + diagonal.shape(0)));
  return source;
}

inline std::unique_ptr<Counts> counts_of(Vector<std::int16_t> letters, Vector<std::int64_t> begins,
                                         std::size_t n_letters, std::size_t k, std::size_t gaps, std::size_t mismatches,
                                         std::optional<Vector<std::int64_t>> partners, std::size_t n_threads,
                                         double max_seconds, const StopSignal* signal) {
  std::unique_ptr<Counts> found;
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    const sequences::OligomerSpace space(n_letters, k, view(partners));
    ThreadTeam team(n_threads);
    found = std::make_unique<Counts>(view(letters), view(begins), space, gaps, mismatches, team, deadline);
  });
  return found;
}

// A dense row for each of some sequences, into a matrix of zeros.
template <class T>
void write_counts(const Counts& counts, Vector<Id> ids,
                  nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
  const std::span<const Id> some = checked_ids(ids, counts.size());
  if (out.shape(0) != some.size() || out.shape(1) != counts.n_codes())
    throw std::invalid_argument("out and the counts differ in shape");
  nb::gil_scoped_release release;
  for (std::size_t r = 0; r < some.size(); ++r) {
    T* row = out.data() + r * counts.n_codes();
    const auto codes = counts.codes(static_cast<std::size_t>(some[r]));
    const auto values = counts.values(static_cast<std::size_t>(some[r]));
    for (std::size_t t = 0; t < codes.size(); ++t) row[codes[t]] = static_cast<T>(values[t]);
  }
}

inline void count_products(const Counts& left, Vector<Id> left_ids, const Counts& right, Vector<Id> right_ids,
                           const Mismatches* mismatches, bool symmetric,
                           nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, std::size_t n_threads,
                           double max_seconds, const StopSignal* signal) {
  const std::span<const Id> rows = checked_ids(left_ids, left.size()), columns = checked_ids(right_ids, right.size());
  if (out.shape(0) != rows.size() || out.shape(1) != columns.size() || (symmetric && rows.size() != columns.size()))
    throw std::invalid_argument("out and the sequences differ in number");
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    sequences::products_between(sequences::CountProduct(left, right, mismatches), rows, columns, symmetric, out.data(),
                                team, deadline);
  });
}

inline std::vector<double> count_squares(const Counts& counts, const Mismatches* mismatches, std::size_t n_threads,
                                         double max_seconds, const StopSignal* signal) {
  std::vector<double> found(counts.size());
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    sequences::squares_of(sequences::CountProduct(counts, counts, mismatches), counts.size(), found.data(), team,
                          deadline);
  });
  return found;
}

inline std::unique_ptr<Source> count_source(nb::object counts, nb::object mismatches, Vector<double> factors,
                                            Vector<double> diagonal) {
  auto source = std::make_unique<Source>();
  source->rows = std::make_unique<sequences::CountRows>(
      nb::cast<const Counts&>(counts), mismatches.is_none() ? nullptr : nb::cast<const Mismatches*>(mismatches),
      std::vector<double>(factors.data(), factors.data() + factors.shape(0)),
      std::vector<double>(diagonal.data(), diagonal.data() + diagonal.shape(0)));
  source->owners = {std::move(counts), std::move(mismatches)};
  return source;
}

inline void bind_counts(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Counts>(m, "Counts")
      .def_prop_ro("n_codes", &Counts::n_codes)
      .def_prop_ro("n_stored", &Counts::n_stored)
      .def_prop_ro("largest", &Counts::largest)
      .def("numbered_as", &Counts::numbered_as, "others"_a)
      .def("write", &write_counts<float>, "ids"_a, "out"_a)
      .def("write", &write_counts<double>, "ids"_a, "out"_a);
  nb::class_<Mismatches>(m, "Mismatches")
      .def(
          "__init__",
          [](Mismatches* self, std::size_t n_letters, std::size_t k, std::size_t mismatches,
             std::optional<Vector<std::int64_t>> partners) {
            new (self) Mismatches(sequences::OligomerSpace(n_letters, k, view(partners)), mismatches);
          },
          "n_letters"_a, "k"_a, "mismatches"_a, "partners"_a.none());
  m.def("counts_of", &counts_of, "letters"_a, "begins"_a, "n_letters"_a, "k"_a, "gaps"_a, "mismatches"_a,
        "partners"_a.none(), "n_threads"_a, "max_seconds"_a, "signal"_a.none());
  m.def("count_products", &count_products, "left"_a, "left_ids"_a, "right"_a, "right_ids"_a, "mismatches"_a.none(),
        "symmetric"_a, "out"_a, "n_threads"_a, "max_seconds"_a, "signal"_a.none());
  m.def("count_squares", &count_squares, "counts"_a, "mismatches"_a.none(), "n_threads"_a, "max_seconds"_a,
        "signal"_a.none());
  m.def("count_source", &count_source, "counts"_a, "mismatches"_a.none(), "factors"_a, "diagonal"_a);
}

inline void bind_sequences(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Oligomers>(m, "Oligomers")
      .def(
          "__init__",
          [](Oligomers* self, Vector<std::int32_t> codes, Vector<std::int64_t> begins, Vector<std::int64_t> origins,
             std::size_t n_codes) {
            nb::gil_scoped_release free;
            new (self) Oligomers(view(codes), view(begins), view(origins), n_codes);
          },
          "codes"_a, "begins"_a, "origins"_a, "n_codes"_a)
      .def_prop_ro("low", &Oligomers::low)
      .def_prop_ro("high", &Oligomers::high);
  m.def("oligo_sums", &oligo_sums, "left"_a, "left_ids"_a, "left_factors"_a.none(), "right"_a, "right_ids"_a,
        "right_factors"_a.none(), "near"_a, "weights"_a.none(), "symmetric"_a, "out"_a, "n_threads"_a, "max_seconds"_a,
        "signal"_a.none());
  m.def("oligo_sums_within", &oligo_sums_within, "oligomers"_a, "near"_a, "weights"_a.none(), "n_threads"_a,
        "max_seconds"_a, "signal"_a.none());
  m.def("oligo_pull_back", &oligo_pull_back, "W"_a, "left"_a, "left_ids"_a, "left_factors"_a.none(), "right"_a,
        "right_ids"_a, "right_factors"_a.none(), "near"_a, "slope"_a, "weights"_a.none(), "symmetric"_a, "n_threads"_a,
        "max_seconds"_a, "signal"_a.none());
  m.def("oligo_pull_back_within", &oligo_pull_back_within, "w"_a, "oligomers"_a, "ids"_a, "near"_a, "slope"_a,
        "weights"_a.none(), "n_threads"_a, "max_seconds"_a, "signal"_a.none());
  m.def("oligo_source", &oligo_source, "terms"_a, "diagonal"_a);
  bind_counts(m);
}

}  // namespace widemargin::bindings
