"""What counts as unexpected when other people's code runs on our classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.outside import clients as module
from benchmarks.outside.clients import OURS, THEIRS, Entry, clients, compared
from benchmarks.outside.own_tests import DELIBERATE, FILES, FOLDER, INTERNAL, MOST, QUICK, expected, outcomes, surprises


def test_what_is_listed_may_fail_and_nothing_else() -> None:
    name = next(iter(DELIBERATE))
    assert list(surprises({name: "failed", "a.py::test_b": "passed", "c.py::test_d": "skipped"})) == []
    assert list(surprises({"a.py::test_b": "failed"})) == ["a.py::test_b fails"]
    [said] = surprises({name: "passed"})
    assert said.startswith(f"{name} passes, though it may fail")


def test_the_list_is_short_and_names_files_that_are_run() -> None:
    assert len(expected()) == len(DELIBERATE) + len(INTERNAL) <= MOST
    assert {name.partition("::")[0] for name in expected()} <= set(FILES)
    assert set(QUICK) < set(FILES)


def test_a_file_of_tests_runs_on_our_classes() -> None:
    if not (FOLDER / "svm/tests/test_bounds.py").exists():
        pytest.skip("scikit-learn is installed without its tests")
    found, printed = outcomes(["svm/tests/test_sparse.py"])
    assert list(found.values()).count("passed") > 20, printed
    assert {name for name, outcome in found.items() if outcome == "failed"} <= set(expected()), printed


def broken(svm: Any) -> Any:
    raise RuntimeError("this package is broken")


def misses_a_package(svm: Any) -> Any:
    import a_package_that_nobody_has  # noqa: F401


CASES: dict[str, tuple[Any, str]] = {
    "equal": (lambda svm: 1.0, "same"),
    "near": (lambda svm: 1.0 if svm is OURS else 1.04, "same"),
    "far": (lambda svm: 1.0 if svm is OURS else 1.06, "differs"),
    "shapes": (lambda svm: [1.0] if svm is OURS else [1.0, 1.0], "differs"),
    "nan": (lambda svm: np.nan if svm is OURS else 1.0, "differs"),
    "ours fails": (lambda svm: broken(svm) if svm is OURS else 1.0, "differs"),
    "theirs fails": (lambda svm: broken(svm) if svm is THEIRS else 1.0, "both fail"),
    "no package": (misses_a_package, "not installed"),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_both_are_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, verdict = CASES[name]
    monkeypatch.setattr(module, "CLIENTS", {name: Entry(run, 0.05)})
    assert compared(name)[0] == verdict
    assert clients() == (verdict != "differs")
    monkeypatch.setattr(module, "EXPECTED", {name: "for a reason"})
    assert clients() == (verdict != "same")


def test_samplers_and_methods_of_ones_own() -> None:
    assert compared("sklearn_subclass_with_its_own_score") == ("same", "0 apart, 0.01 allowed")
