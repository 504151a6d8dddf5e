"""What a search has found, in the words of scikit-learn's results, and what it says of itself: work, ties, edges."""

from __future__ import annotations

import numbers
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from widemargin.model_selection.grid.setup import model_of
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.runtime import Work
from widemargin.study.findings import ENDED_EARLY, Finding, Found
from widemargin.study.report import SearchReport

#: Relative difference below which scores are equal: means of the same scores may differ in their last digits.
ROUNDING = 1e-12

#: For each candidate and fold, whether something is so.
Mask = NDArray[np.bool_]


class UnfinishedSearchWarning(UserWarning):
    """A search has ended before all of its candidates were finished on every fold."""


def missing_from(found: Found, n_candidates: int, n_folds: int) -> Mask:
    """Tell which evaluations there are not."""
    gone = np.ones(n_candidates * n_folds, dtype=np.bool_)
    gone[list(found)] = False
    return gone.reshape(n_candidates, n_folds)


def as_results(search: SharedSearch, found: Found, error_score: Any) -> list[dict[str, Any]]:
    """Put evaluations into scikit-learn's words, fold after fold of one candidate after the other.

    Failures score `error_score`. What was not finished has a score of 0, for :func:`leave_blank` to take away, or
    scikit-learn would warn of it; where there are reasons for its warning, NaN, so that it shows no such number.
    """
    failed = np.nan if error_score == "raise" else error_score
    unfinished = 0.0
    if len(found) < search.data.n_evaluations:
        unfinished = 0.0 if all(np.isfinite(_numbers(one, failed)).all() for one in found.values()) else np.nan
    unit = _seconds_of_a_coefficient(found)
    names = next((list(one.value) for one in found.values() if isinstance(one.value, dict)), None)
    out = []
    for number in range(search.data.n_evaluations):
        one = found.get(number)
        score = unfinished if one is None else failed
        stand_in: Any = score if names is None else dict.fromkeys(names, score)
        result: dict[str, Any] = {
            "fit_error": None if one is None else one.error,
            "test_scores": stand_in if one is None or one.value is None else one.value,
            "n_test_samples": len(search.data.folds[number % len(search.data.folds)][1]),
            "fit_time": 0.0 if one is None else one.work.seconds,
            "score_time": 0.0 if one is None else one.coefficients * unit or one.score_seconds,
        }
        if search.data.return_train_score:
            result["train_scores"] = stand_in if one is None or one.train_value is None else one.train_value
        out.append(result)
    return out


def _seconds_of_a_coefficient(found: Found) -> float:
    """Share out the time that scores took which came without predictions, as those would have taken it.

    A search knows what its models say of held-out samples before it scores them, a chain at a time. People choose by
    ``mean_score_time`` among models that are as good as each other, and mean what predictions cost.
    """
    own = [one for one in found.values() if one.coefficients]
    return sum([one.score_seconds for one in own]) / max(1, sum([one.coefficients for one in own]))


def _numbers(one: Finding, failed: float) -> list[float]:
    """List all scores of an evaluation."""
    if one.error is not None:
        return [failed]
    numbers: list[float] = []
    for scores in (one.value, one.train_value):
        numbers += [] if scores is None else scores.values() if isinstance(scores, dict) else [scores]
    return numbers


def leave_blank(results: dict[str, Any], missing: Mask) -> dict[str, Any]:
    """Take scores away that are missing, and the means that would need them; these candidates rank last.

    Examples
    --------
    >>> results = {"split0_test_score": np.array([0.5, 0.7]), "split1_test_score": np.array([0.5, 0.0])}
    >>> results["mean_test_score"] = np.array([0.5, 0.35])
    >>> done = leave_blank(results, np.array([[False, False], [False, True]]))
    >>> done["split0_test_score"].tolist(), done["mean_test_score"].tolist(), done["rank_test_score"].tolist()
    ([0.5, 0.7], [0.5, nan], [1, 2])
    """
    unfinished = missing.any(axis=1)
    if not unfinished.any():
        return results
    for key in list(results):
        part = re.fullmatch(r"(?:split(\d+)|mean|std)_((?:test|train)_.+)", key)
        if part is None:
            continue
        gone = unfinished if part[1] is None else missing[:, int(part[1])]
        results[key] = np.where(gone, np.nan, results[key])
        if key.startswith("mean_test_"):
            results[f"rank_{part[2]}"] = _ranks(results[key])
    return results


def _ranks(means: NDArray[np.float64]) -> NDArray[np.int32]:
    """Rank as scikit-learn does, what is no number last."""
    if np.isnan(means).all():
        return np.ones(len(means), dtype=np.int32)
    filled = np.where(np.isnan(means), np.nanmin(means) - 1.0, means)
    return np.asarray(rankdata(-filled, method="min"), dtype=np.int32)


def require_a_score(results: Mapping[str, Any], metric: str) -> None:
    """Refuse results in which no candidate has a score.

    Examples
    --------
    >>> nothing = {"split0_test_score": np.array([1.0]), "split1_test_score": np.array([np.nan])}
    >>> require_a_score({**nothing, "mean_test_score": np.array([np.nan])}, "score")
    Traceback (most recent call last):
    ...
    ValueError: No candidate has a score on every fold (on fold 1 all are NaN), so that none can be chosen; the \
warnings before say which fits or scores have failed, and error_score='raise' ends with the first of them.
    """
    if not np.isnan(results[f"mean_test_{metric}"]).all():
        return
    kinds = ((key, re.fullmatch(rf"split(\d+)_test_{re.escape(metric)}", key)) for key in results)
    empty = [part[1] for key, part in kinds if part is not None and np.isnan(results[key]).all()]
    where = f" (on fold {', '.join(empty)} all are NaN)" if empty else ""
    raise ValueError(
        f"No candidate has a score on every fold{where}, so that none can be chosen; the warnings before say which "
        "fits or scores have failed, and error_score='raise' ends with the first of them."
    )


def scored(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parameters of candidates that have a score, by any metric.

    Examples
    --------
    >>> scored({"params": [{"C": 1}, {"C": 2}], "mean_test_score": np.array([0.5, np.nan])})
    [{'C': 1}]
    """
    means = [values for key, values in results.items() if key.startswith("mean_test_")]
    return [results["params"][at] for at in np.flatnonzero(np.isfinite(means).any(axis=0))]


def remarks(found: Found, missing: Mask, ended: str) -> Sequence[Warning]:
    """Say what a user should know of a search that has ended, if anything."""
    said: list[Warning] = []
    unfinished = int(missing.any(axis=1).sum())
    if unfinished:
        said.append(
            UnfinishedSearchWarning(
                f"The search has ended early ({ended}): {unfinished} of {len(missing)} candidates were not finished on "
                "every fold, have no score and were not considered."
            )
        )
    early = sum(ENDED_EARLY in one.notes for one in found.values())
    if early:
        said.append(
            ConvergenceWarning(
                f"{early} of {missing.size} models of the search ended before the tolerance was met; "
                "raise max_iter or tol, or scale X: limits of iterations or of rounding were reached."
            )
        )
    return said


def report_of(search: SharedSearch, found: Found, seconds: float) -> SearchReport:
    """Report a search from what it has found."""
    data, n_folds = search.data, len(search.data.folds)
    sizes = [(len(np.unique(train)), len(test)) for train, test in data.folds]
    cold = 0
    for one in found.values():
        candidate, fold = divmod(one.number, n_folds)
        n_train, n_test = sizes[fold]
        if one.error is None and search.models[candidate].kernel != "precomputed":
            cold += n_train * (n_train + n_test)
    unfinished = len(data.candidates) * n_folds - len(found)
    work = replace(Work.total([one.work for one in found.values()]), unfinished=unfinished, seconds=seconds)
    return SearchReport(cold_kernel_evaluations=cold, **work.counts())


def report_of_plain(results: Mapping[str, Any], n_folds: int, seconds: float) -> SearchReport:
    """Report a search whose models were trained alone, from its results; trained are those with a score."""
    metric = next(key.removeprefix("split0") for key in results if key.startswith("split0_test_"))
    scores = [results[f"split{fold}{metric}"] for fold in range(n_folds)]
    trained = int(np.count_nonzero(~np.isnan(scores)))
    return SearchReport(trained=trained, failed=np.size(scores) - trained, counted=False, seconds=seconds)


def measure_cold(search: Any, X: Any, y: Any = None, *, n_fits: int | None = None, **fit_params: Any) -> Work:
    """Train the models of a search one by one, each from nothing, and count what that takes.

    Parameters
    ----------
    search : GridSearchCV
        A fitted one; its models must be widemargin's.
    X, y
        What it was fitted to. Folds are the same if the splitter draws them the same way each time.
    n_fits : int, optional
        Train so many only, evenly spread over the candidates and folds; by default all, which may take long.
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
    folds = list(check_cv(search.cv, y, classifier=is_classifier(search.estimator)).split(X, y))
    models = [(params, train) for params in search.cv_results_["params"] for train, _ in folds]
    if n_fits is not None:
        chosen = np.linspace(0, len(models) - 1, min(n_fits, len(models)))
        models = [models[int(number)] for number in chosen]
    reports, began = [], time.perf_counter()
    for params, train in models:
        estimator = clone(search.estimator).set_params(**clone(params, safe=False))
        own = _check_method_params(X, params=fit_params, indices=train)
        estimator.fit(_safe_indexing(X, train), None if y is None else _safe_indexing(y, train), **own)
        reports.extend(model_of(estimator).fit_report_)
    return Work(
        trained=len(models),
        iterations=sum(one.iterations for one in reports),
        kernel_evaluations=sum(one.kernel_evaluations for one in reports),
        seconds=time.perf_counter() - began,
    )


def smoothness(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Order models from smooth to wiggly: by C, then by gamma; what is no number comes last.

    Examples
    --------
    >>> smoothness({"svc__C": 2.0, "svc__gamma": "scale"})
    (2.0, inf)
    """
    found: dict[str, float] = {}
    for key, value in parameters.items():
        name = key.rpartition("__")[2]
        if name in ("C", "gamma"):
            found.setdefault(name, float(value) if isinstance(value, numbers.Real) else np.inf)
    return found.get("C", np.inf), found.get("gamma", np.inf)


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
    found: list[int] = np.flatnonzero(scores >= best - ROUNDING * max(1.0, abs(best))).tolist()
    return found


def smoothest(results: Mapping[str, Any], metric: str, index: int) -> int:
    """Return the smoothest model of those that score as well as one of them.

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
