"""The table of what is taken beyond `max_time`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from benchmarks import deadlines
from benchmarks.deadlines import CASES, Case, main, measure, report
from widemargin import SVC


def test_a_case_that_keeps_its_time(capsys: Any) -> None:
    assert main(["SVC, 500 classes against all", "--rows", "800"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["max_time", "allowed", "wall", "processor", "wrong"]
    assert lines[1].startswith("SVC, 500 classes against all")
    assert len(lines) == 2


def _late(rows: int, seconds: float) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(200, 3))
    began = time.process_time()
    while rows > 40 and time.process_time() - began < 1.2 * seconds + 0.3:
        pass
    return SVC(max_iter=1, tol=1e-9).fit(X, np.arange(200) % 2), X[:3]


def test_one_that_is_late_or_says_nothing_fails(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def easy(rows: int, seconds: float) -> tuple[Any, Any]:
        X = np.random.default_rng(0).normal(size=(50, 3))
        return SVC(max_time=seconds).fit(X, np.arange(50) % 2), X[:3]

    def broken(rows: int, seconds: float) -> tuple[Any, Any]:
        raise ArithmeticError("no")

    def ended(rows: int, seconds: float) -> tuple[Any, Any]:
        if rows > 40:
            raise TimeoutError
        return easy(rows, seconds)

    cases = {"late": Case(0.05, _late), "easy": Case(5.0, easy), "broken": Case(1.0, broken), "ended": Case(1.0, ended)}
    monkeypatch.setattr(deadlines, "CASES", cases)
    assert not report(["late"], 100)
    assert capsys.readouterr().out.splitlines()[1].endswith("late")
    assert not report(["easy"], 100)
    assert "too easy" in capsys.readouterr().out
    assert not report(["broken"], 100)
    assert "ArithmeticError: no" in capsys.readouterr().out
    assert report(["ended"], 100)


def test_every_case_can_be_built_and_measured() -> None:
    found = measure(CASES["NuSVC"], 3_000)
    assert found.taken > 0.0
    assert all(case.seconds > 0 for case in CASES.values())


def test_the_command_line_refuses_nonsense(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no case has 'nonsense' in its name" in capsys.readouterr().err
