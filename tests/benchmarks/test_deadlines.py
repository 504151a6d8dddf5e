"""The table of what is taken beyond `max_time`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import deadlines
from benchmarks.deadlines import CASES, Case, main, measure, report, signed_noise
from widemargin import SVC


def test_a_case_that_keeps_its_time(capsys: Any) -> None:
    assert main(["SVC, 500 classes against all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["max_time", "beyond:", "allowed", "wall", "processor", "wrong"]
    assert lines[1].startswith("SVC, 500 classes against all")
    assert len(lines) == 2


class Model:
    """Runs something where a machine would train."""

    def __init__(self, run: Callable[[int, float], None], **parameters: Any) -> None:
        self.run, self.parameters = run, parameters

    def set_params(self, max_time: float) -> Model:
        self.max_time = max_time
        return self

    def fit(self, X: Any, y: Any) -> Any:
        self.run(len(X), self.max_time)
        return SVC(**self.parameters).fit(X, y)


def _work(rows: int, seconds: float) -> None:
    began = time.process_time()
    while rows > 40 and time.process_time() - began < 1.2 * seconds + 0.5:
        pass


def _break(rows: int, seconds: float) -> None:
    raise ArithmeticError("no")


def _give_up(rows: int, seconds: float) -> None:
    if rows > 40:
        raise TimeoutError


def test_one_that_is_late_or_says_nothing_fails(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    easy = Model(lambda rows, seconds: None)
    cases = {
        "late": Case(0.05, Model(_work, max_iter=1, tol=1e-9), signed_noise),
        "easy": Case(5.0, easy, signed_noise),
        "broken": Case(1.0, Model(_break), signed_noise),
        "ended": Case(1.0, Model(_give_up), signed_noise),
    }
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
    assert 0.0 <= found.processor < 2.0
    assert all(case.seconds > 0 for case in CASES.values())


def test_the_command_line_refuses_nonsense(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no case has 'nonsense' in its name" in capsys.readouterr().err
