// The algorithm of Mitchell, Demyanov and Malozemov for the minimum norm problem, and its acceleration by cycles
// [Barbero2008].
//
//   minimise  ||W||^2,  W = sum_j a_j X_j,  over  a >= 0,  sum(a) = 1
//   repeat    L = argmin d_j,  U = argmax { d_j : a_j > 0 },  where d_j = W.X_j
//             a_L += lambda, a_U -= lambda,  lambda = min(a_U, (d_U - d_L) / ||X_L - X_U||^2)
//   until     d_U - d_L <= tolerance ||W||^2
//
// The gradient of the dual problem is G = -d. If the update (L, U) was made K steps ago already, the steps since then
// form a cycle. Their sum V is taken as one direction, with its own best step [Barbero2008, section 3]. V is the way
// that W has come since then, W_T - W_{T-K}: with a and d of that time at hand, neither its length nor its margins
// V.X_j = d_j(T) - d_j(T-K) take a kernel operation.
#pragma once

#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "core/outcome.hpp"
#include "core/smo/scans.hpp"
#include "core/smo/working_set.hpp"
#include "core/verify.hpp"

namespace widemargin::geometric {

class MinimumNorm {
 public:
  explicit MinimumNorm(bool accelerated) : accelerated_(accelerated) {}

  // Adds its steps to `iterations` and the kernel values it reads, cached or not, to `operations`.
  template <class Rows>
  Reason run(DualState& state, Rows& rows, const StoppingCriterion& stop, TimeBudget& budget, std::int64_t& iterations,
             std::uint64_t& operations) {
    simd::MaximalViolatingPair pair = state.maximal_violating_pair();
    double squared_norm = norm_of(state);
    bool refined = false;
    for (std::int64_t left = stop.max_iterations;; --left, ++iterations) {
      // A kernel that is not positive semidefinite may give a negative square; one beyond what numbers hold gives none.
      if (!(violation_of(pair) > stop.tolerance * std::fabs(squared_norm))) {
        squared_norm = norm_of(state);
        const Verdict verdict = Verifier(stop.tolerance * std::fabs(squared_norm))(state, rows);
        if (verdict == Verdict::certified) return Reason::converged;
        if (refined)
          return Reason::stalled;  // going on from a recomputed gradient did not help: more digits are needed
        refined = true;
        earlier_.clear();
        pair = state.maximal_violating_pair();
        if (violation_of(pair) == 0) return Reason::stalled;  // there is no update that would help
      }
      if (left <= 0) return Reason::iteration_budget;
      if (budget.spent(state.active)) return budget.reason();
      const Update update{static_cast<std::size_t>(pair.i), static_cast<std::size_t>(pair.j)};
      if (accelerated_ && follow_cycle(state, update)) {
        pair = state.maximal_violating_pair();
        squared_norm = norm_of(state);
        continue;
      }
      if (accelerated_) remember(state, update);
      const double before = state.gradient[update.first] - state.gradient[update.second];
      const auto *KL = rows.row(update.first), *KU = rows.row(update.second);
      const double length = smo::with_curvature(rows, update.first, update.second).curvature;
      const double lambda = std::min(state.room_down[update.second], before / length);
      state.step(update.first, update.second, lambda);
      pair = smo::update_gradient(state, rows, KL, KU, lambda);
      squared_norm += lambda * (lambda * length - 2 * before);
      if (!std::isfinite(squared_norm)) squared_norm = norm_of(state);
      operations += 2 * state.size();
    }
  }

 private:
  using Update = std::pair<std::size_t, std::size_t>;  // (L, U)
  struct Earlier {
    Update update;
    std::vector<double> alpha, gradient;  // before it was made
  };

  static constexpr std::size_t most_remembered = 256, remembered_bytes = std::size_t{64} << 20;

  static double norm_of(const DualState& state) {
    double sum = 0;
    for (std::size_t p = 0; p < state.size(); ++p) sum -= state.alpha[p] * state.gradient[p];
    return sum;
  }

  void remember(const DualState& state, const Update& update) {
    const std::size_t most =
        std::clamp<std::size_t>(remembered_bytes / (2 * sizeof(double) * state.size()), 8, most_remembered);
    Earlier entry;
    if (earlier_.size() >= most) {
      entry = std::move(earlier_.back());  // its memory is used again
      earlier_.pop_back();
    }
    entry.update = update;
    entry.alpha = state.alpha;
    entry.gradient = state.gradient;
    earlier_.push_front(std::move(entry));
  }

  // One step along W_T - W_{T-K}, where K steps ago the same update was made; false if there is no such step or it goes
  // nowhere.
  bool follow_cycle(DualState& state, const Update& update) {
    const auto found =
        std::find_if(earlier_.begin(), earlier_.end(), [&](const Earlier& entry) { return entry.update == update; });
    if (found == earlier_.end()) return false;
    const Earlier then = std::move(*found);
    earlier_.erase(found);
    double longest = std::numeric_limits<double>::infinity(), slope = 0, length = 0;  // slope = -W.V, length = ||V||^2
    for (std::size_t p = 0; p < state.size(); ++p) {
      const double mu = state.alpha[p] - then.alpha[p];
      if (mu == 0) continue;
      slope += mu * state.gradient[p];
      length -= mu * (state.gradient[p] - then.gradient[p]);
      longest = std::min(longest, mu > 0 ? state.room_up[p] / mu : state.room_down[p] / -mu);
    }
    if (!(slope > 0 && length > 0 && longest > 0)) return false;
    // A way that short, seen from its best length, is made of rounding errors.
    const double lambda = std::min(longest, slope / length);
    if (lambda > 1e4) return false;
    double drift = 0;
    for (std::size_t p = 0; p < state.size(); ++p) {
      const double mu = state.alpha[p] - then.alpha[p];
      state.gradient[p] += lambda * (state.gradient[p] - then.gradient[p]);
      if (mu == 0) continue;
      const bool emptied = mu < 0 && lambda * -mu >= state.room_down[p];
      const double before = state.alpha[p];
      state.set_alpha(p, emptied ? state.lower[p] : std::clamp(before + lambda * mu, state.lower[p], state.upper[p]));
      drift += state.alpha[p] - before;
    }
    const std::size_t largest =
        static_cast<std::size_t>(std::max_element(state.alpha.begin(), state.alpha.end()) - state.alpha.begin());
    state.set_alpha(largest, std::clamp(state.alpha[largest] - drift, state.lower[largest],
                                        state.upper[largest]));  // the sum stays what it was
    return true;
  }

  bool accelerated_;
  std::deque<Earlier> earlier_;  // most recent first
};

}  // namespace widemargin::geometric
