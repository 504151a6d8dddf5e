"""Units of a search where they are evaluated: in the process of the search, or in one that it was sent to."""

from __future__ import annotations

import atexit
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config

from widemargin.model_selection.grid.paths.turns import TimeShare
from widemargin.model_selection.grid.setup import SearchData, Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.reports import Address, Reporter
from widemargin.runtime import Lock, Stop, single_threaded_blas
from widemargin.study.findings import Finding

#: Seconds after which a process lets go of a search that nobody asks for; a unit that comes late builds it again.
KEEP_SECONDS = 20.0


@dataclass(frozen=True)
class Done:
    """What a unit came to, and the seconds it took; `error` is what ended it, if anything did."""

    unit: Unit
    findings: list[Finding]
    seconds: float
    error: Exception | None = None


#: Gets a finding as soon as there is one.
Finished = Callable[[Finding], None]


def evaluate(
    search: SharedSearch, unit: Unit, share: TimeShare, config: Mapping[str, Any], finished: Finished | None
) -> Done:
    """Evaluate a unit under scikit-learn's configuration of the thread that runs the search."""
    began, stop = time.perf_counter(), search.stop
    if stop.deadline is not None and stop.late:
        return Done(unit, [], 0.0)
    try:
        with nullcontext() if get_config() == config else config_context(**config):
            if stop.deadline is None:
                found = search.evaluate(unit, stop, finished)
            else:
                found = _in_time(search, unit, share, finished)
    except Exception as error:
        return Done(unit, [], time.perf_counter() - began, error)
    return Done(unit, found, time.perf_counter() - began)


def _in_time(search: SharedSearch, unit: Unit, share: TimeShare, finished: Finished | None) -> list[Finding]:
    """Evaluate as many candidates of a unit as its share of time suffices for; one at least, if the deadline admits."""
    seconds = share.of(search.stop.seconds_left() or 0.0)
    found = search.evaluate(unit, search.stop.within(seconds), finished)
    while not found and search.stop.reason is None:
        seconds *= 2.0
        found = search.evaluate(unit, search.stop.within(seconds), finished)
    return found


class MissingSearchError(LookupError):
    """A unit has come to a process that did not receive its search."""


def evaluate_sent(token: str, content: Any, unit: Unit, share: TimeShare) -> Done:
    """Evaluate a unit of a search that may have come from another process."""
    try:
        with HERE.lent(token, content) as held:
            done = evaluate(held.search, unit, share, held.config, held.finished)
    except MissingSearchError:
        raise
    except Exception as error:  # what was sent cannot be read here
        done = Done(unit, [], 0.0, error)
    return done if done.error is None else replace(done, error=portable(done.error))


def portable(error: Exception) -> Exception:
    """Return an error as another process can read it, with the place where it happened."""
    sent: Exception = RuntimeError(f"{type(error).__name__}: {error}")
    with suppress(Exception):
        copied = pickle.loads(cloudpickle.dumps(error))
        sent = copied if type(copied) is type(error) else sent
    sent.add_note("On a worker:\n" + "".join(traceback.format_exception(error)))
    return sent


@dataclass
class Held:
    """A search in this process, the configuration to run it under, and whom to tell of evaluations."""

    search: SharedSearch
    config: Mapping[str, Any]
    finished: Finished | None = None
    own: bool = False
    users: int = 0
    last_used: float = field(default_factory=time.monotonic)


class Searches:
    """Searches in this process that units ask for by their tokens: its own, and those that were sent here."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, Held] = {}
        self._received: dict[str, Any] = {}
        self._tidying = False

    @contextmanager
    def own(self, token: str, search: SharedSearch, finished: Finished | None) -> Iterator[None]:
        """Hold a search of this process, for backends whose workers turn out to be here."""
        with self._lock:
            self._held[token] = Held(search, get_config(), finished, own=True)
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(token, None)

    def receive(self, token: str, content: Any) -> None:
        """Take a search that units will ask for."""
        self._received[token] = content

    def dismiss(self, token: str) -> None:
        """Let a search go that was received; units that are under way end as soon as they can."""
        self._received.pop(token, None)
        with self._lock:
            held = self._held.get(token)
            if held is not None and not held.own:
                held.search.stop.request()
                del self._held[token]

    @contextmanager
    def lent(self, token: str, content: Any) -> Iterator[Held]:
        """Lend a search to a unit, with BLAS kept to one thread; build the search if it is not here yet.

        `content` is None for one that was received.
        """
        with self._lock:
            if token not in self._held:
                self._let_go(idle=KEEP_SECONDS / 10)
                if content is None and token not in self._received:
                    raise MissingSearchError("the search has not arrived")
                self._held[token] = _unpacked(self._received[token] if content is None else content)
                self._tidy_later()
            held = self._held[token]
            held.users += 1
        try:
            with single_threaded_blas():
                yield held
        finally:
            with self._lock:
                held.users -= 1
                held.last_used = time.monotonic()

    def clear(self) -> None:
        """Forget all searches."""
        self._held.clear()
        self._received.clear()

    def _tidy_later(self) -> None:
        if not self._tidying:
            self._tidying = True
            threading.Thread(target=self._tidy, name="widemargin-tidy", daemon=True).start()

    def _tidy(self) -> None:
        while self._tidying:
            time.sleep(KEEP_SECONDS / 4)
            with self._lock:
                self._let_go(idle=KEEP_SECONDS)
                self._tidying = any(not held.own for held in self._held.values())

    def _let_go(self, idle: float) -> None:
        """Forget the searches that were sent here and that nobody has asked for in so many seconds."""
        oldest = time.monotonic() - idle
        for token, held in list(self._held.items()):
            if not held.own and held.users == 0 and held.last_used < oldest:
                del self._held[token]


def packed(data: SearchData, stop: Stop, config: Mapping[str, Any], address: Address | None) -> NDArray[np.uint8]:
    """Return a search as what another process can build it from; `address` is where it is to tell of evaluations."""
    return np.frombuffer(cloudpickle.dumps((data, stop, config, address)), dtype=np.uint8)


def _unpacked(content: Any) -> Held:
    if not isinstance(content, np.ndarray):
        import ray

        content = ray.get(content)
    data, stop, config, address = pickle.loads(content.data)
    assert isinstance(data, SearchData)
    return Held(SharedSearch(data, stop), config, None if address is None else Reporter.to(address))


#: The searches of this process.
HERE = Searches()
atexit.register(HERE.clear)  # or the compiled core takes what is left for leaked
