// One kernel for all pairs of classes: values between samples of the same class, which every pair of that class needs,
// are computed once.
//
// The columns of a pair's problem come in runs of one class each: first class, second class, and after shrinking and
// unshrinking those that had left. Of a row, the runs of its own class are taken from a store of own-class parts,
// filled as they are first needed; the other runs belong to this pair alone.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/rows/row_source.hpp"
#include "core/runtime/buffer.hpp"

namespace widemargin {

class ClassSharedRows final : public RowSource {
 public:
  // `bytes` bounds the store; parts that do not fit it are computed for each pair.
  ClassSharedRows(const RowSource& base, std::vector<Id> labels, std::size_t bytes)
      : base_(base),
        label_(std::move(labels)),
        place_(label_.size()),
        parts_(label_.size()),
        left_(static_cast<std::int64_t>(bytes)) {
    for (std::size_t id = 0; id < label_.size(); ++id) {
      const std::size_t c = static_cast<std::size_t>(label_[id]);
      if (members_.size() <= c) members_.resize(c + 1);
      place_[id] = static_cast<Id>(members_[c].size());
      members_[c].push_back(static_cast<Id>(id));
    }
    whole_ = std::vector<std::atomic<const Columns<float>*>>(members_.size());
  }
  ~ClassSharedRows() override {
    for (auto& part : parts_) delete[] part.load();
    for (auto& columns : whole_) delete columns.load();
  }

  std::size_t size() const override { return base_.size(); }
  double diagonal(Id id) const override { return base_.diagonal(id); }
  bool fits_floats() const override { return base_.fits_floats(); }
  std::uint64_t diagonal_work() const override { return base_.diagonal_work(); }
  std::uint64_t value_work() const override { return base_.value_work(); }
  std::size_t rows_between_polls(std::size_t columns) const override { return base_.rows_between_polls(columns); }
  bool faster_than_memory() const override { return base_.faster_than_memory(); }
  std::size_t column_bytes(std::size_t value_size) const override { return base_.column_bytes(value_size); }

  std::unique_ptr<Columns<float>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team, float) const override {
    auto columns = std::make_unique<Runs>();
    columns->ids.assign(ids.begin(), ids.end());
    for (std::size_t begin = 0; begin < ids.size();) {
      std::size_t end = begin;
      while (end < ids.size() && label_of(ids[end]) == label_of(ids[begin])) ++end;
      columns->runs.push_back({begin, end, base_.prepare(ids.subspan(begin, end - begin), keep, team, float{})});
      begin = end;
    }
    return columns;
  }
  std::unique_ptr<Columns<double>> prepare(std::span<const Id> ids, bool keep, ThreadTeam& team,
                                           double) const override {
    return base_.prepare(ids, keep, team, double{});
  }

  std::uint64_t rows(std::span<const Id> ids, const Columns<float>& columns, std::size_t first, std::size_t last,
                     float* const* out, ThreadTeam& team) const override {
    const Runs& all = static_cast<const Runs&>(columns);
    std::uint64_t evaluated = 0;
    for (const Run& run : all.runs) {
      const std::size_t begin = std::max(first, run.begin), end = std::min(last, run.end);
      if (begin >= end) continue;
      std::vector<Id> strangers;
      std::vector<float*> targets;
      for (std::size_t r = 0; r < ids.size(); ++r) {
        const float* own = label_of(ids[r]) == label_of(all.ids[begin])
                               ? own_class_part(ids[r], end - begin, team, evaluated)
                               : nullptr;
        if (own == nullptr) {
          strangers.push_back(ids[r]);
          targets.push_back(out[r] + (begin - first));
        } else {
          for (std::size_t c = begin; c < end; ++c)
            out[r][c - first] = own[place_[static_cast<std::size_t>(all.ids[c])]];
        }
      }
      evaluated += base_.rows(strangers, *run.columns, begin - run.begin, end - run.begin, targets.data(), team);
    }
    return evaluated;
  }
  std::uint64_t rows(std::span<const Id> ids, const Columns<double>& columns, std::size_t first, std::size_t last,
                     double* const* out, ThreadTeam& team) const override {
    return base_.rows(ids, columns, first, last, out, team);
  }

 private:
  struct Run {
    std::size_t begin, end;
    std::unique_ptr<Columns<float>> columns;
  };
  struct Runs final : Columns<float> {
    std::vector<Id> ids;
    std::vector<Run> runs;
  };

  Id label_of(Id id) const { return label_[static_cast<std::size_t>(id)]; }

  // Values between a sample and all of its class; null if so few of them are needed now that the others would not pay,
  // or if the store is full. Threads that meet here compute the same values; the first to finish keeps its copy.
  const float* own_class_part(Id id, std::size_t needed, ThreadTeam& team, std::uint64_t& evaluated) const {
    std::atomic<const float*>& part = parts_[static_cast<std::size_t>(id)];
    if (const float* known = part.load(std::memory_order_acquire)) return known;
    const std::size_t c = static_cast<std::size_t>(label_of(id));
    if (2 * needed < members_[c].size()) return nullptr;
    const std::int64_t bytes = static_cast<std::int64_t>(members_[c].size() * sizeof(float));
    if (left_.fetch_sub(bytes) < bytes) {
      left_.fetch_add(bytes);
      return nullptr;
    }
    const Columns<float>* columns = whole_[c].load(std::memory_order_acquire);
    if (columns == nullptr) {
      std::unique_ptr<Columns<float>> prepared = base_.prepare(members_[c], true, team, float{});
      if (whole_[c].compare_exchange_strong(columns, prepared.get())) columns = prepared.release();
    }
    std::unique_ptr<float[]> values(new float[members_[c].size()]);
    float* target = values.get();
    evaluated += base_.rows({&id, 1}, *columns, 0, members_[c].size(), &target, team);
    const float* expected = nullptr;
    if (part.compare_exchange_strong(expected, values.get())) return values.release();
    left_.fetch_add(bytes);
    return expected;
  }

  const RowSource& base_;
  std::vector<Id> label_, place_;
  std::vector<std::vector<Id>> members_;
  mutable std::vector<std::atomic<const float*>> parts_;
  mutable std::vector<std::atomic<const Columns<float>*>> whole_;
  mutable std::atomic<std::int64_t> left_;
};

}  // namespace widemargin
