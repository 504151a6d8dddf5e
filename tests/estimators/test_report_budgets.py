"""Nothing hangs: Ctrl-C, deadlines and iteration budgets end a fit soon, with a word and a usable model."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles.estimators import pair_solutions
from widemargin import SVC
from widemargin.testing import chess_board_case, many_class_points

LONG = {"C": 1e9, "gamma": 0.5, "tol": 1e-10, "max_iter": -1}

PROGRAM = """
    import signal, sys, time
    import numpy as np
    from widemargin import SVC
    from widemargin.testing import chess_board_case, kernel_matrix, many_class_points

    signal.signal(signal.SIGINT, signal.default_int_handler)
    case = chess_board_case(3000, 1.0)
    X, y = case.points, np.where(np.arange(3000) % 3 == 0, -case.linear, case.linear)
    long = dict(C=1e9, gamma=0.5, tol=1e-10, max_iter=-1)
    {setup}
    print("ready", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("finished", flush=True)
    X, y = many_class_points(2, 50)
    print("score", SVC().fit(X, y).score(X, y) > 0.8, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process on Windows")
@pytest.mark.parametrize(
    "setup",
    [
        "model = SVC(**long)",
        "model = SVC(**long, solver='block', n_jobs=2)",
        "model = SVC(**long, solver='smo', cache_size=1)",
        "y = np.arange(3000) % 3 + 3 * (y > 0); model = SVC(**long, n_jobs=2)",
        "X = kernel_matrix(X, gamma=0.5); model = SVC(**{**long, 'kernel': 'precomputed'})",
        "model = SVC(**{**long, 'kernel': lambda A, B: kernel_matrix(A, B, gamma=0.5)})",
    ],
    ids=["binary", "block", "small-cache", "six-classes", "precomputed", "callable"],
)
def test_an_interrupt_ends_the_fit_at_once(setup: str) -> None:
    program = textwrap.dedent(PROGRAM).format(setup=setup)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.6)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        answer = process.stdout.readline()
        taken = time.perf_counter() - sent
        assert answer == "interrupted\n"
        # 0.2 s is promised; the rest is slack for a loaded machine.
        assert taken < 1.0
        assert process.stdout.readline() == "score True\n"
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def _fit_with_warning(model: SVC, X: Any, y: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    sentences = [str(one.message) for one in caught if issubclass(one.category, ConvergenceWarning)]
    assert len(sentences) == len(caught) == 1
    return sentences[0]


def _noisy_board(n: int) -> tuple[Any, Any]:
    """Points of a chess board, every third label wrong: hundreds of variables stay free and no shortcut helps."""
    case = chess_board_case(n, 1.0)
    return case.points, np.where(np.arange(n) % 3 == 0, -case.linear, case.linear)


@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
def test_a_deadline_is_kept(solver: str) -> None:
    X, y = _noisy_board(3000)
    # Certified numbers need coefficients that float64 can carry: C is large here, not huge.
    model = SVC(**{**LONG, "C": 1e6}, max_time=0.2, solver=solver)
    began = time.perf_counter()
    sentence = _fit_with_warning(model, X, y)
    assert 0.15 < time.perf_counter() - began < 1.5
    (entry,) = model.fit_report_
    assert entry.reason == "time budget"
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()
    if np.isinf(entry.kkt_violation):  # on a busy machine, where there is no time to say more
        assert "no time to compute its violation" in sentence
        return
    assert "gap" in sentence
    (pair,) = pair_solutions(model, X, y)
    assert entry.objective == pytest.approx(pair.certificate.objective, rel=1e-6)
    assert entry.duality_gap == pytest.approx(pair.certificate.duality_gap, rel=1e-3)


def test_a_deadline_counts_for_all_pairs_together() -> None:
    X, y = many_class_points(8, 300)
    model = SVC(**LONG, max_time=0.3)
    began = time.perf_counter()
    _fit_with_warning(model, X, y)
    assert time.perf_counter() - began < 2.0
    assert {entry.reason for entry in model.fit_report_} <= {"time budget", "converged"}
    assert "time budget" in {entry.reason for entry in model.fit_report_}
    assert set(model.predict(X)) <= set(model.classes_)


def test_a_deadline_counts_for_a_hard_margin_too() -> None:
    case = chess_board_case(1500, 1.0)
    y = np.arange(1500) % 3 + 3 * (case.linear > 0)
    model = SVC(**{**LONG, "C": np.inf}, max_time=0.2)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="time budget|max_time"):
        model.fit(case.points, y)
    assert time.perf_counter() - began < 2.0


def test_an_iteration_budget_counts_for_the_whole_ladder_of_a_hard_margin() -> None:
    case = chess_board_case(200, 1.0)
    for budget in (20, 3000):
        model = SVC(**{**LONG, "C": np.inf, "max_iter": budget})
        with pytest.warns(ConvergenceWarning, match="max_iter|not within the iteration budget"):
            model.fit(case.points, case.linear)
        assert model.fit_report_[0].reason == "iteration budget"
        assert model.fit_report_[0].iterations <= budget


@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize("budget", [1, 50, 2000])
def test_an_iteration_budget_is_kept(solver: str, budget: int) -> None:
    case = chess_board_case(500, 1.0)
    model = SVC(**{**LONG, "max_iter": budget}, solver=solver)
    sentence = _fit_with_warning(model, case.points, case.linear)
    (entry,) = model.fit_report_
    assert entry.reason == "iteration budget"
    assert "gap" in sentence
    assert entry.iterations == model.n_iter_[0] <= budget
    assert model.fit_status_ == 1
    assert entry.objective > 0.0
    (pair,) = pair_solutions(model, case.points, case.linear)
    assert entry.objective == pytest.approx(pair.certificate.objective, rel=1e-6)


@pytest.mark.parametrize("budget", [{"max_iter": 10}, {"max_iter": -1, "max_time": 0.05}], ids=["max_iter", "max_time"])
def test_the_warning_names_the_parameter_that_would_help(budget: dict[str, Any]) -> None:
    sentence = _fit_with_warning(SVC(**{**LONG, **budget}), *_noisy_board(1000))
    assert list(budget)[-1] in sentence


def test_a_larger_budget_is_never_worse() -> None:
    case = chess_board_case(300, 1.0)
    reached = []
    for budget in (10, 100, 1000, 10_000):
        model = SVC(**{**LONG, "max_iter": budget})
        _fit_with_warning(model, case.points, case.linear)
        reached.append(model.fit_report_[0].objective)
    assert reached == sorted(reached)


def test_the_default_budget_is_finite() -> None:
    case = chess_board_case(60, 1.0)
    # Contradicting labels on every point and no tolerance to speak of: only a budget, or rounding, can end this.
    X, y = np.vstack((case.points, case.points)), np.concatenate((case.linear, -case.linear))
    model = SVC(C=1e12, gamma=1e-3, tol=1e-15)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert time.perf_counter() - began < 20.0
    assert model.fit_report_[0].reason in {"converged", "iteration budget", "stalled"}


def test_no_budget_at_all_still_converges() -> None:
    X, y = many_class_points(3, 60)
    model = SVC(max_iter=-1).fit(X, y)
    assert {entry.reason for entry in model.fit_report_} == {"converged"}


def test_the_core_never_prints(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = many_class_points(3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        SVC(max_iter=3).fit(X, y)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""
