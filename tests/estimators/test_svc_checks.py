"""scikit-learn's estimator checks, with no expected failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC
from widemargin.solvers import SMO, Block


# One of the checks takes any square matrix for a kernel matrix.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear"),
        SVC(kernel="poly", coef0=1.0),
        SVC(kernel="sigmoid"),
        SVC(kernel="precomputed"),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        SVC(solver=Block(selection="maximum-gain", planning_ahead=0, dtype="float64"), tol=1e-10),
        SVC(solver=SMO(selection="maximal-violating-pair"), shrinking=False, n_jobs=2, tol=1e-10),
        SVC(class_weight="balanced", break_ties=False, warm_start=True),
        SVC(multi_class="ovr"),
        SVC(multi_class="ovr", decision="fuzzy-minimum", kernel="linear", loss="squared_hinge", n_jobs=2),
        SVC(decision="fuzzy-minimum"),
        SVC(calibration="folds"),
        SVC(calibration="folds", calibration_method="platt", multi_class="ovr", n_jobs=2),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
