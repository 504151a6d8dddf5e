"""Scores of one-class models, for searches that have no labels to score by.

Both are functions of a fitted model and samples, as scikit-learn's scorers are, and the larger the better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from widemargin.estimators.svdd import SVDD
from widemargin.estimators.validation import require_fraction

#: Share of samples to reject where neither the score nor the model says so: models with squared slack have no nu.
DEFAULT_TARGET = 0.05


class OneClassScore(ABC):
    """A score that takes labels, as scorers do, and needs none."""

    #: Whether a model is asked about nothing but the samples that it is scored on: their values are known to searches.
    of_samples_only: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Score a fitted model, or a pipeline that ends with one, on samples."""

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn's searches to pass the weights of the samples."""
        return True


@dataclass(frozen=True)
class RejectionScore(OneClassScore):
    """How well the share of samples that a one-class model rejects agrees with what it is to reject.

    The score is minus the difference of the two: 0 at best. On held-out samples it tells models that reject new samples
    of their class as promised from those that have learnt their training samples by heart. It says nothing of what else
    a model accepts: one with a kernel so wide that it tells nothing apart rejects as promised, too
    (:class:`RegionScore`). Labels are not looked at: all samples are taken to be of the class.

    Parameters
    ----------
    target : float, optional
        Share to reject, above 0 and at most 1. If not given it is the model's own: ``target_rejection`` if it has
        one, else ``nu``, else (squared slack, a ball with a C) 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import GridSearchCV, OneClassSVM, RejectionScore
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> round(RejectionScore()(model, X), 3), round(RejectionScore(0.3)(model, X), 3)
    (-0.035, -0.235)
    >>> grid = {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 1.0]}
    >>> search = GridSearchCV(OneClassSVM(loss="squared_hinge"), grid, scoring=RejectionScore(0.2)).fit(X)
    >>> bool(search.best_score_ > -0.1)
    True
    """

    target: float | None = None

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Score a fitted model on samples.

        Parameters
        ----------
        estimator : one-class model, or a pipeline that ends with one
        X : samples of its class
        y : ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Shares are shares of these weights.
        """
        rejected = estimator.predict(X) == -1
        if sample_weight is None:
            share = int(np.count_nonzero(rejected)) / len(rejected)
        else:
            share = float(np.average(rejected, weights=sample_weight))
        return -abs(share - self.target_of(model_behind(estimator)))

    def target_of(self, model: Any) -> float:
        """Return the share that a model is to reject."""
        if self.target is not None:
            require_fraction("target", self.target)
            return float(self.target)
        if getattr(model, "target_rejection", None) is not None:
            return float(model.target_rejection)
        squared = getattr(model, "loss", "hinge") == "squared_hinge"
        priced = model.C is not None if isinstance(model, SVDD) else squared
        return DEFAULT_TARGET if priced else float(model.nu)


@dataclass(frozen=True)
class RegionScore(RejectionScore):
    """How tightly a one-class model encloses its class: the score of a search that has neither labels nor `scoring`.

    Minus the sum of two shares: twice how far the share of samples that are rejected is from what it is to be
    (:class:`RejectionScore`), and the share of a background that is accepted. 0 is best; a model that accepts
    everything has about -1, and one that rejects all new samples about -2. Of models that reject as promised, the one
    with the tightest region is the best: the one that accepts least of the background.

    The background is what samples without any structure would be: evenly spread over the range of the samples for up
    to four features, else the samples with the values of each feature shuffled among them, on their own. It is the
    same for all models that are scored on the same samples. It takes predictions of 250 to 1,000 points.

    Strings and kernel values have no features to spread or shuffle, so no background: their score is that of
    :class:`RejectionScore`.

    Parameters
    ----------
    target : float, optional
        Share to reject, as for :class:`RejectionScore`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import OneClassSVM, RegionScore
    >>> angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 400)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> wide, tight = (OneClassSVM(nu=0.05, gamma=gamma).fit(ring[:300]) for gamma in (0.01, 10.0))
    >>> round(RegionScore()(wide, ring[300:]), 2), round(RegionScore()(tight, ring[300:]), 2)
    (-0.86, -0.19)
    """

    of_samples_only: ClassVar[bool] = False

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Score a fitted model on samples.

        Parameters
        ----------
        estimator : one-class model, or a pipeline that ends with one
        X : array, sparse matrix or data frame of samples of its class
        y : ignored
            There by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Shares of samples are shares of these weights.
        """
        rejection = super().__call__(estimator, X, y, sample_weight)
        points = None if model_behind(estimator).kernel == "precomputed" else background(X)
        return rejection if points is None else UNDUE * rejection - float(np.mean(estimator.predict(points) != -1))


#: What a sample that is rejected, or accepted, though it was not to be, counts beside a point of the background. On the
#: sets of ``python -m benchmarks.quality one_class`` 1 gives somewhat better ranks of outliers and rejects 24 % of the
#: class too much on average, 2 rejects 8 % too much and has the best balanced accuracy, and 4 has wide kernels again.
UNDUE = 2.0

#: Points of a background, and features up to which they are spread evenly.
FEWEST_POINTS, MOST_POINTS, FEW_FEATURES = 250, 1000, 4


def background(X: Any) -> Any:
    """Return points without the structure of the samples, in the same container; None if the samples have no features.

    Examples
    --------
    >>> points = background(np.array([[0.0, 10.0], [1.0, 20.0]]))
    >>> points.shape, points.min(axis=0) >= [0.0, 10.0], points.max(axis=0) <= [1.0, 20.0]
    ((250, 2), array([ True,  True]), array([ True,  True]))
    """
    rng = np.random.default_rng(0)
    if sp.issparse(X):
        return _shuffled_entries(X, rng)
    is_frame = hasattr(X, "columns")
    values = np.asarray(X)
    if values.ndim != 2 or not (is_frame or np.issubdtype(values.dtype, np.number)):
        return None
    n, d = values.shape
    m = _number_of_points(n)
    if d <= FEW_FEATURES and np.issubdtype(values.dtype, np.number):
        low, high = values.min(axis=0), values.max(axis=0)
        points = low + (high - low) * rng.uniform(size=(m, d))
        return type(X)(dict(zip(X.columns, points.T, strict=True))) if is_frame else points
    draws = rng.integers(n, size=(d, m))
    if not is_frame:
        return values[draws.T, np.arange(d)]
    columns = {name: getattr(X[name], "array", X[name]) for name in X.columns}  # with their types
    return type(X)({name: column[draw] for (name, column), draw in zip(columns.items(), draws, strict=True)})


def _number_of_points(n: int) -> int:
    return min(max(n, FEWEST_POINTS), MOST_POINTS)


def _shuffled_entries(X: Any, rng: np.random.Generator) -> Any:
    """Put each entry into rows at random, as often as it takes for columns to be filled as those of the samples are."""
    n, d = X.shape
    m, entries = _number_of_points(n), X.tocoo()
    copies = rng.binomial(m, 1.0 / n, size=entries.nnz)
    places = rng.integers(m, size=copies.sum()) * np.int64(d) + np.repeat(entries.col, copies)
    places, first = np.unique(places, return_index=True)
    return sp.csr_matrix((np.repeat(entries.data, copies)[first], divmod(places, d)), shape=(m, d))


@dataclass(frozen=True)
class LeaveOneOutScore(OneClassScore):
    """Minus the leave-one-out error of a one-class model: the share of support vectors among its training samples.

    It is the share of training samples that would be rejected by the model trained on all others [Timm2009, section 2;
    Glasmachers2008, section 9.1.2], and takes no further training. A sample that is no support vector lies inside, and
    without it the model is the same. A support vector is rejected when it is left out: if the model of the other
    samples accepted it, that model would meet the optimality conditions for all samples, with a coefficient of 0 there.
    This is exact for [Timm2009, eq. 1] (squared slack), whose threshold is fixed, and where the price of samples
    outside is: :class:`~widemargin.SVDD` with a C. With a nu, the price changes a little with the number of samples,
    and the error is that for the same price.

    Taken alone, this score prefers the widest kernels and the largest C, which accept everything; look at it beside
    :class:`RejectionScore`. Models with a ``target_rejection`` have a threshold of another kind and are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import clone
    >>> from widemargin import LeaveOneOutScore, OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = OneClassSVM(loss="squared_hinge", C=100.0, gamma=0.1).fit(X)
    >>> LeaveOneOutScore()(model, X)
    -0.04
    >>> left_out = [clone(model).fit(np.delete(X, n, axis=0)) for n in range(100)]
    >>> sum(int(one.predict(X[[n]])[0] == -1) for n, one in enumerate(left_out))
    4
    """

    def __call__(self, estimator: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Score a fitted model by its training samples.

        Parameters
        ----------
        estimator : one-class model, or a pipeline that ends with one
        X, y, sample_weight : ignored
            There by convention; what counts is the number of training samples.
        """
        model = model_behind(estimator)
        if getattr(model, "target_rejection", None) is not None:
            raise ValueError(
                f"LeaveOneOutScore counts samples outside of the model's own border, and target_rejection="
                f"{model.target_rejection!r} moves it; only models without a target_rejection can be scored."
            )
        return -int(np.sum(model.n_support_)) / int(model.shape_fit_[0])


def model_behind(estimator: Any) -> Any:
    """Return the model at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
