"""What a search does first when its time is limited: no chain takes the time of the others."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.paths.turns import Turns
from widemargin.model_selection.grid.shared_search import Unit
from widemargin.runtime import Stop

CHAINS = ((0, 1, 2), (3, 4, 5))
UNITS = [Unit(split, chain) for chain in CHAINS for split in range(3)]


def turns(seconds: float = 60.0, workers: int = 1) -> Turns:
    return Turns(UNITS, Stop().within(seconds), workers)


def limits(order: Turns, units: list[Unit], left: float = 60.0) -> list[float | None]:
    """Return what units get that begin when so many seconds are left."""
    return [None if limit is None else round(limit.of(left), 1) for limit in map(order.limit, units)]


def test_there_is_one_round_if_all_are_complete() -> None:
    order = turns()
    assert order.next_batch() == UNITS
    for unit in UNITS:
        assert order.limit(unit) is not None
        order.done(unit, 1.0, complete=True)
    assert order.next_batch() == []


@pytest.mark.parametrize(("workers", "shares"), [(1, 10.0), (2, 20.0), (50, 60.0)])
def test_shares_are_equal_and_grow_with_what_others_leave(workers: int, shares: float) -> None:
    order = turns(60.0, workers)
    units = order.next_batch()
    assert limits(order, units) == [shares] * 6
    for unit in units[:3]:
        order.done(unit, 0.0, complete=True)
    assert limits(order, units[3:]) == [min(60.0, 2 * shares)] * 3


def test_a_chain_that_was_cut_short_waits_on_all_splits() -> None:
    order = turns()
    units = order.next_batch()
    order.done(units[0], 10.0, complete=False)
    assert limits(order, units[1:]) == [None, None, 10.0, 10.0, 10.0]
    for unit in units[3:]:
        order.done(unit, 0.1, complete=True)
    # Now there is twice the time for each, which is worth another try.
    assert order.next_batch() == units[:3]
    assert limits(order, units[:3]) == [20.0, 20.0, 20.0]


def test_cheap_chains_go_on_first_and_nobody_begins_again_in_vain() -> None:
    order = turns()
    units = order.next_batch()
    for unit in units:
        order.limit(unit)
        order.done(unit, 9.0 if unit.candidates == CHAINS[0] else 4.0, complete=False)
    assert order.next_batch() == [*UNITS[3:], *UNITS[:3]]
    assert limits(order, UNITS) == [None, None, None, 10.0, 10.0, 10.0]
    for unit in UNITS[3:]:
        order.done(unit, 10.0, complete=True)
    # Where no share suffices, one goes after the other.
    order = turns()
    for unit in order.next_batch():
        assert order.limit(unit) is not None
    for unit in UNITS:
        order.done(unit, 10.0, complete=False)
    assert limits(order, order.next_batch()) == [None] * 6
    assert limits(order, order.next_batch()) == [20.0] * 6


def test_shares_travel() -> None:
    order = turns(60.0)
    order.next_batch()
    limit = order.limit(UNITS[0])
    assert limit is not None
    assert pickle.loads(pickle.dumps(limit)).of(60.0) == pytest.approx(10.0, abs=0.1)


def test_there_is_no_round_after_the_end() -> None:
    order = turns(0.01)
    assert order.next_batch()
    time.sleep(0.02)
    assert order.next_batch() == []


RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(500, 3)), RNG.integers(0, 2, size=500)

#: On every width, three machines that are trained at once and one that takes minutes.
GRID = {"C": [1e-3, 1e-2, 1e-1, 1e9], "gamma": [0.03, 0.05, 0.1]}


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("memory", ["auto", 0.1])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("piped", [False, True], ids=["alone", "pipeline"])
def test_all_that_is_quick_is_finished_on_every_split(piped: bool, n_jobs: int, memory: Any) -> None:
    machine: Any = SVC(tol=1e-8)
    grid: dict[str, Any] = GRID
    if piped:
        machine, grid = make_pipeline(StandardScaler(), machine), {f"svc__{name}": GRID[name] for name in GRID}
    how = {"cv": 3, "refit": False, "n_jobs": n_jobs, "max_memory": memory}
    search = GridSearchCV(machine, grid, max_time=1.2, **how).fit(X, Y)
    quick = np.array([params[next(iter(params))] < 1.0 for params in search.cv_results_["params"]])
    np.testing.assert_array_equal(np.isfinite(search.cv_results_["mean_test_score"]), quick)
    # They are the machines of a search that has no others.
    alone = GridSearchCV(machine, {**grid, next(iter(grid)): GRID["C"][:3]}, **how).fit(X, Y)
    for split in range(3):
        key = f"split{split}_test_score"
        np.testing.assert_array_equal(search.cv_results_[key][quick], alone.cv_results_[key])


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_processes_share_the_time_as_well() -> None:
    with parallel_config("loky", n_jobs=2):
        GridSearchCV(SVC(), {"C": [1.0]}, cv=3, refit=False).fit(X, Y)  # workers have to start
        search = GridSearchCV(SVC(tol=1e-8), GRID, cv=3, refit=False, max_time=3.0).fit(X, Y)
    finished = np.isfinite(search.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(finished, [params["C"] < 1.0 for params in search.cv_results_["params"]])


def test_time_that_suffices_is_not_shared_out_in_vain() -> None:
    done = [
        GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=3, refit=False, max_time=limit).fit(X, Y)
        for limit in (None, 60.0)
    ]
    free, limited = (one.work_report_ for one in done)
    assert (free.trained, free.iterations) == (limited.trained, limited.iterations)
