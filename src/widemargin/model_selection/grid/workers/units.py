"""Units of a search where they are evaluated: in the process of the search, or in one that it was sent to."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config

from widemargin.model_selection.grid.paths.turns import TimeShare
from widemargin.model_selection.grid.setup import SearchData, Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.grid.workers.reports import Address, Reporter
from widemargin.runtime import Stop, single_threaded_blas
from widemargin.study.findings import Finding


@dataclass(frozen=True)
class Done:
    """What a unit came to, and the seconds it took; `error` is what ended it, if anything did."""

    unit: Unit
    findings: list[Finding]
    seconds: float
    error: BaseException | None = None


#: Gets a finding as soon as there is one.
Finished = Callable[[Finding], None]


def evaluate(
    search: SharedSearch, unit: Unit, share: TimeShare | None, config: Mapping[str, Any], finished: Finished | None
) -> Done:
    """Evaluate a unit under scikit-learn's configuration of the thread that runs the search."""
    began = time.perf_counter()
    try:
        with nullcontext() if get_config() == config else config_context(**config):
            if share is None:
                found = search.evaluate(unit, search.stop, finished)
            else:
                found = evaluate_in_time(search, unit, share, finished)
    except Exception as error:
        return Done(unit, [], time.perf_counter() - began, error)
    return Done(unit, found, time.perf_counter() - began)


def evaluate_in_time(search: SharedSearch, unit: Unit, share: TimeShare, finished: Finished | None) -> list[Finding]:
    """Evaluate as many candidates of a unit as its share of time suffices for; one at least, if the deadline admits."""
    if search.stop.late:
        return []
    seconds = share.of(search.stop.seconds_left() or 0.0)
    found = search.evaluate(unit, search.stop.within(seconds), finished)
    while not found and search.stop.reason is None:
        seconds *= 2.0
        found = search.evaluate(unit, search.stop.within(seconds), finished)
    return found


class MissingSearchError(LookupError):
    """A unit has come to a worker that did not receive its search."""


@dataclass(frozen=True)
class Held:
    """A search in the process that it was sent to, the configuration to run it under, and whom to tell of findings."""

    search: SharedSearch
    config: Mapping[str, Any]
    finished: Finished | None = None


class Sent(Protocol):
    """What calls to other processes carry in the place of a search."""

    def held(self) -> Held:
        """Return the search; build it if it is not in this process yet."""


def evaluate_sent(sent: Sent, unit: Unit, share: TimeShare | None) -> Done:
    """Evaluate a unit of a search that has come from another process."""
    try:
        held = sent.held()
        with single_threaded_blas():
            done = evaluate(held.search, unit, share, held.config, held.finished)
    except MissingSearchError:
        raise
    except Exception as error:  # what was sent cannot be read here
        done = Done(unit, [], 0.0, error)
    return done if done.error is None else replace(done, error=portable(done.error))


def portable(error: BaseException) -> BaseException:
    """Return an error as another process can read it, with the place where it happened."""
    sent: BaseException = RuntimeError(f"{type(error).__name__}: {error}")
    with suppress(Exception):
        copied = pickle.loads(cloudpickle.dumps(error))
        sent = copied if type(copied) is type(error) else sent
    sent.add_note("On a worker:\n" + "".join(traceback.format_exception(error)))
    return sent


def packed(data: SearchData, stop: Stop, config: Mapping[str, Any], address: Address | None) -> NDArray[np.uint8]:
    """Return a search as what another process can build it from; `address` is where it is to tell of findings."""
    return np.frombuffer(cloudpickle.dumps((data, stop, config, address)), dtype=np.uint8)


def unpacked(content: Any) -> Held:
    """Build the search that :func:`packed` made bytes of."""
    if not isinstance(content, np.ndarray):
        import ray

        content = ray.get(content)
    data, stop, config, address = pickle.loads(content.data)
    assert isinstance(data, SearchData)
    return Held(SharedSearch(data, stop), config, None if address is None else Reporter.to(address))


@dataclass(frozen=True)
class SentSearch:
    """A packed search that goes along with every call; the first in a process builds it, and it stays for the next."""

    token: str
    content: Any = field(compare=False)

    def held(self) -> Held:
        """Return the search; build it if it is not in this process yet."""
        return built(self)


@lru_cache(maxsize=1)
def built(sent: SentSearch) -> Held:
    """Build a search once in a process; it is kept, with its kernels, until another one comes or the process ends."""
    return unpacked(sent.content)
