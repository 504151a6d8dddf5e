"""The fuzzer finds nothing in its first cases, and would notice if there were something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.fuzz import problems
from benchmarks.fuzz.__main__ import KINDS, main
from benchmarks.fuzz.draws import FindingError
from widemargin.kernels.rows import row_source
from widemargin.machines.dual import DualProblem, solve


@pytest.mark.parametrize(("kind", "cases"), [("problems", 150), ("models", 100), ("searches", 12)])
def test_nothing_is_found(kind: str, cases: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([kind, "--cases", str(cases), "--seconds", "60"]) == 0, capsys.readouterr().out


def test_coefficients_that_are_not_what_is_claimed_are_noticed() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    problem = DualProblem(y, np.minimum(0.0, y), np.maximum(0.0, y))
    found = solve(problem, row_source(K, kernel="precomputed"))
    judged = {"precision": "float64", "doubtful": False}
    problems.judge(problem, K, found.alpha, found.outcome, **judged)
    for alpha, outcome, words in (
        (np.zeros(30), found.outcome, "violation"),
        (found.alpha * np.nan, found.outcome, "not finite"),
        (found.alpha * 2.0, found.outcome, "outside its box"),
        (np.where(y > 0, found.alpha, 0.0), found.outcome, "sum to"),
        (found.alpha, replace(found.outcome, objective=found.outcome.objective + 1.0), "objective"),
        (np.zeros(30), replace(found.outcome, kkt_violation=2.0, objective=0.0), "converged"),
        (found.alpha, replace(found.outcome, reason="stalled"), "stalled"),
        (found.alpha, replace(found.outcome, reason="unbounded"), "unbounded"),
    ):
        with pytest.raises(FindingError, match=words):
            problems.judge(problem, K, alpha, outcome, **judged)


def test_a_finding_is_printed_with_its_seed_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int) -> str:
        if seed == 7:
            raise FindingError("something strange")
        return "a case: converged"

    monkeypatch.setitem(KINDS, "problems", run)
    assert main(["problems", "--cases", "10"]) == 1
    assert "seed 7: something strange" in capsys.readouterr().out
