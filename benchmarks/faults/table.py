"""The faults: small, plausible mistakes, each with the tests that are asked first."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One replacement in one file. ``before`` stands there exactly once."""

    name: str
    path: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def compiled(self) -> bool:
        """Whether the core has to be built again."""
        return self.path.startswith("cpp/")


STEPS = ("tests/core/test_smo_steps.py",)
CONTRACTS = ("tests/machines/test_dual.py",)
VALUES = ("tests/core/test_rows.py", "tests/core/test_simd.py", "tests/estimators/test_svc_parity.py")

SMO = "cpp/core/smo"
CORE = (
    Fault(
        "exact-gain-off",
        f"{SMO}/select_second_order.hpp",
        "const bool exact = last.kind == LastStep::Kind::planned &&",
        "const bool exact = false && last.kind == LastStep::Kind::planned &&",
        STEPS,
    ),
    Fault(
        "newton-steps-wait-for-ever",
        f"{SMO}/newton_on_free_set.hpp",
        "wait_longer(costs_per_wait * cost / step_cost(state.active));",
        "wait_longer(longest_wait);",
        CONTRACTS,
    ),
    Fault(
        "exact-gain-of-planned-sets-off",
        f"{SMO}/step_planning_ahead.hpp",
        "const bool exact = Selector::ranks_by_truncated_gain || last.far_from_newton();",
        "const bool exact = Selector::ranks_by_truncated_gain;",
        STEPS,
    ),
    Fault(
        "plans-with-one-set-more",
        f"{SMO}/step_planning_ahead.hpp",
        "t < std::min(recent_, last.recent.size()); ++t)",
        "t < last.recent.size(); ++t)",
        STEPS,
    ),
    Fault(
        "planned-set-not-offered",
        f"{SMO}/step_planning_ahead.hpp",
        "for (std::size_t t = 1; t < last.recent.size(); ++t) {",
        "for (std::size_t t = 2; t < last.recent.size(); ++t) {",
        STEPS,
    ),
    Fault(
        "planned-set-not-turned-round",
        f"{SMO}/step_planning_ahead.hpp",
        "if (slope(state, planned) < 0)\n        std::swap(planned.i, planned.j);",
        "",
        STEPS,
    ),
    Fault(
        "plans-after-bounded-steps",
        f"{SMO}/step_planning_ahead.hpp",
        "if (last.kind == LastStep::Kind::free) {",
        "if (last.kind == LastStep::Kind::free || last.kind == LastStep::Kind::bounded) {",
        STEPS,
    ),
    Fault(
        "plan-leaves-the-box",
        f"{SMO}/step_planning_ahead.hpp",
        "if (!inside) return none;",
        "",
        STEPS,
    ),
    Fault(
        "ties-of-maximum-gain",
        f"{SMO}/select_maximum_gain.hpp",
        "if (above.gain > best_gain)",
        "if (above.gain >= best_gain)",
        STEPS,
    ),
    Fault(
        "maximum-gain-of-one-variable",
        f"{SMO}/select_maximum_gain.hpp",
        "for (const std::size_t p : {B.i, B.j}) {",
        "for (const std::size_t p : {B.i, B.i}) {",
        STEPS,
    ),
    Fault(
        "ties-in-the-vector-selection",
        "cpp/core/simd/steps.inl",
        "(gains[l] == best.gain && at[l] < best.at)",
        "(gains[l] == best.gain && at[l] > best.at)",
        STEPS,
    ),
    Fault(
        "wrong-side-of-a-kink-after-the-last-steps",
        "cpp/core/solve/small_problem.hpp",
        "    state.cross_kinks();  // steps that ended early",
        "    // steps that ended early",
        ("tests/machines/test_dual_kinks.py",),
    ),
    Fault(
        "second-stretch-of-a-pair",
        "cpp/core/chain/matrix_solver.hpp",
        "rows_[r] = moved_[r] + stretch.column;",
        "rows_[r] = moved_[r] + stretch.begin;",
        ("tests/model_selection/grid/folds/test_classifier_order.py",),
    ),
    Fault(
        "first-look-misses-infinity",
        "cpp/core/rows/symmetry.hpp",
        "if (!(std::fabs(times_x[p] - transposed) <= tolerance * largest)) return false;",
        "if (std::fabs(times_x[p] - transposed) > tolerance * largest) return false;",
        ("tests/machines/test_classifier_many_classes.py",),
    ),
    Fault(
        "ties-in-the-scalar-selection",
        "cpp/core/simd/baseline.cpp",
        "if (rises[c] != 0 && G[c] > found.up)",
        "if (rises[c] != 0 && G[c] >= found.up)",
        STEPS,
    ),
    Fault(
        "ties-in-the-last-stretch",
        "cpp/core/simd/steps.inl",
        "if (falls[c] != 0 && g < least) least = g, down_stretch = first;",
        "if (falls[c] != 0 && g <= least) least = g, down_stretch = first;",
        STEPS,
    ),
    Fault(
        "vector-gain-not-truncated",
        "cpp/core/simd/steps.inl",
        "mu = min_of(s / q, limit);",
        "mu = s / q;",
        STEPS,
    ),
    Fault(
        "slack-of-shrinking",
        f"{SMO}/shrink.hpp",
        "const double slack = 0.5 * violation_of(pair);",
        "const double slack = -0.5 * violation_of(pair);",
        STEPS,
    ),
    Fault(
        "shrinking-beyond-kinks",
        f"{SMO}/shrink.hpp",
        "if (!state.at_kink(p)) return false;",
        "return false;",
        STEPS,
    ),
    Fault(
        "remainder-of-a-scan",
        f"{SMO}/scans.hpp",
        "const std::size_t size = (active + pieces - 1) / pieces;",
        "const std::size_t size = active / pieces;",
        STEPS,
    ),
    Fault(
        "offset-of-a-scan",
        f"{SMO}/scans.hpp",
        "best = {part.gain, part.at + offset};",
        "best = {part.gain, part.at + 0 * offset};",
        STEPS,
    ),
    Fault(
        "most-violating-partner",
        f"{SMO}/select_second_order.hpp",
        "static_cast<std::size_t>(best.at >= 0 ? best.at : pair.j)",
        "static_cast<std::size_t>(best.at >= 0 ? pair.j : pair.j)",
        STEPS,
    ),
    Fault(
        "kinks-never-crossed-on-the-way",
        f"{SMO}/active_set.hpp",
        "if (++steps_ % steps_per_crossing_ == 0) changed = state.cross_kinks() || changed;",
        "",
        STEPS,
    ),
    Fault(
        "violation-of-the-second-group-overlooked",
        f"{SMO}/scans.hpp",
        "return violation_of(other) > violation_of(pair) ? other : pair;",
        "return violation_of(other) > 2 * violation_of(pair) ? other : pair;",
        STEPS,
    ),
    Fault(
        "curvature-of-a-pair",
        f"{SMO}/working_set.hpp",
        "2.0 * static_cast<double>(rows.row(i)[j]);",
        "1.5 * static_cast<double>(rows.row(i)[j]);",
        STEPS,
    ),
    Fault(
        "diagonal-not-reordered",
        "cpp/core/rows/cached_rows.hpp",
        "      permute(diagonal_, order);\n",
        "",
        STEPS,
    ),
    Fault(
        "budget-ends-on-a-planned-step",
        f"{SMO}/smo.hpp",
        "if (left == 1 && !between) last.kind = LastStep::Kind::none;",
        "",
        STEPS + CONTRACTS,
    ),
    Fault(
        "verifier-believes-twice-the-tolerance",
        "cpp/core/verify.hpp",
        "if (violation <= tolerance_) return Verdict::certified;",
        "if (violation <= 2 * tolerance_) return Verdict::certified;",
        STEPS + CONTRACTS,
    ),
    Fault(
        "verifier-believes-float32",
        "cpp/core/verify.hpp",
        "if (!std::is_same_v<T, double> &&\n        (state.size() <= small ||",
        "if (!std::is_same_v<T, double> && false &&\n        (state.size() <= small ||",
        CONTRACTS,
    ),
    Fault(
        "mirrored-part-of-a-gradient",
        "cpp/core/rows/row_sums.hpp",
        "gradient[s + r] -= sum[r];",
        "gradient[s + r] += sum[r];",
        CONTRACTS,
    ),
    Fault(
        "last-part-of-decision-values",
        "cpp/core/rows/row_sums.hpp",
        "const std::size_t parts = (width + part - 1) / part;",
        "const std::size_t parts = std::max<std::size_t>(width / part, 1);",
        ("tests/core/test_decision_values.py",),
    ),
    Fault(
        "last-block-of-support-vectors",
        "cpp/core/rows/row_sums.hpp",
        "s < group.last; s += at_once)",
        "s + 1 < group.last; s += at_once)",
        ("tests/core/test_decision_values.py",),
    ),
    Fault(
        "ridge-missing-on-the-diagonal",
        "cpp/core/rows/derived_rows.hpp",
        "return s * s * source_.diagonal(base(id)) + ridge(id);",
        "return s * s * source_.diagonal(base(id));",
        ("tests/core/test_derived_rows.py", "tests/machines/test_classifier_square_loss.py"),
    ),
    Fault(
        "polynomial-without-its-constant",
        "cpp/core/kernels/kernel_function.hpp",
        "out[c] = power(g * dot[c] + c0);",
        "out[c] = power(g * dot[c]);",
        VALUES,
    ),
    Fault(
        "bound-that-holds-a-variable-moved",
        "cpp/core/chain/starts.hpp",
        "if (b.upper[p] != a.upper[p] && last.alpha[p] >= a.upper[p]) return false;",
        "",
        ("tests/machines/test_chain_repeats.py", "tests/machines/test_chain.py"),
    ),
    Fault(
        "ridge-of-the-last-link",
        "cpp/core/chain/starts.hpp",
        "(s * Ka + (link.ridge.empty() ? 0.0 : link.ridge[p] * a));",
        "(s * Ka + (link.ridge.empty() ? 0.0 : before.ridge[p] * a));",
        ("tests/machines/test_chain.py", "tests/machines/test_chain_walks.py"),
    ),
    Fault(
        "piece-of-work-that-nobody-does",
        "cpp/core/runtime/thread_team.hpp",
        "runs_[member].end[round % 2].store((member + 1) * count / size(),",
        "runs_[member].end[round % 2].store(((member + 1) * count - 1) / size(),",
        ("tests/core/test_rows.py", "tests/estimators/test_svc_threads.py"),
    ),
)

PACKAGE = (
    Fault(
        "longest-step-of-rprop",
        "src/widemargin/strategies/rprop.py",
        "np.clip(self._steps * factors, rule.shortest, rule.longest)",
        "np.maximum(self._steps * factors, rule.shortest)",
        ("tests/strategies/test_rprop.py",),
    ),
    Fault(
        "longest-step-of-noisy-rprop",
        "src/widemargin/strategies/noisy_rprop.py",
        "self._step[i] = min(2.0 * self._step[i], self._longest[i])",
        "self._step[i] = 2.0 * self._step[i]",
        ("tests/strategies/test_noisy_rprop.py",),
    ),
    Fault(
        "no-number-is-the-best-mean",
        "src/widemargin/model_selection/grid/results.py",
        "np.nanmin(means) - 1.0, means)",
        "np.nanmax(means) + 1.0, means)",
        ("tests/model_selection/grid/test_results.py", "tests/model_selection/grid/test_grid_search_failures.py"),
    ),
    Fault(
        "no-number-is-the-best-value",
        "src/widemargin/study/strategy_search.py",
        "best = np.nanargmax(values) if self._objective.greater_is_better else np.nanargmin(values)",
        "best = np.argmax(values) if self._objective.greater_is_better else np.argmin(values)",
        ("tests/model_selection/search/test_study_ends.py", "tests/model_selection/search/test_model_search.py"),
    ),
    Fault(
        "start-rescaled-from-a-tiny-bound",
        "src/widemargin/machines/classifier.py",
        "    ratio[np.isinf(ratio)] = 1.0\n",
        "",
        ("tests/machines/test_classifier.py", "tests/estimators/test_svc_warm_start.py"),
    ),
    Fault(
        "start-rescaled-from-a-bound-of-zero",
        "src/widemargin/machines/classifier.py",
        "where=np.isfinite(old) & (old > 0))",
        "where=np.isfinite(old) & (old > 1e-6))",
        ("tests/machines/test_classifier.py", "tests/estimators/test_svc_warm_start.py"),
    ),
    Fault(
        "absent-class-gets-the-vote",
        "src/widemargin/estimators/multi_class.py",
        "intercept[here[a] & ~here[b]], intercept[here[b] & ~here[a]] = 1.0, -1.0",
        "intercept[here[a] & ~here[b]], intercept[here[b] & ~here[a]] = -1.0, 1.0",
        ("tests/machines/test_classifier.py", "tests/estimators/test_classifier_edge_cases.py"),
    ),
    Fault(
        "held-back-by-a-finite-bound",
        "src/widemargin/machines/hard_margins.py",
        "held_back = bool(np.any(hard & (np.abs(tried[-1].alpha) >= raised)))",
        "held_back = False",
        ("tests/machines/test_classifier.py", "tests/estimators/test_classifier_edge_cases.py"),
    ),
    Fault(
        "sums-of-nu",
        "src/widemargin/machines/nu_classifier.py",
        "return nu * (0.5 * (first + second)), min(first, second)",
        "return nu * min(first, second), min(first, second)",
        ("tests/machines/test_nu_classifier.py",),
    ),
    Fault(
        "tube-without-width",
        "src/widemargin/machines/regression.py",
        "kink=np.full(len(targets), epsilon))",
        "kink=np.full(len(targets), 0.5 * epsilon))",
        ("tests/machines/test_regression.py",),
    ),
    Fault(
        "sum-that-does-not-shrink-with-its-members",
        "src/widemargin/machines/one_class.py",
        "total = self.total * float(upper.sum() / self.upper.sum()) if bounded else self.total",
        "total = self.total",
        ("tests/machines/test_one_class.py", "tests/model_selection/grid/folds/test_one_class.py"),
    ),
    Fault(
        "sigmoid-with-the-other-sign-of-its-offset",
        "src/widemargin/machines/sigmoid.py",
        "expit(self.slope * values + self.offset)",
        "expit(self.slope * values - self.offset)",
        ("tests/machines/test_sigmoid.py",),
    ),
    Fault(
        "values-of-splits-added-up",
        "src/widemargin/estimators/out_of_fold.py",
        "np.divide(sums, counts, out=missing, where=counts > 0)",
        "np.divide(sums, np.sign(counts), out=missing, where=counts > 0)",
        ("tests/estimators/test_calibration.py",),
    ),
    Fault(
        "copies-in-different-folds",
        "src/widemargin/estimators/out_of_fold.py",
        "folds[own] = (before + numbers) % n_folds",
        "folds[own] = (before + np.arange(len(own))) % n_folds",
        ("tests/estimators/test_calibration.py",),
    ),
    Fault(
        "winner-no-larger-than-the-rest",
        "src/widemargin/machines/coupling.py",
        "rows[at, own] = np.nextafter(rows.max(axis=1), np.inf)",
        "rows[at, own] = rows.max(axis=1)",
        ("tests/machines/test_coupling.py",),
    ),
    Fault(
        "float32-for-large-coefficients",
        "src/widemargin/estimators/prediction.py",
        "return bool(np.abs(dual_coef).max(initial=0.0) > LARGE_COEFFICIENT)",
        "return False",
        ("tests/estimators/test_prediction.py",),
    ),
    Fault(
        "coefficients-of-the-wrong-pair",
        "src/widemargin/estimators/prediction.py",
        "tuple(((b - 1, a), (a, b)) for a, b in pairs)",
        "tuple(((b - 1, a), (b - 1, b)) for a, b in pairs)",
        ("tests/estimators/test_svc_parity.py", "tests/estimators/test_classifier_edge_cases.py"),
    ),
    Fault(
        "derivative-of-a-vanished-kernel-value",
        "src/widemargin/kernels/gaussian.py",
        "    found *= K\n    return found",
        "    found *= np.maximum(K, 1e-3)\n    return found",
        ("tests/kernels/test_base.py",),
    ),
    Fault(
        "alignment-without-the-blocks-below",
        "src/widemargin/kernels/contraction.py",
        "2.0 if mirrored else 1.0",
        "1.0",
        ("tests/objectives/test_target_alignment.py",),
    ),
    Fault(
        "span-of-the-only-free-variable",
        "src/widemargin/objectives/span.py",
        "np.where(heights > 0, 1.0 / np.where(heights > 0, heights, 1.0) - ridge, OUT_OF_REACH)",
        "1.0 / np.where(heights > 0, heights, 1.0) - ridge",
        ("tests/objectives/test_span.py",),
    ),
    Fault(
        "record-not-written-down",
        "src/widemargin/study/journal.py",
        'self._write(b"".join(map(sealed, lines)))\n                if keep:',
        'self._write(b"".join(map(sealed, lines[:-1] or lines)))\n                if keep:',
        ("tests/study/test_journal.py",),
    ),
    Fault(
        "plan-in-a-circle",
        "src/widemargin/plans/plan.py",
        "if len(reached) < len(self.graph):",
        "if len(reached) < 0:",
        ("tests/plans/test_plan.py",),
    ),
    Fault(
        "work-without-scans",
        "src/widemargin/plans/graph.py",
        "return work.kernel_evaluations + work.scans",
        "return work.kernel_evaluations",
        (
            "tests/plans/test_graph.py",
            "tests/plans/test_learning.py",
            "tests/model_selection/grid/test_costs.py",
        ),
    ),
    Fault(
        "last-index-of-a-libsvm-file",
        "src/widemargin/datasets/libsvm_file.py",
        "width = int(indices.max(initial=first - 1)) - first + 1",
        "width = int(indices.max(initial=first - 1)) - first + 2",
        ("tests/datasets/test_libsvm_file.py",),
    ),
    Fault(
        "worst-value-forgotten",
        "src/widemargin/strategies/cma_es.py",
        "beyond = self._worst + max(1.0, abs(self._worst)) if math.isfinite(self._worst) else 0.0",
        "beyond = 0.0",
        ("tests/strategies/test_cma_es.py",),
    ),
    Fault(
        "interruption-hidden-from-the-folds",
        "src/widemargin/machines/held_out.py",
        "            stop.request()\n            raise",
        "            raise",
        ("tests/estimators/test_calibration.py",),
    ),
    Fault(
        "held-out-values-by-the-numbers-of-the-models",
        "src/widemargin/model_selection/grid/calibration.py",
        "found.add(names, search.data.folds[number][1], values)",
        "found.add(names, fold.test, values)",
        ("tests/model_selection/grid/folds/test_classifier_order.py",),
    ),
    Fault(
        "weights-in-another-order-than-samples",
        "src/widemargin/model_selection/grid/samples.py",
        "self._weights = data.weights if self._order is None else data.weights[self._order]",
        "self._weights = data.weights",
        ("tests/model_selection/grid/folds/test_classifier_order.py",),
    ),
)

FAULTS = CORE + PACKAGE
