"""scikit-learn's estimator checks for NuSVC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import NuSVC
from widemargin.solvers import Block

#: scikit-learn expects its own NuSVC, which ignores class weights, to fail this one; no nu-machine could pass it.
IMPOSSIBLE = {
    "check_class_weight_classifiers": (
        "weighs one class 10^7 times as much as the other, so that every nu above 2e-7 is infeasible; see below"
    )
}


# One of the checks takes any square matrix for a kernel matrix.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    # Some of the checks have classes of such different sizes that nu = 0.5 is infeasible, and refused.
    [
        NuSVC(nu=0.2),
        # Random labels have next to no margin: what matters here is over long before the solver is through.
        NuSVC(nu=0.2, kernel="linear", max_iter=100_000),
        NuSVC(nu=0.2, kernel="poly", degree=2, coef0=1.0, max_iter=100_000),
        NuSVC(nu=0.2, kernel="precomputed", max_iter=100_000),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        NuSVC(nu=0.2, solver=Block(planning_ahead=0, dtype="float64"), tol=1e-8, max_iter=100_000),
        NuSVC(nu=0.2, solver="smo", shrinking=False, n_jobs=2, tol=1e-8, max_iter=100_000),
        NuSVC(nu=0.2, class_weight="balanced", break_ties=False, warm_start=True, max_iter=100_000),
    ],
    expected_failed_checks=lambda estimator: IMPOSSIBLE,
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_the_impossible_check_is_refused_in_one_sentence() -> None:
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    with pytest.raises(ValueError, match=r"nu is infeasible: nu=0\.5 exceeds 2e-07, .* classes 0 and 1"):
        NuSVC(class_weight={0: 1000, 1: 0.0001}).fit(X, y)


def test_class_weights_move_the_boundary() -> None:
    X, y = make_blobs(centers=2, random_state=0, cluster_std=2)
    shares = [np.mean(NuSVC(nu=0.5, class_weight={0: w}).fit(X, y).predict(X) == 0) for w in (0.4, 1.0, 2.5)]
    assert shares[0] < shares[1] < shares[2]
