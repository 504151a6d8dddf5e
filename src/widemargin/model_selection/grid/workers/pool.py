"""The units of a search on the workers of joblib's backends of processes, here or on other computers.

A search goes to other processes as an array of bytes, by the means of each backend: through a memory-mapped file
(loky, multiprocessing), through the object store (Ray), with a plugin (Dask), else along with the calls. A process that
a unit comes to builds the search from these bytes if it has not done so yet, and keeps it, with its kernels, for the
next ones. Evaluations come back with their units and, if somebody waits for them, one by one before that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import get_config
from sklearn.base import clone

from widemargin.model_selection.grid.paths.turns import Limit, TimeShare
from widemargin.model_selection.grid.setup import Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.reports import Address, Reports
from widemargin.model_selection.grid.workers.units import (
    Done,
    Finished,
    Sent,
    SentSearch,
    evaluate_sent,
    packed,
)
from widemargin.runtime import FINISHED

#: Times in a row that workers may be lost before anything is finished.
ATTEMPTS = 3

#: Seconds before another attempt: a worker that is on its way up cannot be reached.
PAUSE = 0.5

#: Seconds that a batch should take on backends that hand over results only all at once.
BATCH_SECONDS = 2.0


class Workers:
    """Processes that evaluate units, on the backend that ``joblib.parallel_config`` names.

    Parameters
    ----------
    search : SharedSearch
    n_jobs : int or None
    pre_dispatch : int or str
        As joblib takes them.
    finished : callable, optional
        Gets every evaluation as soon as it is finished, in any thread. Those of workers on other computers only come
        with their units; there is no harm in taking the others from there, too.

    Raises
    ------
    TypeError
        If the search is to go to other processes and cannot be pickled.
    """

    def __init__(
        self, search: SharedSearch, n_jobs: int | None, pre_dispatch: int | str, finished: Finished | None = None
    ) -> None:
        self.search = search
        self._finished = finished
        self._active, _ = get_active_backend(prefer="threads")
        self._on_dask = type(self._active).__module__ == "joblib._dask"
        self._streams = self._active.supports_return_generator
        self._n_jobs, self._pre_dispatch = n_jobs, pre_dispatch
        self._config = get_config()
        self._token = uuid4().hex
        self._content: Any = None
        self._sent: Sent | None = None
        self._opened, self._pool = ExitStack(), ExitStack()
        self._broken = False

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.push(self._pool)
            self._start()
            self._content = self._packed(self._listening(opened))
            self._sent = SentSearch(self._token, self._content)
            if self._on_dask:
                from widemargin.model_selection.grid.workers.dask_backend import PluginSearch

                self._sent = PluginSearch(self._token)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.search.stop.request(FINISHED)
        self._opened.close()

    @property
    def count(self) -> int:
        """How many there are."""
        return max(1, int(effective_n_jobs(self._n_jobs)))

    def evaluate(self, units: Sequence[Unit], limit: Limit | None) -> Generator[Done, None, None]:
        """Evaluate units, in any order; those that were on a worker that died are evaluated again.

        Close this generator to end early.
        """
        left = dict.fromkeys(units)
        fruitless = 0
        while left:
            try:
                with closing(self._results(list(left), limit)) as results:
                    for done in results:
                        if done.error is not None:
                            try:
                                raise done.error
                            finally:
                                del done  # whose error would hold this frame, and the frame the error
                        del left[done.unit]
                        fruitless = 0
                        yield done
                return
            except _LostWorkerError as lost:
                fruitless += 1
                if fruitless == ATTEMPTS:
                    raise RuntimeError(
                        f"Workers of the search were lost {ATTEMPTS} times in a row before anything more was finished "
                        f"({len(units) - len(left)} of {len(units)} chains are); the last time it was {lost}."
                    ) from lost.__cause__
                logging.getLogger("widemargin").warning("A worker was lost (%s); %d chains run again.", lost, len(left))
                time.sleep(PAUSE)

    def _start(self) -> None:
        """Start workers; let those go that there were."""
        self._pool.close()
        self._dask: Any = None
        if self._on_dask:
            from widemargin.model_selection.grid.workers.dask_backend import LastingDaskBackend

            self._dask = LastingDaskBackend(self._active)
        parallel = Parallel(
            n_jobs=self._n_jobs,
            backend=self._dask,
            prefer="threads",
            return_as="generator_unordered" if self._streams else "list",
            pre_dispatch=self._pre_dispatch,
        )
        self._parallel = self._pool.enter_context(parallel)
        self._broken = False

    def _results(self, units: Sequence[Unit], limit: Limit | None) -> Generator[Done, None, None]:
        turns: Iterator[tuple[Unit, TimeShare | None]] = ((unit, None) for unit in units)
        if limit is not None:
            turns = ((unit, own) for unit in units if (own := limit(unit)) is not None)
        calls = (delayed(evaluate_sent)(self._sent, unit, own) for unit, own in turns)
        results: Any = None
        try:
            if self._broken:
                self._start()
            if self._dask is not None:
                self._dask.give(self._token, self._content)
            results = self._parallel(calls) if self._streams else self._in_batches(calls)
            for done in results:  # noqa: UP028, as joblib is not to be told when this is closed
                yield done
        except Exception as error:
            # What happens within a unit is told by its result: this happened to its worker.
            self._broken = True
            raise _LostWorkerError(_words(error)) from error
        finally:
            if results is not None:
                with suppress(_Ended):  # without a reason, joblib warns of results that nobody waits for
                    results.throw(_Ended())
            with suppress(ValueError):  # a thread of joblib takes the next call at this moment
                calls.close()  # joblib would keep the search alive through it

    def _in_batches(self, calls: Iterator[Any]) -> Iterator[Done]:
        """Hand calls to a backend that returns results only all together; a few at a time, so as to hear of them."""
        size = workers = effective_n_jobs(self._n_jobs)
        while some := list(islice(calls, size)):
            began = time.perf_counter()
            done = self._parallel(some)
            ratio = BATCH_SECONDS / (time.perf_counter() - began)
            size = max(workers, int(size * min(ratio, 8.0)))
            yield from done

    def _listening(self, opened: ExitStack) -> Address | None:
        """Listen to worker processes, if anybody wants to hear of single evaluations."""
        if self._finished is None:
            return None
        try:
            return opened.enter_context(Reports(self._finished)).address
        except OSError as error:
            logging.getLogger("widemargin").warning("Evaluations come chain by chain: no socket here (%s).", error)
            return None

    def _packed(self, address: Address | None) -> Any:
        """Return the search as what its units refer to on other processes."""
        data = self.search.data
        share = replace(data.share, processes=effective_n_jobs(self._n_jobs), threads=1)
        data = replace(data, estimator=clone(data.estimator), share=share)
        try:
            content = packed(data, self.search.stop, self._config, address)
        except Exception as error:
            raise TypeError(
                f"This search cannot go to the processes of {type(self._active).__name__}, since a part of it cannot "
                f"be pickled ({error}); use threads, or a scorer, an estimator and parameters that can be pickled."
            ) from error
        if type(self._active).__module__.startswith("ray."):
            # Left to themselves, Ray and joblib from 1.5 on would send the array anew with every call.
            import ray

            return ray.put(content)
        return content


class _LostWorkerError(Exception):
    """A worker has died, or cannot be reached."""


class _Ended(Exception):  # noqa: N818, as no error
    """Nobody waits for results any more."""


def _words(error: Exception) -> str:
    lines = str(error).splitlines()
    return type(error).__name__ + (f": {lines[0].rstrip('.')}" if lines else "")
