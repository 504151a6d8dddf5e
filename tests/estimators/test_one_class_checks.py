"""scikit-learn's estimator checks, with no expected failure.

A precomputed kernel is not among the instances: the checks of outlier detectors hand it data that are no square matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import OneClassSVM
from widemargin.solvers import MDM, SMO, Block


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        OneClassSVM(),
        OneClassSVM(kernel="linear"),
        OneClassSVM(kernel="poly", coef0=1.0),
        OneClassSVM(kernel="sigmoid"),
        OneClassSVM(loss="squared_hinge", C=10.0),
        OneClassSVM(target_rejection=0.2),
        OneClassSVM(loss="squared_hinge", target_rejection=0.2),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        OneClassSVM(solver=Block(selection="maximum-gain", planning_ahead=0, dtype="float64"), tol=1e-10),
        OneClassSVM(solver=SMO(selection="maximal-violating-pair"), shrinking=False, n_jobs=2, tol=1e-10),
        OneClassSVM(loss="squared_hinge", solver=MDM(accelerated=False), tol=1e-10),
        OneClassSVM(loss="squared_hinge", solver="mdm", tol=1e-10),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
