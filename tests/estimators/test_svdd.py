"""SVDD: distances for every kernel and container, the one-class machine behind it, bad input, budgets, copies."""

from __future__ import annotations

import math
import pickle
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVDD, OneClassSVM
from widemargin.solvers import MDM
from widemargin.testing import kernel_matrix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) + 1.0
NEW = RNG.normal(size=(60, 3)) + 1.0

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
}
MACHINES: dict[str, dict[str, Any]] = {
    "nu": {"nu": 0.2},
    "linear": {"nu": 0.2, "kernel": "linear"},
    "hard": {"C": math.inf},
    "rejection": {"target_rejection": 0.1},
}
each_machine = pytest.mark.parametrize("machine", MACHINES)


def _distances(model: SVDD, rows: Any, **kernel: Any) -> Any:
    """Squared distances from the centre, from nothing but the definition."""
    alpha, vectors = model.center_coef_, X[model.support_]
    own = np.array([kernel_matrix(row[None], **kernel)[0, 0] for row in rows])
    inner = alpha @ kernel_matrix(vectors, **kernel) @ alpha
    return own - 2.0 * kernel_matrix(rows, vectors, **kernel) @ alpha + inner


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("price", [{"nu": 0.2}, {"C": math.inf}, {"C": 0.05}], ids=["nu", "hard", "C"])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_radius_and_distances(name: str, price: dict[str, float], container: Any) -> None:
    model = SVDD(**KERNELS[name], **price).fit(container(X))
    inside, outside = (_distances(model, rows, **KERNELS[name]) for rows in (X, NEW))
    assert model.center_coef_.sum() == pytest.approx(1.0)
    for rows in (NEW, sparse.csr_array(NEW)) if container is sparse.csr_array else (NEW,):
        np.testing.assert_allclose(model.score_samples(rows), -outside, atol=1e-9 * (1 + outside.max()))
        np.testing.assert_allclose(
            model.decision_function(rows), model.radius_**2 - outside, atol=1e-7 * (1 + np.abs(outside).max())
        )
    C = 1.0 / (0.2 * len(X)) if "nu" in price else price["C"]
    free = (model.center_coef_ > 1e-9) & (model.center_coef_ < C - 1e-9)
    np.testing.assert_allclose(inside[model.support_][free], model.radius_**2, rtol=1e-6)
    accepted = model.predict(container(X)) == 1
    assert np.array_equal(accepted, inside <= model.radius_**2 * (1 + 1e-7))
    if "nu" in price:
        assert np.mean(~accepted) <= 0.2
    if math.isinf(C):
        assert accepted.all()


@pytest.mark.parametrize("name", KERNELS)
def test_precomputed_and_callable_kernels(name: str) -> None:
    expected = SVDD(**KERNELS[name], nu=0.2).fit(X)
    called = SVDD(kernel=lambda A, B: kernel_matrix(A, B, **KERNELS[name]), nu=0.2).fit(X)
    scale = 1.0 + np.abs(expected.score_samples(NEW)).max()
    np.testing.assert_allclose(called.decision_function(NEW), expected.decision_function(NEW), atol=1e-6 * scale)
    given = SVDD(kernel="precomputed", nu=0.2)
    sides = given.fit_predict(kernel_matrix(X, **KERNELS[name]))
    assert np.array_equal(sides, expected.predict(X))
    cross = kernel_matrix(NEW, X, **KERNELS[name])
    own = np.diagonal(kernel_matrix(NEW, **KERNELS[name]))
    np.testing.assert_allclose(given.decision_function(cross, own), expected.decision_function(NEW), atol=1e-6 * scale)
    assert np.array_equal(given.predict(cross, own), expected.predict(NEW))
    if name == "rbf":
        assert np.array_equal(given.decision_function(cross), given.decision_function(cross, own))
    else:
        with pytest.raises(ValueError, match="diagonal is needed"):
            given.decision_function(cross)
    with pytest.raises(ValueError, match="one finite number for each of the 60 rows"):
        given.decision_function(cross, own[:5])
    with pytest.raises(ValueError, match=r"precomputed.*only"):
        expected.decision_function(NEW, own)


def test_strings() -> None:
    words = ["ball", "bell", "bull", "bill", "ball", "zygote"]

    def shared(A: Any, B: Any) -> Any:
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = SVDD(kernel=shared, nu=0.3).fit(words)
    assert model.predict(["bell", "xylophones"]).tolist() == [1, -1]


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.8])
def test_with_a_constant_diagonal_the_ball_is_the_one_class_machine(nu: float) -> None:
    ball = SVDD(gamma=0.7, nu=nu, tol=1e-8).fit(X)
    plane = OneClassSVM(gamma=0.7, nu=nu, tol=1e-8).fit(X)
    total = nu * len(X)
    assert np.array_equal(ball.support_, plane.support_)
    np.testing.assert_allclose(total * ball.center_coef_, plane.dual_coef_[0], atol=1e-6)
    # R^2 - (1 - 2 s + |c|^2) = 2 (s - rho), with s and rho for coefficients that sum to 1.
    np.testing.assert_allclose(ball.decision_function(NEW), 2.0 * plane.decision_function(NEW) / total, atol=1e-7)
    assert np.array_equal(ball.predict(NEW), plane.predict(NEW))
    assert ball.radius_**2 == pytest.approx(1.0 + ball.center_squared_norm_ - 2.0 * plane.offset_ / total, abs=1e-7)


@pytest.mark.parametrize("solver", ["auto", "smo", "block"])
@pytest.mark.parametrize(("offset", "factor"), [(1e6, 1.0), (0.0, 1e-6), (0.0, 1e6), (1e6, 1e3)])
def test_a_linear_ball_follows_its_rows(offset: float, factor: float, solver: str) -> None:
    moved = factor * X + offset
    for price in ({"nu": 0.2}, {"C": math.inf}):
        expected = SVDD(kernel="linear", tol=1e-7, **price).fit(X)
        model = SVDD(kernel="linear", tol=1e-7, solver=solver, **price).fit(moved)
        assert model.fit_report_.converged
        assert model.radius_ == pytest.approx(factor * expected.radius_, rel=1e-5)
        np.testing.assert_allclose(model.coef_ - offset, factor * expected.coef_, atol=1e-4 * factor + 1e-9 * offset)
        np.testing.assert_allclose(
            model.decision_function(factor * NEW + offset),
            factor**2 * expected.decision_function(NEW),
            atol=1e-4 * factor**2,
        )
    assert SVDD(kernel="linear").fit(moved).coef_.shape == (1, 3)


def test_a_linear_ball_is_the_smallest() -> None:
    angles = np.linspace(0.0, 6.0, 25)
    circle = np.column_stack((3.0 * np.cos(angles) + 4.0, 3.0 * np.sin(angles) - 2.0))
    inner = 0.9 * (RNG.uniform(-1, 1, size=(200, 2))) + [4.0, -2.0]
    model = SVDD(C=math.inf, kernel="linear", tol=1e-9).fit(np.vstack((circle, inner)))
    assert model.radius_ == pytest.approx(3.0, rel=1e-6)
    np.testing.assert_allclose(model.coef_, [[4.0, -2.0]], atol=1e-5)
    assert (model.predict(np.vstack((circle, inner))) == 1).all()
    assert model.predict([[4.0, 1.01], [4.0, 0.99]]).tolist() == [-1, 1]


def test_a_single_row_and_equal_rows() -> None:
    for kernel in ("rbf", "linear"):
        for rows in (np.array([[2.0, 3.0]]), np.tile([[2.0, 3.0]], (7, 1))):
            model = SVDD(kernel=kernel, nu=0.5).fit(rows)
            assert model.radius_ == pytest.approx(0.0, abs=1e-6)
            assert model.predict([[2.0, 3.0], [2.0, 4.0]]).tolist() == [1, -1]


def test_nu_of_one_gives_the_mean() -> None:
    model = SVDD(nu=1.0, kernel="linear").fit(X)
    np.testing.assert_allclose(model.coef_, [X.mean(axis=0)], rtol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@each_machine
def test_weight_zero_removes_and_weight_two_repeats(machine: str, container: Any) -> None:
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    weighted = SVDD(**MACHINES[machine]).fit(container(X), sample_weight=weights)
    repeated = SVDD(**MACHINES[machine]).fit(container(np.repeat(X, weights, axis=0)))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-7)
    assert weighted.radius_ == pytest.approx(repeated.radius_, rel=1e-7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": 0.0}, "nu must be a number above 0 and at most 1; got 0.0"),
        ({"nu": 1.5}, "nu must be"),
        ({"C": 0.0}, "C must be a number above 0"),
        ({"C": 1.0 / 121}, r"C=.* is infeasible.*1 / \(sum of the weights\) = 0.00833333"),
        ({"C": 1.0, "nu": 0.2}, "C=1.0 takes the place of nu"),
        ({"C": 1.0, "target_rejection": 0.2}, "target_rejection=0.2 takes the place of C"),
        ({"nu": 0.1, "target_rejection": 0.2}, "takes the place of nu"),
        ({"target_rejection": 1.2}, "target_rejection must be a number above 0 and below 1"),
        ({"target_rejection": 0.2, "solver": "mdm"}, "solver='mdm' requires target_rejection=None"),
        ({"solver": "maxminover"}, "solver='maxminover' requires OneClassSVM with loss='squared_hinge'"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_bad_parameters_are_refused_before_the_kernel_is_computed(parameters: dict[str, Any], message: str) -> None:
    def never(A: Any, B: Any) -> Any:
        raise AssertionError("the kernel was computed")

    with pytest.raises(ValueError, match=message):
        SVDD(**{"kernel": never, **parameters}).fit(X)


@pytest.mark.parametrize("solver", ["mdm", MDM(accelerated=False)], ids=["accelerated", "plain"])
def test_geometric_solvers_find_hard_balls(solver: Any) -> None:
    expected = SVDD(C=math.inf, gamma=0.4).fit(X)
    found = SVDD(C=math.inf, gamma=0.4, solver=solver, tol=1e-4).fit(X)
    assert found.radius_ == pytest.approx(expected.radius_, rel=1e-3)
    with pytest.raises(ValueError, match=r"minimum norm problems only.*'auto' can"):
        SVDD(nu=0.3, solver=solver).fit(X)


@pytest.mark.parametrize("budget", [0, 5, 50])
def test_an_iteration_budget_is_kept(budget: int) -> None:
    model = SVDD(nu=0.3, gamma=5.0, tol=1e-12, max_iter=budget, solver="smo")
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(np.random.default_rng(4).normal(size=(2500, 2)))
    assert model.n_iter_ <= budget
    assert model.fit_status_ == 1
    assert math.isfinite(model.radius_)


def test_a_deadline_is_kept() -> None:
    model = SVDD(nu=0.5, gamma=1.0, tol=1e-12, max_iter=-1, max_time=0.05, solver="smo")
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        model.fit(np.random.default_rng(4).normal(size=(8000, 2)))
    assert time.perf_counter() - began < 1.5


def test_the_report_is_in_units_of_the_ball() -> None:
    model = SVDD(target_rejection=0.2, kernel="linear", solver="smo").fit(1e4 * X)
    assert len(model.fit_report_) == 6
    assert all(entry.kkt_violation <= model.tol for entry in model.fit_report_)
    assert model.spread_ == pytest.approx(1e8 * X.var(axis=0).sum())
    soft = SVDD(nu=0.2, kernel="linear").fit(X)
    distances = -soft.score_samples(X)
    primal = soft.radius_**2 + np.maximum(0.0, distances - soft.radius_**2).sum() / (0.2 * len(X))
    assert soft.fit_report_[0].objective == pytest.approx(primal, rel=1e-6)


@each_machine
def test_copies_predict_the_same(machine: str) -> None:
    model = SVDD(**MACHINES[machine]).fit(X)
    expected = model.decision_function(NEW)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(NEW), expected)
    fresh = clone(model)
    assert not hasattr(fresh, "radius_")
    assert np.array_equal(fresh.fit(X).decision_function(NEW), expected)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@each_machine
def test_any_number_of_threads_gives_the_same_bits(machine: str, container: Any) -> None:
    rows = container(np.random.default_rng(3).normal(size=(2600, 4)))
    models = [SVDD(**MACHINES[machine], n_jobs=n_jobs).fit(rows) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert np.array_equal(other.center_coef_, models[0].center_coef_)
        assert other.offset_ == models[0].offset_
        assert np.array_equal(other.decision_function(rows), models[0].decision_function(rows))


def test_frames() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for kernel in ("linear", "poly", "rbf"):
        model = SVDD(nu=0.1, kernel=kernel)
        assert np.array_equal(model.fit_predict(frame), model.predict(frame))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_one_sample_beyond_float64_is_refused() -> None:
    with pytest.raises(ValueError, match="X holds values of magnitude 1e"):
        SVDD(kernel="linear").fit(np.array([[1e300, 3e299]]))
