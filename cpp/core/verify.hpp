// Verification: a solver that has converged by its running gradient is believed only once that was recomputed.
//
// All variables become active, and the gradient of all of them is recomputed from the support vectors: first with
// kernel values of the solver's type and sums in double (rows still in the cache are reused), then, for every variable
// whose gradient lies close enough to the intercept to decide the violation, with kernel values in double. How close is
// close is measured: the margin is at least four times the largest difference seen between the two, over all variables
// compared. In a small problem every variable is close.
#pragma once

#include <cmath>
#include <type_traits>

#include "core/dual_state.hpp"
#include "core/rows/cached_rows.hpp"
#include "core/rows/row_sums.hpp"

namespace widemargin {

// The support vectors of a state: positions, samples, coefficients.
struct Support {
  std::vector<Id> positions, ids;
  std::vector<double> coefficients;

  // Those at the positions `first` (which are support vectors) come before the others.
  Support(const DualState& state, std::span<const Id> sample_ids, std::span<const Id> first = {}) {
    std::vector<std::uint8_t> taken(state.size(), 0);
    const auto take = [&](std::size_t p) {
      if (state.alpha[p] == 0 || taken[p] != 0) return;
      taken[p] = 1;
      positions.push_back(static_cast<Id>(p));
      ids.push_back(sample_ids[p]);
      coefficients.push_back(state.alpha[p]);
    };
    for (const Id p : first) take(static_cast<std::size_t>(p));
    for (std::size_t p = 0; p < state.size(); ++p) take(p);
  }

  // Keeps about `enough` of them, evenly spaced; each stands for those around it.
  void subsample(std::size_t enough) {
    const std::size_t each = ids.size() / enough;
    if (each < 2) return;
    const std::size_t kept = (ids.size() + each - 1) / each;
    const double counts = static_cast<double>(ids.size()) / static_cast<double>(kept);
    for (std::size_t k = 0; k < kept; ++k)
      positions[k] = positions[k * each], ids[k] = ids[k * each], coefficients[k] = counts * coefficients[k * each];
    positions.resize(kept), ids.resize(kept), coefficients.resize(kept);
  }
};

enum class Verdict {
  certified,  // the recomputed violation is within the tolerance
  go_on,      // it is not; the state now holds the recomputed gradient
  imprecise,  // it is not, and going on from recomputed gradients has stopped helping: kernel values need more digits
};

class Verifier {
 public:
  static constexpr std::size_t small =
      1000;  // variables of a problem that costs next to nothing to treat in double throughout

  explicit Verifier(double tolerance) : tolerance_(tolerance) {}

  template <class Rows>
  Verdict operator()(DualState& state, Rows& rows) {
    using T = typename Rows::Value;
    const std::size_t was_active = state.active;
    recompute(state, rows);
    state.cross_kinks();
    if (!std::is_same_v<T, double> &&
        (state.size() <= small || violation_of(state.maximal_violating_pair()) <= 2 * tolerance_))
      recompute_in_double(state, rows);
    state.cross_kinks();
    // Kernel values beyond what their type holds leave no number behind, and no violation either.
    if (!std::all_of(state.gradient.begin(), state.gradient.end(), [](double g) { return std::isfinite(g); }))
      return Verdict::imprecise;
    const double violation = violation_of(state.maximal_violating_pair());
    if (violation <= tolerance_) return Verdict::certified;
    // Variables that were shrunk too early say nothing about precision.
    const double known = violation_of(state.maximal_violating_pair(was_active));
    const bool imprecise = known > tolerance_ && !(known < 0.5 * last_known_);
    last_known_ = known;
    return imprecise ? Verdict::imprecise : Verdict::go_on;
  }

  // All variables become active, with gradients from kernel values of the rows' type.
  template <class Rows>
  static void recompute(DualState& state, Rows& rows) {
    using T = typename Rows::Value;
    state.activate_all(rows);
    const Support support(state, rows.ids());
    state.gradient = state.linear;
    const auto ids_at = [&](const std::vector<Id>& positions) {
      std::vector<Id> ids;
      for (const Id p : positions) ids.push_back(rows.ids()[static_cast<std::size_t>(p)]);
      return ids;
    };
    for (const auto& missing :
         rows.subtract_known_rows(support.positions, support.coefficients, state.gradient.data())) {
      std::vector<double> change(missing.columns.size(), 0.0);
      rows.count(subtract_kernel_rows<T>(rows.source(), ids_at(missing.rows), missing.coefficients,
                                         ids_at(missing.columns), 0, change.data(), rows.team(), rows.budget()));
      for (std::size_t c = 0; c < change.size(); ++c)
        state.gradient[static_cast<std::size_t>(missing.columns[c])] += change[c];
    }
  }

 private:
  // Replaces the gradients that decide the violation by ones computed in double.
  template <class Rows>
  void recompute_in_double(DualState& state, Rows& rows) const {
    std::vector<std::uint8_t> exact(state.size(), 0);
    double margin = state.size() <= small ? std::numeric_limits<double>::infinity() : 10 * tolerance_,
           largest_difference = 0;
    do {
      margin = std::max(margin, 8 * largest_difference);
      const std::array<simd::MaximalViolatingPair, 2> pairs = state.maximal_violating_pairs(state.size());
      std::vector<Id> positions, others;  // those that are support vectors, then those that are not
      for (std::size_t p = 0; p < state.size(); ++p) {
        const simd::MaximalViolatingPair& pair = pairs[state.group_of(p)];
        const auto decides_at = [&](double gradient, bool up, bool down) {
          return (up && gradient > pair.up - margin) || (down && gradient < pair.down + margin);
        };
        const bool up = state.room_up[p] > 0, down = state.room_down[p] > 0;
        // Free variables decide the intercept too; and all of them tell the precision better than the one or two at the
        // ends.
        const bool decides = std::isinf(margin) || (up && down) || decides_at(state.gradient[p], up, down) ||
                             (state.at_kink(p) && decides_at(state.gradient_beyond(p), !up, !down));
        if (!decides || exact[p] != 0) continue;
        exact[p] = 1;
        (state.alpha[p] != 0 ? positions : others).push_back(static_cast<Id>(p));
      }
      const std::size_t common = positions.size();
      positions.insert(positions.end(), others.begin(), others.end());
      if (positions.empty()) return;
      std::vector<double> gradient;
      std::vector<Id> ids;
      for (const Id p : positions)
        gradient.push_back(state.linear[static_cast<std::size_t>(p)]),
            ids.push_back(rows.ids()[static_cast<std::size_t>(p)]);
      const Support support(state, rows.ids(), std::span(positions).first(common));
      rows.count(subtract_kernel_rows<double>(rows.source(), support.ids, support.coefficients, ids, common,
                                              gradient.data(), rows.team(), rows.budget()));
      for (std::size_t k = 0; k < positions.size(); ++k) {
        double& current = state.gradient[static_cast<std::size_t>(positions[k])];
        largest_difference = std::max(largest_difference, std::fabs(current - gradient[k]));
        current = gradient[k];
      }
    } while (4 * largest_difference > margin);
  }

  double tolerance_;
  double last_known_ = std::numeric_limits<double>::infinity();
};

}  // namespace widemargin
