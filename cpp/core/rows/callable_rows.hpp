// Rows of a kernel that somebody else evaluates, a block at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "core/rows/gram_rows.hpp"

namespace widemargin {

class CallableRows final : public RowSourceOfBothTypes<CallableRows> {
 public:
  // Fills out (row-major, rows.size() x columns.size()).
  using Evaluate = std::function<void(std::span<const Id> rows, std::span<const Id> columns, double* out)>;

  // Without a diagonal, its entries are evaluated when they are first asked for, with their neighbours': a call may
  // cost as much as many values, and these are never more than 64 calls, or values of 64 rows.
  CallableRows(Evaluate evaluate, std::size_t size, std::vector<double> diagonal)
      : evaluate_(std::move(evaluate)),
        size_(size),
        given_(!diagonal.empty()),
        at_once_(std::clamp<std::size_t>(size / 64, 1, 64)),
        diagonal_(size) {
    for (std::size_t id = 0; id < size; ++id)
      diagonal_[id].store(given_ ? diagonal[id] : unknown, std::memory_order_relaxed);
  }

  std::size_t size() const override { return size_; }
  double diagonal(Id id) const override {
    std::atomic<double>& own = diagonal_[static_cast<std::size_t>(id)];
    if (std::isnan(own.load(std::memory_order_relaxed)))
      evaluate_diagonal(static_cast<std::size_t>(id) / at_once_ * at_once_);
    return own.load(std::memory_order_relaxed);
  }
  // Nobody knows what a call takes: the clock is looked at after each, and what the last ones took tells how much to
  // ask for.
  std::uint64_t diagonal_work() const override { return given_ ? 1 : 1'000'000; }
  std::uint64_t value_work() const override { return 1'000'000; }
  std::size_t rows_between_polls(std::size_t columns) const override {
    const double seconds = seconds_per_value_.load(std::memory_order_relaxed) * static_cast<double>(columns);
    return static_cast<std::size_t>(std::clamp(seconds_between_polls / std::max(seconds, 1e-12), 1.0, 64.0));
  }

  std::size_t column_bytes(std::size_t) const override { return sizeof(Id); }

  template <class T>
  std::unique_ptr<Columns<T>> prepare_columns(std::span<const Id> ids, bool, ThreadTeam&) const {
    return std::make_unique<IdColumns<T>>(ids);
  }
  template <class T>
  std::uint64_t compute(std::span<const Id> ids, const Columns<T>& columns, std::size_t first, std::size_t last,
                        T* const* out, ThreadTeam&) const {
    const std::vector<Id>& at = static_cast<const IdColumns<T>&>(columns).ids;
    const std::size_t width = last - first;
    std::vector<double> block(ids.size() * width);
    if (block.empty()) return 0;  // a user's function need not know what to make of nothing
    const auto began = std::chrono::steady_clock::now();
    evaluate_(ids, {at.data() + first, width}, block.data());
    const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    seconds_per_value_.store(taken / static_cast<double>(block.size()), std::memory_order_relaxed);
    for (std::size_t r = 0; r < ids.size(); ++r)
      for (std::size_t c = 0; c < width; ++c) out[r][c] = static_cast<T>(block[r * width + c]);
    return block.size();
  }

 private:
  // Threads that meet here find the same values.
  void evaluate_diagonal(std::size_t first) const {
    std::vector<Id> ids(std::min(at_once_, size_ - first));
    std::iota(ids.begin(), ids.end(), static_cast<Id>(first));
    std::vector<double> block(ids.size() * ids.size());
    evaluate_(ids, ids, block.data());
    for (std::size_t k = 0; k < ids.size(); ++k)
      diagonal_[first + k].store(block[k * ids.size() + k], std::memory_order_relaxed);
  }

  static constexpr double seconds_between_polls = 0.03;  // seconds
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  Evaluate evaluate_;
  std::size_t size_;
  bool given_;
  std::size_t at_once_;
  mutable std::vector<std::atomic<double>> diagonal_;
  mutable std::atomic<double> seconds_per_value_{0.0};
};

}  // namespace widemargin
