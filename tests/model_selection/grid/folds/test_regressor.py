"""Searches for regression machines where the arithmetic has no digits left."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import SVR, GridSearchCV, NuSVR


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_targets_of_rows_held_out_do_not_leak_into_predictions_through_rounding(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    blind = kind(kernel="poly", coef0=1e5, gamma=1e-8, max_iter=10_000)  # kernel values are 1e15, every one of them
    search = GridSearchCV(blind, {"C": [1.0, 1e3, 1e5]}, cv=5, refit=False).fit(X, y)
    assert search.cv_results_["mean_test_score"].max() < 0.1
