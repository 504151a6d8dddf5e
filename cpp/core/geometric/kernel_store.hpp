// Kernel rows that outlive a solve, and that follow the kernel from one width to the next without being computed again.
//
// For Gaussian kernels K(gamma_2) = K(gamma_1)^(gamma_2 / gamma_1) [Timm2009, eq. 6 as corrected; the ridge is kept
// apart, so that nothing has to be taken off the diagonal first].
#pragma once

#include <cmath>
#include <list>
#include <memory>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/buffer.hpp"
#include "core/simd/ops.hpp"

namespace widemargin::geometric {

class KernelStore {
 public:
  // At most `bytes` are held, but two rows at least; the row not used for longest is dropped first.
  KernelStore(const RowSource& source, std::size_t bytes)
      : source_(&source),
        capacity_(std::max<std::size_t>(2, bytes / std::max<std::size_t>(1, source.size() * sizeof(float)))),
        rows_(source.size()) {}

  std::size_t size() const { return rows_.size(); }
  std::size_t held() const { return recent_.size(); }
  std::uint64_t evaluations() const { return evaluations_; }
  const RowSource& source() const { return *source_; }

  // Good until another row but the last one is asked for.
  const float* row(std::size_t i, ThreadTeam& team) {
    Row& row = rows_[i];
    if (row.values.size() > 0) {
      recent_.splice(recent_.begin(), recent_, row.place);
      return row.values.data();
    }
    // What may fail comes first: no row is held half computed.
    Buffer<float> values;
    if (recent_.size() == capacity_) {
      values = std::move(rows_[recent_.back()].values);
      recent_.pop_back();
    } else {
      values = Buffer<float>(size());
    }
    compute(i, values.data(), team);
    recent_.push_front(i);
    row.values = std::move(values);
    row.place = recent_.begin();
    return row.values.data();
  }

  // Every value k held becomes k^power, a value of `source`. A row with values that had vanished below the smallest
  // number is computed anew where they would come back; if that fails, it is dropped.
  void transform(const RowSource& source, double power, ThreadTeam& team) {
    source_ = &source;
    columns_.reset();
    std::list<std::size_t> spoilt;
    for (auto i = recent_.begin(); i != recent_.end();) {
      const auto at = i++;
      float* values = rows_[*at].values.data();
      if (power < 1 && simd::ops<float>().smallest(values, size()) < 1e-37f)
        spoilt.splice(spoilt.end(), recent_, at);
      else
        simd::ops<float>().power(values, size(), static_cast<float>(power));
    }
    try {
      for (; !spoilt.empty(); recent_.splice(recent_.end(), spoilt, spoilt.begin()))
        compute(spoilt.front(), rows_[spoilt.front()].values.data(), team);
    } catch (...) {
      for (const std::size_t i : spoilt) rows_[i].values = Buffer<float>();
      throw;
    }
  }

 private:
  struct Row {
    Buffer<float> values;
    std::list<std::size_t>::iterator place;
  };

  void compute(std::size_t i, float* target, ThreadTeam& team) {
    if (!columns_) {
      std::vector<Id> ids(size());
      for (std::size_t c = 0; c < ids.size(); ++c) ids[c] = static_cast<Id>(c);
      columns_ = source_->prepare(ids, true, team, float{});
    }
    const Id id = static_cast<Id>(i);
    evaluations_ += source_->rows({&id, 1}, *columns_, 0, size(), &target, team);
  }

  const RowSource* source_;
  std::size_t capacity_;
  std::vector<Row> rows_;
  std::list<std::size_t> recent_;  // most recent first
  std::unique_ptr<Columns<float>> columns_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace widemargin::geometric
