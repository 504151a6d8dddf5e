"""The result does not depend on the number of threads: not by one bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from widemargin import SVC
from widemargin.solvers import SMO, Auto
from widemargin.testing import many_class_points


def _bits(model: SVC) -> list[bytes]:
    parts = (model.dual_coef_, model.intercept_, model.support_, model.n_iter_)
    return [(part.toarray() if hasattr(part, "toarray") else np.asarray(part)).tobytes() for part in parts]


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize(
    "parameters",
    [
        {"gamma": 0.5, "C": 5.0},
        {"kernel": "linear"},
        {"gamma": 0.5, "solver": "block"},
        {"gamma": 0.5, "solver": SMO(selection="maximum-gain"), "cache_size": 0.1},
        {"gamma": 0.5, "solver": Auto(dtype="float64")},
    ],
    ids=lambda parameters: "-".join(map(str, parameters.values())),
)
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_any_number_of_threads_gives_the_same_bits(n_classes: int, parameters: dict[str, Any], container: Any) -> None:
    X, y = many_class_points(n_classes, 900 // n_classes)
    X = container(np.hstack((X, np.random.default_rng(0).normal(size=(len(y), 10)))))
    models = [SVC(**parameters, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert _bits(other) == _bits(models[0])
        assert np.array_equal(other.decision_function(X), models[0].decision_function(X))
        assert np.array_equal(other.predict(X), models[0].predict(X))


def test_default_and_all_cores() -> None:
    X, y = many_class_points(3, 100)
    assert _bits(SVC().fit(X, y)) == _bits(SVC(n_jobs=-1).fit(X, y))


def test_fitting_from_several_python_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    X, y = many_class_points(3, 150)
    expected = _bits(SVC(gamma=0.5).fit(X, y))
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: SVC(gamma=0.5, n_jobs=2).fit(X, y), range(8)))
    assert all(_bits(model) == expected for model in models)


@pytest.mark.parametrize("two_valued", [False, True])
def test_scans_over_many_variables_give_the_same_bits(two_valued: bool) -> None:
    """From 6,144 active variables on, threads also share the passes of a single step."""
    random = np.random.default_rng(2)
    X = (random.uniform(size=(7000, 12)) < 0.5) * 1.0 if two_valued else random.normal(size=(7000, 3))
    y = X[:, :3].sum(axis=1) + random.normal(size=len(X)) > X[:, :3].sum(axis=1).mean()
    models = [SVC(gamma=0.3, solver="smo", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    assert models[0].fit_report_.converged
    assert _bits(models[1]) == _bits(models[0])
    assert _bits(models[2]) == _bits(models[0])
