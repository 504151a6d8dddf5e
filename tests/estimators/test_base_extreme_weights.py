"""Weights from 1e-300 to 1e300, and shares of them as small: the same machine wherever it is one, else a sentence."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM

RANDOM = np.random.default_rng(0)


X = RANDOM.normal(size=(40, 3))


Y = (X[:, 0] + 0.3 * RANDOM.normal(size=40) > 0).astype(int)


TARGETS = X[:, 0] + 0.1 * RANDOM.normal(size=40)


WEIGHTS = RANDOM.uniform(0.5, 2.0, size=40)


SCALES = [2.0**-1000, 2.0**-300, 2.0**300, 2.0**1000, 2.0**1022]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "model",
    [
        NuSVC(nu=0.2),
        NuSVC(nu=0.2, class_weight="balanced"),
        SVDD(nu=0.2),
        SVDD(kernel="linear", nu=0.2),
        SVDD(target_rejection=0.2),
    ],
    ids=repr,
)
def test_machines_that_depend_on_ratios_of_weights(model: Any, scale: float) -> None:
    values = model.fit(X, Y, sample_weight=scale * WEIGHTS).decision_function(X)
    expected = model.fit(X, Y, sample_weight=WEIGHTS).decision_function(X)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_balanced_classes(scale: float) -> None:
    machine = SVC(class_weight="balanced")
    machine.classes_ = np.unique(Y)
    assert machine._class_factors(Y, scale * WEIGHTS) == pytest.approx(machine._class_factors(Y, WEIGHTS), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize(
    ("machine", "grid"),
    [(NuSVC(), {"nu": [0.1, 0.2]}), (SVDD(), {"nu": [0.1, 0.2]}), (SVDD(), {"target_rejection": [0.1, 0.2]})],
    ids=["NuSVC", "SVDD", "held out"],
)
def test_searches_over_them(machine: Any, grid: dict[str, Any], scale: float) -> None:
    search = GridSearchCV(machine, grid, cv=3)
    y = Y if isinstance(machine, NuSVC) else None
    scores = search.fit(X, y, sample_weight=scale * WEIGHTS).cv_results_["mean_test_score"]
    assert scores == pytest.approx(search.fit(X, y, sample_weight=WEIGHTS).cv_results_["mean_test_score"])


@pytest.mark.parametrize("nu", [1e-100, 1e-170, 1e-300, 5e-324])
@pytest.mark.parametrize("Machine", [NuSVC, SVDD])
def test_a_share_so_small_that_no_bound_matters(Machine: Any, nu: float) -> None:
    tiny, small = (Machine(nu=one, tol=1e-8).fit(X, Y) for one in (nu, 1e-9))
    np.testing.assert_allclose(tiny.decision_function(X), small.decision_function(X), atol=1e-6)
    assert tiny.fit_report_.converged


@pytest.mark.parametrize(
    ("model", "scale", "sentence"),
    [
        (OneClassSVM(), 1e300, "nu times the sum of the weights is 2e+301, too large to compute with"),
        (OneClassSVM(), 1.7e308, "nu times the sum of the weights is inf, too large to compute with"),
        (OneClassSVM(target_rejection=0.1), 1e300, "target_rejection times the sum of the weights is 4e+300"),
        (OneClassSVM(nu=1e-300), 1e-300, "nu times the sum of the weights is 0, too small to compute with"),
        (
            OneClassSVM(loss="squared_hinge"),
            1e-300,
            "C times the weights reaches 1e-300 at most, too small for loss='squ",
        ),
        (SVC(loss="squared_hinge"), 1e-300, "too small for loss='squared_hinge'; it must be above 5e-31"),
        (SVR(loss="squared_epsilon_insensitive"), 1e-300, "too small for loss='squared_epsilon_insensitive'; it must"),
        (NuSVR(), 1e300, "C times sample_weight sums to 4e+301, too large to compute with"),
        (NuSVR(C=1e300), 1.0, "C times sample_weight sums to 4e+301, too large to compute with"),
        (SVC(C=1e-200), 1e-200, "C times sample_weight is 0 in float64 for every row"),
        (SVR(C=1e-200), 1e-200, "C times sample_weight is 0 in float64 for every row"),
        (SVDD(C=0.1), 1e-300, "C=0.1 is infeasible: the coefficients of the centre could not sum to 1"),
        (
            NuSVC(class_weight={0: 1e100, 1: 1e100}),
            1e300,
            "class_weight times sample_weight exceeds float64 at sample 0",
        ),
    ],
    ids=repr,
)
def test_what_cannot_be_computed_is_refused_in_a_sentence(model: Any, scale: float, sentence: str) -> None:
    y = TARGETS if isinstance(model, SVR | NuSVR) else Y
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model.fit(X, y, sample_weight=np.full(40, scale))
    search = GridSearchCV(model, {"tol": [1e-3]}, cv=2, error_score="raise")
    named = re.escape(re.split(" is | sums | reaches | at sample ", sentence)[0])
    with pytest.raises(ValueError, match=named):
        search.fit(X, None if isinstance(model, OneClassSVM | SVDD) else y, sample_weight=np.full(40, scale))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("rows", [slice(3, 4), slice(None, None, 2), slice(None)], ids=["one", "half", "all"])
@pytest.mark.parametrize(
    "model",
    [
        *(SVC(), SVC(loss="squared_hinge"), SVC(class_weight="balanced"), NuSVC(nu=0.1), SVR(), NuSVR()),
        *(
            SVR(loss="squared_epsilon_insensitive"),
            OneClassSVM(),
            OneClassSVM(loss="squared_hinge"),
            SVDD(),
            SVDD(C=0.1),
        ),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:Column 2 of X carries")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_ends_with_numbers_or_with_a_sentence(model: Any, rows: slice, scale: float) -> None:
    weights = np.ones(40)
    weights[rows] = scale
    y = TARGETS if isinstance(model, SVR | NuSVR) else Y
    try:
        fitted = model.set_params(max_iter=1000).fit(X, y, sample_weight=weights)
    except ValueError as problem:
        assert re.search(r"weight|nu is infeasible", str(problem)), problem  # noqa: PT017
        return
    assert np.isfinite(fitted.dual_coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    assert np.isfinite(fitted.predict(X)).all()
