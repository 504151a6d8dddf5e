"""What cannot work, told before the first fit: grids that are none, and scores that no candidate could ever have."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.metrics import get_scorer_names, roc_auc_score
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer
from sklearn.model_selection import ParameterGrid

from widemargin.estimators.classifier import KernelClassifier, require_two_classes
from widemargin.estimators.report import plain
from widemargin.model_selection.grid.folds import Indices
from widemargin.model_selection.grid.setup import family_of, model_of, several_scorers


def require_grid(estimator: Any, param_grid: Any) -> None:
    """Refuse values of a grid that are no lists, and names that the estimator does not know.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from widemargin import SVC
    >>> require_grid(make_pipeline("passthrough", SVC()), {"C": [1.0]})
    Traceback (most recent call last):
    ...
    ValueError: param_grid names 'C', which is no parameter of the Pipeline; did you mean 'svc__C'?
    """
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    for grid in grids if isinstance(grids, Sequence) else ():
        for name, values in grid.items() if isinstance(grid, Mapping) else ():
            if hasattr(values, "rvs"):
                raise TypeError(
                    f"param_grid: {name!r} is a distribution, and a grid needs a list of its values, such as "
                    "np.logspace(-2, 3, 6); scikit-learn's RandomizedSearchCV draws from distributions."
                )
    ParameterGrid(param_grid)  # refuses what is no grid in words of its own
    known = estimator.get_params(deep=True)
    for grid in [param_grid] if isinstance(param_grid, Mapping) else param_grid:
        if grid.keys() <= known.keys():
            continue
        try:  # a step or a kernel of the grid brings parameters of its own
            clone(estimator).set_params(**{name: clone(values[0], safe=False) for name, values in grid.items()})
        except ValueError:
            for name in grid:
                if name not in known and name.partition("__")[0] not in known:
                    raise ValueError(_unknown(name, estimator, list(known))) from None
            raise


def _unknown(name: str, estimator: Any, known: Sequence[str]) -> str:
    """Say that there is no such parameter, and which one may have been meant."""
    meant = [one for one in known if one.endswith(f"__{name}")] or difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {meant[-1]!r}?" if meant else f"its parameters are {', '.join(known)}."
    return f"param_grid names {name!r}, which is no parameter of the {type(estimator).__name__}; {hint}"


class Ideal(BaseEstimator):  # type: ignore[misc]
    """Knows the targets of all samples, of which it is told the numbers: what it is scored by, works or never will.

    Examples
    --------
    >>> ideal = IdealClassifier(np.array(["a", "b"]), np.array(["b", "a", "a"]))
    >>> ideal.predict(np.array([[0], [2]])).tolist(), ideal.decision_function(np.array([[0], [2]])).tolist()
    (['b', 'a'], [1.0, -1.0])
    """

    def __init__(self, targets: Any) -> None:
        self.targets = targets

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        """Return the targets."""
        return np.asarray(self.targets[X[:, 0]])


class IdealRegressor(RegressorMixin, Ideal):  # type: ignore[misc]
    """Always right."""


class IdealClassifier(ClassifierMixin, Ideal):  # type: ignore[misc]
    """Right about the classes that it knows."""

    def __init__(self, classes: NDArray[Any], targets: NDArray[Any]) -> None:
        super().__init__(np.where(np.isin(targets, classes), targets, classes[0]))
        self.classes_ = classes

    def predict_proba(self, X: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return ones and zeros."""
        return np.asarray(self.predict(X)[:, np.newaxis] == self.classes_, dtype=np.float64)

    def predict_log_proba(self, X: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return their logarithms."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def decision_function(self, X: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return values that are positive for the true class, negative for others."""
        values = 2.0 * self.predict_proba(X) - 1.0
        return values[:, 1] if len(self.classes_) == 2 else values


def require_scores(
    estimator: Any,
    candidates: Iterable[Mapping[str, Any]],
    scorers: Any,
    y: Any,
    folds: Sequence[tuple[Indices, Indices]],
    decides: str | None,
) -> None:
    """Refuse scorers that would fail, or give NaN, whatever a model predicts; of others' scorers nothing is known.

    Parameters
    ----------
    estimator : estimator or Pipeline
        With a model of this library.
    candidates : iterable of mappings
    scorers : callable
        What scikit-learn made of ``scoring``.
    y : ndarray or None
    folds : sequence of (train, test)
        Those on which a failure is one of the search, too; none where failures have a score.
    decides : str or None
        The metric, of several, that chooses the best candidate.
    """
    classes = is_classifier(estimator)
    if y is None or not (classes or is_regressor(estimator)):
        return
    y = np.asarray(y)
    if y.ndim != 1:
        return
    if classes:
        if family_of(model_of(estimator)) is not None:  # a subclass may know what to make of one class
            require_two_classes(np.unique(y), len(y))
        _require_classes(y, folds)
    for name, scorer in (several_scorers(scorers) or {"score": scorers}).items():
        if not _is_known(scorer, model_of(estimator)):
            continue
        own = _name_of(scorer, name)
        _require_response(own, scorer, estimator, candidates)
        _require_targets(own, scorer, y, classes)
        if name in ("score", decides):
            _require_folds(own, scorer, y, folds, classes)


def _is_known(scorer: Any, model: Any) -> bool:
    """Tell whether a scorer is one of scikit-learn's, or the score of a model of this library."""
    if isinstance(scorer, _PassthroughScorer):
        return family_of(model) is not None
    return isinstance(scorer, _BaseScorer) and str(scorer._score_func.__module__).startswith("sklearn.")


def _name_of(scorer: Any, name: str) -> str:
    """Name a metric as a user knows it."""
    if isinstance(scorer, _PassthroughScorer):
        return "scoring=None (the model's own score)"
    if name == "score":
        name = f"{'' if scorer._sign > 0 else 'neg_'}{scorer._score_func.__name__.removesuffix('_score')}"
    return f"scoring={name!r}"


def _require_classes(y: NDArray[Any], folds: Sequence[tuple[Indices, Indices]]) -> None:
    """Refuse folds that have but one class to train on."""
    for number, (train, _) in enumerate(folds):
        label = y[train[0]]
        if (y[train] == label).all():
            raise ValueError(
                f"The training part of a fold must hold at least two classes; that of fold {number} of cv holds "
                f"{plain(label)!r} only; pass cv=StratifiedKFold(shuffle=True), say, or other folds."
            )


def _require_response(own: str, scorer: Any, estimator: Any, candidates: Iterable[Mapping[str, Any]]) -> None:
    """Refuse scorers that ask for something that no candidate has: probabilities, mostly."""
    if isinstance(scorer, _PassthroughScorer):
        return
    asked = scorer._response_method
    methods = (asked,) if isinstance(asked, str) else tuple(asked)
    if any(_has(estimator, method) for method in methods):
        return
    for parameters in candidates:
        made = clone(estimator).set_params(**clone(dict(parameters), safe=False))
        if any(_has(made, method) for method in methods):
            return
    model = model_of(estimator)
    kind, remedy = type(model).__name__, "pass another scoring"
    if isinstance(model, KernelClassifier) and hasattr(model, "calibration"):
        remedy = f"pass {kind}(calibration='folds')"
    raise ValueError(f"{own} needs {' or '.join(methods)}, and no candidate of {kind} has such a method; {remedy}.")


def _has(estimator: Any, method: str) -> bool:
    try:
        return hasattr(estimator, method)
    except Exception:  # parameters that do not go together are told of elsewhere
        return True


def _require_targets(own: str, scorer: Any, y: NDArray[Any], classes: bool) -> None:
    """Refuse scorers that do not take such targets, in their own words."""
    known = np.unique(y) if classes else None
    try:
        _ideal_score(scorer, y, known, np.arange(len(y)))
    except (ValueError, TypeError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ValueError(f"{own} cannot score these targets ({reason}); pass {_remedy(scorer, reason)}.") from None


def _remedy(scorer: Any, reason: str) -> str:
    """Say what would do."""
    function = getattr(scorer, "_score_func", None)
    if function is roc_auc_score:
        return "scoring='roc_auc_ovr', which needs SVC(calibration='folds')"
    if function is None or not {"average", "pos_label"} & {*re.findall("[a-z_]+", reason)}:
        return "another scoring"
    if "pos_label" in reason:
        return f"make_scorer({function.__name__}, pos_label=...), say, with one of them"
    name = f"{function.__name__.removesuffix('_score')}_macro"
    return (
        f"scoring={name!r}, say" if name in get_scorer_names() else f"make_scorer({function.__name__}, average='macro')"
    )


def _require_folds(
    own: str, scorer: Any, y: NDArray[Any], folds: Sequence[tuple[Indices, Indices]], classes: bool
) -> None:
    """Refuse scorers that have no value on a fold, since of its classes too few are there."""
    for number, known, test in _kinds_of_folds(y, folds, classes):
        try:
            value = _ideal_score(scorer, y, known, test)
            reason = "it is not defined there"
        except (ValueError, TypeError) as error:
            value, reason = np.nan, str(error).strip().split("\n")[0].rstrip(".")
        if np.isnan(value):
            there = len(np.unique(y[test]))
            holds = f"samples of {there} class{'es' * (there != 1)} only" if classes else f"{len(test)} sample only"
            remedy = "cv=StratifiedKFold(shuffle=True)" if classes else "folds of more samples"
            raise ValueError(
                f"{own} has no value on fold {number} of cv, which tests on {holds} ({reason}); pass {remedy}, say, or "
                "another scoring."
            )


def _kinds_of_folds(
    y: NDArray[Any], folds: Sequence[tuple[Indices, Indices]], classes: bool
) -> Iterator[tuple[int, NDArray[Any] | None, Indices]]:
    """Give one fold of each kind: which classes it trains on and tests on, or whether it tests on a single sample."""
    seen: set[Any] = set()
    every = np.unique(y) if classes else None
    for number, (train, test) in enumerate(folds):
        known = None if every is None else np.unique(y[train])
        kind = len(test) > 1 if known is None else (tuple(known.tolist()), tuple(np.unique(y[test]).tolist()))
        complete = every is not None and kind == (tuple(every.tolist()),) * 2
        if kind not in seen and kind is not True and not complete:
            seen.add(kind)
            yield number, known, test


def _ideal_score(scorer: Any, y: NDArray[Any], classes: NDArray[Any] | None, samples: Indices) -> float:
    ideal = IdealRegressor(y) if classes is None else IdealClassifier(classes, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(scorer(ideal, samples[:, np.newaxis], y[samples]))
