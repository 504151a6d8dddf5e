"""A machine chosen from the data alone: standardised features, a grid that follows the data and grows at its edges."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from widemargin.estimators.regression import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import require_number
from widemargin.kernels.memory import require_room_for_columns
from widemargin.model_selection.grid.grid_search import GridSearchCV
from widemargin.model_selection.grid.report import ROUNDING
from widemargin.model_selection.growth import best_of, grown, standard_error
from widemargin.plans.ranges import c_values, gamma_values
from widemargin.study.report import SearchReport

#: What names of the machine's parameters begin with in its pipeline.
PREFIX = "machine__"

#: Width of a regression's tube, in standard deviations of the targets.
TUBE = 0.1


@dataclass(frozen=True)
class Selection:
    """The machine that was chosen and how it compares.

    Attributes
    ----------
    model : Pipeline
        The scaler and the machine, fitted on all samples.
    parameters : dict
        Of the machine: C, gamma, and epsilon for regression.
    score, standard_error : float
        Mean over the splits (accuracy, or R^2) and its standard error.
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
    n_splits: int = 5,
    max_time: float | None = None,
    journal: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Selection:
    """Choose C and the width of a Gaussian kernel by cross-validation, without being told where to look.

    Features are standardised inside the model. The grid comes from :mod:`widemargin.plans.ranges`; where the best
    candidate lies on an edge, the grid grows a step beyond it, and on for as long as a step gains more than the
    standard error of the score and is not harder than all before it together; four steps at most. It does not grow
    beyond a C that no coefficient meets on any split, since every larger one gives the same machines.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    regression : bool, default=False
        Train `SVR` on numbers rather than `SVC` on classes.
    n_splits : int, default=5
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
    deadline = None
    if max_time is not None:
        require_number("max_time", max_time, above=0)
        deadline = time.perf_counter() + max_time
    y = np.asarray(y)
    if sp.issparse(X):
        require_room_for_columns(X.shape[1])
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    spread = float(np.std(y.astype(np.float64))) if regression else 1.0
    machine: Any = SVR(epsilon=TUBE * spread, n_jobs=n_jobs) if regression else SVC(n_jobs=n_jobs)
    pipeline = Pipeline([("scaler", scaler), ("machine", machine)])
    axes = {
        "machine__C": c_values() * (spread or 1.0),
        "machine__gamma": gamma_values(scaler.fit_transform(X), None if regression else y),
    }
    folds = (KFold if regression else StratifiedKFold)(n_splits, shuffle=True, random_state=0)

    def time_left() -> float | None:
        left = None if deadline is None else deadline - time.perf_counter()
        if left is not None and left <= 0:
            raise TimeoutError
        return left

    def searched(grid: Mapping[str, Any], number: int) -> GridSearchCV:
        left = time_left()
        name = None if journal is None else _numbered(Path(journal), number)
        search = GridSearchCV(
            pipeline, grid, cv=folds, n_jobs=n_jobs, refit=False, max_time=left, journal=name, progress=progress
        )
        return search.fit(X, y)

    def saturated(parameters: Mapping[str, Any]) -> bool:
        model = clone(pipeline).set_params(**parameters)
        return all(
            _is_unbounded(model.set_params(machine__max_time=time_left()), _safe_indexing(X, train), y[train])
            for train, _ in folds.split(X, y)
        )

    try:
        searches, edges_left = grown(searched, saturated, axes)
    except TimeoutError:
        raise TimeoutError(f"max_time={max_time!r} is too short: no candidate was finished; allow more.") from None
    search = best_of(searches)
    score, parameters = float(search.best_score_), dict(search.best_params_)
    return Selection(
        model=pipeline.set_params(**parameters).fit(X, y),
        parameters=_short(parameters) | ({"epsilon": TUBE * spread} if regression else {}),
        score=score,
        standard_error=standard_error(search),
        ties=[_short(one) for other in searches if other.best_score_ >= score - ROUNDING for one in other.ties_],
        candidates=sum(len(one.cv_results_["params"]) for one in searches),
        edges={name.removeprefix(PREFIX): edge for name, edge in edges_left.items()},
        reports=tuple(one.work_report_ for one in searches),
    )


def _is_unbounded(model: Pipeline, X: Any, y: NDArray[Any]) -> bool:
    """Train a model; tell whether it is the same for every larger C, since no coefficient meets that bound."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of time that is up, which the search tells of
        machine = model.fit(X, y)[-1]
    if any(report.reason != "converged" for report in machine.fit_report_):
        return False
    coefficients = machine.dual_coef_.data if sp.issparse(machine.dual_coef_) else machine.dual_coef_
    return bool(np.max(np.abs(coefficients), initial=0.0) < machine.C)


def _numbered(journal: Path, number: int) -> Path:
    return journal if number == 0 else journal.with_name(f"{journal.stem}.{number + 1}{journal.suffix}")


def _short(parameters: Mapping[str, Any]) -> dict[str, float]:
    """Parameters of the machine by their own names."""
    return {name.removeprefix(PREFIX): float(value) for name, value in parameters.items()}
