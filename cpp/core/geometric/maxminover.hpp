// OneClassMaxMinOver [Timm2009, Algorithms 1 and 2]: the one-class problem of the squared hinge, by counting.
//
//   minimise  ||w||^2/2 + C/2 ||xi||^2   subject to  w.phi(x_i) >= 1 - xi_i                                         (1)
//   repeat    s = K* a,  K* = K + D,  D = 1/C;   i_min = argmin s,  i_max = argmax { s_i : a_i > 0 }
//             a_imin += 2,  a_imax -= 1
//   until     the feasibility gap of a / rho, rho = min s, is small enough                                (5),
//   corrected
//
// s follows a step by step and is computed anew every `recompute_every` steps, where the gap is looked at, too.
#pragma once

#include <cmath>
#include <vector>

#include "core/geometric/kernel_store.hpp"
#include "core/outcome.hpp"
#include "core/rows/cached_rows.hpp"

namespace widemargin::geometric {

struct MaxMinOverRule {
  double gap = 1e-3;
  std::int64_t max_iterations = 0;
  std::int64_t recompute_every = 1000;  // t_re
};

struct MaxMinOverResult {
  std::vector<double> alpha, s;  // not divided by rho
  // Whether s, rho and gap are known. Else time did not suffice: s follows the steps, or is 1 where not even that
  // began.
  bool known = true;
  double rho = 0, gap = 0;
  std::int64_t iterations = 0;
  Reason reason = Reason::converged;
  std::vector<double> gaps;  // every time it was looked at
};

// (primal - dual) / (primal + 1) of a / rho.
inline double feasibility_gap(const std::vector<double>& alpha, const std::vector<double>& s,
                              const std::vector<double>& ridge, double rho) {
  double a_s = 0, a_D_a = 0, slack = 0, sum = 0;  // a's, a'Da, sum C xi^2, e'a
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const double a = alpha[i] / rho, score = s[i] / rho, xi = std::max(0.0, 1 - score + a * ridge[i]);
    a_s += a * score, a_D_a += a * a * ridge[i], slack += xi * xi / ridge[i], sum += a;
  }
  return (2 * a_s - a_D_a + slack - 2 * sum) / (a_s - a_D_a + slack + 2);
}

class MaxMinOver {
 public:
  MaxMinOver(KernelStore& store, std::vector<double> ridge, ThreadTeam& team, TimeBudget& budget)
      : store_(store), ridge_(std::move(ridge)), team_(team), budget_(budget) {}

  // `alpha`: zeros, or what an earlier run ended with. After an interruption only `alpha` and `iterations` say what was
  // reached.
  MaxMinOverResult run(std::vector<double> alpha, const MaxMinOverRule& rule) {
    const std::size_t n = alpha.size();
    MaxMinOverResult result;
    std::vector<double> G(n);  // -s: its largest value is the smallest s
    bool begun = false;
    try {
      recompute(alpha, G);
      begun = true;
      result.reason = count(alpha, G, rule, result);
    } catch (const Stopped& stopped) {
      result.reason = stopped.reason;
    }
    if (result.reason == Reason::time_budget || result.reason == Reason::iteration_budget) {
      budget_.grant_grace();
      try {
        recompute(alpha, G);
      } catch (const Stopped& stopped) {
        result.reason = stopped.reason;
        result.known = false;
      }
    }
    result.alpha = std::move(alpha);
    if (result.reason == Reason::interrupted || (!result.known && !begun)) {
      result.known = false;
      result.s.assign(n, 1.0);
      result.rho = 1;
      result.gap = std::numeric_limits<double>::infinity();
      return result;
    }
    if (result.reason != Reason::converged)
      result.gap = result.known ? gap_of(result.alpha, G) : std::numeric_limits<double>::infinity();
    result.s.resize(n);
    for (std::size_t i = 0; i < n; ++i) result.s[i] = -G[i];
    result.rho = *std::min_element(result.s.begin(), result.s.end());
    return result;
  }

 private:
  Reason count(std::vector<double>& alpha, std::vector<double>& G, const MaxMinOverRule& rule,
               MaxMinOverResult& result) {
    const std::size_t n = alpha.size();
    const std::vector<simd::Flag> all(n, -1);
    std::vector<simd::Flag> used(n);
    for (std::size_t i = 0; i < n; ++i) used[i] = alpha[i] > 0 ? -1 : 0;
    while (true) {
      const simd::MaximalViolatingPair pair =
          simd::ops<float>().maximal_violating_pair(G.data(), all.data(), used.data(), n);
      if (result.iterations % rule.recompute_every == 0 && pair.j >= 0) {
        if (result.iterations > 0) recompute(alpha, G);
        result.gap = gap_of(alpha, G);
        result.gaps.push_back(result.gap);
        if (result.gap <= rule.gap) return Reason::converged;
      }
      if (result.iterations >= rule.max_iterations) return Reason::iteration_budget;
      if (budget_.spent(store_.source().value_work() * n)) return budget_.reason();
      const std::size_t i_min = static_cast<std::size_t>(pair.i);
      add(alpha, G, i_min, 2);
      used[i_min] = -1;
      if (pair.j >= 0) {
        const std::size_t i_max = static_cast<std::size_t>(pair.j);
        add(alpha, G, i_max, -std::min(1.0, alpha[i_max]));
        used[i_max] = alpha[i_max] > 0 ? -1 : 0;
      }
      ++result.iterations;
    }
  }

  void add(std::vector<double>& alpha, std::vector<double>& G, std::size_t i, double count) {
    const float* row = store_.row(i, team_);
    simd::ops<float>().subtract_rows(G.data(), &row, &count, 1, 0, G.size());
    G[i] -= count * ridge_[i];
    alpha[i] += count;
  }

  // All of G, or, where the time budget ends, nothing.
  void recompute(const std::vector<double>& alpha, std::vector<double>& G) {
    std::vector<double> fresh(G.size(), 0.0);
    const std::size_t used = alpha.size() - static_cast<std::size_t>(std::count(alpha.begin(), alpha.end(), 0.0));
    TimeBudget::Forecast work(budget_, static_cast<double>(used) * static_cast<double>(alpha.size()),
                              store_.source().value_work());
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      if (alpha[i] == 0) continue;
      const float* row = store_.row(i, team_);
      simd::ops<float>().subtract_rows(fresh.data(), &row, &alpha[i], 1, 0, fresh.size());
      fresh[i] -= alpha[i] * ridge_[i];
      if (work.spent(alpha.size())) throw Stopped{budget_.reason()};
    }
    G = std::move(fresh);
  }

  double gap_of(const std::vector<double>& alpha, const std::vector<double>& G) const {
    std::vector<double> s(G.size());
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = -G[i];
    const double rho = *std::min_element(s.begin(), s.end());
    return rho > 0 ? feasibility_gap(alpha, s, ridge_, rho) : std::numeric_limits<double>::infinity();
  }

  KernelStore& store_;
  std::vector<double> ridge_;
  ThreadTeam& team_;
  TimeBudget& budget_;
};

}  // namespace widemargin::geometric
