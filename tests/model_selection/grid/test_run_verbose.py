"""What a search prints, in a terminal or not: the lines that scikit-learn's search prints."""

from __future__ import annotations

import re
from typing import Any

import pytest
from searches import data
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV

from widemargin import SVC, GridSearchCV

GRID = {"C": [0.5, 20.0], "gamma": [0.1]}


def lines(search: Any, capsys: pytest.CaptureFixture[str]) -> list[str]:
    search.fit(*data("two"))
    printed = capsys.readouterr().out.splitlines()
    times = [re.sub(r"total time=.*", "", line) for line in printed]
    return [re.sub(r"END \.*", "END ", re.sub(r"(?<=0\.\d)\d+", "", line)) for line in times]


@pytest.mark.parametrize("verbose", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("train", [False, True])
def test_lines_are_those_of_scikit_learn(verbose: int, train: bool, capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"cv": 3, "verbose": verbose, "return_train_score": train}
    ours = lines(GridSearchCV(SVC(), GRID, **how), capsys)
    theirs = [one for one in lines(PlainGridSearchCV(SVC(), GRID, **how), capsys) if "START" not in one]
    assert ours[:1] == theirs[:1]
    assert sorted(ours) == sorted(theirs)
    assert len(ours) == min(verbose, 1) + 6 * (verbose > 1)


def test_several_scores(capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"cv": 3, "verbose": 3, "scoring": ["accuracy", "f1"], "refit": False}
    ours = lines(GridSearchCV(SVC(), GRID, **how), capsys)
    theirs = lines(PlainGridSearchCV(SVC(), GRID, **how), capsys)
    assert sorted(ours) == sorted(theirs)


@pytest.mark.filterwarnings("ignore")
def test_fits_that_fail(capsys: pytest.CaptureFixture[str]) -> None:
    search = GridSearchCV(SVC(), {"C": [1.0, -1.0]}, cv=2, verbose=3)
    printed = lines(search, capsys)
    assert sum("failed" in line for line in printed) == 2
