"""scikit-learn's estimator checks for the two regressors, with no expected failure."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVR, NuSVR
from widemargin.solvers import SMO, Block


# One of the checks takes any square matrix for a kernel matrix.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive semidefinite:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SVR(),
        SVR(loss="squared_epsilon_insensitive"),
        SVR(kernel="linear"),
        SVR(kernel="precomputed"),
        # Named solvers stop at tol; two of the checks compare machines to seven digits.
        SVR(solver=Block(selection="maximum-gain", planning_ahead=0, dtype="float64"), tol=1e-10),
        SVR(solver=SMO(selection="maximal-violating-pair"), shrinking=False, n_jobs=2, tol=1e-10, warm_start=True),
        NuSVR(),
        NuSVR(kernel="linear", warm_start=True),
        NuSVR(kernel="precomputed"),
        NuSVR(solver=Block(planning_ahead=0, dtype="float64"), tol=1e-10),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    return X, np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=80)


MODELS = [
    SVR(C=3.0, epsilon=0.05),
    SVR(loss="squared_epsilon_insensitive", kernel="linear"),
    NuSVR(nu=0.3, warm_start=True),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_survive_pickling_and_cloning(model: Any) -> None:
    X, y = _data()
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.fit_report_ == fitted.fit_report_
    fresh = clone(fitted)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "support_")
    assert np.array_equal(fresh.fit(X, y).predict(X), fitted.predict(X))


def test_a_grid_search_finds_a_good_machine() -> None:
    X, y = _data()
    search = GridSearchCV(SVR(), {"C": [0.01, 10.0], "epsilon": [0.01, 3.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0, "epsilon": 0.01}
    assert search.best_score_ > 0.7


def test_the_report_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = _data()
    model = NuSVR(verbose=True).fit(X, y)
    printed = capsys.readouterr().out
    assert printed == f"{model.fit_report_}\n"
    assert "converged" in printed
    assert "classes" not in printed
