"""For the regressors too, warm starts and threads are only a matter of speed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVR, NuSVR
from widemargin.solvers import SMO, Auto

SETTINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SVR": (SVR, {}),
    "squared": (SVR, {"loss": "squared_epsilon_insensitive"}),
    "NuSVR": (NuSVR, {"nu": 0.33}),
}
EVERY = pytest.mark.parametrize("machine", SETTINGS)


def _data(n: int = 200, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    return X, np.sin(X[:, :3]).sum(axis=1) + 0.3 * rng.normal(size=n)


def _model(machine: str, **changes: Any) -> Any:
    Machine, own = SETTINGS[machine]
    return Machine(**{"C": 5.0, "gamma": 0.5, **own, **changes})


@EVERY
@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize("factor", [1.1, 0.9])
def test_a_small_change_of_the_price_takes_few_iterations(machine: str, solver: str, factor: float) -> None:
    X, y = _data()
    warm = _model(machine, solver=solver, warm_start=True).fit(X, y)
    warm.set_params(C=5.0 * factor).fit(X, y)
    cold = _model(machine, solver=solver, C=5.0 * factor).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.fit_report_[0].objective == pytest.approx(cold.fit_report_[0].objective, rel=1e-4)
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=0.02)


@EVERY
def test_fitting_the_same_again_takes_no_iterations(machine: str) -> None:
    X, y = _data()
    model = _model(machine, warm_start=True).fit(X, y)
    before = model.predict(X)
    model.fit(X, y)
    assert model.n_iter_ <= 2
    np.testing.assert_allclose(model.predict(X), before, atol=1e-3)


@EVERY
def test_without_it_every_fit_is_the_first(machine: str) -> None:
    X, y = _data()
    model = _model(machine).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ == first


@EVERY
@pytest.mark.parametrize(
    "change", ["targets", "fewer rows", "width", "kernel", "weights", "zero weights", "sparse", "tube", "price"]
)
def test_any_other_change_gives_the_machine_of_a_cold_start(machine: str, change: str) -> None:
    X, y = _data()
    warm = _model(machine, tol=1e-6, warm_start=True)
    warm.fit(X, y, sample_weight=np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0))
    weights, parameters = None, {"tol": 1e-6}
    if change == "targets":
        y = np.roll(y, 3)
    elif change == "fewer rows":
        X, y = X[:100], y[:100]
    elif change == "width":
        parameters["gamma"] = 0.1
    elif change == "kernel":
        parameters["kernel"] = "linear"
    elif change == "weights":
        weights = np.random.default_rng(0).uniform(0.1, 2.0, size=len(y))
    elif change == "zero weights":
        weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    elif change == "sparse":
        X = csr_array(X)
    elif change == "tube":
        parameters["nu" if machine == "NuSVR" else "epsilon"] = 0.71
    elif change == "price":
        parameters["C"] = 0.01
    warm.set_params(**parameters).fit(X, y, sample_weight=weights)
    cold = _model(machine, **parameters).fit(X, y, sample_weight=weights)
    assert warm.fit_report_[0].objective == pytest.approx(cold.fit_report_[0].objective, rel=1e-6)
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-4)


def test_one_loss_can_start_from_the_other_and_a_soft_tube_from_a_hard_one() -> None:
    X, y = _data(40)
    warm = SVR(gamma=5.0, epsilon=0.2, tol=1e-6, warm_start=True)
    for changes in (
        {"loss": "squared_epsilon_insensitive"},
        {"loss": "epsilon_insensitive"},
        {"C": np.inf},
        {"C": 3.0},
        {"loss": "squared_epsilon_insensitive"},
    ):
        warm.set_params(**changes).fit(X, y)
        cold = SVR(**{**warm.get_params(), "warm_start": False}).fit(X, y)
        np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-4)


@EVERY
def test_a_budget_is_continued_where_it_ended(machine: str) -> None:
    X, y = _data()
    model = _model(machine, warm_start=True, max_iter=40, solver="smo")
    reached = []
    for _ in range(300):
        try:
            with pytest.warns(ConvergenceWarning):
                model.fit(X, y)
        except pytest.fail.Exception:
            break
        reached.append(model.fit_report_[0].objective)
    assert len(reached) > 2
    assert all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in pairwise(reached))
    assert model.fit_report_[0].reason == "converged"


def _bits(model: Any) -> list[bytes]:
    parts = (model.dual_coef_, model.intercept_, model.support_, model.n_iter_)
    return [(part.toarray() if hasattr(part, "toarray") else np.asarray(part)).tobytes() for part in parts]


@EVERY
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "linear", "C": 0.1},
        {"solver": "block"},
        {"solver": SMO(selection="second-order"), "cache_size": 0.1},
        {"solver": Auto(dtype="float64")},
    ],
    ids=lambda parameters: "-".join(map(str, parameters.values())) or "default",
)
def test_any_number_of_threads_gives_the_same_bits(machine: str, parameters: dict[str, Any], container: Any) -> None:
    X, y = _data(900, 12)
    X = container(X)
    models = [_model(machine, **{"gamma": 0.1, **parameters}, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert _bits(other) == _bits(models[0])
        assert np.array_equal(other.predict(X), models[0].predict(X))


@EVERY
def test_scans_over_many_variables_give_the_same_bits(machine: str) -> None:
    """From 6,144 active variables on, threads also share the passes of a single step."""
    X, y = _data(3200 if machine == "NuSVR" else 6400)  # it has two variables a row
    models = [_model(machine, solver="smo", C=0.5, tol=0.01, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    assert models[0].fit_report_.converged
    assert _bits(models[1]) == _bits(models[0])
    assert _bits(models[2]) == _bits(models[0])
