"""scikit-learn's estimator checks, with no expected failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import OnlineSVC


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        OnlineSVC(),
        OnlineSVC(kernel="linear", selection="maximal-violating-pair", epochs=2, n_jobs=2),
        OnlineSVC(kernel="poly", coef0=1.0, random_state=0),
        OnlineSVC(kernel="sigmoid"),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
