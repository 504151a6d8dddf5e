"""VectorQuantizer: samples simplified to 2^level prototypes, with the interface of scikit-learn's KMeans."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin import _core
from widemargin.estimators.base import NUMBERS
from widemargin.estimators.validation import (
    Accepts,
    check_weights,
    numbers_needed,
    require_finite,
    require_jobs,
    require_magnitude,
    require_number,
)
from widemargin.kernels.rows import checked_rows, core_samples, kernel_matrix, require_samples
from widemargin.quantization import HIGHEST_LEVEL, MAX_ROUNDS, TOLERANCE, Codebooks, Level
from widemargin.runtime import Stop, StoppedError, thread_count
from widemargin.runtime.callbacks import CallbackSupport, fit_task, is_awaited

#: Rounds that the core can count.
MOST_ROUNDS = 2**31 - 1


@dataclass(kw_only=True, repr=False, eq=False)
class VectorQuantizer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    CallbackSupport,  # type: ignore[misc]
):
    """Vector quantisation by splitting: 1, 2, 4, 8 ... prototypes, each the mean of the samples around it.

    Prototypes p_j minimise, as far as Lloyd's iterations do, the distortion

        D = sum_i w_i min_j |x_i - p_j|^2 / sum_i w_i.

    The mean of all samples is level 0. Each further level splits every cell in two, across the feature that varies
    most in it, and moves prototypes to the means of their cells until D hardly falls [Linde1980]. D never rises from
    one level to the next. Nothing is random: there is no seed, and no second start. [Lebrun2006] trains classifiers on
    the prototypes of each class.

    A round of level k takes 2^k n d multiplications, all levels up to k take about twice as long as the last of them.

    Parameters
    ----------
    level : int, default=3
        There are 2^level prototypes, or one for each different sample if there are no more of these.
    tol : float, default=1e-3
        A level ends with the round that lowers its distortion by no more than this share of it.
    max_iter : int, default=100
        Rounds of a level. A level that takes all of them warns.
    n_jobs : int, default=None
        Threads, as joblib counts them. They make no difference to the result.
    max_time : float, default=None
        Seconds after which the last finished level is kept, with a warning.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_prototypes, n_features)
        The prototypes, in float64.
    labels_ : ndarray of int32 of shape (n_samples,)
        The nearest prototype of each training sample.
    distortion_ : float
        Mean squared distance of the training samples to the nearest prototype.
    distortions_ : ndarray of shape (level + 1,)
        Mean squared distance of the training samples to the mean of their cell, for each level. The last one exceeds
        `distortion_` by what another round would gain.
    n_iter_ : int
        Rounds of all levels.
    n_features_in_ : int

    See Also
    --------
    widemargin.quantization.quantized : Prototypes of each class.
    sklearn.cluster.KMeans : Any number of prototypes, from random starts.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import VectorQuantizer
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> model = VectorQuantizer(level=1).fit(X)
    >>> model.cluster_centers_.tolist(), model.labels_.tolist()
    ([[0.5], [10.5]], [0, 0, 1, 1])
    >>> model.distortions_.tolist()
    [25.25, 0.25]
    >>> model.predict([[3.0]]).tolist(), model.transform([[3.0]]).tolist()
    ([0], [[2.5, 7.5]])
    """

    level: int = 3
    tol: float = TOLERANCE
    max_iter: int = MAX_ROUNDS
    n_jobs: int | None = None
    max_time: float | None = None

    cluster_centers_: NDArray[np.float64] = field(init=False)
    labels_: NDArray[np.int32] = field(init=False)
    distortion_: float = field(init=False)
    distortions_: NDArray[np.float64] = field(init=False)
    n_iter_: int = field(init=False)
    n_features_in_: int = field(init=False)

    #: What the parameters accept.
    _accepts: ClassVar[Mapping[str, Accepts]] = {
        "level": partial(require_number, at_least=0, at_most=HIGHEST_LEVEL, integer=True),
        "tol": partial(require_number, at_least=0),
        "max_iter": partial(require_number, at_least=1, at_most=MOST_ROUNDS, integer=True),
        "n_jobs": require_jobs,
        "max_time": partial(require_number, above=0, others=(None,)),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the prototypes of the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the sample out, weight 2 the same as repeating it.

        Returns
        -------
        VectorQuantizer
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y, sample_weight):
                return self.fit(X, y, sample_weight)
        self._check_parameters()
        stop = Stop().within(self.max_time)
        X = self._checked(X, reset=True)
        weights = check_weights(sample_weight, X.shape[0])
        levels = self._levels(X, weights, stop)
        last = levels[-1].prototypes
        self.cluster_centers_ = np.ascontiguousarray(last.toarray() if sp.issparse(last) else last, dtype=np.float64)
        self.distortions_ = np.array([one.distortion for one in levels])
        self.n_iter_ = sum(one.rounds for one in levels)
        self.labels_, squared = self._nearest(X)
        self.distortion_ = float(np.average(squared, weights=weights))
        self._tell(levels)
        return self

    def _levels(self, X: Any, weights: NDArray[np.float64], stop: Stop) -> list[Level]:
        """Return all levels up to the one that is asked for, or the first ones if time is up."""
        options: Any = {"tol": self.tol, "max_rounds": int(self.max_iter), "n_threads": thread_count(self.n_jobs)}
        books = Codebooks(X, weights, **options, stop=stop)
        levels: list[Level] = []
        try:
            while len(levels) <= self.level:
                levels.append(books.level(len(levels), keep_whole=False))
        except StoppedError:
            # There is a mean, however short the time.
            levels = levels or [Codebooks(X, weights, **options).level(0, keep_whole=False)]
        return levels

    def _tell(self, levels: list[Level]) -> None:
        """Warn of levels that there was no time for, or that took all rounds; at the line that called ``fit``."""
        if len(levels) <= self.level:
            text = f"max_time={self.max_time!r} sufficed for level {len(levels) - 1} of {self.level}"
        elif any(one.reason == "iteration budget" for one in levels):
            number = next(k for k, one in enumerate(levels) if one.reason == "iteration budget")
            text = f"level {number} took max_iter={self.max_iter!r} rounds without meeting tol={self.tol!r}"
        else:
            return
        warnings.warn(f"VectorQuantizer ended early: {text}.", ConvergenceWarning, stacklevel=3)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the nearest prototype of each sample; of two at the same distance, the first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32 of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._nearest(self._checked(X))[0]

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distance of each sample to each prototype.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_prototypes)
            In the type of `X`.
        """
        check_is_fitted(self)
        X = self._checked(X)
        squared = kernel_matrix(
            X, self.cluster_centers_, kernel="squared-distance", dtype="float64", n_jobs=self.n_jobs
        )
        distances: NDArray[Any] = np.sqrt(np.maximum(squared, 0.0))
        return distances.astype(X.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances to the nearest prototype, as KMeans does.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X = self._checked(X)
        return -float(check_weights(sample_weight, X.shape[0]) @ self._nearest(X)[1])

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check_parameters(self) -> None:
        for name, check in self._accepts.items():
            check(name, getattr(self, name))

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        require_samples(X)
        with numbers_needed("VectorQuantizer needs numbers"):
            X = validate_data(self, X, reset=reset, **NUMBERS)
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        require_magnitude(X)
        return X

    def _nearest(self, X: Any) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        found, squared = _core.nearest_prototypes(core_samples(X), self.cluster_centers_, thread_count(self.n_jobs))
        return np.asarray(found), np.asarray(squared)
