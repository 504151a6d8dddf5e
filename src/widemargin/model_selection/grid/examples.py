"""Examples of a search: those of each split, as the user gave them and as its machines see them."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import KernelParameters, count
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.shared import KEPT
from widemargin.machines.chain import KEPT_BYTES
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.prepared_examples import PreparedExamples, Share, kernel_of
from widemargin.model_selection.grid.setup import Parameters, SearchData, behind_steps, machine_of
from widemargin.model_selection.grid.splits import Rows, SplitMachines
from widemargin.runtime import Lock, Stop

#: Bytes that matrices kept for a search to come may take; filling more takes as long as computing them again.
ROOM_FOR_KERNELS = 2**27


def kept_bytes(share: Share) -> int:
    """Return what the chains of one thread may keep of a kernel besides the kernel itself.

    Examples
    --------
    >>> kept_bytes(Share(memory=16, processes=2, threads=4)) == 2 * 2**20
    True
    """
    return min(KEPT_BYTES, int(share.allowed_bytes / share.threads))


def sets_at_once(share: Share, sets: int, bytes_of_one: float) -> tuple[int, float]:
    """Say how many of some sets of examples a search keeps at once, and the bytes that each may take.

    As many as fit are kept. If these are not all, each thread may still be at one that is let go of.

    Examples
    --------
    >>> share = Share(memory=100, threads=2)
    >>> [sets_at_once(share, 5, megabytes * 2**20)[0] for megabytes in (20, 21, 50, 51)]
    [5, 3, 1, 1]
    """
    allowed = share.allowed_bytes
    fitting = int(allowed // bytes_of_one) if bytes_of_one > 0 else sets
    if fitting >= sets:
        return sets, allowed / max(1, sets)
    kept = max(1, fitting - (share.threads - 1))
    return kept, allowed / min(sets, kept + share.threads - 1)


class SearchExamples:
    """Keeps, for all threads, what the units of a search have in common.

    Parameters
    ----------
    data : SearchData
    candidates : Candidates

    Attributes
    ----------
    all_splits_at_once : bool
        Whether the examples of all splits are kept at the same time, those of a pipeline in particular, which differ.
    """

    def __init__(self, data: SearchData, candidates: Candidates) -> None:
        self.data = data
        self._family = candidates.family
        self._pipeline = isinstance(data.estimator, Pipeline)
        first = [line[0] for line in candidates.lines]
        machines = [candidates.machines[one] for one in first]
        kinds = {
            (candidates.steps[one][0], kind): len(data.splits) if self._pipeline or of_split else 1
            for one, (kind, of_split) in zip(first, map(_kind_of_kernel, machines), strict=True)
        }
        needed = max((PreparedExamples.bytes_needed(data.rows, machine) for machine in machines), default=0)
        self._kept, self._allowed = sets_at_once(data.share, sum(kinds.values()), needed)
        self.all_splits_at_once = self._kept >= max(kinds.values(), default=1)
        self._lock = Lock()
        self._shared: OrderedDict[Any, PreparedExamples] = OrderedDict()
        self._behind_steps: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()
        self._splits: dict[int, SplitMachines] = {}
        self._held_out: dict[int, tuple[Any, Any]] = {}
        self._kernels = KEPT

    def keep_kernels(self, kernels: int) -> None:
        """Keep so many kernels of each set of samples from now on, if `ROOM_FOR_KERNELS` holds those of all sets."""
        needed = 4 * count(self.data.rows) ** 2 * (1 + kernels)
        if kernels > KEPT and needed <= min(self._allowed, ROOM_FOR_KERNELS / self._kept):
            self._kernels = kernels

    def of_split(self, number: int) -> SplitMachines:
        """Return the machines of a split."""
        if number in self._splits:
            return self._splits[number]
        with self._lock:
            if number not in self._splits:
                train, test = self.data.splits[number]
                asked = np.concatenate([test, train]) if self.data.return_train_score else test
                self._splits[number] = self._family(self.data.y, train, test, self.data.weights, asked)
            return self._splits[number]

    def to_score_on(self, split: int) -> tuple[Any, Any]:
        """Return the rows to score on, as the user gave them: held-out ones, and those trained on if they count."""
        if split in self._held_out:
            return self._held_out[split]
        with self._lock:
            if split not in self._held_out:
                train, test = self.data.splits[split]
                wanted = self.data.return_train_score
                own = np.unique(train)
                self._held_out[split] = (self.given(test, own), self.given(train, own) if wanted else None)
            return self._held_out[split]

    def given(self, rows: Rows, columns: Rows) -> Any:
        """Rows as the user gave them; a kernel matrix comes as one between these rows and those trained on."""
        if self.data.X is not None and machine_of(self.data.estimator).kernel == "precomputed":
            return self.data.X[np.ix_(rows, columns)]
        return _safe_indexing(self.data.rows, rows)

    def prepared(
        self, machine: Any, steps: tuple[Any, Parameters], number: int, stop: Stop
    ) -> tuple[PreparedExamples, KernelParameters]:
        """Return the examples as a machine sees them, with what its kernels share, and its kernel on a split.

        `steps` are the parameters of what comes before the machine, after a key for them; `stop` says when to give up
        on what is computed for all units.
        """
        with self._lock:
            X, fitted = self._rows(machine, steps, number)
        kernel = kernel_of(machine, X, self.of_split(number))
        with self._lock:
            name = (steps[0], kernel.kernel, kernel.map, number if self._pipeline else None)
            if name not in self._shared:
                _make_room(self._shared, self._kept)
                self._shared[name] = PreparedExamples(
                    X,
                    machine,
                    kernel,
                    self.data.weights,
                    self._allowed,
                    self.data.share.threads,
                    stop,
                    fitted,
                    self._kernels,
                )
            self._shared.move_to_end(name)
            return self._shared[name], kernel

    def _rows(self, machine: Any, steps: tuple[Any, Parameters], number: int) -> tuple[Any, Any]:
        """Rows as a machine sees them on a split, and the fitted steps before it, if there are any."""
        if not self._pipeline:
            return self.data.X, None
        key, own = steps
        if (key, number) not in self._behind_steps:
            _make_room(self._behind_steps, self._kept)
            self._behind_steps[key, number] = self._transformed(own, number, machine)
        self._behind_steps.move_to_end((key, number))
        return self._behind_steps[key, number]

    def _transformed(self, own: Parameters, number: int, machine: Any) -> tuple[Any, Any]:
        """Rows of the data after the steps before the machine, fitted on the training part of a split; these steps."""
        train, test = self.data.splits[number]
        pipeline = clone(self.data.estimator).set_params(**own)
        parts = behind_steps(pipeline, self.data.rows, self.data.y, train, test, self.data.fit_params)
        checked = [copy.copy(machine)._check_samples(X)[0] for X in parts]
        both = sp.vstack(checked, format="csr") if any(map(sp.issparse, checked)) else np.vstack(checked)
        # Rows in neither part stand for themselves nowhere: any will do.
        place = np.zeros(count(self.data.rows), dtype=np.intp)
        place[test] = len(train) + np.arange(len(test))
        place[train] = np.arange(len(train))
        return both[place], pipeline


def _kind_of_kernel(machine: Any) -> tuple[Hashable, bool]:
    """Return what tells kernels apart that share nothing, and whether splits do not share them either."""
    if not is_kernel_object(machine.kernel):
        return machine.kernel, False
    kernel = as_kernel(machine.kernel)
    return kernel.kind, kernel.kind_depends_on_data


def _make_room(kept: OrderedDict[Any, Any], most: int) -> None:
    """Let go of the oldest, so that there is room for another."""
    while len(kept) >= most:
        kept.popitem(last=False)
