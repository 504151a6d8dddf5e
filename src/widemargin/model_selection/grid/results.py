"""What a search has found, in the words of scikit-learn's results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.study.findings import ENDED_EARLY, Finding, Found

#: For each candidate and split, whether something is so.
Mask = NDArray[np.bool_]


class UnfinishedSearchWarning(UserWarning):
    """A search has ended before all of its candidates were finished on every split."""


def missing_from(found: Found, n_candidates: int, n_folds: int) -> Mask:
    """Tell which evaluations there are not."""
    gone = [number not in found for number in range(n_candidates * n_folds)]
    return np.array(gone, dtype=np.bool_).reshape(n_candidates, n_folds)


def as_results(search: SharedSearch, found: Found, error_score: Any) -> list[dict[str, Any]]:
    """Put evaluations into scikit-learn's words, split after split of one candidate after the other.

    Failures score `error_score`. What was not finished has a score of 0, for :func:`leave_blank` to take away, or
    scikit-learn would warn of it; where there are reasons for its warning, NaN, so that it shows no such number.
    """
    failed = np.nan if error_score == "raise" else error_score
    all_finite = all(np.isfinite(_numbers(one, failed)).all() for one in found.values())
    unfinished = 0.0 if all_finite else np.nan
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
            "score_time": 0.0 if one is None else one.score_seconds,
        }
        if search.data.return_train_score:
            result["train_scores"] = stand_in if one is None or one.train_value is None else one.train_value
        out.append(result)
    return out


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


def scored(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parameters of candidates that have a score, by any metric.

    Examples
    --------
    >>> scored({"params": [{"C": 1}, {"C": 2}], "mean_test_score": np.array([0.5, np.nan])})
    [{'C': 1}]
    """
    means = [values for key, values in results.items() if key.startswith("mean_test_")]
    return [params for params, *own in zip(results["params"], *means, strict=True) if np.isfinite(own).any()]


def remarks(found: Found, missing: Mask, ended: str) -> Sequence[Warning]:
    """Say what a user should know of a search that has ended, if anything."""
    said: list[Warning] = []
    unfinished, machines = int(missing.any(axis=1).sum()), missing.size
    if unfinished:
        said.append(
            UnfinishedSearchWarning(
                f"The search has ended early ({ended}): {unfinished} of {len(missing)} candidates were not finished on "
                "every split, have no score and were not considered."
            )
        )
    early = sum(ENDED_EARLY in one.notes for one in found.values())
    if early:
        said.append(
            ConvergenceWarning(
                f"{early} of {machines} machines of the search ended before the tolerance was met; "
                "raise max_iter or tol, or scale X: limits of iterations or of rounding were reached."
            )
        )
    return said
