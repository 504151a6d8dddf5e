"""warm_start=True starts from the last solution, and is only a matter of speed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from oracles.estimators import pair_solutions
from widemargin import SVC
from widemargin.testing import many_class_points


def _objectives(model: SVC, X: Any, y: Any, weights: Any = None) -> list[float]:
    return [pair.certificate.objective for pair in pair_solutions(model, X, y, sample_weight=weights)]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize("factor", [1.1, 0.9])
def test_a_small_change_of_the_penalty_takes_few_iterations(n_classes: int, solver: str, factor: float) -> None:
    X, y = many_class_points(n_classes, 400 // n_classes)
    parameters = {"gamma": 0.5, "C": 5.0, "solver": solver}
    warm = SVC(**parameters, warm_start=True).fit(X, y)
    warm.set_params(C=5.0 * factor).fit(X, y)
    cold = SVC(**{**parameters, "C": 5.0 * factor}).fit(X, y)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    np.testing.assert_allclose(_objectives(warm, X, y), _objectives(cold, X, y), rtol=1e-4)
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.05)


def test_variables_at_their_bounds_follow_them() -> None:
    # A narrow kernel and a small penalty: every variable is at its bound, before and after.
    X, y = many_class_points(2, 50)
    warm = SVC(gamma=50.0, C=0.1, warm_start=True).fit(X, y)
    assert (np.abs(warm.dual_coef_) == 0.1).all()
    warm.set_params(C=0.2).fit(X, y)
    assert (np.abs(warm.dual_coef_) == 0.2).all()
    assert warm.n_iter_.sum() <= 2
    warm.fit(X, y, sample_weight=np.full(100, 2.0))
    assert (np.abs(warm.dual_coef_) == 0.4).all()
    assert warm.n_iter_.sum() <= 2


def test_a_hard_margin_can_start_from_a_soft_one_and_the_other_way_round() -> None:
    X, y = many_class_points(2, 30)
    warm = SVC(gamma=5.0, C=np.inf, tol=1e-6, warm_start=True)
    for C in (np.inf, 1.0, np.inf):
        warm.set_params(C=C).fit(X, y)
        cold = SVC(gamma=5.0, C=C, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-4)


def test_fitting_the_same_again_takes_no_iterations() -> None:
    X, y = many_class_points(3, 80)
    model = SVC(warm_start=True).fit(X, y)
    before = model.dual_coef_.copy()
    model.fit(X, y)
    assert model.n_iter_.sum() <= 2 * len(model.n_iter_)
    np.testing.assert_allclose(model.dual_coef_, before, atol=1e-3)


def test_without_it_every_fit_is_the_first() -> None:
    X, y = many_class_points(3, 80)
    model = SVC().fit(X, y)
    first = model.n_iter_.copy()
    assert np.array_equal(model.fit(X, y).n_iter_, first)


@pytest.mark.parametrize(
    "change",
    ["other labels", "fewer rows", "more classes", "other width", "other kernel", "weights", "sparse", "zero weights"],
)
def test_any_other_change_gives_the_machine_of_a_cold_start(change: str) -> None:
    X, y = many_class_points(3, 60)
    warm = SVC(gamma=0.5, C=2.0, tol=1e-6, warm_start=True).fit(X, y)
    weights = None
    parameters: dict[str, Any] = {"gamma": 0.5, "C": 2.0, "tol": 1e-6}
    if change == "other labels":
        y = (y + 1) % 3
    elif change == "fewer rows":
        X, y = X[:100], y[:100]
    elif change == "more classes":
        X, y = many_class_points(5, 36, seed=1)
    elif change == "other width":
        parameters["gamma"] = 0.1
    elif change == "other kernel":
        parameters["kernel"] = "linear"
    elif change == "weights":
        weights = np.random.default_rng(0).uniform(0.1, 2.0, size=len(y))
    elif change == "zero weights":
        weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    elif change == "sparse":
        X = csr_array(X)
    warm.set_params(**parameters).fit(X, y, sample_weight=weights)
    cold = SVC(**parameters).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(_objectives(warm, X, y, weights), _objectives(cold, X, y, weights), rtol=1e-6)
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)


def test_a_budget_is_continued_where_it_ended() -> None:
    from sklearn.exceptions import ConvergenceWarning

    X, y = many_class_points(2, 200)
    model = SVC(gamma=0.5, C=100.0, warm_start=True, max_iter=30)
    reached = []
    for _ in range(200):
        try:
            with pytest.warns(ConvergenceWarning):
                model.fit(X, y)
        except pytest.fail.Exception:
            break
        reached.append(model.fit_report_[0].objective)
    assert len(reached) > 2
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(reached))
    assert model.fit_report_[0].reason == "converged"
