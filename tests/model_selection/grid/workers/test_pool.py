"""Searches on the backends of joblib: threads, processes, a Dask cluster, Ray."""

from __future__ import annotations

import _thread
import importlib
import logging
import os
import pickle
import signal
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np
import pytest
from joblib import parallel_config
from searches import classifier, data, regressor
from sklearn import config_context, get_config
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV
from widemargin.model_selection.grid.workers import pool, units
from widemargin.model_selection.grid.workers.reports import Reports
from widemargin.model_selection.grid.workers.units import portable
from widemargin.runtime import Stop
from widemargin.study.findings import Finding

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0, 10.0]}

#: Seconds within which a search has to end once its time is over, on a busy machine.
PROMPTLY = 2.0


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs pip install widemargin[distributed]")
    import dask

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        # A local cluster gives up a worker that is dead once more after this time.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ray_client() -> Iterator[None]:
    ray = pytest.importorskip("ray", reason="needs pip install widemargin[distributed]")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL)
    yield
    ray.shutdown()


@pytest.fixture
def on(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """What to search within, by the name of a backend."""

    def backend(name: str) -> Any:
        client = request.getfixturevalue(f"{name}_client") if name in ("dask", "ray") else None
        if name == "dask":  # whose workers a test may have killed
            client.wait_for_workers(2, timeout=60)
            client.run(__import__, "widemargin")
        return parallel_config(name, n_jobs=2)

    return backend


def assert_same(one: GridSearchCV, other: GridSearchCV) -> None:
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for key, value in one.cv_results_.items():
        if "time" not in key and key != "params":
            np.testing.assert_array_equal(value, other.cv_results_[key], err_msg=key)
    assert one.cv_results_["params"] == other.cv_results_["params"]
    assert one.best_params_ == other.best_params_


class CountedRows(np.ndarray):
    """Rows that leave a file in a folder when they are sent, and one when they arrive."""

    folder: str = ""

    def __array_finalize__(self, other: Any) -> None:
        self.folder = getattr(other, "folder", "")

    def __reduce__(self) -> Any:
        Path(self.folder, f"sent.{os.getpid()}.{uuid4()}").touch()
        return counted, (np.asarray(self), self.folder, True)


def counted(rows: Any, folder: str, arrived: bool = False) -> CountedRows:
    if arrived:
        Path(folder, f"arrived.{os.getpid()}.{uuid4()}").touch()
    found = np.asarray(rows).view(CountedRows)
    found.folder = folder
    return found


def files(folder: Path, kind: str) -> Counter[str]:
    """How often each process left a file of this kind."""
    return Counter(path.name.split(".")[1] for path in folder.glob(f"{kind}.*"))


class Accuracy:
    """A scorer that takes a while, says where it is, and may end its process, once or always."""

    def __init__(self, folder: Path, *, deadly: str = "", gamma: float = 1.0, seconds: float = 0.0) -> None:
        self.folder, self.deadly, self.gamma, self.seconds, self.home = folder, deadly, gamma, seconds, os.getpid()

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        Path(self.folder, f"scored.{os.getpid()}.{uuid4()}").touch()
        if self.deadly and estimator.gamma == self.gamma:
            assert os.getpid() != self.home, "this should run on a worker"
            killed = Path(self.folder, "killed")
            if self.deadly == "always" or not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)
        return float(np.mean(estimator.predict(X) == y))


# Equal results.


@pytest.mark.parametrize("backend", ["threading", "loky", "dask", "ray"])
def test_results_are_the_same_and_data_is_sent_once(backend: str, on: Callable[[str], Any], tmp_path: Path) -> None:
    X, y = data("three")
    how: dict[str, Any] = {"cv": 3, "return_train_score": True}
    alone = GridSearchCV(classifier(), GRID, **how).fit(X, y)
    scoring = Accuracy(tmp_path, seconds=0.01)
    with on(backend):
        found = GridSearchCV(classifier(), GRID, scoring=scoring, **how).fit(counted(X, str(tmp_path)), y)
    assert_same(found, alone)
    assert found.work_report_.trained == alone.work_report_.trained
    assert found.work_report_.iterations == alone.work_report_.iterations
    workers, arrived = files(tmp_path, "scored"), files(tmp_path, "arrived")
    if backend == "threading":
        assert list(workers) == [str(os.getpid())]
        assert not arrived
        assert not files(tmp_path, "sent")
    else:
        assert len(workers) == 2, "n_jobs=2 of parallel_config counts"
        assert str(os.getpid()) not in workers
        assert arrived == dict.fromkeys(workers, 1)
        assert files(tmp_path, "sent") == {str(os.getpid()): 1}


def test_nothing_stays_on_a_cluster(on: Callable[[str], Any], dask_client: Any) -> None:
    def held(dask_worker: Any) -> tuple[int, int]:
        kinds = [type(plugin).__name__ for plugin in dask_worker.plugins.values()]
        return kinds.count("SearchPlugin"), units.built.cache_info().currsize

    X, y = data("two")
    with on("dask"):
        GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    assert list(dask_client.run(held).values()) == [(0, 0), (0, 0)]


@pytest.mark.parametrize("kind", ["pipeline", "regression", "weights", "several", "rows"])
def test_other_searches_are_the_same_too(kind: str, on: Callable[[str], Any]) -> None:
    X, y = data("friedman" if kind == "regression" else "two")
    machine: Any = regressor() if kind == "regression" else classifier()
    grid: dict[str, Any] = {"C": [0.1, 10.0], "gamma": ["scale", 0.1]}
    how: dict[str, Any] = {"cv": 3}
    fit: dict[str, Any] = {}
    if kind == "pipeline":
        machine, grid = make_pipeline(StandardScaler(), machine), {f"svc__{name}": grid[name] for name in grid}
        grid["standardscaler"] = [StandardScaler(), "passthrough"]
    elif kind == "weights":
        fit = {"sample_weight": np.linspace(0.1, 2.0, len(y))}
    elif kind == "several":
        how.update(scoring=["accuracy", "roc_auc"], refit="roc_auc", return_train_score=True)
    elif kind == "rows":
        how["max_memory"] = 0.001
    alone = GridSearchCV(machine, grid, **how).fit(X, y, **fit)
    with on("loky"):
        assert_same(GridSearchCV(machine, grid, **how).fit(X, y, **fit), alone)


def test_a_backend_with_one_worker_stays_here(on: Callable[[str], Any], tmp_path: Path) -> None:
    X, y = data("two")
    with parallel_config("loky", n_jobs=1):
        GridSearchCV(classifier(), GRID, cv=3, scoring=Accuracy(tmp_path)).fit(X, y)
    assert list(files(tmp_path, "scored")) == [str(os.getpid())]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_know_the_configuration_of_scikit_learn(backend: str, on: Callable[[str], Any]) -> None:
    def configured(estimator: Any, X: Any, y: Any) -> float:
        return float(get_config()["assume_finite"])

    X, y = data("two")
    with on(backend), config_context(assume_finite=True):
        found = GridSearchCV(classifier(), GRID, cv=3, scoring=configured, refit=False).fit(X, y)
    assert (found.cv_results_["mean_test_score"] == 1.0).all()


# Workers that die.


@pytest.mark.parametrize("backend", ["loky", "dask", "ray"])
def test_a_worker_that_is_killed(backend: str, on: Callable[[str], Any], tmp_path: Path) -> None:
    X, y = data("three")
    journal = tmp_path / "study.jsonl"
    alone = GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    with on(backend):
        found = GridSearchCV(
            classifier(), GRID, cv=3, scoring=Accuracy(tmp_path, deadly="once", seconds=0.01), journal=journal
        ).fit(X, y)
    assert (tmp_path / "killed").exists()
    assert_same(found, alone)
    assert len(journal.read_text().splitlines()) == 1 + 3 * len(alone.cv_results_["params"])


# Not on Ray, whose workers take half a minute to start: the journal of the search above tells the same of it.
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_workers_tell_of_every_evaluation(
    backend: str, on: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []

    class CountingReports(Reports):
        def __init__(self, finished: Callable[[Finding], None]) -> None:
            def counts(one: Finding) -> None:
                heard.append(one.number)
                finished(one)

            super().__init__(counts)

    X, y = data("three")
    monkeypatch.setattr(pool, "Reports", CountingReports)
    with on(backend):
        GridSearchCV(classifier(), GRID, cv=3, journal=tmp_path / "study.jsonl").fit(X, y)
        assert sorted(heard) == list(range(36))
        GridSearchCV(classifier(), GRID, cv=3).fit(X, y)
    assert len(heard) == 36, "nobody asked"


def test_a_search_that_kills_every_worker(on: Callable[[str], Any], tmp_path: Path) -> None:
    """Three losses in a row are counted in one place, whatever the backend that noticed them."""
    X, y = data("two")
    scoring = Accuracy(tmp_path, deadly="always")
    with on("loky"), pytest.raises(RuntimeError, match=r"were lost 3 times in a row .*\(0 of 3 chains are\)"):
        GridSearchCV(classifier(gamma=1.0), {"C": [0.1, 1.0]}, cv=3, scoring=scoring).fit(X, y)


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_errors_of_a_search_are_no_lost_workers(backend: str, on: Callable[[str], Any], tmp_path: Path) -> None:
    def fails(estimator: Any, X: Any, y: Any) -> float:
        Path(tmp_path, f"scored.{os.getpid()}.{uuid4()}").touch()
        raise LookupError("no such score")

    X, y = data("two")
    with on(backend), pytest.raises(LookupError, match="no such score") as raised:
        GridSearchCV(classifier(), {"C": [0.1, 1.0]}, cv=5, scoring=fails, error_score="raise").fit(X, y)
    assert "in fails" in raised.value.__notes__[0]
    assert sum(files(tmp_path, "scored").values()) <= 5


def test_a_search_that_workers_cannot_read(on: Callable[[str], Any], tmp_path: Path, request: Any) -> None:
    (tmp_path / "only_here.py").write_text("def score(estimator, X, y): return 0.5\n")
    sys.path.insert(0, str(tmp_path))
    request.addfinalizer(lambda: sys.path.remove(str(tmp_path)))
    module = importlib.import_module("only_here")
    X, y = data("two")
    with on("dask"), pytest.raises(ModuleNotFoundError, match="only_here"):
        GridSearchCV(classifier(), GRID, cv=3, scoring=module.score).fit(X, y)


def test_errors_that_cannot_be_sent_are_told_in_words() -> None:
    class ForeignError(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} is not {two}")

    sent = portable(ForeignError(1, 2))
    assert isinstance(sent, RuntimeError)
    assert str(sent) == "ForeignError: 1 is not 2"


def test_a_search_that_cannot_be_sent(on: Callable[[str], Any]) -> None:
    lock = threading.Lock()

    def locked(estimator: Any, X: Any, y: Any) -> float:
        with lock:
            return float(estimator.score(X, y))

    X, y = data("two")
    search = GridSearchCV(classifier(), GRID, cv=3, scoring=locked)
    with on("threading"):
        search.fit(X, y)
    with on("loky"), pytest.raises(TypeError, match=r"LokyBackend, since a part of it cannot be pickled .*lock"):
        search.fit(X, y)


# Ends.


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_time_that_runs_out(backend: str, on: Callable[[str], Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 2, size=500)
    easy, hard = {"C": [1e-3, 1e-2], "gamma": [0.05]}, {"C": [1e8, 1e9, 1e10], "gamma": [0.06]}
    with on(backend):
        GridSearchCV(SVC(), easy, cv=3, refit=False).fit(X, y)  # workers have to start
        began = time.perf_counter()
        search = GridSearchCV(SVC(tol=1e-8), [easy, hard], cv=3, max_time=1.0, refit=False).fit(X, y)
    assert time.perf_counter() - began < 1.0 + PROMPTLY
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, True, False, False, False]
    assert search.work_report_.unfinished == 9


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_an_interruption_gives_the_best_so_far(backend: str, on: Callable[[str], Any], tmp_path: Path) -> None:
    class Impatient:
        done = 0

        def start(self, machines: int) -> None: ...
        def finish(self, reason: str) -> None:
            self.reason = reason

        def advance(self, machines: int, cost: float, left: float | None, best: float | None) -> None:
            self.done += machines
            if self.done >= 27:  # three quarters, so that there is a candidate with all its splits
                _thread.interrupt_main()

    X, y = data("two")
    seen = Impatient()
    scoring = Accuracy(tmp_path, seconds=0.02)
    with on(backend):
        search = GridSearchCV(classifier(), GRID, cv=3, scoring=scoring, progress=seen).fit(X, y)
    assert seen.reason == "interrupted"
    finished = np.isfinite(search.cv_results_["mean_test_score"])
    assert finished[search.best_index_]
    assert search.work_report_.unfinished > 0


def test_deadlines_travel() -> None:
    left = pickle.loads(pickle.dumps(Stop().within(5.0))).seconds_left()
    assert left == pytest.approx(5.0, abs=0.5)
    assert pickle.loads(pickle.dumps(Stop())).seconds_left() is None


def test_a_process_keeps_a_search_until_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def unpacked(content: Any) -> Any:
        made.append(content)
        return units.Held(Search(), {})  # type: ignore[arg-type]

    class Search:
        """One that can be referred to weakly."""

    units.built.cache_clear()
    monkeypatch.setattr(units, "unpacked", unpacked)
    one, two = (units.SentSearch(f"{number}", number) for number in (1, 2))
    first = weakref.ref(one.held().search)
    assert pickle.loads(pickle.dumps(one)).held().search is first()
    assert made == [1]
    two.held()
    assert first() is None, "the first search is let go of"
    one.held()
    assert made == [1, 2, 1]
    units.built.cache_clear()
