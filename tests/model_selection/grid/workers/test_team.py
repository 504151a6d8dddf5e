"""Threads of a search: all of them work, the first one listens where it has to, and nothing is lost."""

from __future__ import annotations

import threading
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from searches import classifier, data
from sklearn import config_context, get_config

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.workers import team
from widemargin.model_selection.grid.workers.team import team_size

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0, 10.0]}


class Witness:
    """A scorer that knows the threads that it was called in, and may fail in some of them."""

    def __init__(self, fails: BaseException | None = None, seconds: float = 0.01) -> None:
        self.threads, self.configs, self.fails, self.seconds = set[str](), list[Any](), fails, seconds

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        self.threads.add(threading.current_thread().name)
        self.configs.append(get_config()["assume_finite"])
        time.sleep(self.seconds)
        if self.fails is not None and threading.current_thread() is not threading.main_thread():
            raise self.fails
        return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("max_time", [None, 1000.0])
def test_all_threads_work_and_find_the_same(n_jobs: int, max_time: float | None) -> None:
    X, y = data("three")
    seen, before = Witness(), threading.active_count()
    alone = GridSearchCV(classifier(), GRID, cv=2).fit(X, y)
    with config_context(assume_finite=True):
        found = GridSearchCV(classifier(), GRID, cv=2, n_jobs=n_jobs, scoring=seen, max_time=max_time).fit(X, y)
    for key in ("mean_test_score", "split1_test_score", "rank_test_score"):
        np.testing.assert_array_equal(found.cv_results_[key], alone.cv_results_[key])
    assert len(seen.threads) == (1 if n_jobs == 1 else 1 + n_jobs), "the first thread begins, and others go on"
    assert threading.main_thread().name in seen.threads
    assert all(seen.configs)
    assert threading.active_count() <= before  # those of other tests may end


@pytest.mark.parametrize("error", [RuntimeError("on purpose"), KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_another_thread_ends_the_search(error: BaseException) -> None:
    X, y = data("two")
    search = GridSearchCV(SVC(), GRID, cv=2, n_jobs=2, scoring=Witness(error), error_score="raise", refit=False)
    before = threading.active_count()
    with pytest.raises(type(error)):
        search.fit(X, y)
    assert threading.active_count() <= before  # those of other tests may end


def test_there_are_no_more_threads_than_units() -> None:
    X, y = data("two")
    seen = Witness()
    GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, n_jobs=8, scoring=seen, refit=False).fit(X, y)
    assert len(seen.threads) <= 3


def test_a_small_search_has_one_thread() -> None:
    X, y = data("two")
    seen = Witness(seconds=0.0)
    with patch.multiple(team, HEAD_START=60.0, LONG_UNIT=60.0):
        GridSearchCV(SVC(), GRID, cv=2, n_jobs=2, scoring=seen, refit=False).fit(X, y)
    assert seen.threads == {threading.main_thread().name}


def test_a_long_unit_calls_the_others() -> None:
    X, y = data("two")
    seen = Witness(seconds=0.01)
    with patch.multiple(team, HEAD_START=60.0):
        GridSearchCV(SVC(), GRID, cv=2, n_jobs=2, scoring=seen, refit=False).fit(X, y)
    assert len(seen.threads) == 3


def test_searches_within_threads_of_joblib_do_not_multiply_them() -> None:
    def inner(_: int) -> int | None:
        return team_size(2)

    outer = Parallel(n_jobs=2, prefer="threads")
    assert [team_size(n_jobs) for n_jobs in (None, 1, 2, -1)][:3] == [1, 1, 2]
    with parallel_config("threading"):
        nested = outer(delayed(lambda: Parallel(n_jobs=2)(delayed(inner)(0) for _ in range(2)))() for _ in range(2))
    assert nested == [[1, 1], [1, 1]]
