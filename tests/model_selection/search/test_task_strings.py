"""Samples that are no vectors: every objective and every strategy takes them, in any container."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.sequences import CONTAINERS, LetterPairs, two_kinds

from widemargin import SVC, SVR, GridSearchCV, ModelSearch
from widemargin.kernels import CombinedOligo, Oligo, TripletOligo, WeightedOligo
from widemargin.model_selection.grid.setup import fit_parameters
from widemargin.model_selection.search.task import subject_of
from widemargin.objectives import OBJECTIVES, DecisionQuality, SpanBound
from widemargin.objectives.machines import FEW
from widemargin.strategies import STRATEGIES, strategy_named, why_not

X, Y = two_kinds()
OLIGO = [Oligo(2), CombinedOligo(lengths=(1, 2)), WeightedOligo(lengths=(1, 2)), TripletOligo(k=2)]
OF_REGRESSION = ["bootstrap", "cross-validation", "hold-out", "polarization", "support-vectors", "target-alignment"]


def a_model(objective: str) -> Any:
    return SVC(kernel=LetterPairs(weight=0.5), loss="squared_hinge" if objective == "radius-margin" else "hinge")


def searched(estimator: Any, objective: Any, samples: Any, y: Any, **options: Any) -> ModelSearch:
    return ModelSearch(estimator, objective=objective, max_evaluations=12, random_state=0, scoring=None, **options).fit(
        samples, y
    )


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_every_objective_takes_strings_in_any_container(objective: str) -> None:
    found = []
    for container in CONTAINERS:
        search = searched(a_model(objective), objective, container(X), Y)
        assert np.isfinite(search.best_value_)
        found.append((search.best_value_, search.best_params_["kernel"].weight, search.best_params_["C"]))
        assert search.predict(container(X[:3])).shape == (3,)
    assert found[0] == found[1] == found[2]


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("kernel", OLIGO, ids=repr)
@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_every_objective_takes_kernels_of_sequences(objective: str, kernel: Any) -> None:
    model = a_model(objective).set_params(kernel=kernel)
    search = ModelSearch(model, objective=objective, max_evaluations=14, random_state=0).fit(X, Y)
    assert np.isfinite(search.best_value_)
    assert search.best_estimator_.kernel_.n_dims == kernel.fitted(X).n_dims
    assert search.score(X, Y) > 0.5


@pytest.mark.parametrize("kernel", OLIGO, ids=repr)
@pytest.mark.parametrize("objective", ["likelihood", "radius-margin", "polarization", "target-alignment"])
def test_slopes_along_parameters_of_kernels_of_sequences(objective: str, kernel: Any) -> None:
    chosen, model = OBJECTIVES[objective](), a_model(objective).set_params(kernel=kernel, tol=1e-8)
    subject = subject_of(model, X, Y, fit_parameters(model, {}), chosen)
    bound, start = chosen.bind(subject.task), subject.kernel
    step = 1e-4 * np.random.default_rng(0).normal(size=start.n_dims)

    def at(sign: float) -> Any:
        kernel = start.clone_with_theta(start.theta + sign * step)
        return bound.evaluate(kernel, 1.0, generator=np.random.default_rng(0))

    expected = (at(1.0).value - at(-1.0).value) / 2.0
    assert float(step @ at(0.0).gradient) == pytest.approx(expected, rel=2e-2, abs=1e-8)


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("objective", OF_REGRESSION)
def test_regression_takes_strings(objective: str) -> None:
    targets = np.array([one.count("GA") + 0.1 * one.count("C") for one in X], dtype=np.float64)
    search = searched(SVR(kernel=LetterPairs(weight=0.5)), objective, X, targets)
    assert np.isfinite(search.best_value_)


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("sets", ["retrained", "unchanged"])
def test_both_kinds_of_span(sets: str) -> None:
    assert np.isfinite(searched(a_model("span"), SpanBound(sets), X, Y).best_value_)


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_takes_strings(strategy: str) -> None:
    objective = OBJECTIVES["cross-validation"](loss="smooth")
    if why_not(strategy_named(strategy), objective, n_dims=2, second_derivatives=False):
        pytest.skip("needs derivatives of second order, which only kernels of distances have")
    search = searched(a_model(""), objective, X, Y, strategy=strategy)
    assert np.isfinite(search.best_value_)


@pytest.mark.parametrize("objective", ["likelihood", "span", "radius-margin", "cross-validation"])
def test_gradients_of_more_strings_than_fit_one_block(objective: str) -> None:
    """Above a number of samples blocks of the kernel matrix are computed, from some of the samples."""
    texts, y = two_kinds(FEW + 8, length=6)
    chosen = OBJECTIVES[objective](**({"loss": "smooth"} if objective == "cross-validation" else {}))
    model = SVC(kernel=LetterPairs(weight=0.5), loss="squared_hinge" if objective == "radius-margin" else "hinge")

    def at(shift: float) -> Any:
        kernel = LetterPairs(weight=0.5 * np.exp(shift))
        return bound.evaluate(kernel, 1.0, generator=np.random.default_rng(0))

    values = []
    for container in CONTAINERS:
        subject = subject_of(model, container(texts), y, fit_parameters(model, {}), chosen)
        bound = chosen.bind(subject.task)
        found = at(0.0)
        values.append((found.value, *found.gradient))
    assert values[0] == values[1] == values[2]
    if objective != "span":
        step = 1e-4
        slope = (at(step).value - at(-step).value) / (2 * step)
        assert found.gradient[0] == pytest.approx(slope, rel=2e-2, abs=1e-3)


def test_feature_costs_need_features() -> None:
    with pytest.raises(ValueError, match="feature_costs must be None for samples without features"):
        searched(a_model(""), DecisionQuality(feature_costs=[1.0]), X, Y)


@pytest.mark.parametrize("container", CONTAINERS)
def test_grids_take_strings(container: Any) -> None:
    grid = {"C": [0.1, 1.0, 10.0], "kernel": [LetterPairs(0.2), LetterPairs(2.0)]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(container(X), Y)
    plain = GridSearchCV(SVC(), grid, cv=3).fit(list(X), Y)
    assert search.cv_results_["mean_test_score"].tolist() == plain.cv_results_["mean_test_score"].tolist()
    assert search.predict(container(X[:4])).shape == (4,)


@pytest.mark.parametrize("container", CONTAINERS)
def test_grids_take_strings_for_callables(container: Any) -> None:
    def kernel(A: Any, B: Any) -> Any:
        return LetterPairs(1.0).values(list(A), list(B))

    search = GridSearchCV(SVC(kernel=kernel), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(container(X), Y)
    assert 0.5 <= search.best_score_ <= 1.0
