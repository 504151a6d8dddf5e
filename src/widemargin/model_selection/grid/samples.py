"""Samples of a search: those of each fold, as the user gave them and as its models see them, with shared kernels."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from widemargin.estimators.pipelines import Passed, passed, with_model
from widemargin.estimators.validation import check_weights, fits_float32, require_moderate_diagonal
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import KernelParameters, RowSource, count, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.shared import KEPT, SharedKernel
from widemargin.machines.chain import KEPT_BYTES, ChainKernel
from widemargin.machines.dual import SolverOptions, Vector, cache_bytes
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.folds import FoldModels, Indices
from widemargin.model_selection.grid.setup import WEIGHTS, Parameters, SearchData, model_of
from widemargin.runtime import Lock, Stop

#: Bytes that matrices kept for a search to come may take; filling more takes as long as computing them again.
ROOM_FOR_KERNELS = 2**27


#: Bytes that a matrix in float64 may take, for chains that need exact rows: of larger kernels few rows may be needed.
ROOM_FOR_EXACT = 2**27


def sets_at_once(allowed: float, threads: int, sets: int, bytes_of_one: float) -> tuple[int, float]:
    """Say how many of some sets of samples a search keeps at once, and the bytes that each may take.

    As many as fit are kept. If these are not all, each thread may still be at one that is let go of.

    Examples
    --------
    >>> [sets_at_once(100, 2, 5, needed)[0] for needed in (20, 21, 50, 51)]
    [5, 3, 1, 1]
    """
    fitting = int(allowed // bytes_of_one) if bytes_of_one > 0 else sets
    if fitting >= sets:
        return sets, allowed / max(1, sets)
    kept = max(1, fitting - (threads - 1))
    return kept, allowed / min(sets, kept + threads - 1)


class Seen(NamedTuple):
    """All samples of a fold as a model sees them, their weights, and the models of the fold.

    Attributes
    ----------
    X
    weights : ndarray
    models : FoldModels
    pipeline : Pipeline or None
        The fitted steps that the samples have gone through.
    alike : bool
        Whether a model that predicts its training samples sees what it was trained on.
    """

    X: Any
    weights: Vector
    models: FoldModels
    pipeline: Any = None
    alike: bool = True


class PreparedSamples:
    """One set of samples and its kernels: as matrices if these fit into memory, else as rows computed when needed.

    Kernels differ from that of the `model` in numbers only, and may take so many bytes as are `allowed`. `kept`
    matrices are held at the same time.
    """

    def __init__(
        self,
        seen: Seen,
        model: Any,
        kernel: KernelParameters,
        family: type[FoldModels],
        *,
        threads: int,
        allowed: float,
        stop: Stop,
        kept: int,
    ) -> None:
        X, weights, _, self.pipeline, self.alike = seen
        self.X = X
        checked = model._checked_kernel(X, weights, tell=False)  # refuses what is no kernel
        rows = checked.rows_of(X)
        require_moderate_diagonal(rows, checked)
        self._source = family.kernel_samples(kernel, X, weights)
        self.shared: SharedKernel | None = None
        needed, exact = self.bytes_needed(X, model, family), 8 * count(X) ** 2
        if needed <= allowed and fits_float32(rows):
            self.shared = SharedKernel(
                self._source, kernel.kernel, map=kernel.map, n_threads=threads, stop=stop, kept=kept
            )
        # Each thread may be at another kernel.
        self._has_room_for_exact = exact <= ROOM_FOR_EXACT and needed + threads * exact <= allowed
        self._last: tuple[KernelParameters | None, RowSource | None] = (None, None)
        self._options = SolverOptions(cache_bytes=min(int(allowed), cache_bytes("auto", count(X), "float32")))

    @staticmethod
    def bytes_needed(X: Any, model: Any, family: type[FoldModels]) -> int:
        """Bytes that kernels of these samples take as matrices."""
        kernel = model.kernel
        if not isinstance(kernel, str) and is_kernel_object(kernel):
            kernel = as_kernel(kernel).core_name or kernel
        return SharedKernel.bytes_needed(X, kernel) + 4 * count(X) ** 2 * family.own_matrices(model)

    def behind_steps(self, model: Any) -> Any:
        """Put a fitted model behind the steps before it."""
        if self.pipeline is None:
            return model
        return with_model(self.pipeline, model)

    def chain_kernel(self, kernel: KernelParameters, stop: Stop) -> ChainKernel:
        """Return a kernel to solve chains on."""
        matrix = None if self.shared is None else self.shared.matrix(kernel, stop)
        known, rows = self._last
        if rows is None or known != kernel:
            rows = kernel.rows_of(self._source)
            self._last = kernel, rows
        if self.shared is None or not self._has_room_for_exact:
            return ChainKernel(rows, matrix, self._options)
        return ChainKernel(rows, matrix, self._options, exact_rows=partial(self.shared.exact_rows, kernel, rows, stop))


class SearchSamples:
    """Keeps, for all threads, what the units of a search have in common.

    Parameters
    ----------
    data : SearchData
    candidates : Candidates

    Attributes
    ----------
    all_folds_at_once : bool
        Whether the samples of all folds are kept at the same time, those of a pipeline in particular, which differ.
    kept_bytes : int
        What the chains of one thread may keep of a kernel besides the kernel itself.
    """

    def __init__(self, data: SearchData, candidates: Candidates) -> None:
        self.data = data
        self._family = family = candidates.family
        self._pipeline = isinstance(data.estimator, Pipeline)
        kinds: dict[Hashable, int] = {}
        sizes: dict[Hashable, Any] = {}
        for line in candidates.lines:
            model = candidates.models[line[0]]
            kind, of_fold = _kind_of_kernel(model)
            kinds[candidates.steps[line[0]][0], kind] = len(data.folds) if self._pipeline or of_fold else 1
            sizes[kind, family.own_matrices(model)] = model
        needed = max([PreparedSamples.bytes_needed(data.given, one, family) for one in sizes.values()], default=0)
        allowed = data.share.allowed_bytes
        self._kept, self._allowed = sets_at_once(allowed, data.share.threads, sum(kinds.values()), needed)
        self.all_folds_at_once = self._kept >= max(kinds.values(), default=1)
        self.kept_bytes = min(KEPT_BYTES, int(allowed / data.share.threads))
        self._lock = Lock()
        self._shared: OrderedDict[Any, PreparedSamples] = OrderedDict()
        self._behind_steps: OrderedDict[Any, Seen] = OrderedDict()
        self._folds: dict[int, FoldModels] = {}
        self._held_out: dict[int, tuple[Any, Any]] = {}
        self._kernels = KEPT
        self._order = self._order_of_samples(candidates)
        self._weights = data.weights if self._order is None else data.weights[self._order]
        self._X = data.X if self._order is None or self._pipeline else data.X[self._order]

    def _order_of_samples(self, candidates: Candidates) -> Indices | None:
        """Return the order that suits the models, where it is worth a copy of the samples."""
        X = self.data.X
        models = [candidates.models[line[0]] for line in candidates.lines]
        if any(isinstance(model.kernel, str) and model.kernel == "precomputed" for model in models):
            return None  # columns would have to follow
        if not self._pipeline:
            numbers = X.data if sp.issparse(X) else X
            if not isinstance(numbers, np.ndarray) or numbers.nbytes > 4 * count(X) ** 2:
                return None
        if self.data.folds_stand_alone:
            return None  # each numbers its samples in the order in which it trains on them
        return self._family.order(self.data.y, self.data.folds)

    def as_given(self, samples: Indices) -> Indices:
        """Return the numbers that samples have in the data, by the numbers that they have in the models of a fold."""
        return samples if self._order is None else self._order[samples]

    def keep_kernels(self, kernels: int) -> None:
        """Keep so many kernels of each set of samples from now on, if `ROOM_FOR_KERNELS` holds those of all sets."""
        needed = 4 * count(self.data.given) ** 2 * (1 + kernels)
        if kernels > KEPT and needed <= min(self._allowed, ROOM_FOR_KERNELS / self._kept):
            self._kernels = kernels

    def of_fold(self, number: int) -> FoldModels:
        """Return the models of a fold whose samples are those of the data."""
        if number in self._folds:  # the lock may be held for as long as a kernel takes
            return self._folds[number]
        with self._lock:
            if number not in self._folds:
                (train, test), y = self.data.folds[number], self.data.y
                if self._order is not None:
                    places = np.argsort(self._order)
                    train, test, y = places[train], places[test], y[self._order]
                asked = np.concatenate([test, train]) if self.data.return_train_score else test
                self._folds[number] = self._family(y, train, test, self._weights, asked)
            return self._folds[number]

    def models(self, model: Any, steps: tuple[Hashable, Parameters], fold: int) -> FoldModels:
        """Return the models of a fold for a candidate; `steps` are the parameters of what comes before the model."""
        if not self.data.folds_stand_alone:
            return self.of_fold(fold)
        with self._lock:
            return self._seen(model, *steps, fold).models

    def to_score_on(self, fold: int) -> tuple[Any, Any]:
        """Return the samples to score on, as the user gave them: held-out ones, and those trained on if they count."""
        if fold in self._held_out:
            return self._held_out[fold]
        with self._lock:
            if fold not in self._held_out:
                train, test = self.data.folds[fold]
                own = np.unique(train)
                both = self.given(test, own), self.given(train, own) if self.data.return_train_score else None
                self._held_out[fold] = both
            return self._held_out[fold]

    def given(self, samples: Indices, others: Indices) -> Any:
        """Return samples as the user gave them; a kernel matrix, as one between these and those trained on."""
        if self.data.X is not None and model_of(self.data.estimator).kernel == "precomputed":
            return self.data.X[np.ix_(samples, others)]
        return _safe_indexing(self.data.given, samples)

    def prepared(
        self,
        model: Any,
        steps: tuple[Hashable, Parameters],
        fold: int,
        kernel: KernelParameters | None,
        stop: Stop,
    ) -> tuple[FoldModels, PreparedSamples, KernelParameters]:
        """Return the models of a fold, the samples as a candidate sees them, and its kernel there.

        `steps` are the parameters of what comes before the model, after a key for them; `kernel` is the kernel if that
        is known; `stop` says when to give up on what is computed for all units.
        """
        key, own = steps
        with self._lock:
            seen = self._seen(model, key, own, fold)
            if kernel is None:
                rows, weights = seen.X, seen.models.weights
                if depends_on_samples(model):
                    rows, weights = take(rows, seen.models.samples), weights[seen.models.samples]
                kernel = model._checked_kernel(rows, weights, tell=False, checked=True)
            name = (key, kernel.kernel, kernel.map, fold if self._pipeline else None)
            if name not in self._shared:
                _make_room(self._shared, self._kept)
                self._shared[name] = PreparedSamples(
                    seen,
                    model,
                    kernel,
                    self._family,
                    threads=self.data.share.threads,
                    allowed=self._allowed,
                    stop=stop,
                    kept=self._kernels,
                )
            self._shared.move_to_end(name)
            return seen.models, self._shared[name], kernel

    def _seen(self, model: Any, key: Hashable, own: Parameters, fold: int) -> Seen:
        """Return all samples as a model sees them: behind steps that are fitted on the training part of a fold."""
        if not self._pipeline:
            return Seen(self._X, self._weights, self.of_fold(fold))
        if (key, fold) not in self._behind_steps:
            _make_room(self._behind_steps, self._kept)
            data = self.data
            train, test = data.folds[fold]
            # Candidates may name steps as objects, which are not to be shared with those of another fold.
            pipeline = clone(data.estimator).set_params(**clone(dict(own), safe=False))
            given = passed(pipeline, data.given, data.given_y, data.fit_params, train)
            put = self._apart if data.folds_stand_alone else self._put_back
            self._behind_steps[key, fold] = put(model, given, fold, train, test)
        self._behind_steps.move_to_end((key, fold))
        return self._behind_steps[key, fold]

    def _put_back(self, model: Any, given: Passed, fold: int, train: Indices, test: Indices) -> Seen:
        """Put samples that went through the steps back where they were; others stand for themselves nowhere."""
        trained_on, asked = self._checked(model, given, train, test)
        if count(trained_on) != len(train):
            raise ValueError(
                f"The steps before the model made {count(trained_on)} samples of the {len(train)} that they were "
                "fitted on, and there is a target for each of these; only pipelines of imbalanced-learn resample."
            )
        place = np.zeros(count(self.data.given), dtype=np.intp)
        place[test] = len(train) + np.arange(len(test))
        place[train] = np.arange(len(train))
        X = take(stacked(trained_on, asked), place if self._order is None else place[self._order])
        return Seen(X, self._weights, self.of_fold(fold), given.pipeline, self._alike(given, trained_on, train))

    def _apart(self, model: Any, given: Passed, fold: int, train: Indices, test: Indices) -> Seen:
        """Give numbers of their own to the samples that a model is trained on, and to those held out."""
        trained_on, asked = self._checked(model, given, train, test)
        n, m = count(trained_on), count(asked)
        y = None if self.data.y is None else np.concatenate([np.asarray(given.y), self.data.y[test]])
        weights = np.ones(n + m)
        weights[:n] = check_weights(given.params.get(WEIGHTS), n)
        X, held_out = stacked(trained_on, asked), n + np.arange(m)
        models = self._family(y, np.arange(n), held_out, weights, held_out)
        return Seen(X, weights, models, given.pipeline, alike=False)

    def _checked(self, model: Any, given: Passed, train: Indices, test: Indices) -> tuple[Any, Any]:
        """Return the samples that a model is trained on, and those held out, as it takes them."""
        held_out = given.seen(_safe_indexing(self.data.given, test))
        if count(held_out) != len(test):
            raise ValueError(
                f"The steps before the model made {count(held_out)} samples of {len(test)} that are held out, and "
                "each of these needs a prediction."
            )
        trained_on, asked = (copy.copy(model)._check_samples(X)[0] for X in (given.X, held_out))
        return trained_on, asked

    def _alike(self, given: Passed, trained_on: Any, train: Indices) -> bool:
        """Tell whether steps make of the training samples, where train scores are asked for, what they made once."""
        if not self.data.return_train_score:
            return True
        again = given.seen(_safe_indexing(self.data.given, train))
        return same_samples(trained_on, again)


def stacked(X: Any, others: Any) -> Any:
    """Return samples, and others below them, in the container that they came in.

    Examples
    --------
    >>> stacked(np.zeros((1, 2)), np.ones((1, 2))).tolist(), stacked(["AC"], ["GT"])
    ([[0.0, 0.0], [1.0, 1.0]], ['AC', 'GT'])
    """
    if sp.issparse(X) or sp.issparse(others):
        return sp.vstack([X, others], format="csr")
    if isinstance(X, np.ndarray):
        return np.concatenate([X, others])
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, others])
    return [*X, *others]


def same_samples(X: Any, others: Any) -> bool:
    """Tell whether samples are known to be the same: both sparse, or both not.

    Examples
    --------
    >>> same_samples(np.ones((2, 1)), [[1], [1]]), same_samples(sp.csr_array(np.eye(2)), sp.csr_array(np.eye(2)[::-1]))
    (True, False)
    """
    if sp.issparse(X) or sp.issparse(others):
        both = sp.issparse(X) and sp.issparse(others) and X.shape == others.shape
        return bool(both and (sp.csr_array(X) != sp.csr_array(others)).nnz == 0)
    return np.array_equal(np.asarray(X), np.asarray(others))


def _kind_of_kernel(model: Any) -> tuple[Hashable, bool]:
    """Return what tells kernels apart that share nothing, and whether folds do not share them either."""
    if isinstance(model.kernel, str) or not is_kernel_object(model.kernel):
        return model.kernel, False
    kernel = as_kernel(model.kernel)
    return kernel.kind, kernel.kind_depends_on_data


def depends_on_samples(model: Any) -> bool:
    """Tell whether the parameters of a kernel are left to the samples that a fold trains on."""
    if isinstance(model.kernel, str) or not is_kernel_object(model.kernel):
        return isinstance(model.gamma, str)
    return as_kernel(model.kernel).leaves_to_data


def _make_room(kept: OrderedDict[Any, Any], most: int) -> None:
    """Let go of the oldest, so that there is room for another."""
    while len(kept) >= most:
        kept.popitem(last=False)
