// Kernel values between samples, rows of them at a time: all that caches, solvers and prediction know about a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/runtime/thread_team.hpp"

namespace widemargin {

using Id = std::int32_t;  // the number of a sample (or of a variable of a problem)

// Position p takes what stood at order[p].
template <class V>
void permute(std::vector<V>& values, std::span<const Id> order) {
  std::vector<V> moved(values.size());
  for (std::size_t p = 0; p < moved.size(); ++p) moved[p] = values[static_cast<std::size_t>(order[p])];
  values.swap(moved);
}

// A sequence of samples prepared to stand at the columns of many blocks.
template <class T>
class Columns {
 public:
  virtual ~Columns() = default;
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::size_t size() const = 0;
  virtual double diagonal(Id id) const = 0;

  // For those who look at the clock: what a value of the diagonal and any other one cost, in units of about a
  // nanosecond; and how many rows of so many columns can be computed between two looks at the clock (some
  // hundredths of a second), 64 at most.
  virtual std::uint64_t diagonal_work() const { return 10; }
  virtual std::uint64_t value_work() const { return 4; }
  virtual std::size_t rows_between_polls(std::size_t) const { return 64; }
  // The part of the diagonal that the square loss put there: it belongs to the loss, not to the kernel.
  virtual double ridge(Id) const { return 0.0; }

  // Whether float has the range for what values are computed from.
  virtual bool fits_floats() const { return true; }

  // Whether a value takes no longer to compute than to fetch from memory.
  virtual bool faster_than_memory() const { return false; }
  // Whether a value takes no longer to compute than the steps that use it.
  virtual bool faster_than_steps() const { return false; }

  // All values, row by row, where they lie side by side in double; else null.
  virtual const double* whole_matrix() const { return nullptr; }

  // Bytes of a prepared column, if it is kept ready.
  virtual std::size_t column_bytes(std::size_t value_size) const = 0;
  // `keep`: spend that memory; otherwise columns are brought into shape whenever rows are computed.
  virtual std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team,
                                                  float) const = 0;
  virtual std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team,
                                                   double) const = 0;

  // Further samples come to stand behind those of columns that were prepared, and kept, from this source; false if
  // they have to be prepared anew.
  virtual bool extend(Columns<float>&, std::span<const Id>) const { return false; }
  virtual bool extend(Columns<double>&, std::span<const Id>) const { return false; }

  // out[r][c - first] = k(x_ids[r], x_columns[c]) for first <= c < last. Returns how many values were evaluated.
  virtual std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first,
                             std::size_t last, float* const* out, ThreadTeam& team) const = 0;
  virtual std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first,
                             std::size_t last, double* const* out, ThreadTeam& team) const = 0;
};

// A source that computes both precisions alike: Self offers prepare_columns<T>(ids, keep, team) and compute<T>(ids,
// columns, first, last, out, team).
template <class Self>
class RowSourceOfBothTypes : public RowSource {
 public:
  std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team, float) const override {
    return self().template prepare_columns<float>(ids, keep, team);
  }
  std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team,
                                           double) const override {
    return self().template prepare_columns<double>(ids, keep, team);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first, std::size_t last,
                     float* const* out, ThreadTeam& team) const override {
    return self().compute(ids, columns, first, last, out, team);
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first, std::size_t last,
                     double* const* out, ThreadTeam& team) const override {
    return self().compute(ids, columns, first, last, out, team);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace widemargin
