"""The units of a search on threads of its own process.

Small searches are over before a pool of threads has told anybody of the first unit, and their threads mostly wait for
the interpreter's lock. So the thread that runs the search begins alone; others join it after a while, and then it
listens to them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self, TypeVar

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import get_config

from widemargin.model_selection.grid.paths.turns import Limit, TimeShare
from widemargin.model_selection.grid.setup import Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.units import Done, Finished, evaluate
from widemargin.runtime import FINISHED, single_threaded_blas, thread_count


def team_size(n_jobs: int | None) -> int | None:
    """Return how many threads evaluate units where joblib's backend is one of threads; None for any other.

    One worker of any backend is this process itself; a cluster's is not.

    Examples
    --------
    >>> from joblib import parallel_config
    >>> with parallel_config("threading", n_jobs=3):
    ...     team_size(None), team_size(2)
    (3, 2)
    >>> with parallel_config("loky", n_jobs=3):
    ...     team_size(None), team_size(1)
    (None, 1)
    """
    active, _ = get_active_backend(prefer="threads")
    if type(active).__module__ == "joblib._dask":
        return None
    if effective_n_jobs(n_jobs) > 1 and not getattr(active, "supports_sharedmem", False):
        return None
    return max(1, int(active.effective_n_jobs(thread_count(n_jobs))))


#: Seconds that the thread of the search has for itself, and seconds of a unit after which it needs no more of them.
HEAD_START, LONG_UNIT = 0.02, 0.004

#: Seconds between two looks whether somebody has asked to stop: not on all systems does that end waiting.
POLL_SECONDS = 0.05

#: What a thread hands over: at its end, None.
Result = TypeVar("Result", Done, Done | None)


class Team:
    """Threads that evaluate units.

    Parameters
    ----------
    search : SharedSearch
    count : int
        How many there are.
    finished : callable, optional
        Gets every evaluation as soon as it is finished, in any thread.
    """

    def __init__(self, search: SharedSearch, count: int, finished: Finished | None = None) -> None:
        self.count = count
        self._search, self._finished, self._config = search, finished, get_config()
        self._opened = ExitStack()
        self._others: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._opened.enter_context(single_threaded_blas())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._search.stop.request(FINISHED)
        with self._opened:
            for thread in self._others:  # none must outlive the interpreter in compiled code
                if thread.ident is not None:
                    thread.join()
            self._others = []  # one that was not needed would hold the search, and its kernels, in a cycle

    def evaluate(self, units: Sequence[Unit], limit: Limit | None) -> Generator[Done, None, None]:
        """Evaluate units, in any order; close this generator to end early."""
        turns, results = self._turns(units, limit), SimpleQueue[Done | None]()
        begin, began = threading.Event(), time.perf_counter()
        n_others = min(self.count, len(units))
        self._others = [threading.Thread(target=self._evaluate, args=(begin, turns, results)) for _ in range(n_others)]
        try:
            for thread in self._others[1:]:
                thread.start()
            for turn in turns:
                unit_began = time.perf_counter()
                done = _checked(self._done(*turn))
                ended = time.perf_counter()
                yield done
                if n_others > 1 and (ended - began >= HEAD_START or ended - unit_began >= LONG_UNIT):
                    self._others[0].start()  # in place of this one
                    break
            begin.set()
            yield from self._received(results)
        finally:
            turns.close()
            begin.set()

    def _received(self, results: SimpleQueue[Done | None]) -> Generator[Done, None, None]:
        """Give what the other threads have done, until the last one ends."""
        left = sum([thread.ident is not None for thread in self._others])
        while left:
            try:
                done = _checked(results.get(timeout=POLL_SECONDS))
            except Empty:
                continue
            if done is None:
                left -= 1
            else:
                yield done

    def _turns(self, units: Sequence[Unit], limit: Limit | None) -> _Turns:
        if limit is None:
            return _Turns((unit, None) for unit in units)
        return _Turns((unit, own) for unit in units if (own := limit(unit)) is not None)

    def _evaluate(self, begin: threading.Event, turns: _Turns, results: SimpleQueue[Done | None]) -> None:
        """Evaluate what is left after a while, in a thread that ends with it."""
        begin.wait(HEAD_START)
        try:
            for unit, share in turns:
                try:
                    results.put(self._done(unit, share))
                except BaseException as error:  # which nobody would hear of
                    results.put(Done(unit, [], 0.0, error))
                    break
        finally:
            results.put(None)

    def _done(self, unit: Unit, share: TimeShare | None) -> Done:
        return evaluate(self._search, unit, share, self._config, self._finished)


class _Turns:
    """Units, each for one of the threads that ask."""

    def __init__(self, turns: Iterator[tuple[Unit, TimeShare | None]]) -> None:
        self._turns, self._lock = turns, threading.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Unit, TimeShare | None]:
        with self._lock:
            return next(self._turns)

    def close(self) -> None:
        """Leave nothing to do."""
        with self._lock:
            self._turns = iter(())


def _checked(done: Result) -> Result:
    """Raise what has ended a unit, if anything has."""
    if done is None or done.error is None:
        return done
    try:
        raise done.error
    finally:
        del done  # whose error would hold this frame, and the frame the error
