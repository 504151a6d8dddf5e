"""scikit-learn's estimator checks, with no expected failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import CompactSVC
from widemargin.strategies import TabuSearch

#: Ends soon.
SHORT = TabuSearch(patience=1, failures=0)


@parametrize_with_checks(
    [
        CompactSVC(strategy=SHORT, random_state=0),
        # One of the checks predicts a NaN in column 0, which this one selects; it would not read any other.
        CompactSVC(select_features=True, decision="argmax", refit=True, strategy=SHORT, random_state=0),
        CompactSVC(standardize=False, decision="fuzzy-minimum", test_size=0, strategy=SHORT, n_jobs=2, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
