"""A model chosen from the data alone: standardised features, a grid that follows the data and grows at its edges."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin.estimators.regression import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import require_number
from widemargin.model_selection.grid.results import ROUNDING
from widemargin.model_selection.growth import best_of, grown, standard_error
from widemargin.plans.ranges import c_values, gamma_values
from widemargin.runtime import Stop
from widemargin.runtime.memory import require_room_for_columns
from widemargin.study.report import SearchReport

#: The model in its pipeline.
STEP = "model"

#: Width of a regression's tube, in standard deviations of the targets.
TUBE = 0.1


@dataclass(frozen=True)
class Selection:
    """The model that was chosen and how it compares.

    Attributes
    ----------
    model : Pipeline
        The scaler and the support vector machine, fitted on all samples.
    parameters : dict
        C, gamma, and epsilon for regression.
    score, standard_error : float
        Mean over the folds (accuracy, or R^2) and its standard error.
    ties : list of dict
        Parameters that score as well.
    candidates : int
    edges : dict
        Parameters that ended on an edge of the grid all the same, unless nothing better can lie beyond: the last step
        brought nothing, no coefficient meets its bound C, or the score is perfect.
    reports : tuple of SearchReport
        Of the grid and of each time that it grew.
    """

    model: Pipeline
    parameters: dict[str, float]
    score: float
    standard_error: float
    ties: list[dict[str, float]]
    candidates: int
    edges: dict[str, str]
    reports: tuple[SearchReport, ...]

    @property
    def work(self) -> SearchReport:
        """All reports added up."""
        return SearchReport.of_all(self.reports)


def select(
    X: Any,
    y: Any,
    *,
    regression: bool = False,
    cv: Any = 5,
    max_time: float | None = None,
    journal: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Selection:
    """Choose C and the width of a Gaussian kernel by cross-validation, without being told where to look.

    Features are standardised inside the model. The grid comes from :mod:`widemargin.plans.ranges`; where the best
    candidate lies on an edge, the grid grows a step beyond it, and on for as long as a step gains more than the
    standard error of the score and is not harder than all before it together; four steps at most. It does not grow
    beyond a C that no coefficient meets on any fold, since every larger one gives the same models. A step reuses the
    folds, the distances and, up to some hundred samples, the kernel matrices of those before it.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    regression : bool, default=False
        Train `SVR` on numbers rather than `SVC` on classes.
    cv : int, splitter or iterable of folds, default=5
        As in :class:`GridSearchCV`; a number of folds shuffles the samples, the same way each time.
    max_time : float, optional
        Seconds for the search; the fit of what it has chosen comes on top.
    journal : path, optional
        File of the grid's journal; where the grid grows, further files get a number.
    n_jobs, progress
        See :class:`GridSearchCV`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import select
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> chosen = select(X, y)
    >>> chosen.score > 0.97, sorted(chosen.parameters)
    (True, ['C', 'gamma'])
    >>> chosen.model.predict(X[:3]).tolist()
    [0, 0, 0]
    """
    if max_time is not None:
        require_number("max_time", max_time, above=0)
    stop = Stop().within(max_time)
    y = np.asarray(y)
    if sp.issparse(X):
        require_room_for_columns(X.shape[1])
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    spread = float(np.std(y.astype(np.float64))) if regression else 1.0
    model: Any = SVR(epsilon=TUBE * spread, n_jobs=n_jobs) if regression else SVC(n_jobs=n_jobs)
    pipeline = Pipeline([("scaler", scaler), (STEP, model)])
    axes = {
        f"{STEP}__C": c_values() * (spread or 1.0),
        f"{STEP}__gamma": gamma_values(scaler.fit_transform(X), None if regression else y),
    }
    if isinstance(cv, numbers.Integral):
        cv = (KFold if regression else StratifiedKFold)(int(cv), shuffle=True, random_state=0)
    folds = list(check_cv(cv, y, classifier=not regression).split(X, y))
    try:
        found = _found(
            pipeline, axes, X, y, stop, journal, cv=folds, n_jobs=n_jobs, progress=progress
        )  # by now all kernels are let go of, and there is room for the fit
    except TimeoutError:
        raise TimeoutError(f"max_time={max_time!r} is too short: no candidate was finished; allow more.") from None
    parameters = found.pop("parameters")
    return Selection(
        model=pipeline.set_params(**parameters).fit(X, y),
        parameters=_short(parameters) | ({"epsilon": TUBE * spread} if regression else {}),
        **found,
    )


def _found(
    pipeline: Pipeline, axes: dict[str, Any], X: Any, y: Any, stop: Stop, journal: Any, **how: Any
) -> dict[str, Any]:
    """Search a grid that grows; return what a selection says of it."""
    files = None if journal is None else partial(_numbered, Path(journal))
    searches, edges_left = grown(pipeline, axes, X, y, stop=stop, journal=files, **how)
    search = best_of(searches)
    score = float(search.best_score_)
    return {
        "parameters": dict(search.best_params_),
        "score": score,
        "standard_error": standard_error(search),
        "ties": [_short(one) for other in searches if other.best_score_ >= score - ROUNDING for one in other.ties_],
        "candidates": sum(len(one.cv_results_["params"]) for one in searches),
        "edges": {name.removeprefix(f"{STEP}__"): edge for name, edge in edges_left.items()},
        "reports": tuple(one.work_report_ for one in searches),
    }


def _numbered(journal: Path, number: int) -> Path:
    return journal if number == 0 else journal.with_name(f"{journal.stem}.{number + 1}{journal.suffix}")


def _short(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Parameters of the model by their own names."""
    return {name.removeprefix(f"{STEP}__"): float(value) for name, value in parameters.items()}
