"""Scores of one-class models, for searches that have no labels to score by.

Both are functions of a fitted model and samples, as scikit-learn's scorers are, and the larger the better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin.estimators.svdd import SVDD
from widemargin.estimators.validation import require_fraction

#: Share of samples to reject where neither the score nor the model says so: models with squared slack have no nu.
DEFAULT_TARGET = 0.05


class OneClassScore(ABC):
    """A score that takes labels, as scorers do, and needs none."""

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
    of their class as promised from those that have learnt their training samples by heart, and from those whose
    tolerance is so wide that they tell nothing apart. It is what :class:`~widemargin.GridSearchCV` maximises where
    neither labels nor `scoring` are given. Labels are not looked at: all samples are taken to be of the class.

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
