"""A machine chosen from the data alone: standardised features, a grid that follows the data and grows at its edges."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin.estimators.grid_search import GridSearchCV
from widemargin.estimators.regression import SVR
from widemargin.estimators.search_report import WorkReport, smoothness
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import require_number
from widemargin.search.ranges import beyond, c_values, gamma_values

#: Times that a grid grows beyond an edge.
MOST_ROUNDS = 4

#: Width of a regression's tube, in standard deviations of the targets.
TUBE = 0.1


@dataclass(frozen=True)
class Selection:
    """The machine that was chosen and how it compares.

    Attributes
    ----------
    model : Pipeline
        The scaler and the machine, fitted on all rows.
    parameters : dict
        Of the machine: C, gamma, and epsilon for regression.
    score, standard_error : float
        Mean over the splits (accuracy, or R^2) and its standard error.
    ties : list of dict
        Parameters that score as well.
    candidates : int
    edges : dict
        Parameters that ended on an edge of the grid all the same.
    reports : tuple of WorkReport
        Of the grid and of each time that it grew.
    """

    model: Pipeline
    parameters: dict[str, float]
    score: float
    standard_error: float
    ties: list[dict[str, float]]
    candidates: int
    edges: dict[str, str]
    reports: tuple[WorkReport, ...]


def select(
    X: Any,
    y: NDArray[Any],
    *,
    regression: bool = False,
    n_splits: int = 5,
    max_time: float | None = None,
    journal: Path | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Selection:
    """Choose C and the width of a Gaussian kernel by cross-validation, without being told where to look.

    Features are standardised inside the model. The grid comes from :mod:`widemargin.search.ranges`; where the best
    candidate lies on an edge, the grid grows beyond it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    regression : bool, default=False
        Train `SVR` on numbers rather than `SVC` on classes.
    n_splits : int, default=5
    max_time : float, optional
        Seconds for the search.
    journal : Path, optional
        File of the grid's journal; where the grid grows, further files get a number.
    n_jobs, progress
        See :class:`GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> chosen = select(X, y)
    >>> chosen.score > 0.97
    True
    """
    began = time.perf_counter()
    if max_time is not None:
        require_number("max_time", max_time, above=0)
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    spread = float(np.std(y.astype(np.float64))) if regression else 1.0
    machine: Any = SVR(epsilon=TUBE * spread, n_jobs=n_jobs) if regression else SVC(n_jobs=n_jobs)
    pipeline = Pipeline([("scaler", scaler), ("machine", machine)])
    axes = {
        "machine__C": c_values() * (spread or 1.0),
        "machine__gamma": gamma_values(scaler.fit_transform(X), None if regression else y),
    }
    folds = KFold if regression else StratifiedKFold
    cv = folds(n_splits, shuffle=True, random_state=0)
    searches: list[GridSearchCV] = []
    grid = dict(axes)
    for number in range(MOST_ROUNDS + 1):
        left = None if max_time is None else max_time - (time.perf_counter() - began)
        if left is not None and left <= 0:
            if not searches:
                raise TimeoutError(f"max_time={max_time!r} ended before the search began; allow more.")
            break
        name = None if journal is None else _numbered(journal, number)
        search = GridSearchCV(
            pipeline, grid, cv=cv, n_jobs=n_jobs, refit=False, max_time=left, journal=name, progress=progress
        )
        try:
            searches.append(search.fit(X, y))
        except TimeoutError:
            if not searches:
                raise
            break
        edges = _edges(axes, _best(searches)[1])
        if not edges:
            break
        axis, edge = next(iter(edges.items()))
        more = beyond(axes[axis], edge)
        grid = {**axes, axis: more}
        axes[axis] = np.unique(np.concatenate([axes[axis], more]))
    (search, index), parameters = _best(searches)
    score = float(search.cv_results_["mean_test_score"][index])
    spreads = search.cv_results_["std_test_score"]
    ties = [tied for one in searches for tied in one.ties_ if one.best_score_ >= score - 1e-12]
    return Selection(
        model=pipeline.set_params(**parameters).fit(X, y),
        parameters=_short(parameters) | ({"epsilon": TUBE * spread} if regression else {}),
        score=score,
        standard_error=float(spreads[index]) / np.sqrt(n_splits),
        ties=[_short(one) for one in ties],
        candidates=sum(len(one.cv_results_["params"]) for one in searches),
        edges=_short(_edges(axes, parameters)),
        reports=tuple(one.work_report_ for one in searches),
    )


def _best(searches: list[GridSearchCV]) -> tuple[tuple[GridSearchCV, int], dict[str, Any]]:
    """Return the best candidate of all grids, the smoothest of equals."""
    search = min(searches, key=lambda one: (-round(float(one.best_score_), 12), *smoothness(one.best_params_)))
    return (search, int(search.best_index_)), dict(search.best_params_)


def _edges(axes: dict[str, Any], parameters: dict[str, Any]) -> dict[str, str]:
    found = {}
    for name, values in axes.items():
        if parameters[name] == values[0]:
            found[name] = "smallest"
        elif parameters[name] == values[-1]:
            found[name] = "largest"
    return found


def _numbered(journal: Path, number: int) -> Path:
    return journal if number == 0 else journal.with_name(f"{journal.stem}.{number + 1}{journal.suffix}")


def _short(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("machine__"): value for name, value in parameters.items()}
