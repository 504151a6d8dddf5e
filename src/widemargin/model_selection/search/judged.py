"""Cross-validation over folds that were drawn: the scores of each fold, by the objective's own loss or by any scorer.

A scorer is shown a stand-in for each fold's model, which answers from decision values that are known already, and the
numbers of the fold's rows in the place of samples.
"""

from __future__ import annotations

import numbers
import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeGuard, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from widemargin.estimators.multi_class import OneVersusOne
from widemargin.kernels import Kernel
from widemargin.objectives import CrossValidation, Evaluated, Objective, Task
from widemargin.objectives.base import How, Ids, Matrix, Vector
from widemargin.objectives.held_out.base import HeldOutObjective, OfFold, loss_of

#: What to do about a scorer that needs more than there is.
REMEDY = "pass a scorer that calls predict or decision_function only, such as 'roc_auc', or search with GridSearchCV"


class RowNumbers:
    """Numbers of samples in the place of samples: a scorer may hand them on, whole or in part, and not look at them.

    Examples
    --------
    >>> rows = RowNumbers(np.array([3, 5, 8]))
    >>> len(rows), rows[1:].numbers.tolist()
    (3, [5, 8])
    """

    def __init__(self, rows: Ids) -> None:
        self.numbers = rows
        self.shape = (len(rows),)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, key: Any) -> RowNumbers:
        if isinstance(key, (tuple, str)):
            self._refuse()
        return RowNumbers(np.atleast_1d(self.numbers[key]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise TypeError("X holds numbers of rows, since scorers of held-out decision values are given no samples")


class HeldOutModel(BaseEstimator):  # type: ignore[misc]
    """Stands for a model that was trained on a fold; it answers for rows whose decision values are known."""

    #: Decision values of the samples held out, a column for each decision function.
    values: Matrix

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _known(self, X: Any) -> Matrix:
        if not isinstance(X, RowNumbers):
            raise TypeError(
                f"a {type(self).__name__} predicts for the X that its scorer was given, or a part of it, and not for "
                f"{type(X).__name__}"
            )
        return self.values[X.numbers]


class HeldOutRegressor(RegressorMixin, HeldOutModel):  # type: ignore[misc]
    """A model for regression, known by its predictions.

    Examples
    --------
    >>> HeldOutRegressor(np.array([[0.5], [2.0]])).predict(RowNumbers(np.array([1]))).tolist()
    [2.0]
    """

    def __init__(self, values: Matrix) -> None:
        self.values = values

    def predict(self, X: RowNumbers) -> Vector:
        """Return the predictions."""
        return self._known(X)[:, 0]


class HeldOutClassifier(ClassifierMixin, HeldOutModel):  # type: ignore[misc]
    """A classifier, known by its decision values; it has no probabilities.

    Parameters
    ----------
    classes : ndarray
        Those that it was trained on.
    values : ndarray of shape (n_held_out, n_pairs)
        Decision values of the pairs of classes, positive for the second class.
    rule : str, default="votes"
        How more than two classes are decided between.
    break_ties : bool, default=True
    decision_function_shape : {"ovr", "ovo"}, default="ovr"

    Examples
    --------
    >>> model = HeldOutClassifier(np.array(["no", "yes"]), np.array([[0.5], [-2.0]]))
    >>> rows = RowNumbers(np.array([1, 0]))
    >>> model.predict(rows).tolist(), model.decision_function(rows).tolist()
    (['no', 'yes'], [-2.0, 0.5])
    """

    def __init__(
        self,
        classes: NDArray[Any],
        values: Matrix,
        rule: str = "votes",
        break_ties: bool = True,
        decision_function_shape: str = "ovr",
    ) -> None:
        self.classes, self.values, self.rule = classes, values, rule
        self.break_ties, self.decision_function_shape = break_ties, decision_function_shape

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self.classes

    def decision_function(self, X: RowNumbers) -> Matrix:
        """Return decision values, as a classifier of this library does."""
        if len(self.classes) == 2:
            return self._known(X)[:, 0]
        values = -self._known(X)  # of pairs, schemes take the first class for the positive one
        if self.decision_function_shape == "ovo":
            return values
        return OneVersusOne(len(self.classes)).confidences(values, self.rule)

    def predict(self, X: RowNumbers) -> NDArray[Any]:
        """Return the predicted classes."""
        values = self._known(X)
        if len(self.classes) == 2:
            return np.asarray(self.classes[(values[:, 0] > 0).astype(np.intp)])
        winners = OneVersusOne(len(self.classes)).winners(-values, self.rule, self.break_ties)
        return np.asarray(self.classes[winners])

    @property
    def predict_proba(self) -> Any:
        """Say that there are none, which nobody has calibrated yet."""
        raise AttributeError(f"probabilities are calibrated once a ModelSearch has chosen, and not before; {REMEDY}")

    predict_log_proba = predict_proba


@dataclass(frozen=True)
class Judge:
    """Scores the models of folds by what they say of the samples held out.

    Parameters
    ----------
    scorer : callable
        What scikit-learn made of `scoring`.
    name : str
        What errors call it.
    model : SVC or SVR
        Whose parameters are searched; it says how classes are decided between.
    y : array-like
        Targets as they were given.
    params : mapping
        What else the scorer is told of each sample, as in a grid search.
    """

    scorer: Callable[..., Any]
    name: str
    model: Any
    y: Any
    params: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=get_config)

    def __call__(self, task: Task, split: tuple[Ids, Ids], values: Matrix) -> float:
        """Score a fold, given its rows and what its models say of those held out, a column each."""
        train, test = split
        params = _check_method_params(self.y, params=self.params, indices=test)
        # Other threads do not inherit what the thread of the search has configured.
        with nullcontext() if get_config() == self.config else config_context(**self.config):
            model, rows = self._model(task, train, values), RowNumbers(np.arange(len(test)))
            score = self.scorer(model, rows, _safe_indexing(self.y, test), **params)
        if not isinstance(score, numbers.Real):
            raise TypeError(f"scoring={self.name} returned {reprlib.repr(score)} where one number is needed.")
        return float(score)

    def _model(self, task: Task, train: Ids, values: Matrix) -> HeldOutModel:
        if task.n_classes == 0:
            return HeldOutRegressor(values)
        known = np.unique(task.y[train][task.weights[train] > 0])
        pairs = [place for place, pair in enumerate(task.pairs) if np.isin(pair, known).all()]
        classes, values = self.model.classes_[known], values[:, pairs]
        if self.model.multi_class != "ovo":  # searches judge models of pairs
            return HeldOutClassifier(classes, values)
        shape = self.model.decision_function_shape
        return HeldOutClassifier(classes, values, self.model._rule(), self.model.break_ties, shape)

    def require_use(self, task: Task, split: tuple[Ids, Ids]) -> None:
        """Refuse a scorer that does not work with what is known of held-out samples, before there are any models."""
        truth = task.y[split[1]]
        if task.n_classes == 0:
            values = np.asarray(truth, dtype=np.float64)[:, np.newaxis]
        else:
            values = np.stack([(truth == b) * 1.0 - (truth == a) for a, b in task.pairs], axis=1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self(task, split, values)
        except Exception as error:
            reason = str(error).strip().split("\n")[0].removesuffix(f"; {REMEDY}").rstrip(".")
            raise ValueError(
                f"scoring={self.name} cannot judge models by their held-out decision values ({reason}); {REMEDY}."
            ) from error


def name_of(scoring: Any) -> str:
    """Return what errors call a scorer.

    Examples
    --------
    >>> name_of("roc_auc"), name_of(max)
    ("'roc_auc'", 'max')
    """
    return repr(scoring) if isinstance(scoring, str) else getattr(scoring, "__name__", None) or repr(scoring)


def require_decisions(scorer: Any, name: str) -> None:
    """Refuse scikit-learn's scorers of probabilities, which no model has before one is chosen.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> require_decisions(get_scorer("neg_log_loss"), "'neg_log_loss'")
    Traceback (most recent call last):
    ...
    ValueError: scoring='neg_log_loss' needs predict_proba, and a ModelSearch has no probabilities before it has \
chosen a model; pass a scorer that calls predict or decision_function only, such as 'roc_auc', or search with \
GridSearchCV.
    """
    if not isinstance(scorer, _BaseScorer):
        return
    asked = scorer._response_method
    methods = (asked,) if isinstance(asked, str) else tuple(asked)
    if not {"predict", "decision_function"} & {*methods}:
        raise ValueError(
            f"scoring={name} needs {' or '.join(methods)}, and a ModelSearch has no probabilities before it has chosen "
            f"a model; {REMEDY}."
        )


def is_over_folds(objective: Objective) -> TypeGuard[CrossValidation]:
    """Tell whether an objective is a loss over folds that are drawn once, and nothing else.

    Examples
    --------
    >>> is_over_folds(CrossValidation(folds=3))
    True
    """
    return isinstance(objective, CrossValidation) and type(objective).bind is CrossValidation.bind


class OnFolds(Objective):
    """Cross-validation over folds that were drawn; its evaluations keep the scores of the folds.

    Parameters
    ----------
    given : CrossValidation
        What is followed unless there is a judge: its loss.
    folds : sequence of (train, test)
    by_fold : bool
        Whether the value is the mean over folds, as scikit-learn's is, rather than over all samples held out.
    judge : Judge, optional
        Says how good a fold's models are; the value is the mean score then, and greater is better.
    """

    name = CrossValidation.name
    holds_groups_out = True

    def __init__(
        self, given: CrossValidation, folds: Sequence[tuple[Ids, Ids]], by_fold: bool, judge: Judge | None = None
    ) -> None:
        self.given, self.by_fold, self.judge = given, by_fold, judge
        self.folds = folds
        self.differentiable = given.differentiable and judge is None
        self.greater_is_better = judge is not None

    def bind(self, task: Task) -> HeldOutObjective:
        """Prepare for a task."""
        return _OnFolds(task, self)

    def require_folds(self, task: Task) -> None:
        """Refuse folds without models, and those whose held-out samples do not count."""
        for number, (train, test) in enumerate(self.folds):
            weights = task.weights[train]
            there = np.unique(task.y[train][weights > 0]) if task.n_classes else weights
            if len(there) < 2 and task.n_classes:
                raise ValueError(
                    f"The training part of a fold must hold at least two classes of weight above 0; that of fold "
                    f"{number} of cv holds {len(there)}; pass cv=StratifiedKFold(shuffle=True), say, or other folds."
                )
            if not weights.any() or not task.weights[test].any():
                part = "hold out" if weights.any() else "train on"
                raise ValueError(
                    f"cv must {part} samples of weight above 0 in each fold, and in fold {number} there is none."
                )
        if self.judge is not None:
            self.judge.require_use(task, self.folds[0])

    def scores(self, measures: Mapping[str, float]) -> list[float]:
        """Return the scores of the folds."""
        return [measures[_key(number)] for number in range(len(self.folds))]


def _key(fold: int) -> str:
    return f"split{fold}_test_score"


class _OnFolds(HeldOutObjective):
    def __init__(self, task: Task, objective: OnFolds) -> None:
        judge = objective.judge
        loss = loss_of(task, objective.given.loss) if judge is None else "score"
        super().__init__(task, loss, objective.folds)
        self._judge, self._by_fold = judge, objective.by_fold or judge is not None

    def judged(self, split: tuple[Ids, Ids], values: Matrix) -> tuple[float, float]:
        """Score a fold, or sum its losses and weights."""
        if self._judge is not None:
            return self._judge(self.task, split, values), 1.0
        return super().judged(split, values)

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Evaluate as cross-validation does; the value may be that of the mean score over folds."""
        found = super().evaluate(kernel, C, gradient=gradient, **how)
        if not self._by_fold:
            return found
        mean = float(np.mean(list(found.measures.values())))
        value = mean if self._judge is not None else -mean if self.loss == "squared" else 1.0 - mean
        return replace(found, value=value)

    def measures_of(self, folds: Sequence[OfFold]) -> dict[str, float]:
        """Return the scores of the folds: those of a scorer, shares of correct predictions, or minus squared errors."""
        means = [one.value / one.weight for one in folds]
        if self._judge is None:
            means = [-mean if self.loss == "squared" else 1.0 - mean for mean in means]
        return {_key(number): mean for number, mean in enumerate(means)}
