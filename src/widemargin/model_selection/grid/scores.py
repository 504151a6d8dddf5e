"""Scores of scikit-learn that take no scorer: of all models of a chain at once, from what their fold knows.

A scorer spends a millisecond or two on checks of what a search has checked long before, and a hundredth of that on the
score, all of it under the interpreter's lock. Only scikit-learn's own scorers are known here, and only for models of
this library; where one of them would warn or raise, or where nobody can say, it is asked itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer, _Scorer

from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.machines.dual import Solution, Vector
from widemargin.model_selection.grid.folds import FoldModels, Indices
from widemargin.model_selection.grid.folds.classifier import PairwiseFold

Matrix = NDArray[np.float64]


class Classified:
    """What models of a chain say of samples, and the numbers of the classes that these are of.

    Parameters
    ----------
    fold : PairwiseFold
    model : estimator
        One of them.
    values : ndarray of shape (n_models * n_samples, n)
        As :meth:`PairwiseFold.numbers` returns them.
    samples : ndarray of int
    """

    def __init__(self, fold: PairwiseFold, model: Any, values: Matrix, samples: Indices) -> None:
        self.classes, self.truth, self._all_values = fold.classes, fold.numbers_of(samples), values
        self.all_known = bool((self.truth >= 0).all())
        self._predicted = partial(fold.predicted, model)

    @property
    def values(self) -> Matrix:
        """Decision values, a row for each model, where there are two classes."""
        return self._all_values.reshape(-1, len(self.truth))

    @cached_property
    def predicted(self) -> Indices:
        """Numbers of the predicted classes, a row for each model."""
        return self._predicted(self._all_values).reshape(-1, len(self.truth))

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """For each model, how many samples of a class (rows) are predicted to be of a class (columns)."""
        k, n_models = len(self.classes), len(self.predicted)
        cells = (k * np.arange(n_models)[:, np.newaxis] + self.truth) * k + self.predicted
        return np.bincount(cells.ravel(), minlength=n_models * k * k).reshape(n_models, k, k)

    @property
    def positive(self) -> int | None:
        """Number of the class that is labelled 1, the one of two that scorers look for by default; None if none is."""
        if len(self.classes) != 2 or self.classes.dtype.kind not in "biuf":
            return None
        found = np.flatnonzero(self.classes == 1)
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class Estimated:
    """What models of a chain, a row each, say of the numbers that belong to samples."""

    truth: Vector
    values: Matrix


#: A score for each model; NaN where the scorer is to be asked.
Metric = Callable[[Any], Vector]


def accuracy(said: Classified) -> Vector:
    """Return the shares of correct predictions; nobody predicts a class that is not known."""
    return np.asarray(np.count_nonzero(said.predicted == said.truth, axis=1) / len(said.truth))


def balanced_accuracy(said: Classified) -> Vector:
    """Return the mean of the classes' recalls; of a single class scikit-learn warns."""
    first = said.truth[0]
    several = (said.predicted != first).any(axis=1) | (said.truth != first).any()
    return np.where(several, _quality(said, "recall", "macro"), np.nan)


def _quality(said: Classified, of: str, average: str) -> Vector:
    """Return precision, recall or f1: of the class 1, of all predictions together, or averaged over classes."""
    if average == "micro" and said.all_known:
        return accuracy(said)
    if not said.all_known or (average == "binary" and said.positive is None):
        return np.full(len(said.predicted), np.nan)
    correct = np.diagonal(said.confusion, axis1=1, axis2=2)
    true, predicted = said.confusion.sum(axis=2), said.confusion.sum(axis=1)
    above, below = {
        "precision": (correct, predicted),
        "recall": (correct, true),
        "f1": (2 * correct, true + predicted),
    }[of]
    quality = above / below
    if average == "binary":
        return np.asarray(quality[:, cast(int, said.positive)])
    # Classes that neither are there nor are predicted do not count; of others, what is 0 / 0 is for the scorer to tell.
    there = true + predicted > 0
    weights = there if average == "macro" else true
    return np.asarray(np.where(there, quality * weights, 0.0).sum(axis=1) / weights.sum(axis=1))


def roc_auc(said: Classified) -> Vector:
    """Return the share of pairs that are in order, a tie counting a half: Mann and Whitney's U over its maximum."""
    positive = said.truth == 1
    n_positive, n_negative = np.count_nonzero(positive), np.count_nonzero(said.truth == 0)
    if len(said.classes) != 2 or not said.all_known or n_positive == 0 or n_negative == 0:
        return np.full(len(said.predicted), np.nan)
    above = rankdata(said.values, axis=1)[:, positive].sum(axis=1) - n_positive * (n_positive + 1) / 2
    return np.asarray(above / (n_positive * n_negative))


def average_precision(said: Classified) -> Vector:
    """Return the mean, over the samples of the class 1, of the precision among all that rank as high as they do."""
    if not said.all_known or said.positive is None:
        return np.full(len(said.predicted), np.nan)
    wanted = said.truth == said.positive
    values = said.values if said.positive == 1 else -said.values
    order = np.argsort(-values, axis=1)
    ordered, hit, places = np.take_along_axis(values, order, axis=1), wanted[order], np.arange(len(wanted))
    precision = np.cumsum(hit, axis=1) / (places + 1)
    ends = np.full(values.shape, len(wanted) - 1)
    np.copyto(ends[:, :-1], places[:-1], where=np.diff(ordered, axis=1) != 0)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.sum(np.take_along_axis(precision, ends, axis=1), axis=1, where=hit) / np.count_nonzero(wanted))


def r2(said: Estimated) -> Vector:
    """Return the share of the variance that is explained."""
    if len(said.truth) < 2:
        return np.full(len(said.values), np.nan)
    left = np.sum((said.truth - said.values) ** 2, axis=1)
    whole = np.sum((said.truth - said.truth.mean()) ** 2)
    return np.asarray(1.0 - left / whole if whole > 0 else np.full(len(left), np.nan))


def negative_squared_error(said: Estimated) -> Vector:
    """Return minus the mean of squared errors."""
    return np.asarray(-np.mean((said.truth - said.values) ** 2, axis=1))


def negative_absolute_error(said: Estimated) -> Vector:
    """Return minus the mean of absolute errors."""
    return np.asarray(-np.mean(np.abs(said.truth - said.values), axis=1))


#: By scikit-learn's names for them.
OF_CLASSES: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}
for _of in ("precision", "recall", "f1"):
    OF_CLASSES[_of] = partial(_quality, of=_of, average="binary")
    for _average in ("micro", "macro", "weighted"):
        OF_CLASSES[f"{_of}_{_average}"] = partial(_quality, of=_of, average=_average)
OF_NUMBERS: dict[str, Metric] = {
    "r2": r2,
    "neg_mean_squared_error": negative_squared_error,
    "neg_mean_absolute_error": negative_absolute_error,
}


@cache
def _scorer(name: str) -> dict[str, Any]:
    return dict(vars(get_scorer(name)))


def _metric(scorer: Any, model: Any) -> Metric | None:
    """Find the metric of a scorer that has the function, sign, arguments and responses of scikit-learn's own."""
    if type(model) not in (SVC, NuSVC, SVR, NuSVR):  # a subclass may predict as it likes
        return None
    of_classes = isinstance(model, ClassifierMixin)
    if type(scorer) is _PassthroughScorer:
        own = ClassifierMixin.score if of_classes else RegressorMixin.score
        return None if type(model).score is not own else accuracy if of_classes else r2
    if type(scorer) is not _Scorer:
        return None
    # What a scorer wants of metadata does not matter where there is none.
    asked = {name: value for name, value in vars(scorer).items() if name != "_metadata_request"}
    for name, metric in (OF_CLASSES if of_classes else OF_NUMBERS).items():
        if asked == _scorer(name):
            return metric
    return None


@dataclass(frozen=True)
class ChainScores:
    """Metrics by name, or one without a name, of models that a fold has trained as a chain."""

    metrics: Mapping[str | None, Metric]

    @classmethod
    def of(cls, scorers: Any, model: Any) -> ChainScores | None:
        """Take the place of scorers, if all of them are known.

        Examples
        --------
        >>> from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
        >>> list(ChainScores.of(get_scorer("roc_auc"), SVC()).metrics)
        [None]
        >>> ChainScores.of(make_scorer(roc_auc_score, max_fpr=0.1, response_method="decision_function"), SVC())
        """
        several = type(scorers) is _MultimetricScorer
        named = scorers._scorers if several else {None: scorers}
        metrics: dict[str | None, Metric] = {}
        for name, scorer in named.items():
            metric = _metric(scorer, model)
            if metric is None:
                return None
            metrics[name] = metric
        return cls(metrics)

    def __call__(
        self, fold: FoldModels, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> list[Any]:
        """Score models on samples as scorers would: None stands for a model that they are to be asked about."""
        shape = len(models), len(samples)
        said: Classified | Estimated
        if isinstance(fold, PairwiseFold):
            values = fold.numbers(models, found, samples)
            said = Classified(fold, models[0], values, samples)
        else:
            values = fold.values(models, found, samples)
            said = Estimated(fold.y[samples], values.reshape(shape))
        with np.errstate(all="ignore"):  # what is no number is not handed out
            scores = np.array([metric(said) for metric in self.metrics.values()])
        told = np.isfinite(scores).all(axis=0) & np.isfinite(values).reshape(len(models), -1).all(axis=1)
        if None in self.metrics:
            return [one if known else None for one, known in zip(scores[0].tolist(), told.tolist(), strict=True)]
        return [
            dict(zip(self.metrics, own, strict=True)) if known else None
            for own, known in zip(scores.T.tolist(), told.tolist(), strict=True)
        ]
