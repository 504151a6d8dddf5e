"""OneClassSVM: weights, squared slack, bad input, budgets, copies, threads."""

from __future__ import annotations

import pickle
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin import OneClassSVM
from widemargin.solvers import MDM, as_solver
from widemargin.testing import kernel_matrix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) + 1.0
NEW = RNG.normal(size=(60, 3)) + 1.0

MACHINES: dict[str, dict[str, Any]] = {
    "hinge": {"nu": 0.2},
    "squared": {"loss": "squared_hinge", "C": 2.0},
    "rejection": {"target_rejection": 0.1},
    "squared-rejection": {"loss": "squared_hinge", "target_rejection": 0.1},
}
each_machine = pytest.mark.parametrize("machine", MACHINES)


@each_machine
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weight_zero_removes_and_weight_two_repeats(machine: str, container: Any) -> None:
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    weighted = OneClassSVM(**MACHINES[machine]).fit(container(X), sample_weight=weights)
    repeated = OneClassSVM(**MACHINES[machine]).fit(container(np.repeat(X, weights, axis=0)))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-7)
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-7)
    assert (weights[weighted.support_] > 0).all()


@each_machine
def test_the_order_of_rows_does_not_matter(machine: str) -> None:
    order = np.random.default_rng(2).permutation(len(X))
    straight, shuffled = (OneClassSVM(**MACHINES[machine]).fit(rows) for rows in (X, X[order]))
    np.testing.assert_allclose(straight.decision_function(NEW), shuffled.decision_function(NEW), atol=1e-7)


@pytest.mark.parametrize("nu", [1e-6, 0.05, 0.3, 1.0])
def test_the_nu_property(nu: float) -> None:
    model = OneClassSVM(nu=nu).fit(X)
    assert np.mean(model.predict(X) == -1) <= nu
    assert len(model.support_) >= nu * len(X)
    assert model.dual_coef_.sum() == pytest.approx(nu * len(X))


def test_equal_rows_are_accepted() -> None:
    model = OneClassSVM(nu=0.3).fit(np.ones((20, 2)))
    assert model.predict([[1.0, 1.0], [3.0, 3.0]]).tolist() == [1, -1]


def test_squared_slack_keeps_its_promises() -> None:
    C = 2.0
    model = OneClassSVM(loss="squared_hinge", C=C, gamma=0.5, tol=1e-9).fit(X)
    assert model.offset_.tolist() == [1.0]
    assert model.intercept_.tolist() == [-1.0]
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    scores = kernel_matrix(X, gamma=0.5) @ alpha
    np.testing.assert_allclose(model.score_samples(X), scores, atol=1e-9)
    # [Timm2009, eq. 2 and 4]: support vectors lie outside by a / C, all others inside.
    np.testing.assert_allclose((1.0 - scores)[model.support_], alpha[model.support_] / C, atol=1e-7)
    assert scores[alpha == 0].min() >= 1.0 - 1e-7


@pytest.mark.parametrize("parameters", [{"nu": 0.2}, {"loss": "squared_hinge"}], ids=["hinge", "squared"])
@pytest.mark.parametrize("solver", ["smo", "block", "mdm", MDM(accelerated=False)], ids=str)
def test_any_solver_that_can_may_be_named(parameters: dict[str, Any], solver: Any) -> None:
    if parameters.get("loss") != "squared_hinge" and isinstance(as_solver(solver), MDM):
        with pytest.raises(ValueError, match=r"minimum norm problems only.*'auto' can"):
            OneClassSVM(**parameters, solver=solver).fit(X)
        parameters = {"nu": 1.0 / len(X)}
    expected = OneClassSVM(**parameters).fit(X)
    found = OneClassSVM(**parameters, solver=solver, tol=1e-6).fit(X)
    np.testing.assert_allclose(found.score_samples(NEW), expected.score_samples(NEW), atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": 0.0}, "nu must be a number above 0 and at most 1; got 0.0"),
        ({"nu": 1.1}, "nu must be a number above 0 and at most 1; got 1.1"),
        ({"nu": -0.5}, "nu must be"),
        ({"nu": np.nan}, "nu must be"),
        ({"nu": "half"}, "nu must be"),
        ({"nu": True}, "nu must be"),
        ({"loss": "cubic"}, "loss must be one of 'hinge', 'squared_hinge'; got 'cubic'"),
        ({"loss": "squared_hinge", "C": 0.0}, "C must be a number above 0"),
        ({"loss": "squared_hinge", "C": np.inf}, "C must be a number above 0"),
        ({"loss": "squared_hinge", "nu": 0.1}, "takes the place of nu.*nu=0.1"),
        ({"C": 3.0}, "C is the price of squared slack.*C=3.0"),
        ({"target_rejection": 0.0}, "target_rejection must be a number above 0 and below 1"),
        ({"target_rejection": 1.0}, "target_rejection must be a number above 0 and below 1"),
        ({"target_rejection": 0.1, "nu": 0.2}, "target_rejection=0.1 takes the place of nu.*default 0.5; got nu=0.2"),
        ({"target_rejection": 0.1, "loss": "squared_hinge", "solver": "mdm"}, "'mdm' requires target_rejection=None"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"kernel": "rbff"}, "kernel must be one of"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_bad_parameters_are_refused_before_the_kernel_is_computed(parameters: dict[str, Any], message: str) -> None:
    def never(A: Any, B: Any) -> Any:
        raise AssertionError("the kernel was computed")

    with pytest.raises(ValueError, match=message):
        OneClassSVM(**{"kernel": never, **parameters}).fit(X)


def test_bad_data_are_refused() -> None:
    broken = X.copy()
    broken[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column 2, first at row 7"):
        OneClassSVM().fit(broken)
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        OneClassSVM().fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        OneClassSVM().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="at least two different"):
        OneClassSVM(target_rejection=0.1).fit(np.ones((9, 2)))
    with pytest.raises(ValueError, match=r"X.shape\[0\] should be equal"):
        OneClassSVM(kernel="precomputed").fit(X)


def _hard(n: int) -> Any:
    return np.random.default_rng(4).normal(size=(n, 2))


@pytest.mark.parametrize("machine", [{"nu": 0.3}, {"loss": "squared_hinge"}], ids=["hinge", "squared"])
@pytest.mark.parametrize("solver", ["smo", "block"])
def test_an_iteration_budget_is_kept(machine: dict[str, Any], solver: str) -> None:
    for budget in (0, 7, 60):
        model = OneClassSVM(**machine, gamma=5.0, tol=1e-12, max_iter=budget, solver=solver)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model.fit(_hard(2500))
        assert model.n_iter_ <= budget
        assert model.fit_status_ == 1
        assert model.fit_report_[0].reason == "iteration budget"
        assert np.isfinite(model.decision_function(NEW[:, :2])).all()


@pytest.mark.parametrize("machine", [{"nu": 0.5}, {"loss": "squared_hinge", "C": 0.1}], ids=["hinge", "squared"])
def test_a_deadline_is_kept(machine: dict[str, Any]) -> None:
    model = OneClassSVM(**machine, gamma=1.0, tol=1e-12, max_iter=-1, max_time=0.05, solver="smo")
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        model.fit(_hard(8000))
    assert time.perf_counter() - began < 1.5
    assert model.fit_report_[0].reason == "time budget"


def test_machines_that_hold_rows_out_are_in_the_report() -> None:
    model = OneClassSVM(target_rejection=0.1).fit(X)
    assert len(model.fit_report_) == 6
    assert model.fit_report_.converged
    assert all(entry.kkt_violation <= model.tol for entry in model.fit_report_)
    with pytest.warns(ConvergenceWarning):
        short = OneClassSVM(target_rejection=0.1, max_iter=3, tol=1e-9, solver="smo").fit(X)
    assert short.fit_status_ == 1


def test_verbose_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    OneClassSVM(verbose=True).fit(X)
    assert "converged" in capsys.readouterr().out


@each_machine
def test_copies_predict_the_same(machine: str) -> None:
    model = OneClassSVM(**MACHINES[machine]).fit(X)
    expected = model.decision_function(NEW)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(NEW), expected)
    fresh = clone(model)
    assert not hasattr(fresh, "offset_")
    assert np.array_equal(fresh.fit(X).decision_function(NEW), expected)


@each_machine
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_any_number_of_threads_gives_the_same_bits(machine: str, container: Any) -> None:
    rows = container(np.random.default_rng(3).normal(size=(2600, 4)))
    models = [OneClassSVM(**MACHINES[machine], n_jobs=n_jobs).fit(rows) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert np.array_equal(other.support_, models[0].support_)
        assert other.offset_ == models[0].offset_
        assert other.n_iter_ == models[0].n_iter_
        assert np.array_equal(other.decision_function(rows), models[0].decision_function(rows))


def test_frames_and_fit_predict() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = OneClassSVM(nu=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sides = model.fit_predict(frame)
        assert np.array_equal(sides, model.predict(frame))
    assert set(sides) == {-1, 1}
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert sides.dtype == np.intp
