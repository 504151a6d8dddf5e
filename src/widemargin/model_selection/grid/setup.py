"""What a grid search is about: data, candidates, folds and scores, checked once, and who gets which fit parameter."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_outlier_detector
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection import ParameterGrid
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import _num_samples

from widemargin.estimators.calibration import FOLDS, FROM_SEARCH, CalibratedClassifier, asked_for
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.pipelines import is_known, resamples
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.estimators.validation import check_weights, is_numeric, leaves_gamma_unused
from widemargin.machines.dual import Vector
from widemargin.model_selection.grid.folds import (
    BallFold,
    ClassifierFold,
    FoldModels,
    Indices,
    NuClassifierFold,
    NuRegressorFold,
    OneClassFold,
    RegressorFold,
)
from widemargin.model_selection.one_class_scores import OneClassScore
from widemargin.plans import Plan
from widemargin.runtime import free_memory, thread_count


def several_scorers(scorers: Any) -> dict[str, Any] | None:
    """Return the scorers that scikit-learn wraps into one, by their names; None of one that is not made of others."""
    return scorers._scorers if isinstance(scorers, _MultimetricScorer) else None


@dataclass(frozen=True)
class Scoring:
    """Scores models as scikit-learn does.

    Parameters
    ----------
    scorers : callable
        What scikit-learn made of ``scoring``.
    params : mapping
        What scorers get beside the model and the samples, for all samples of the data.
    error_score : number or "raise"
    """

    scorers: Any
    params: Mapping[str, Any]
    error_score: Any

    def only_predicts(self) -> bool:
        """Tell whether a model is asked for nothing but predictions of the samples that it is scored on."""
        each = several_scorers(self.scorers) or {"score": self.scorers}
        return all(isinstance(one, (_BaseScorer, _PassthroughScorer, OneClassScore)) for one in each.values())

    def __call__(self, model: Any, X: Any, y: Any, params: Mapping[str, Any]) -> Any:
        """Score a model on samples; `params` are those of the samples."""
        return _score(model, X, y, self.scorers, params, self.error_score)


#: A kernel may take this share of the free memory unless `max_memory` says otherwise.
SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True)
class Share:
    """What a search may use: megabytes, split among as many processes, and threads, all of which wait for a kernel."""

    memory: float | str = "auto"
    processes: int = 1
    threads: int = 1

    @property
    def allowed_bytes(self) -> float:
        """What the kernels of one process may take.

        Examples
        --------
        >>> Share(memory=16, processes=2).allowed_bytes == 8 * 2**20
        True
        """
        whole = SHARE_OF_MEMORY * free_memory() if self.memory == "auto" else float(self.memory) * 2**20
        return whole / self.processes


Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Unit:
    """Candidates that differ in C alone, in the order of a chain, on one fold: what is solved in one go."""

    fold: int
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class SearchData:
    """Everything that stays the same throughout a search.

    `X` and `y` are checked, `given` and `given_y` are samples and targets as the user gave them. `raises` lets failures
    of a model end the search. `plan` says where chains start. `fit_params` are for the ``fit`` of a pipeline.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    folds: Sequence[tuple[Indices, Indices]]
    weights: Vector
    scoring: Scoring
    given: Any = None
    given_y: Any = None
    raises: bool = False
    return_train_score: bool = False
    share: Share = field(default_factory=Share)
    plan: str | Plan = "heuristic"
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def n_evaluations(self) -> int:
        """Candidates times folds."""
        return len(self.candidates) * len(self.folds)

    @cached_property
    def folds_stand_alone(self) -> bool:
        """Whether each fold has samples of its own that no other fold knows.

        So it is behind samplers, and behind other steps where a sample is there more than once, on either side of a
        split: steps may make different things of it.
        """
        if not isinstance(self.estimator, Pipeline):
            return False
        n = len(self.weights)
        return resamples(self.estimator) or any(
            (np.bincount(train, minlength=n) + np.bincount(test, minlength=n) > 1).any() for train, test in self.folds
        )


def model_of(estimator: Any) -> Any:
    """Return the model at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) and estimator.steps else estimator


def prefix_of(estimator: Any) -> str:
    """Return what the names of the model's parameters begin with: nothing, if it is not in a pipeline."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) and estimator.steps else ""


#: What trains the candidates of each kind of model together.
FAMILIES: dict[type[Any], type[FoldModels]] = {
    SVC: ClassifierFold,
    NuSVC: NuClassifierFold,
    SVR: RegressorFold,
    NuSVR: NuRegressorFold,
    OneClassSVM: OneClassFold,
    SVDD: BallFold,
}


def family_of(model: Any) -> type[FoldModels] | None:
    """Return what trains a model's candidates together, if anything does; a subclass may have methods of its own."""
    return FAMILIES.get(type(model))


#: The one fit parameter that models know.
WEIGHTS = "sample_weight"


@dataclass(frozen=True)
class FitParameters:
    """Fit parameters of an estimator, by those who get them.

    Attributes
    ----------
    weights : array-like or None
        Of the model.
    of_steps : dict
        What the steps before the model get, in the words of the pipeline's ``fit``.
    others : list of str
        What is left: parameters of the model other than weights, or of nobody.
    """

    weights: Any
    of_steps: dict[str, Any]
    others: list[str]


def fit_parameters(estimator: Any, given: Mapping[str, Any]) -> FitParameters:
    """Tell who gets what of the parameters that an estimator is fitted with.

    Parameters
    ----------
    estimator : estimator or Pipeline
        The model, or a pipeline that ends in it.
    given : mapping
        What the estimator's ``fit`` gets.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> fit_parameters(pipeline, {"svc__sample_weight": [1, 2], "standardscaler__sample_weight": [3, 4]})
    FitParameters(weights=[1, 2], of_steps={'standardscaler__sample_weight': [3, 4]}, others=[])
    """
    own = dict(given)
    if not isinstance(estimator, Pipeline):
        return FitParameters(own.pop(WEIGHTS, None), {}, sorted(own))
    last, _ = estimator.steps[-1]
    if not (get_config()["enable_metadata_routing"] and own):
        weights = own.pop(f"{last}__{WEIGHTS}", None)
        steps = tuple(f"{name}__" for name, _ in estimator.steps[:-1])
        of_steps = {name: own.pop(name) for name in list(own) if name.startswith(steps)}
        return FitParameters(weights, of_steps, sorted(own))
    routed = process_routing(estimator, "fit", **own)  # refuses what nobody asks for
    of_model = dict(routed[last]["fit"])
    weights = of_model.pop(WEIGHTS, None)
    of_steps = {}
    if len(estimator.steps) > 1:
        asked = get_routing_for_object(estimator[:-1]).consumes("fit_transform", own.keys())
        of_steps = {name: own[name] for name in sorted(asked)}
    return FitParameters(weights, of_steps, sorted(of_model))


def why_plain(estimator: Any, param_grid: Any, fit_params: Mapping[str, Any], scorers: Any) -> str | None:
    """Say why the candidates of a search cannot share work, if they cannot.

    Raises
    ------
    ValueError
        If scores need probabilities that there are only when the search is over.

    Examples
    --------
    >>> from widemargin import SVC
    >>> why_plain(SVC(), {"C": [1, 10]}, {}, None)
    >>> why_plain(SVC(), {"solver": ["auto", "smo"]}, {}, None)
    "solver='smo' is asked for, and chains of models have a solver of their own"
    """
    model = model_of(estimator)
    family = family_of(model)
    if family is None:
        return f"{type(model).__name__} is not an estimator whose candidates can share work"
    behind = isinstance(estimator, Pipeline)
    if behind and not is_known(estimator):
        return f"{type(estimator).__name__} is a subclass of Pipeline, which may have methods of its own"
    if behind and getattr(estimator, "transform_input", None) is not None:
        return "The pipeline transforms fit parameters (`transform_input`)"
    settings = [model.get_params(deep=False)]
    last = prefix_of(estimator)
    for grid in [param_grid] if isinstance(param_grid, Mapping) else list(param_grid):
        for key, values in grid.items():
            if behind and key in (last[:-2], "steps", "transform_input"):
                return f"The grid replaces the model itself, or what a pipeline is made of ({key!r})"
            if key.startswith(last):
                settings.extend({key.removeprefix(last): value} for value in values)
            elif _is_precomputed(values):
                return f"Steps before the model take matrices between samples ({key}='precomputed')"
    if behind and (get_tags(estimator).input_tags.pairwise or any(_is_precomputed(one.values()) for one in settings)):
        return "The pipeline goes by matrices between samples, whose columns are the samples of a fold"
    reason = family.why_alone(settings)
    if reason is not None:
        return reason
    others = fit_parameters(estimator, fit_params).others
    if others:
        return f"Fit parameters other than the model's weights were given ({', '.join(others)})"
    if calibrations(estimator, param_grid) != {None}:
        return _why_calibrated_alone(estimator, param_grid, scorers)
    return None


def _is_precomputed(values: Iterable[Any]) -> bool:
    return any(isinstance(value, str) and value == "precomputed" for value in values)


def calibrations(estimator: Any, param_grid: Any = None) -> set[Any]:
    """Return the ways to probabilities that an estimator, and a grid of its parameters, ask for.

    Examples
    --------
    >>> from widemargin import SVC
    >>> calibrations(SVC(), {"C": [1, 2]}), calibrations(SVC(probability=True))
    ({None}, {'folds'})
    """
    model, prefix = model_of(estimator), prefix_of(estimator)
    if not isinstance(model, CalibratedClassifier):
        return {None}
    asked = set()
    for grid in [param_grid] if isinstance(param_grid, Mapping) else list(param_grid or [{}]):
        given = [grid.get(f"{prefix}{name}", [getattr(model, name)]) for name in ("probability", "calibration")]
        found = (asked_for(*values) for values in product(*given))
        asked |= {value for value in found if isinstance(value, str | None)}
    return asked


def _why_calibrated_alone(estimator: Any, param_grid: Any, scorers: Any) -> str | None:
    """Say why probabilities keep the candidates of a search from sharing work, if they do.

    Raises
    ------
    ValueError
        If scores need probabilities that there are only when the search is over.
    """
    kinds = calibrations(estimator, param_grid)
    asked = _asked_for(scorers)
    if asked is True and FROM_SEARCH in kinds:
        raise ValueError(
            f"calibration={FROM_SEARCH!r} makes probabilities when the search is over, and its scoring needs them "
            "before; pass calibration='folds', or a scoring without probabilities."
        )
    if asked is False or FOLDS not in kinds:
        return None
    if asked is None:
        return "The scorer may ask for probabilities, which calibration='folds' finds for one model at a time"
    return "Scores need probabilities, which calibration='folds' finds for one model at a time"


def _asked_for(scorers: Any) -> bool | None:
    """Tell whether scorers ask for probabilities; None if nobody knows."""
    answers: set[bool | None] = set()
    for one in (several_scorers(scorers) or {"score": scorers}).values():
        if isinstance(one, _PassthroughScorer):
            answers.add(False)
        elif isinstance(one, _BaseScorer):
            method = one._response_method
            first = method if isinstance(method, str) else next(iter(method))
            answers.add(first in ("predict_proba", "predict_log_proba"))
        else:
            answers.add(None)
    return True if True in answers else None if None in answers else False


def require_shared(reason: str, estimator: Any, param_grid: Any) -> None:
    """Refuse to train models alone if decision values of the search are needed."""
    if FROM_SEARCH in calibrations(estimator, param_grid):
        raise ValueError(
            f"{reason}, so this search would train every model alone, where calibration={FROM_SEARCH!r} has no "
            "decision values to take; pass calibration='folds'."
        )


def repeats_for_gamma(estimator: Any, param_grid: Any) -> str | None:
    """Name a kernel that some candidates of a search have which differ in a gamma that it does not use.

    Examples
    --------
    >>> from widemargin import SVC
    >>> repeats_for_gamma(SVC(), {"kernel": ["linear", "rbf"], "gamma": [0.1, 1.0]})
    'linear'
    >>> repeats_for_gamma(SVC(), [{"kernel": ["linear"]}, {"gamma": [0.1, 1.0]}])
    """
    model, prefix = model_of(estimator), prefix_of(estimator)
    if family_of(model) is None:
        return None
    for grid in [param_grid] if isinstance(param_grid, Mapping) else param_grid:
        kernels, gammas = (grid.get(f"{prefix}{name}", [getattr(model, name)]) for name in ("kernel", "gamma"))
        for kernel in kernels:
            if any(leaves_gamma_unused(kernel, gamma) for gamma in gammas):
                return str(kernel)
    return None


def search_data(
    search: Any, X: Any, y: Any, folds: Sequence[tuple[Indices, Indices]], scorers: Any, routed: Any
) -> SearchData:
    """Return what a search is about.

    Parameters
    ----------
    search : GridSearchCV
        Its parameters say what is searched.
    X, y
        Samples and targets as they were given.
    folds : sequence of (train, test)
    scorers : callable or dict
    routed : Bunch
        Who gets which of the parameters that the search is fitted with.
    """
    estimator = search.estimator
    given = fit_parameters(estimator, routed.estimator.fit)
    weights = check_weights(given.weights, _num_samples(X))
    grid = list(ParameterGrid(search.param_grid))
    checked, targets = _checked_samples(estimator, X, y, weights, grid)
    return SearchData(
        estimator,
        grid,
        checked,
        targets,
        checked_folds(folds, _num_samples(X)),
        weights,
        Scoring(scorers, dict(routed.scorer.score), search.error_score),
        given=X,
        given_y=y,
        raises=search.error_score == "raise",
        return_train_score=bool(search.return_train_score),
        share=Share(search.max_memory, threads=thread_count(search.n_jobs)),
        plan=search.plan,
        fit_params=dict(routed.estimator.fit) if isinstance(estimator, Pipeline) else {},
    )


def require_joint_folds(what: str, data: SearchData) -> None:
    """Refuse folds of which each has samples of its own, where models of one are to start from those of another."""
    if data.folds_stand_alone:
        raise ValueError(
            f"{what} needs samples that all folds know; samplers make others for each fold, and so do steps of a "
            "pipeline if a sample is more than once in the parts of a fold; pass plan='heuristic', or other folds."
        )


def checked_folds(folds: Sequence[tuple[Any, Any]], n: int) -> list[tuple[Indices, Indices]]:
    """Return the samples that the parts of folds consist of; splitters may give masks, or count from the end.

    Examples
    --------
    >>> checked_folds([([True, True, False], [-1])], 3)
    [(array([0, 1]), array([2]))]
    """
    samples, found = np.arange(n), []
    for number, fold in enumerate(folds):
        parts = []
        for part, given in zip(("training", "test"), fold, strict=True):
            try:
                chosen = samples[np.asarray(given, dtype=None if len(given) else np.intp)]
            except IndexError as problem:
                raise ValueError(f"cv yields a {part} part of fold {number} that cannot be used ({problem}).") from None
            if not len(chosen):
                raise ValueError(
                    f"cv yields an empty {part} part of fold {number}; a fold needs samples to train on and samples "
                    "to test on."
                )
            parts.append(chosen)
        found.append((parts[0], parts[1]))
    return found


def _checked_samples(
    estimator: Any, X: Any, y: Any, weights: Vector, grid: Sequence[Mapping[str, Any]]
) -> tuple[Any, Any]:
    """Return samples and targets as a model takes them; those of a pipeline are checked once they passed its steps."""
    model, alone = copy.copy(model_of(estimator)), not isinstance(estimator, Pipeline)
    if alone and not is_numeric(X) and all(callable(one.get("kernel")) for one in grid):
        model.kernel = grid[0]["kernel"]  # strings and other objects suit the kernels that are tried, not the model's
    targets = None if y is None else np.asarray(y)
    if is_outlier_detector(model):
        X = model._check_samples(X)[0] if alone else X
    elif alone:
        X, targets = model._check_samples(X, y)
    else:
        _, targets = model._check_samples(np.zeros((_num_samples(X), 1)), y)
    if alone:
        model._checked_kernel(X, weights)  # tells, once, of samples and a kernel that do not suit each other
    return X, targets
