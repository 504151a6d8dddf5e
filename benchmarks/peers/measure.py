"""Timing: every peer in a process of its own, all of them taking turns.

A process per peer keeps their thread pools and BLAS libraries apart and can be killed when its time is over. It loads
the data, prepares the peer's input and then waits; the clock runs only while the peer works.
"""

import gc
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.peers.certificate import kernel_error
from benchmarks.peers.models import KNOWN
from benchmarks.peers.peers import PEERS, Peer, Settings
from benchmarks.peers.problems import Split
from benchmarks.peers.resident import Resident, peak_resident, reset_peak_resident, resident

TOLERANCE = 1e-3
LOADING_LIMIT = 600.0
WARM_UP_ROWS = 2_000


@dataclass(frozen=True)
class Job:
    """What a process does: a task for one entry of one problem."""

    task: str
    problem: str
    entry: str
    folder: Path | None
    n_jobs: int
    samples: int | None = None
    cache: float | str | None = None

    @property
    def peer(self) -> Peer:
        """The library that does it."""
        return PEERS[KNOWN[self.problem].entry(self.entry).peer]

    def settings(self) -> Settings:
        """Return what the peer is asked for; widemargin sizes its own cache unless told otherwise."""
        problem = KNOWN[self.problem]
        entry = problem.entry(self.entry)
        usual: float | str = "auto" if entry.peer == "widemargin" else problem.peer_cache
        cache = usual if self.cache is None else self.cache
        threads = problem.threads(self.n_jobs)
        return Settings(entry.parameters, problem.gamma, TOLERANCE, threads, cache, entry.estimator, problem.calls)


@dataclass(frozen=True)
class Run:
    """One timed run: its seconds, what it produced, and the warnings it gave."""

    seconds: float
    product: Any
    warnings: tuple[str, ...] = ()


@dataclass
class Measurement:
    """All runs of one job; ``failure`` says why there are no more."""

    runs: list[Run] = field(default_factory=list)
    failure: str | None = None

    @property
    def seconds(self) -> float | None:
        """The median time, None where nothing finished."""
        return median(run.seconds for run in self.runs) if self.runs else None

    @property
    def notes(self) -> list[str]:
        """The failure and the different warnings of all runs."""
        seen = dict.fromkeys(text for run in self.runs for text in run.warnings)
        return ([self.failure] if self.failure else []) + list(seen)


class PeerError(Exception):
    """A peer did not deliver; the message says why."""


Timed = Callable[[], Run]


def timed(work: Callable[[], Any], digest: Callable[[Any], Any]) -> Run:
    """Time ``work`` and keep ``digest`` of what it returns; only the work itself is timed."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        product = work()
        seconds = time.perf_counter() - start
    return Run(seconds, digest(product), tuple(dict.fromkeys(str(warning.message) for warning in caught)))


def fit_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Time training; the product is the last model. A precomputed kernel is the Gaussian."""
    precomputed = settings.kernel == "precomputed"
    data = peer.prepare(rbf_kernel(split.X, gamma=settings.gamma) if precomputed else split.X)

    def work() -> Any:
        for _ in range(settings.calls):
            model = peer.fit(data, split.y, settings)
        return model

    return lambda: timed(work, peer.machine)


def predict_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Train once, then time prediction of the test part; the product is the predicted labels."""
    model = peer.fit(peer.prepare(split.X), split.y, settings)
    data = peer.prepare(split.X_test)
    step = -(-len(split.y_test) // settings.calls)
    parts = [data[start : start + step] for start in range(0, len(split.y_test), step)]
    return lambda: timed(lambda: [peer.predict(model, part) for part in parts], np.concatenate)


def gram_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Time a full kernel matrix of float32 rows; the product is its largest error."""
    X = split.X.astype(np.float32)

    def error(matrix: npt.NDArray[np.floating[Any]]) -> float:
        return kernel_error(matrix, X.astype(np.float64), settings.gamma)

    return lambda: timed(lambda: peer.gram(X, settings.gamma, settings.n_jobs), error)


def memory_task(split: Split, peer: Peer, settings: Settings) -> Timed:
    """Train and watch the memory; the product says where it stood before and how high it went.

    A small fit beforehand brings in what any fit needs once: threads, BLAS buffers, lazily imported modules.
    """
    data, y = peer.prepare(split.X), split.y
    peer.fit(data[:WARM_UP_ROWS], y[:WARM_UP_ROWS], settings)

    def run() -> Run:
        gc.collect()
        reset_peak_resident()
        before = resident()
        return timed(lambda: peer.fit(data, y, settings), lambda model: Resident(before, peak_resident()))

    return run


TASKS: dict[str, Callable[[Split, Peer, Settings], Timed]] = {
    "fit": fit_task,
    "predict": predict_task,
    "gram": gram_task,
    "memory": memory_task,
}


def serve(connection: Connection, job: Job) -> None:
    """Run in a peer's process: load, say so, then run once per request."""
    try:
        job.peer.load()  # before the limit, which sees only libraries already there
        with threadpool_limits(job.n_jobs):
            split = KNOWN[job.problem].load(job.folder, job.samples)
            run = TASKS[job.task](split, job.peer, job.settings())
            connection.send(None)
            while connection.recv():
                connection.send(run())
    except EOFError:
        return
    except Exception as error:  # whatever a library raises is a result of the comparison, not of this program
        connection.send(PeerError(f"{type(error).__name__}: {error}"))


class Worker:
    """A peer waiting in its own process."""

    def __init__(self, job: Job) -> None:
        # OpenMP threads that spin while they wait starve everybody else on a shared computer; LIBSVM suffers most.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Not a daemon: joblib gives those a single thread.
        self._process = context.Process(target=serve, args=(theirs, job), daemon=False)
        self._process.start()
        theirs.close()

    def wait_until_loaded(self) -> None:
        """Return when the data are loaded and the input is prepared."""
        self._receive(LOADING_LIMIT)

    def run(self, time_limit: float) -> Run:
        """Run once; a peer that needs longer is killed."""
        self._connection.send(True)
        run = self._receive(time_limit)
        assert isinstance(run, Run)
        return run

    def _receive(self, time_limit: float) -> Run | None:
        try:
            if not self._connection.poll(time_limit):
                raise PeerError(f"not finished after {time_limit:g} s")
            answer: Run | PeerError | None = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            raise PeerError(f"its process ended with exit code {self._process.exitcode}") from None
        if isinstance(answer, PeerError):
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.join()


@contextmanager
def workers(jobs: dict[str, Job], measurements: dict[str, Measurement]) -> Iterator[dict[str, Worker]]:
    """Start one worker per job, one after the other; those that fail to load are noted and left out."""
    running: dict[str, Worker] = {}
    try:
        for name, job in jobs.items():
            running[name] = Worker(job)
            try:
                running[name].wait_until_loaded()
            except PeerError as failure:
                measurements[name].failure = str(failure)
                running.pop(name).close()
        yield running
    finally:
        for worker in running.values():
            worker.close()


def alternate(
    jobs: dict[str, Job], *, repeats: int, time_limit: float, single_above: float, fresh: bool = False
) -> dict[str, Measurement]:
    """Run every job ``repeats`` times, taking turns; a run longer than ``single_above`` seconds is not repeated.

    With ``fresh`` every run has a process of its own.
    """
    measurements = {name: Measurement() for name in jobs}
    if not fresh:
        with workers(jobs, measurements) as running:
            for _ in range(repeats):
                for name in list(running):
                    if not run_once(running[name], measurements[name], time_limit, single_above):
                        running.pop(name).close()
        return measurements
    left = dict(jobs)
    for _ in range(repeats):
        for name, job in list(left.items()):
            with workers({name: job}, measurements) as running:
                if name not in running or not run_once(running[name], measurements[name], time_limit, single_above):
                    del left[name]
    return measurements


def run_once(worker: Worker, measured: Measurement, time_limit: float, single_above: float) -> bool:
    """Add a run to the measurement; say whether another one makes sense."""
    try:
        measured.runs.append(worker.run(time_limit))
    except PeerError as failure:
        measured.failure = str(failure)
        return False
    return measured.runs[-1].seconds <= single_above
