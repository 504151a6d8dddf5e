// Kernel values of some samples that arrive, computed together: with those that are kept, and with each other.
#pragma once

#include <span>
#include <vector>

#include "core/online/kept_rows.hpp"
#include "core/runtime/buffer.hpp"

namespace widemargin::online {

template <class T>
class Arrivals {
 public:
  // So many samples are taken together at most: preparing those that are kept pays for itself, and nobody waits long.
  static std::size_t at_most(const RowSource& source, std::size_t kept) {
    constexpr std::size_t some = 64, many = 512;
    const std::size_t quickly = source.rows_between_polls(kept + some);
    return quickly < some ? std::max<std::size_t>(quickly, 1) : many;
  }

  // `ids` are samples of the source that are not kept.
  void compute(const RowSource& source, KeptRows<T>& kept, std::span<const Id> ids, ThreadTeam& team) {
    constexpr std::size_t at_once = 64;
    kept_ = kept.size(), stride_ = kept_ + ids.size();
    if (ids.empty()) return;
    if (values_.size() < ids.size() * stride_) {
      values_ = Buffer<T>();
      values_ = Buffer<T>(ids.size() * stride_ + ids.size() * stride_ / 4);
    }
    appended_.clear();
    const Columns<T>* const columns = kept_ > 0 ? &kept.prepare() : nullptr;
    const auto own = source.prepare(ids, true, team, T{});
    std::vector<T*> out(at_once);
    for (std::size_t begin = 0; begin < ids.size(); begin += at_once) {
      const std::size_t some = std::min(at_once, ids.size() - begin);
      for (std::size_t r = 0; r < some; ++r) out[r] = row(begin + r);
      if (columns != nullptr) kept.count(source.rows(ids.subspan(begin, some), *columns, 0, kept_, out.data(), team));
      for (std::size_t r = 0; r < some; ++r) out[r] += kept_;
      kept.count(source.rows(ids.subspan(begin, some), *own, 0, ids.size(), out.data(), team));
    }
    others_.resize(ids.size() * ids.size());
    for (std::size_t r = 0; r < ids.size(); ++r)
      std::copy_n(row(r) + kept_, ids.size(), others_.data() + r * ids.size());
  }

  // The values of the sample with number r with all that are kept now: those that were, and what was added since.
  const T* of(std::size_t r) {
    for (std::size_t a = 0; a < appended_.size(); ++a)
      row(r)[kept_ + a] = others_[r * (stride_ - kept_) + appended_[a]];
    return row(r);
  }
  // The one with number r has been added to those that are kept, as the last of them.
  void appended(std::size_t r) { appended_.push_back(r); }
  // The last of those that are kept has gone again.
  void popped() { appended_.pop_back(); }

 private:
  T* row(std::size_t r) { return values_.data() + r * stride_; }

  Buffer<T> values_;
  std::vector<T> others_;
  std::size_t kept_ = 0, stride_ = 0;
  std::vector<std::size_t> appended_;
};

}  // namespace widemargin::online
