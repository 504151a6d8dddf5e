"""Compression of fitted models: the same decision functions, but for a change that is measured, over fewer vectors."""

from __future__ import annotations

import math
import time
import warnings
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base import KernelModel
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.novelty import NoveltyModel, sides
from widemargin.estimators.online import OnlineSVC
from widemargin.estimators.pipelines import seen, with_model
from widemargin.estimators.prediction import Matrix, as_dense
from widemargin.estimators.svdd import SVDD
from widemargin.estimators.validation import require_flag, require_jobs, require_number
from widemargin.kernels.rows import count, kernel_block, take
from widemargin.machines.reduced_set import EXHAUSTED, LIMIT, MET, LeastSquares, Matching, ReducedSet, moved, reductions
from widemargin.runtime import Stop, single_threaded_blas, thread_count
from widemargin.runtime.memory import told_if_memory_runs_out

Indices = NDArray[np.intp]

#: Kernel values between candidates and samples that vectors are chosen by; of more samples, some are taken.
SELECTION_ENTRIES = 2**25

#: Fewest samples that vectors are chosen by, however many candidates there are; fewer candidates are taken then.
FEWEST_ROWS = 1024

#: Changes below this share of the largest decision value are rounding, and nothing is left to do.
ROUNDING = 1e-11

#: Share of `max_change` that the fit aims at; the rest is for the rounding of predictions.
AIM = 1.0 - 1e-6

#: Reasons after which more time would not help.
NOTHING_MORE = (EXHAUSTED, LIMIT)

#: The reason of the end where nothing was saved.
ALL_KEPT = "all support vectors kept"


@dataclass(frozen=True)
class CompressionReport:
    """What a compression did, and by how much it changed the model; see :func:`compress`.

    Changes are measured on the samples that :func:`compress` was given, from the decision values of both models, of
    pairs of classes those of the pairs:
    `largest_change` and `rms_change`, the root of the mean square, over all samples and decision functions.
    `changed_predictions` is the share of samples whose prediction is another one; None for regression. `reason` is why
    no more vectors were added. `moved` tells whether vectors left the places of support vectors.
    """

    n_vectors_before: int
    n_vectors: int
    n_samples: int
    largest_change: float
    rms_change: float
    changed_predictions: float | None
    reason: str
    moved: bool
    kernel_evaluations: int
    seconds: float


def compress(
    model: Any,
    *,
    X: Any = None,
    max_change: float | None = None,
    n_vectors: int | None = None,
    move_vectors: bool = False,
    max_time: float | None = None,
    n_jobs: int | None = None,
) -> Any:
    r"""Approximate a fitted model by one with fewer vectors; the change of its decision values is measured.

    The decision functions of a model are sums :math:`f(x) = \sum_i a_i k(x_i, x) + b` over its support vectors, and a
    prediction costs as many kernel values as there are of them. The compressed model's functions are
    :math:`g(x) = \sum_j c_j k(z_j, x) + b'` over few vectors :math:`z_j`, which all functions of the model share
    [Schoelkopf1999]. Support vectors are chosen one by one: each time that one which lowers
    :math:`\sum_{f, i} (f(x_i) - g(x_i))^2` most after all coefficients have been fitted again (matching pursuit
    with pre-fitting, [Vincent2002]; so [Keerthi2006] choose basis functions). Coefficients and intercepts are least
    squares over all of `X`. Where `max_change` is given and least squares are nearly close enough, samples are weighted
    by their errors in turn, which lowers the largest one [Lawson1961].

    Choosing m of n_SV vectors costs n_SV n' (d + m) operations, where n' is the number of samples in `X`, or 2^25 /
    n_SV of them if that is less, spread evenly over the decision values; of more than 2^15 support vectors, that many
    are candidates. The fits cost n m (d + 2 m) operations and memory for n m numbers.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, OnlineSVC or Pipeline
        A fitted model, or a pipeline that ends with one. It is not altered.
    X : array, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Samples on which decision values are to change little; best those of the training or more like them, labels are
        not needed. They go through the steps of a pipeline first. None takes the support vectors, which lie where
        decisions are difficult: values elsewhere may change more. For a precomputed kernel, kernel values with the
        training samples, shape (n_samples, n_train).
    max_change : float, default=None
        Largest change of any decision value on `X`; vectors are added until it is met. Decision values are those of
        ``decision_function``, and ``predict`` for regression. More than two classes have those of the pairs of classes,
        which ``decision_function_shape="ovo"`` shows: the usual ``decision_function`` counts votes of pairs, and may
        change by 1 and more where a pair's value changes its sign. With ``multi_class="ovr"`` they are those of the
        classes.
    n_vectors : int, default=None
        Most vectors. One of `max_change` and `n_vectors` is required; with both, a warning says if `max_change` was not
        met.
    move_vectors : bool, default=False
        Whether to move the vectors in the end to where the squared error is less, by L-BFGS; for Gaussian kernels on
        dense samples, and with `n_vectors` only, unless `max_change` is met without. An iteration, of which there are
        at most 100, costs n m (d + m) operations.
    max_time : float, default=None
        Seconds after which no vector is added or moved; the decision values of `model` on `X`, the first vector, and
        the measurement of the result are computed in any case.
    n_jobs : int, default=None
        Threads; None takes the ``n_jobs`` of the model. The result does not depend on it.

    Returns
    -------
    estimator
        A new fitted model of the same class, or pipeline, with the same parameters. ``compression_report_`` of the
        model is a :class:`~widemargin.compression.CompressionReport`. ``support_`` holds the indices of the
        support vectors that were kept; where vectors were moved, ``support_vectors_`` are no training samples, and
        ``support_`` tells where they started from. With more than two classes in pairs, ``dual_coef_`` has a row for
        each pair, since all pairs share all vectors. ``sigmoids_`` are kept; ``fit_report_`` is that of the fit.
        A compressed :class:`~widemargin.OnlineSVC` only predicts: the samples that it kept stay with the uncompressed
        model.
        The centre of a compressed :class:`~widemargin.SVDD` is the sum over the new vectors, whose coefficients need
        not sum to 1; its norm and ``radius_`` belong to it.

    Warns
    -----
    ConvergenceWarning
        If `max_change` was not met, or `max_time` was up before.

    References
    ----------
    [Schoelkopf1999]_, [Vincent2002]_, [Keerthi2006]_, [Lawson1961]_; keys are those of ``references.bib``.

    Examples
    --------
    >>> from widemargin import SVC, compress
    >>> from widemargin.datasets import chess_board
    >>> X, y = chess_board(2000, random_state=0)
    >>> model = SVC(C=10.0, gamma=2.0).fit(X, y)
    >>> small = compress(model, n_vectors=100, X=X)
    >>> len(model.support_), len(small.support_)
    (310, 100)
    >>> small.compression_report_.changed_predictions < 0.01
    True
    >>> close = compress(model, max_change=0.01, X=X)
    >>> bool(abs(close.decision_function(X) - model.decision_function(X)).max() <= 0.01)
    True
    """
    began = time.perf_counter()
    require_number("max_change", max_change, above=0, others=(None,))
    require_number("n_vectors", n_vectors, at_least=1, integer=True, others=(None,))
    require_number("max_time", max_time, above=0, others=(None,))
    require_flag("move_vectors", move_vectors)
    require_jobs("n_jobs", n_jobs)
    if max_change is None and n_vectors is None:
        raise ValueError("compress needs max_change, n_vectors or both: how close the model is to stay, or how small.")
    if move_vectors and n_vectors is None:
        raise ValueError("move_vectors=True needs n_vectors: how many vectors there are to be is not searched for.")
    last = _last_step(model)
    if isinstance(model, Pipeline) and X is not None:
        X = seen(model, X)
    stop = Stop() if max_time is None else Stop(deadline=began + float(max_time))
    threads = thread_count(last.n_jobs if n_jobs is None else n_jobs)
    task = _Compression(last, X, max_change, n_vectors, move_vectors, stop, threads, began)
    with told_if_memory_runs_out("to compress the model", "pass fewer samples as X, or a smaller n_vectors"):
        small = task.run()
    task.warn(small.compression_report_)
    if not isinstance(model, Pipeline):
        return small
    return with_model(model, small)


def _last_step(model: Any) -> KernelModel:
    """Return the model at the end of a pipeline, or the model itself; refuse what is none."""
    if isinstance(model, Pipeline):
        model = model.steps[-1][1]
    if not isinstance(model, KernelModel):
        better = "; pass its best_estimator_" if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"compress takes a fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD or OnlineSVC, or a Pipeline that ends "
            f"with one; got {type(model).__name__}{better}."
        )
    check_is_fitted(model)
    return model


def spread_rows(values: Matrix, n: int) -> Indices:
    """Return `n` samples spread evenly over the order of their values; the order of the samples plays no part.

    Examples
    --------
    >>> spread_rows(np.array([[3.0], [1.0], [2.0], [5.0], [4.0]]), 3).tolist()
    [1, 0, 3]
    """
    order = np.lexsort(values.T[::-1])
    return np.asarray(order[np.linspace(0, len(order) - 1, n).round().astype(np.intp)])


@dataclass
class _Compression:
    """One call of :func:`compress` on a model that was checked."""

    model: Any
    X: Any
    max_change: float | None
    n_vectors: int | None
    move_vectors: bool
    stop: Stop
    n_threads: int
    began: float
    evaluations: int = field(default=0, init=False)
    _names: Any = field(default=None, init=False)
    _has_moved: bool = field(default=False, init=False)

    def run(self) -> Any:
        """Return the compressed model, with its report."""
        model, kernel = self.model, self.model._kernel_parameters
        self._require_able()
        if self.X is None:
            self.X = model.support_vectors_
            # They have no names of features, and need none.
            model = self.model = model._copy()
            self._names = model.__dict__.pop("feature_names_in_", None)
        samples = model._check_new_data(self.X)
        before = self._values(model)
        self._require_finite(before)
        n, n_before = count(samples), len(model.support_)
        if kernel.kernel != "precomputed":
            self._samples, self._vectors = kernel.mapped(samples), kernel.mapped(model.support_vectors_)
        else:
            self._samples, self._vectors = samples, None
        if n_before == 0:
            return self._reported(deepcopy(model), before, ALL_KEPT, n)
        largest = float(np.abs(before).max())
        goal = ROUNDING * largest if self.max_change is None else max(AIM * self.max_change, ROUNDING * largest)
        with single_threaded_blas():
            small, reason = self._reduced(before, goal)
        return self._reported(small, before, reason, n)

    def _reduced(self, before: Matrix, goal: float) -> tuple[Any, str]:
        """Choose vectors until the goal is met, judged by the predictions of the compressed model."""
        model, n_before, unit = self.model, len(self.model.support_), self._unit
        constant = bool(getattr(model, "fit_intercept", True))
        targets = before if unit == 1.0 else cast(Matrix, model._function_values(self.X))
        candidates, rows = self._selection(before)
        matching = Matching(
            self._columns(candidates, rows),
            targets if rows is None else targets[rows],
            constant=constant,
            n_threads=self.n_threads,
        )
        limit = n_before if self.n_vectors is None else min(self.n_vectors, n_before)
        for found in reductions(
            matching,
            lambda ids: self._columns(candidates[ids]),
            targets,
            constant=constant,
            n_vectors=limit,
            largest_change=goal / unit,
            reweight=self.max_change is not None,
            stop=self.stop,
        ):
            found = replace(found, chosen=candidates[found.chosen])
            small = self._rebuilt(found)
            change = float(np.abs(self._values(small) - before).max())
            if found.reason == MET and change <= (goal if self.max_change is None else self.max_change):
                return small, MET
        if (
            self.max_change is not None
            and change > self.max_change
            and self.n_vectors is None
            and found.reason in NOTHING_MORE
        ):
            return deepcopy(model), ALL_KEPT
        if self.move_vectors:
            small = self._moved(small, found, before, targets, constant)
            return small, self.stop.reason or found.reason
        return small, found.reason

    def _selection(self, before: Matrix) -> tuple[Indices, Indices | None]:
        """Return the support vectors to choose from, and the samples to choose by, None for all of them."""
        n, n_before = len(before), len(self.model.support_)
        candidates, most = np.arange(n_before), max(1, SELECTION_ENTRIES // FEWEST_ROWS)
        if n_before > most:
            candidates = np.unique(np.linspace(0, n_before - 1, most).astype(np.intp))
        if n * len(candidates) <= SELECTION_ENTRIES or n <= FEWEST_ROWS:
            return candidates, None
        return candidates, spread_rows(before, min(n, max(FEWEST_ROWS, SELECTION_ENTRIES // len(candidates))))

    def _columns(self, ids: Indices, rows: Indices | None = None) -> Matrix:
        """Kernel values of some support vectors with all samples, or some, a row for each vector."""
        kernel, samples = self.model._kernel_parameters, self._samples
        samples = samples if rows is None else take(samples, rows)
        if kernel.kernel == "precomputed":
            return np.ascontiguousarray(samples[:, self.model.support_[ids]].T, dtype=np.float64)
        self.evaluations += len(ids) * count(samples)
        whole = len(ids) == len(self.model.support_)
        return kernel_block(kernel, self._vectors if whole else take(self._vectors, ids), samples, self.n_threads)

    def _rebuilt(self, found: ReducedSet, vectors: Any = None) -> Any:
        """Return a fitted model of the functions found, over support vectors or others that take their places."""
        model, kernel = self.model, self.model._kernel_parameters
        order = np.argsort(found.chosen)
        kept = found.chosen[order]
        small = clone(model)
        own = {*model.get_params(deep=False), "support_vectors_", "dual_coef_", "support_", "_last", "_stream"}
        small.__dict__.update({name: deepcopy(value) for name, value in model.__dict__.items() if name not in own})
        groups = np.repeat(np.arange(len(model.n_support_)), model.n_support_)[kept]
        small.support_ = model.support_[kept]
        small.n_support_ = np.bincount(groups, minlength=len(model.n_support_)).astype(np.int32)
        if kernel.kernel == "precomputed":
            small.support_vectors_ = model.support_vectors_
        else:
            small.support_vectors_ = take(model.support_vectors_, kept) if vectors is None else vectors[order]
        coefficients = np.ascontiguousarray(found.coefficients[:, order])
        small.dual_coef_ = sp.csr_matrix(coefficients) if sp.issparse(model.dual_coef_) else coefficients
        small.intercept_ = found.constants + 0.0
        small._predict_in_double = kernel.of_samples
        if isinstance(small, KernelClassifier):
            small._shares_vectors = True
        if isinstance(small, SVDD):
            self._keep_ball(small)
        return small

    def _keep_ball(self, small: Any) -> None:
        """Let norm, radius and threshold be those of the new centre: f = sum of coefficients + (R^2 - |c|^2) / 2."""
        kernel, vectors = small._kernel_parameters, small.support_vectors_
        small.center_coef_ = as_dense(small.dual_coef_)[0]
        norm = 0.0
        if kernel.is_linear:
            norm = float(np.square(as_dense(small._functions().linear_weights())).sum())
        elif len(small.support_):
            mapped = kernel.mapped(vectors)
            norm = float(small.center_coef_ @ kernel_block(kernel, mapped, mapped, self.n_threads) @ small.center_coef_)
            self.evaluations += len(small.support_) ** 2
        small.center_squared_norm_ = norm
        squared_radius = 2.0 * float(small.intercept_[0]) + norm
        small.offset_, small.radius_ = -squared_radius, math.sqrt(max(0.0, squared_radius))

    def _moved(self, small: Any, found: ReducedSet, before: Matrix, targets: Matrix, constant: bool) -> Any:
        """Return the model with its vectors moved, or as it is if that was no use."""
        kernel = self.model._kernel_parameters
        start = take(self.model.support_vectors_, found.chosen)
        result = moved(
            start,
            np.asarray(self.model._check_new_data(self.X)),
            targets,
            gamma=kernel.gamma,
            constant=constant,
            factors=None if kernel.map is None else kernel.map.factors,
            n_threads=self.n_threads,
            stop=self.stop,
        )
        self.evaluations += result.kernel_evaluations
        vectors = np.ascontiguousarray(result.vectors, dtype=start.dtype)
        columns = kernel_block(kernel, kernel.mapped(vectors), self._samples, self.n_threads)
        self.evaluations += columns.size
        fit = LeastSquares(targets, constant=constant)
        fit.add(columns)
        for _ in vectors:
            fit.take()
        coefficients, constants = fit.read()
        other = self._rebuilt(replace(found, coefficients=coefficients, constants=constants), vectors)
        errors = [float(np.square(self._values(one) - before).sum()) for one in (small, other)]
        self._has_moved = errors[1] < errors[0]
        return other if self._has_moved else small

    def _reported(self, small: Any, before: Matrix, reason: str, n: int) -> Any:
        """Measure the changes of a compressed model on the samples, and let it say so."""
        after = self._values(small)
        change = np.abs(after - before)
        changed = None
        if isinstance(small, KernelClassifier):
            changed = float(np.mean(small._winners(after) != self.model._winners(before)))
        elif isinstance(small, NoveltyModel):
            changed = float(np.mean(sides(after.ravel()) != sides(before.ravel())))
        size = float(change.max())
        if isinstance(small, OnlineSVC):  # what it would learn from now on would bring all vectors back
            small.__dict__.pop("_stream", None)
            small._has_no_stream = True
        if self._names is not None:
            small.feature_names_in_ = self._names
        small.compression_report_ = CompressionReport(
            n_vectors_before=len(self.model.support_),
            n_vectors=len(small.support_),
            n_samples=n,
            largest_change=size,
            rms_change=size * math.sqrt(float(np.square(change / size).mean())) if size else 0.0,
            changed_predictions=changed,
            reason=reason,
            moved=self._has_moved,
            kernel_evaluations=self.evaluations,
            seconds=time.perf_counter() - self.began,
        )
        return small

    @property
    def _unit(self) -> float:
        """Change of a decision value by that of the sum over vectors: a ball's are twice the sum, minus k(x, x)."""
        return 2.0 if isinstance(self.model, SVDD) else 1.0

    def _values(self, model: Any) -> Matrix:
        """Decision values as callers get them, a column for each function."""
        if not model._kernel_parameters.is_linear and model._kernel_parameters.kernel != "precomputed":
            self.evaluations += count(self.X) * len(model.support_)
        if isinstance(model, SVDD):
            return model.decision_function(self.X)[:, np.newaxis]
        return cast(Matrix, model._function_values(self.X))

    def _require_able(self) -> None:
        """Refuse what cannot be compressed."""
        kernel, model = self.model._kernel_parameters, self.model
        if kernel.kernel == "precomputed":
            if self.X is None:
                raise ValueError("compress needs X, kernel values with the training samples, for kernel='precomputed'.")
            if isinstance(model, SVDD):
                raise ValueError(
                    "compress cannot take an SVDD with kernel='precomputed': the norm of its new centre needs kernel "
                    "values between training samples, which the model does not have."
                )
        if self.move_vectors and (kernel.kernel != "rbf" or sp.issparse(model.support_vectors_)):
            found = "sparse samples" if kernel.kernel == "rbf" else f"kernel={model.kernel!r}"
            raise ValueError(f"move_vectors=True needs a Gaussian kernel on dense samples; the model has {found}.")
        if self.move_vectors and sp.issparse(self.X):
            raise ValueError("move_vectors=True needs a Gaussian kernel on dense samples; X is sparse.")

    def _require_finite(self, values: Matrix) -> None:
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise ValueError(f"The decision value of the model at row {row} of X is not finite; leave that row out.")

    def warn(self, report: CompressionReport) -> None:
        """Warn of a change that is too large, or a compression that ran out of time."""
        said = f"{report.n_vectors} vectors ({report.reason}) and a largest change of {report.largest_change:.3g}"
        if self.max_change is not None and report.largest_change > self.max_change:
            text = f"compress ended with {said}, above max_change={self.max_change:g}; raise n_vectors or max_time."
        elif self.max_change is None and report.reason == self.stop.reason:
            text = f"compress ended with {said}, before all of n_vectors={self.n_vectors} had been added and moved; "
            text += "raise max_time."
        else:
            return
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
