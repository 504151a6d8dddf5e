"""Every step of the core's solves against the rules they come from, written in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracles.replay import KINDS, Rules, replay
from widemargin import _core
from widemargin.kernels.rows import row_source
from widemargin.machines.dual import SELECTIONS, DualProblem, SolverOptions, StopRule, solve
from widemargin.testing import Case, chess_board_case, classification_case, kinked_cases, small_cases

PLANNED = KINDS.index("planned")
PLANS = (0, 1, 3)


def _trace(
    case: Case,
    rules: Rules,
    *,
    dtype: str = "float64",
    n_threads: int = 1,
    cache_bytes: int = 1 << 26,
    **task: Any,
) -> _core.Trace:
    n = case.linear.size
    given = {"ids": np.arange(n, dtype=np.int32), "linear": case.linear, "lower": case.lower, "upper": case.upper}
    if case.kink is not None:
        given["kink"] = case.kink
    return _core.trace_smo(
        row_source(case.gram, kernel="precomputed"),
        _core.Task(**(given | task)),
        rules.selection,
        rules.planning_ahead,
        rules.shrink_every,
        dtype == "float64",
        cache_bytes,
        rules.tolerance,
        rules.max_iterations,
        n_threads,
    )


def _in_float32(case: Case) -> Case:
    """The same with kernel values that float32 holds exactly, so that both precisions solve one problem."""
    return replace(case, gram=case.gram.astype(np.float32).astype(np.float64))


def _tied_case(name: str, n: int, seed: int) -> Case:
    """Copies of orthogonal points, with a ridge: curvatures are 2 and 4, so nothing is rounded, and ties abound."""
    rng = np.random.default_rng(seed)
    points = np.eye(12)[rng.integers(12, size=n)]
    labels = rng.choice([-1.0, 1.0], size=n)
    labels[-4:] = 1.0, -1.0, 1.0, -1.0  # what no vector holds any more is tied with the rest both ways
    case = classification_case(name, points, labels, rng.choice([0.25, 0.5, 2.0], size=n), kernel="linear")
    return replace(case, gram=case.gram + np.eye(n))


CASES = [
    _in_float32(case) for case in (*list(small_cases())[:6], chess_board_case(61, 100.0), chess_board_case(45, 1e4))
]
KINKED = [_in_float32(case) for case in kinked_cases()]
# Vectors end where there are fewer variables left than they hold; stretches of a scan hold 256.
TIED = [_tied_case(f"ties-{n}", n, n) for n in (37, 90, 133, 301)]


@pytest.fixture(params=["", "baseline", "avx2", "avx512"])
def simd(request: pytest.FixtureRequest) -> Iterator[str]:
    """Vector instructions; those this processor lacks are skipped, "" stands for its best ones."""
    before = _core.simd_name()
    if request.param and not _core.use_simd(request.param):
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    _core.use_simd(before)


@pytest.mark.parametrize("shrink_every", [0, 7])
@pytest.mark.parametrize("planning_ahead", PLANS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_step_follows_the_rules(selection: str, planning_ahead: int, shrink_every: int) -> None:
    rules = Rules(selection, planning_ahead, shrink_every, max_iterations=300)
    planned = 0
    for case in CASES:
        for dtype, rounding in (("float64", 1e-6), ("float32", 1e-3)):
            trace = _trace(case, rules, dtype=dtype)
            planned += replay(case, case.gram, trace, rules, rounding=rounding)
    assert (planned > 0) == (planning_ahead > 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("planning_ahead", PLANS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_ties_go_to_the_first(selection: str, planning_ahead: int, dtype: str, simd: str) -> None:
    # All pairs with a variable take long in NumPy; the scan that the last case is for is the same in every selection.
    for case in TIED[:-1] if selection == "maximum-gain" else TIED:
        for shrink_every in (0, 5):
            budget = 60 if case.linear.size < 100 else 25
            rules = Rules(selection, planning_ahead, shrink_every, max_iterations=budget)
            # Plans divide by other curvatures: without rounding only until the first one.
            trace = _trace(case, rules, dtype=dtype)
            replay(case, case.gram, trace, rules, rounding=0.0 if planning_ahead == 0 else 1e-4)
            assert trace.i.size >= 15


@pytest.mark.parametrize("planning_ahead", PLANS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_variables_cross_their_kinks_by_the_rules(selection: str, planning_ahead: int) -> None:
    crossed = 0
    for case in KINKED:
        rules = Rules(selection, planning_ahead, 11, max_iterations=300)
        trace = _trace(case, rules)
        replay(case, case.gram, trace, rules, rounding=1e-6)
        sides = np.where(case.linear > case.linear.mean(), 1.0, -1.0)
        crossed += int((trace.alpha * sides < 0).sum())
    assert crossed > 0


@pytest.mark.parametrize("shrink_every", [0, 9])
@pytest.mark.parametrize("planning_ahead", PLANS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_groups_have_steps_of_their_own(selection: str, planning_ahead: int, shrink_every: int) -> None:
    rules = Rules(selection, planning_ahead, shrink_every, max_iterations=300)
    seen: set[int] = set()
    for seed, penalty in ((0, 1.0), (1, 30.0)):
        rng = np.random.default_rng(seed)
        case = replace(chess_board_case(83, penalty), linear=rng.normal(size=83))
        group = (rng.random(83) < 0.4).astype(np.uint8)
        start = np.where(case.upper > 0, 0.3, -0.3) * penalty
        sums = [float(start[group == g].sum()) for g in (0, 1)]
        trace = _trace(
            case,
            rules,
            group=group,
            alpha=start,
            gradient=case.linear - case.gram @ start,
            total=(sums[0], sums[1]),
        )
        replay(case, case.gram, trace, rules, group=group, start=start, rounding=1e-6)
        assert (group[trace.i] == group[trace.j]).all()
        seen |= set(group[trace.i].tolist())
        assert not shrink_every or trace.active.min() < 83
    assert seen == {0, 1}


@pytest.mark.parametrize("n", [6_151, 7_001, 7_003])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_scans_shared_among_threads_lose_no_variable(selection: str, n: int) -> None:
    # Pieces of a scan are as many as 3,072 variables fit: none of these sizes divides by two, and the last variables
    # are the ones that matter: they have the largest and the smallest gradient.
    rng = np.random.default_rng(n)
    X, linear = rng.normal(size=(n, 2)), rng.uniform(-1.0, 1.0, size=n)
    linear[-3:] = 5.0, -5.0, 4.0
    bounds = np.full(n, 1.0)
    task = _core.Task(np.arange(n, dtype=np.int32), linear, -bounds, bounds)
    traces = [
        _core.trace_smo(row_source(X, gamma=0.5), task, selection, 1, 0, False, 1 << 24, 1e-3, 60, threads)
        for threads in (1, 2, 3)
    ]
    assert traces[0].i[0] == n - 3
    assert {n - 1, n - 3} <= {*traces[0].i.tolist()}
    for other in traces[1:]:
        for name in ("i", "j", "size", "kind"):
            assert np.array_equal(getattr(traces[0], name), getattr(other, name)), name
        # The whole gradient, not only where working sets are: a share left out of the update would keep its values.
        assert np.array_equal(traces[0].gradient, other.gradient)
    alpha = traces[0].alpha
    used = np.flatnonzero(alpha)
    K = np.exp(-0.5 * ((X[:, None] - X[used]) ** 2).sum(axis=2))
    assert traces[0].gradient == pytest.approx(linear - K @ alpha[used], abs=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("working_sets", [1, 2, 3, 5])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_planned_step_and_the_next_gain_what_the_lemma_says(selection: str, working_sets: int, dtype: str) -> None:
    # [Glasmachers2008, Lemma 7.3] with eta = 0.9, on the board on which one set too many lost thousands of times.
    case = chess_board_case(400, 1e4)
    trace = _trace(case, Rules(selection, working_sets, 400, max_iterations=40_000), dtype=dtype)
    gain = trace.size * (trace.slope - 0.5 * trace.curvature * trace.size)
    planned = np.flatnonzero(trace.kind[:-1] == PLANNED)
    newton = 0.5 * trace.slope[planned] ** 2 / trace.curvature[planned]
    assert planned.size > 10_000
    assert (trace.kind[planned + 1] != PLANNED).all()
    assert (gain[planned] < 0.0).any()  # else there would be nothing to win back
    assert ((gain[planned] + gain[planned + 1]) / newton).min() >= (1.0 - 0.9**2) * (1.0 - 1e-6)
    standard = np.setdiff1d(np.arange(gain.size), planned)
    assert (gain[standard] > 0.0).all()


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("planning_ahead", PLANS)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_solve_takes_the_steps_of_its_trace(selection: str, planning_ahead: int, shrinking: bool) -> None:
    for case in (CASES[0], CASES[2], *KINKED[:2], chess_board_case(150, 10.0)):
        n = case.linear.size
        trace = _trace(case, Rules(selection, planning_ahead, n if shrinking else 0))
        options = SolverOptions(
            "smo", selection, planning_ahead=planning_ahead, shrinking=shrinking, dtype="float64", cache_bytes=1 << 26
        )
        problem = DualProblem(case.linear, case.lower, case.upper, kink=case.kink)
        rows = row_source(case.gram, kernel="precomputed")
        solution = solve(problem, rows, stop=StopRule(tolerance=1e-3), options=options)
        assert solution.outcome.iterations == trace.i.size, case
        assert solution.alpha == pytest.approx(trace.alpha, abs=1e-12 * np.abs(trace.alpha).max()), case


def test_partners_of_second_order_are_not_the_most_violating_ones() -> None:
    # Eight times the steps on a chess board; the solution is the same.
    case = chess_board_case(200, 1e3)
    steps = {s: _trace(case, Rules(s)).i.size for s in SELECTIONS}
    assert 4 * steps["second-order"] < steps["maximal-violating-pair"]
    assert steps["maximum-gain"] < 2 * steps["second-order"]


def test_a_trace_refuses_what_it_cannot_follow() -> None:
    case = CASES[0]
    with pytest.raises(ValueError, match="selection='auto' depends on the cache"):
        _trace(case, Rules("auto"))
    with pytest.raises(ValueError, match="comes with its gradient"):
        _trace(case, Rules("second-order"), alpha=np.zeros(case.linear.size))
    with pytest.raises(ValueError, match="outside the box"):
        _trace(case, Rules("second-order"), alpha=case.upper + 1.0, gradient=case.linear)


def test_a_replay_notices_what_was_not_done_by_the_rules() -> None:
    case = chess_board_case(60, 10.0)
    rules = Rules("second-order", 1, 9)
    trace = _trace(case, rules)
    assert replay(case, case.gram, trace, rules) > 0
    for other in (Rules("maximal-violating-pair", 1, 9), Rules("second-order", 0, 9), Rules("second-order", 1, 0)):
        with pytest.raises(AssertionError, match="step"):
            replay(case, case.gram, trace, other)
