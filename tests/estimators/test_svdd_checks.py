"""scikit-learn's estimator checks, with no expected failure.

A precomputed kernel is not among the instances: the checks predict from linear kernel matrices without saying what
k(x, x) is, which a ball needs; nor is a hard ball, of which the checks expect that it rejects training rows. test_svdd
has both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVDD
from widemargin.solvers import SMO, Block


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVDD(),
        SVDD(kernel="linear"),
        SVDD(kernel="poly", coef0=1.0),
        SVDD(kernel="sigmoid"),
        SVDD(target_rejection=0.2),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        SVDD(solver=Block(selection="maximum-gain", planning_ahead=0, dtype="float64"), tol=1e-10),
        SVDD(solver=SMO(selection="maximal-violating-pair"), shrinking=False, n_jobs=2, tol=1e-10),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
