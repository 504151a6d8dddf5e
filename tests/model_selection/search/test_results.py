"""Scores of folds in scikit-learn's words."""

from __future__ import annotations

import numpy as np
from model_searches import two_classes
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV

from widemargin import SVC, ModelSearch, kernels
from widemargin.model_selection.search.results import FoldScores


def test_they_are_those_of_a_grid_search() -> None:
    X, y = two_classes()
    found = ModelSearch(
        SVC(tol=1e-6), objective="cross-validation", strategy="grid", cv=4, scoring="roc_auc", max_evaluations=9,
        space={"C": (0.1, 10.0), "gamma": (0.01, 1.0)},
    ).fit(X, y)  # fmt: skip
    grid = [{name: [value] for name, value in params.items()} for params in found.cv_results_["params"]]
    meant = PlainGridSearchCV(SVC(tol=1e-6), grid, cv=4, scoring="roc_auc").fit(X, y).cv_results_
    times = {f"{of}_{what}_time" for of in ("mean", "std") for what in ("fit", "score")}
    assert found.cv_results_.keys() == meant.keys() - times
    for name, values in found.cv_results_.items():
        if name == "params":
            assert values == meant[name]
            continue
        assert type(values) is type(meant[name])
        assert values.dtype == meant[name].dtype
        np.testing.assert_allclose(values, meant[name])


def test_kernel_objects_are_parameters() -> None:
    X, y = two_classes()
    how = {"objective": "cross-validation", "strategy": "random", "max_evaluations": 5, "random_state": 0}
    found = ModelSearch(SVC(kernel=kernels.DiagonalGaussian()), **how).fit(X, y)
    results = found.cv_results_
    assert results["param_kernel"].dtype == object
    assert repr(results["params"][found.best_index_]) == repr(found.best_params_)
    gammas = [params["kernel"].gammas for params in results["params"]]
    np.testing.assert_allclose([one[2] for one in gammas], found.trace_["gammas[2]"])


def test_what_is_no_number_ranks_last() -> None:
    scores = np.array([[0.5, np.nan], [0.5, 0.6], [0.9, 0.6]])
    results = FoldScores([{"C": 1.0}, {"C": 2.0}, {"C": 3.0}], scores, 2).as_results()
    assert results["rank_test_score"].tolist() == [3, 2, 1]
    own = FoldScores([{"C": 1.0}, {"C": 2.0}], scores[1:], 0, np.array([2.0, 1.0])).as_results()
    assert own["rank_test_score"].tolist() == [1, 2]
