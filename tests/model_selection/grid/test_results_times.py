"""Score times tell models apart by what their predictions cost, though a search needs none."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV


def test_score_times_say_what_predictions_cost() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"C": [0.01, 1.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
    for n_jobs in (1, 2):
        search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), svc(grid), cv=3, n_jobs=n_jobs).fit(X, y)
        results = search.cv_results_
        vectors = [
            np.mean([len(clone(search.estimator).set_params(**one).fit(X[k], y[k])[-1].support_) for k in parts(y)])
            for one in results["params"]
        ]
        assert (results["mean_score_time"] > 0).all()
        assert np.corrcoef(results["mean_score_time"], vectors)[0, 1] > 0.999
        fewest = int(np.argmin(vectors))
        chosen = GridSearchCV(search.estimator, svc(grid), cv=3, refit=lambda own: own["mean_score_time"].argmin())
        assert chosen.fit(X, y).best_index_ == fewest


def svc(grid: dict[str, Any]) -> dict[str, Any]:
    return {f"svc__{name}": values for name, values in grid.items()}


def parts(y: Any) -> list[Any]:
    return [train for train, _ in StratifiedKFold(3).split(y, y)]


def test_score_times_of_scorers_that_predict_are_their_own() -> None:
    def slow(model: Any, X: Any, y: Any) -> float:
        time.sleep(0.02 if model.C == 1.0 else 0.0)
        return float(np.mean(model.predict(X) == y))

    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=3, scoring=slow).fit(X[:100], y[:100])
    assert search.cv_results_["mean_score_time"][1] > 0.02


def test_score_times_are_kept_in_a_journal(tmp_path: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 100.0]}, cv=3, journal=tmp_path / "study.jsonl")
    first = search.fit(X, y).cv_results_["mean_score_time"]
    np.testing.assert_allclose(search.fit(X, y).cv_results_["mean_score_time"], first)
