"""What a search says of itself: its work, its ties, the edges of its grid."""

from __future__ import annotations

import numbers
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from widemargin.model_selection.grid.setup import machine_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.runtime import Work
from widemargin.study.findings import Found
from widemargin.study.report import SearchReport

#: Relative difference below which scores are equal: means of the same scores may differ in their last digits.
ROUNDING = 1e-12


def report_of(search: SharedSearch, found: Found, seconds: float) -> SearchReport:
    """Report a search from what it has found."""
    data, n_folds = search.data, len(search.data.folds)
    rows = [(len(np.unique(train)), len(test)) for train, test in data.folds]
    cold = 0
    for one in found.values():
        candidate, split = divmod(one.number, n_folds)
        n_train, n_test = rows[split]
        if one.error is None and search.machines[candidate].kernel != "precomputed":
            cold += n_train * (n_train + n_test)
    unfinished = len(data.candidates) * n_folds - len(found)
    work = replace(Work.total([one.work for one in found.values()]), unfinished=unfinished, seconds=seconds)
    return SearchReport(cold_kernel_evaluations=cold, **work.counts())


def report_of_plain(results: Mapping[str, Any], n_folds: int, seconds: float) -> SearchReport:
    """Report a search whose models were trained alone, from its results; trained are those with a score."""
    metric = next(key.removeprefix("split0") for key in results if key.startswith("split0_test_"))
    scores = [results[f"split{split}{metric}"] for split in range(n_folds)]
    trained = int(np.count_nonzero(~np.isnan(scores)))
    return SearchReport(trained=trained, failed=np.size(scores) - trained, counted=False, seconds=seconds)


def measure_cold(
    search: Any, X: Any, y: Any = None, *, groups: Any = None, n_machines: int | None = None, **fit_params: Any
) -> Work:
    """Train the machines of a search one by one, each from nothing, and count what that takes.

    Parameters
    ----------
    search : GridSearchCV
        A fitted one; its machines must be widemargin's.
    X, y, groups
        What it was fitted to. Splits are the same if the splitter draws them the same way each time.
    n_machines : int, optional
        Train so many only, evenly spread over the candidates and splits; by default all, which may take long.
    **fit_params
        What else its estimator was fitted with: ``sample_weight``.

    Returns
    -------
    Work

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC, GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.1, 1]}).fit(X, y)
    >>> cold = measure_cold(search, X, y)
    >>> cold.trained, cold.kernel_evaluations > search.work_report_.kernel_evaluations
    (30, True)
    """
    splits = list(check_cv(search.cv, y, classifier=is_classifier(search.estimator)).split(X, y, groups))
    machines = [(params, train) for params in search.cv_results_["params"] for train, _ in splits]
    if n_machines is not None:
        chosen = np.linspace(0, len(machines) - 1, min(n_machines, len(machines)))
        machines = [machines[int(number)] for number in chosen]
    reports, began = [], time.perf_counter()
    for params, train in machines:
        estimator = clone(search.estimator).set_params(**clone(params, safe=False))
        own = _check_method_params(X, params=fit_params, indices=train)
        estimator.fit(_safe_indexing(X, train), None if y is None else _safe_indexing(y, train), **own)
        reports.extend(machine_of(estimator).fit_report_)
    return Work(
        trained=len(machines),
        iterations=sum(one.iterations for one in reports),
        kernel_evaluations=sum(one.kernel_evaluations for one in reports),
        seconds=time.perf_counter() - began,
    )


def smoothness(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Order machines from smooth to wiggly: by C, then by gamma; what is no number comes last.

    Examples
    --------
    >>> smoothness({"svc__C": 2.0, "svc__gamma": "scale"})
    (2.0, inf)
    """

    def number(name: str) -> float:
        values = [value for key, value in parameters.items() if key.rpartition("__")[2] == name]
        return float(values[0]) if values and isinstance(values[0], numbers.Real) else np.inf

    return number("C"), number("gamma")


def tied(results: Mapping[str, Any], metric: str, index: int) -> list[int]:
    """Return the numbers of the candidates that score as well as one of them.

    Examples
    --------
    >>> tied({"mean_test_score": np.array([0.9, 0.7, 0.9])}, "score", 0)
    [0, 2]
    """
    scores = results[f"mean_test_{metric}"]
    best = scores[index]
    if not np.isfinite(best):
        return [index]
    return [int(one) for one in np.flatnonzero(scores >= best - ROUNDING * max(1.0, abs(best)))]


def smoothest(results: Mapping[str, Any], metric: str, index: int) -> int:
    """Return the smoothest machine of those that score as well as one of them.

    Examples
    --------
    >>> scores, params = np.array([0.9, 0.7, 0.9]), [{"C": 100}, {"C": 10}, {"C": 1}]
    >>> smoothest({"mean_test_score": scores, "params": params}, "score", 0)
    2
    """
    return min(tied(results, metric, index), key=lambda one: (*smoothness(results["params"][one]), one))


def edges(candidates: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> dict[str, str]:
    """Name the parameters whose chosen value is the smallest or the largest of the grid.

    Examples
    --------
    >>> edges([{"C": 1, "gamma": 0.1}, {"C": 2, "gamma": 0.1}], {"C": 2, "gamma": 0.1})
    {'C': 'largest'}
    """
    found: dict[str, str] = {}
    for name, value in chosen.items():
        others = {other[name] for other in candidates if isinstance(other.get(name), numbers.Real)}
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)) or len(others) < 2:
            continue
        if value == min(others):
            found[name] = "smallest"
        elif value == max(others):
            found[name] = "largest"
    return found
