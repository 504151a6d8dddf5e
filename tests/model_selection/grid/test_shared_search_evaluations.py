"""Every finished evaluation counts, whatever becomes of its chain; and nobody notices who does not ask."""

from __future__ import annotations

import _thread
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from joblib import parallel_config
from searches import TOLERANCE, classifier, data, regressor

from widemargin import SVC, SVDD, GridSearchCV, NuSVC, NuSVR, OneClassSVM
from widemargin.machines import chain
from widemargin.model_selection.grid import samples
from widemargin.model_selection.grid.folds.classifier import PairwiseFold
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers import pool
from widemargin.model_selection.grid.workers.reports import Address
from widemargin.runtime import Stop
from widemargin.study import Journal, JournalError, journal

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

#: A chain of machines that take a while each, on two splits.
LONG = {"C": 2.0 ** np.arange(14)}

CHILD = """
import sys
from joblib import parallel_config
sys.path.insert(0, sys.argv[2])
from test_shared_search_evaluations import long_search
with parallel_config(sys.argv[3], n_jobs=2):
    long_search(sys.argv[1])
"""


def long_search(path: Any = None) -> GridSearchCV:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 4)), rng.integers(0, 2, size=900)
    return GridSearchCV(SVC(gamma=0.5, tol=1e-6), LONG, cv=2, journal=path, refit=False).fit(X, y)


def lines(path: Path) -> list[dict[str, Any]]:
    """Whole records of a journal, by whoever it is written."""
    whole = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


def assert_same(one: GridSearchCV, other: GridSearchCV) -> None:
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for key, value in one.cv_results_.items():
        if "time" not in key and key != "params":
            np.testing.assert_array_equal(value, other.cv_results_[key], err_msg=key)
    assert one.work_report_.iterations == other.work_report_.iterations
    assert one.best_params_ == other.best_params_


def assert_each_once(path: Path, search: GridSearchCV) -> None:
    pairs = Counter(record["evaluation"] for record in lines(path))
    assert set(pairs.values()) == {1}
    assert len(pairs) == search.work_report_.fits


# Searches that are killed.


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_killed_in_the_middle_of_a_chain(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    whole = long_search()
    for enough in (3, 7):  # once from nothing, once while what is known is walked again
        command = [sys.executable, "-c", CHILD, str(path), str(Path(__file__).parent), backend]
        child = subprocess.Popen(command, start_new_session=True)
        ended = time.monotonic() + 120
        while child.poll() is None and len(lines(path)) < enough and time.monotonic() < ended:
            time.sleep(0.002)
        assert child.poll() is None, "the search was over before it was killed"
        child.send_signal(signal.SIGKILL)
        child.wait()
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # its workers would wait for a while
        known = [[n // 2 for one in lines(path) if (n := one["evaluation"]) % 2 == split] for split in (0, 1)]
        assert sum(map(len, known)) >= enough
        assert all(own == list(range(len(own))) for own in known), "a chain goes in its order"
        assert any(0 < len(own) < len(LONG["C"]) for own in known), "no chain was under way"
    resumed = long_search(path)
    assert_same(resumed, whole)
    assert_each_once(path, resumed)


class Deadly:
    """A scorer that kills its process, once, when the journal knows all that the process has finished before."""

    def __init__(self, folder: Path, C: float) -> None:
        self.folder, self.C, self.home = folder, C, os.getpid()

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        killed = self.folder / "killed"
        if estimator.C == self.C and not killed.exists():
            assert os.getpid() != self.home, "this should run on a worker"
            ended = time.monotonic() + 20.0
            while time.monotonic() < ended and len(lines(self.folder / "study.jsonl")) < 2:
                time.sleep(0.01)
            killed.write_text(str(len(lines(self.folder / "study.jsonl"))))
            os.kill(os.getpid(), signal.SIGKILL)
        return float(np.mean(estimator.predict(X) == y))


def test_what_a_worker_finished_before_it_died(tmp_path: Path) -> None:
    X, y = data("two")
    grid, split = {"C": [0.1, 1.0, 10.0, 100.0]}, [(np.arange(80), np.arange(80, 120))]
    alone = GridSearchCV(classifier(gamma=0.1), grid, cv=split).fit(X, y)
    how: dict[str, Any] = {"cv": split, "scoring": Deadly(tmp_path, 10.0), "journal": tmp_path / "study.jsonl"}
    with parallel_config("loky", n_jobs=2):
        found = GridSearchCV(classifier(gamma=0.1), grid, **how).fit(X, y)
    assert (tmp_path / "killed").read_text() == "2"
    assert_same(found, alone)
    assert_each_once(tmp_path / "study.jsonl", found)


# Searches that end.


class Impatient:
    """Presses Ctrl-C after some machines."""

    def __init__(self, enough: int) -> None:
        self.enough, self.steps, self.reason = enough, [], ""

    def start(self, machines: int) -> None: ...
    def finish(self, reason: str) -> None:
        self.reason = reason

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best: float | None) -> None:
        self.steps.append(machines)
        if sum(self.steps) == self.enough:
            _thread.interrupt_main()


def slow_accuracy(estimator: Any, X: Any, y: Any) -> float:
    time.sleep(0.1)
    return float(np.mean(estimator.predict(X) == y))


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_an_interruption_keeps_what_an_unfinished_chain_has(backend: str) -> None:
    X, y = data("two")
    grid, split = {"C": 2.0 ** np.arange(12)}, [(np.arange(80), np.arange(80, 120))]
    impatient = Impatient(4)
    with parallel_config(backend, n_jobs=2):
        search = GridSearchCV(SVC(), grid, cv=split, scoring=slow_accuracy, progress=impatient).fit(X, y)
    finished = np.isfinite(search.cv_results_["mean_test_score"])
    assert impatient.reason == "interrupted"
    assert 4 <= finished.sum() < 12
    assert finished[: finished.sum()].all()
    whole = GridSearchCV(SVC(), grid, cv=split).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"][finished], whole.cv_results_["mean_test_score"][finished]
    )


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_time_that_runs_out_keeps_what_all_pairs_of_classes_have(tmp_path: Path) -> None:
    # The first pair alone would take all the time with its last machine.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 3, size=500)
    grid, split = {"C": [1e-3, 1e-2, 1e8]}, [(np.arange(300), np.arange(300, 500))]
    how: dict[str, Any] = {"cv": split, "max_time": 1.0, "refit": False, "journal": tmp_path / "study.jsonl"}
    search = GridSearchCV(SVC(tol=1e-8, gamma=0.05), grid, **how).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, True, False]
    assert [one["evaluation"] for one in lines(tmp_path / "study.jsonl")] == [0, 1]


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_progress_moves_with_every_evaluation(backend: str) -> None:
    X, y = data("three")
    seen = Impatient(1000)
    with parallel_config(backend, n_jobs=2):
        GridSearchCV(classifier(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=3, progress=seen).fit(X, y)
    assert seen.steps == [0] + [1] * 18


class Announced:
    """Notes how many machines a search has announced, and how many its journal holds at that moment."""

    def __init__(self, path: Path) -> None:
        self.path, self.machines, self.seen = path, 0, []

    def start(self, machines: int) -> None:
        pass

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        self.machines += machines
        self.seen.append((self.machines, len(lines(self.path))))

    def finish(self, reason: str) -> None:
        pass


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nothing_counts_before_it_is_on_the_disk(n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, sync = tmp_path / "study.jsonl", os.fsync
    told = Announced(path)

    def slow(descriptor: int) -> None:
        if path.exists() and path.stat().st_size:
            time.sleep(0.01)
            assert told.machines < len(lines(path)) or not lines(path)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    X, y = data("two")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    GridSearchCV(SVC(), grid, cv=2, n_jobs=n_jobs, journal=path, progress=told, refit=False).fit(X, y)
    assert told.machines == 12
    assert all(announced <= held for announced, held in told.seen)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_a_disk_that_is_full_ends_the_search(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("two")
    path, writes = tmp_path / "study.jsonl", []
    how: dict[str, Any] = {"cv": 3, "journal": path}
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
    alone = GridSearchCV(classifier(), grid, cv=3).fit(X, y)
    write = journal._write_all

    def full(descriptor: int, content: bytes, offset: int) -> None:
        writes.append(content)
        if len(writes) > 3:
            write(descriptor, content[: len(content) // 2], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(descriptor, content, offset)

    with monkeypatch.context() as patched, parallel_config(backend, n_jobs=2):
        patched.setattr(journal, "_write_all", full)
        with pytest.raises(JournalError, match=r"cannot grow, since the disk is full.*free some space"):
            GridSearchCV(classifier(), grid, **how, scoring=slow_accuracy if backend == "loky" else None).fit(X, y)
    assert b"".join(writes[:3]) == path.read_bytes()
    if backend != "loky":  # whose scorer is another search's
        resumed = GridSearchCV(classifier(), grid, **how).fit(X, y)
        assert_same(resumed, alone)
        assert_each_once(path, resumed)


# Workers that are out of reach.


def test_workers_on_other_machines_deliver_with_the_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("three")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    alone = GridSearchCV(classifier(), grid, cv=3).fit(X, y)
    monkeypatch.setattr(pool.Workers, "_listening", lambda self, opened: Address(str(tmp_path / "elsewhere"), b"key"))
    with parallel_config("loky", n_jobs=2):
        found = GridSearchCV(classifier(), grid, cv=3, journal=tmp_path / "study.jsonl").fit(X, y)
    assert_same(found, alone)
    assert_each_once(tmp_path / "study.jsonl", found)


def test_no_socket_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refused(finished: Any) -> Any:
        raise OSError("AF_UNIX path too long")

    X, y = data("two")
    monkeypatch.setattr(pool, "Reports", refused)
    with parallel_config("loky", n_jobs=2):
        search = GridSearchCV(classifier(), {"C": [0.1, 1.0]}, cv=3, journal=tmp_path / "study.jsonl").fit(X, y)
    assert_each_once(tmp_path / "study.jsonl", search)
    assert "chain by chain: no socket here (AF_UNIX path too long)" in caplog.text


# All machines, and those who do not ask.


FAMILIES: dict[str, tuple[Any, Any, str, dict[str, Any]]] = {
    "two classes": (classifier(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, "two", {}),
    "three classes": (classifier(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, "three", {}),
    "train scores": (classifier(), {"C": [0.1, 1.0, 10.0]}, "three", {"return_train_score": True}),
    "rows": (classifier(), {"C": [0.1, 1.0, 10.0]}, "three", {"max_memory": 0.001}),
    "no intercept": (classifier(fit_intercept=False), {"C": [0.1, 1.0, 10.0]}, "three", {}),
    "squared hinge": (classifier(loss="squared_hinge"), {"C": [0.1, 1.0, 10.0]}, "three", {}),
    "hard margin": (classifier(gamma=10.0), {"C": [0.1, 1.0, np.inf]}, "three", {}),
    "nu": (NuSVC(tol=TOLERANCE), {"nu": [0.1, 0.2, 0.3]}, "three", {}),
    "tube": (regressor(), {"C": [0.1, 1.0, 10.0]}, "friedman", {}),
    "squared tube": (regressor(loss="squared_epsilon_insensitive"), {"C": [0.1, 1.0, 10.0]}, "friedman", {}),
    "hard tube": (regressor(gamma=1.0), {"C": [0.1, 1.0, np.inf]}, "friedman", {}),
    "nu tube": (NuSVR(tol=TOLERANCE), {"nu": [0.2, 0.5, 0.8]}, "friedman", {}),
    "one class": (OneClassSVM(), {"nu": [0.1, 0.3, 0.5]}, "", {}),
    "rejection": (OneClassSVM(), {"target_rejection": [0.1, 0.3, 0.5]}, "", {}),
    "squared slack": (OneClassSVM(loss="squared_hinge"), {"C": [1.0, 10.0, 100.0]}, "", {}),
    "squared rejection": (OneClassSVM(loss="squared_hinge", target_rejection=0.2), {"C": [1.0, 10.0, 100.0]}, "", {}),
    "counts": (OneClassSVM(loss="squared_hinge", solver="maxminover"), {"C": [1.0, 10.0, 100.0]}, "", {}),
    "ball": (SVDD(), {"nu": [0.1, 0.3, 0.5]}, "", {}),
    "ball of a price": (SVDD(), {"C": [0.05, 0.1, 1.0]}, "", {}),
    "ball and rejection": (SVDD(target_rejection=0.1), {"target_rejection": [0.1, 0.3], "kernel": ["linear"]}, "", {}),
}


@pytest.mark.parametrize("keeps", [True, False], ids=["keeps", "lets go"])
@pytest.mark.parametrize("family", FAMILIES)
def test_who_asks_gets_the_same(family: str, keeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, grid, name, how = FAMILIES[family]
    X, y = data(name) if name else (data("two")[0], None)
    if not keeps:
        monkeypatch.setattr(samples, "KEPT_BYTES", 0)
    silent = GridSearchCV(machine, grid, cv=3, **how).fit(X, y)
    told: list[int] = []

    class Counts(Impatient):
        def advance(self, machines: int, cost: float, left: float | None, best: float | None) -> None:
            told.append(machines)

    path = tmp_path / "study.jsonl"
    asked = GridSearchCV(machine, grid, cv=3, journal=path, progress=Counts(0), **how).fit(X, y)
    assert_same(asked, silent)
    assert_each_once(path, asked)
    assert told == [0] + [1] * silent.work_report_.fits


@pytest.mark.parametrize("how", ["journal", "progress", "nobody"])
def test_links_are_solved_one_by_one_only_for_those_who_ask(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        original = getattr(chain, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return original(*arguments, **options)

        return call

    for name in ("walk_chain", "solve_chain"):
        monkeypatch.setattr(chain, name, counted(name))
    asks = {"journal": {"journal": tmp_path / "study.jsonl"}, "progress": {"progress": "log"}, "nobody": {}}
    X, y = data("two")
    GridSearchCV(classifier(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=3, **asks[how]).fit(X, y)
    chains, first_machines = 6, 2
    kind = "solve_chain" if how == "nobody" else "walk_chain"
    assert Counter(calls) == Counter({kind: chains}) + Counter({"solve_chain": first_machines})


def test_times_are_those_of_the_machines(tmp_path: Path) -> None:
    X, y = data("two")
    began = time.perf_counter()
    search = GridSearchCV(classifier(), {"C": [0.1, 1.0, 10.0]}, cv=3, journal=tmp_path / "j", refit=False).fit(X, y)
    elapsed = time.perf_counter() - began
    times = np.array([search.cv_results_[f"mean_{kind}_time"] for kind in ("fit", "score")])
    assert (times > 0).all()
    assert 3 * times.sum() < elapsed


def test_others_may_continue(tmp_path: Path) -> None:
    X, y = data("three")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    path = tmp_path / "study.jsonl"
    whole = GridSearchCV(classifier(), grid, cv=3, journal=path).fit(X, y)
    content = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(content[:5]) + b"\n" + content[5][:20])
    with parallel_config("loky", n_jobs=2):
        resumed = GridSearchCV(classifier(), grid, cv=3, journal=path).fit(X, y)
    assert_same(resumed, whole)
    assert_each_once(path, resumed)
    with Journal(path, json.loads(content[0])["identity"]) as again:
        assert len(again.records) == 18


def test_kernel_values_of_a_chain_that_was_cut_short_are_counted_by_who_comes_next() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.1]}, cv=2)
    shared = SharedSearch(search._search_data(X, y, {})[0])
    unit, other = shared.units()
    assert shared.evaluate(unit, Stop().within(-1.0)) == []
    counts = [one.work.kernel_evaluations for own in (unit, other) for one in shared.evaluate(own, Stop())]
    assert counts == [len(y) ** 2, 0, 0, 0]


@pytest.mark.parametrize("decision", ["votes", "fuzzy-minimum"])
def test_machines_of_a_chain_predict_in_one_call(decision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("iris")
    predicted, calls = PairwiseFold.predicted, []

    def counting(fold: Any, model: Any, numbers: Any) -> Any:
        calls.append(len(numbers))
        return predicted(fold, model, numbers)

    monkeypatch.setattr(PairwiseFold, "predicted", counting)
    how: dict[str, Any] = {"param_grid": {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, "cv": 3, "refit": False}
    together = GridSearchCV(SVC(decision=decision), **how).fit(X, y)
    assert calls == [3 * 50] * 6
    alone = GridSearchCV(SVC(decision=decision), scoring=lambda model, X, y: model.score(X, y), **how).fit(X, y)
    for fold in range(3):
        np.testing.assert_array_equal(
            together.cv_results_[f"split{fold}_test_score"], alone.cv_results_[f"split{fold}_test_score"]
        )
