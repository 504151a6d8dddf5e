"""OneClassSVM trained by OneClassMaxMinOver [Timm2009] is the machine that the other solvers find."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVDD, OneClassSVM

X = np.random.default_rng(0).normal(size=(150, 3))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_it_is_the_same_machine(kernel, container):
    parameters = {"loss": "squared_hinge", "C": 20.0, "kernel": kernel, "gamma": 0.3, "coef0": 1.0}
    exact = OneClassSVM(**parameters, tol=1e-8).fit(container(X))
    counted = OneClassSVM(**parameters, tol=1e-7, solver="maxminover").fit(container(X))
    assert counted.fit_report_.converged
    np.testing.assert_allclose(counted.decision_function(X), exact.decision_function(X), atol=3e-3)
    assert counted.fit_report_[0].objective == pytest.approx(exact.fit_report_[0].objective, rel=1e-5)
    assert counted.offset_ == 1.0


def test_weights_count():
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    parameters = {"loss": "squared_hinge", "C": 20.0, "gamma": 0.3, "tol": 1e-7, "solver": "maxminover"}
    weighted = OneClassSVM(**parameters).fit(X, sample_weight=weights)
    repeated = OneClassSVM(**parameters).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=3e-3)
    assert not np.isin(weighted.support_, np.flatnonzero(weights == 0)).any()


def test_a_budget_ends_with_a_warning_and_a_machine():
    model = OneClassSVM(loss="squared_hinge", C=1e4, solver="maxminover", tol=1e-9, max_iter=200)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.fit_report_[0].reason == "iteration budget"
    assert model.decision_function(X).shape == (150,)


@pytest.mark.parametrize("max_iter", [1, 5])
def test_a_budget_that_ends_before_every_row_has_a_score_leaves_no_nan(max_iter):
    # Far apart, rows resemble none but themselves: until each had its turn, some score 0, and there is no scale.
    model = OneClassSVM(loss="squared_hinge", gamma=1e4, solver="maxminover", max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
    (report,) = model.fit_report_
    assert report.reason == "iteration budget"
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite([report.objective, report.duality_gap]).all()
    assert report.kkt_violation >= 1.0


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(n_jobs):
    parameters = {"loss": "squared_hinge", "C": 50.0, "gamma": 0.3, "solver": "maxminover"}
    one, many = (OneClassSVM(**parameters, n_jobs=jobs).fit(X) for jobs in (1, n_jobs))
    assert one.dual_coef_.tobytes() == many.dual_coef_.tobytes()


@pytest.mark.parametrize(
    "model",
    [
        OneClassSVM(solver="maxminover"),
        OneClassSVM(solver="maxminover", loss="squared_hinge", target_rejection=0.1),
        SVDD(solver="maxminover"),
    ],
    ids=["hinge", "held out", "ball"],
)
def test_what_it_cannot_solve_is_refused(model):
    with pytest.raises(ValueError, match="solver='maxminover' requires"):
        model.fit(X)
