"""Searches on a Dask cluster that survive the end of workers; imported only where joblib's Dask backend is in use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import WorkerPlugin, get_worker
from joblib._dask import DaskDistributedBackend
from numpy.typing import NDArray

from widemargin.model_selection.grid.workers.units import Held, MissingSearchError, unpacked
from widemargin.runtime import Lock


class SearchPlugin(WorkerPlugin):  # type: ignore[misc]
    """Brings a search to every worker of a cluster, to those that join later too, and takes it along when it leaves.

    Data that is scattered would be lost with the worker that holds it, and that worker would do most of the work.

    Parameters
    ----------
    token : str
        What units ask for the search by.
    content : ndarray
        The search.
    """

    def __init__(self, token: str, content: NDArray[np.uint8]) -> None:
        self.name = token
        self.content = content

    def setup(self, worker: Any) -> None:
        """Arrive on a worker."""
        self._lock = Lock()
        self._held: Held | None = None

    def held(self) -> Held:
        """Return the search; the first unit that asks for it builds it."""
        with self._lock:
            if self._held is None:
                self._held = unpacked(self.content)
            return self._held

    def teardown(self, worker: Any) -> None:
        """Leave, at the end of the search; units that are under way end as soon as they can."""
        if self._held is not None:
            self._held.search.stop.request()


@dataclass(frozen=True)
class PluginSearch:
    """A search that a plugin has brought to the worker."""

    token: str

    def held(self) -> Held:
        """Return the search of the plugin."""
        plugin = get_worker().plugins.get(self.token)
        if plugin is None:
            raise MissingSearchError("the search has not arrived")
        found: Held = plugin.held()
        return found


class LastingDaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """A backend for the cluster of another one, without two habits of joblib 1.6; batches run in their order.

    Parameters
    ----------
    active : DaskDistributedBackend
        The backend of the user.
    """

    def __init__(self, active: Any) -> None:
        super().__init__(
            client=active.client,
            wait_for_workers_timeout=active.wait_for_workers_timeout,
            # Batches that are submitted within this time would run in any order.
            **{"fifo_timeout": "0 ms", **active.submit_kwargs},
        )
        self._given: str | None = None

    def give(self, token: str, content: NDArray[np.uint8]) -> None:
        """Give a search to all workers until this backend ends."""
        if self._given is None:
            self._given = token
            self.client.register_plugin(SearchPlugin(token, content))

    def terminate(self) -> None:
        """End; nothing stays on the cluster."""
        super().terminate()
        if self._given is not None:
            with suppress(OSError, TimeoutError, ValueError):  # workers that are gone have nothing left
                self.client.unregister_worker_plugin(self._given)
            self._given = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Count the cluster's threads: two at least, or what is meant for the cluster would run in this process."""
        threads = int(super().effective_n_jobs(n_jobs))
        return threads if threads == 0 else max(2, threads)

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Submit a batch; tell of one that Dask gave up, after several workers died of it. joblib waits on for that."""
        future = super().submit(func, callback)

        def ended(batch: Any) -> None:
            if callback is not None and batch.exception() is not None:
                callback(batch.exception())

        future.add_done_callback(ended)
        return future
