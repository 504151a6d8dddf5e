"""What must not matter to a regression, and what must matter in exactly one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from widemargin import SVR, NuSVR
from widemargin.testing import kernel_matrix

EPSILON, C, TOL = 0.1, 2.0, 1e-8
SETTINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SVR": (SVR, {"epsilon": EPSILON}),
    "squared": (SVR, {"epsilon": EPSILON, "loss": "squared_epsilon_insensitive"}),
    "NuSVR": (NuSVR, {"nu": 0.33}),
}
EVERY = pytest.mark.parametrize("machine", SETTINGS)


def _data(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


def _model(machine: str, **changes: Any) -> Any:
    Machine, own = SETTINGS[machine]
    return Machine(**{"C": C, "gamma": 0.5, "tol": TOL, **own, **changes})


def _coefficients(model: Any, n: int) -> np.ndarray:
    beta = np.zeros(n)
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    return beta


@EVERY
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), exponent=st.floats(-4.0, 4.0))
def test_targets_in_other_units_give_the_same_function_in_these_units(machine: str, seed: int, exponent: float) -> None:
    # With y, epsilon and w multiplied by s, ||w||^2 grows by s^2; so does C times the loss if C grows by s, and C times
    # the squared loss if C stays. The coefficients, w = sum beta phi(x), then grow by s.
    X, y = _data(seed)
    s = 10.0**exponent
    changes: dict[str, Any] = {"tol": s * TOL, "C": C if machine == "squared" else s * C}
    if machine != "NuSVR":
        changes["epsilon"] = s * EPSILON
    plain, scaled = _model(machine).fit(X, y), _model(machine, **changes).fit(X, s * y)
    np.testing.assert_allclose(scaled.predict(X) / s, plain.predict(X), atol=1e-5)
    np.testing.assert_allclose(_coefficients(scaled, 40) / s, _coefficients(plain, 40), atol=1e-4)
    assert scaled.fit_report_[0].objective / s**2 == pytest.approx(plain.fit_report_[0].objective, rel=1e-6)
    if machine == "NuSVR":
        assert scaled.epsilon_ / s == pytest.approx(plain.epsilon_, abs=1e-5)


@EVERY
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), shift=st.floats(-1e3, 1e3))
def test_a_shift_of_the_targets_is_a_shift_of_the_intercept(machine: str, seed: int, shift: float) -> None:
    X, y = _data(seed)
    plain, shifted = _model(machine).fit(X, y), _model(machine).fit(X, y + shift)
    np.testing.assert_allclose(shifted.predict(X) - shift, plain.predict(X), atol=1e-5)
    np.testing.assert_allclose(_coefficients(shifted, 40), _coefficients(plain, 40), atol=1e-4)


@EVERY
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_a_mirror_image_of_the_targets_gives_that_of_the_function(machine: str, seed: int) -> None:
    X, y = _data(seed)
    np.testing.assert_allclose(_model(machine).fit(X, -y).predict(X), -_model(machine).fit(X, y).predict(X), atol=1e-5)


@EVERY
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_the_rows_does_not_matter(machine: str, seed: int) -> None:
    X, y = _data(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    np.testing.assert_allclose(
        _model(machine).fit(X[order], y[order]).predict(X), _model(machine).fit(X, y).predict(X), atol=1e-5
    )


@EVERY
@pytest.mark.parametrize("gamma", ["scale", 0.5])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_weights_are_numbers_of_copies(machine: str, gamma: float | str, container: Any, seed: int) -> None:
    X, y = _data(seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(y))
    weights[:2] = 1, 0
    copies = np.repeat(np.arange(len(y)), weights)
    weighted = _model(machine, gamma=gamma).fit(container(X), y, sample_weight=weights)
    repeated = _model(machine, gamma=gamma).fit(container(X[copies]), y[copies])
    np.testing.assert_allclose(weighted.predict(container(X)), repeated.predict(container(X)), atol=1e-5)
    assert (weights[weighted.support_] > 0).all()
    assert weighted.fit_report_[0].objective == pytest.approx(repeated.fit_report_[0].objective, rel=1e-6)
    if machine == "NuSVR":
        assert weighted.epsilon_ == pytest.approx(repeated.epsilon_, abs=1e-5)


@EVERY
def test_all_weights_together_are_a_factor_of_the_price(machine: str) -> None:
    X, y = _data(0)
    weighted = _model(machine).fit(X, y, sample_weight=np.full(len(y), 3.0))
    np.testing.assert_allclose(weighted.predict(X), _model(machine, C=3.0 * C).fit(X, y).predict(X), atol=1e-6)


@EVERY
@pytest.mark.parametrize("least", [1e-12, 1e-6])
def test_weights_of_any_size(machine: str, least: float) -> None:
    X, y = _data(0)
    weights = np.where(np.arange(len(y)) % 4 == 0, least, 1.0)
    light = _model(machine, tol=1e-6).fit(X, y, sample_weight=weights)
    gone = _model(machine, tol=1e-6).fit(X, y, sample_weight=np.where(weights == 1.0, 1.0, 0.0))
    np.testing.assert_allclose(light.predict(X), gone.predict(X), atol=1e-3)


def test_support_vectors_lie_on_the_edge_of_the_tube_or_outside() -> None:
    X, y = _data(3)
    for machine in SETTINGS:
        model = _model(machine).fit(X, y)
        width = getattr(model, "epsilon_", EPSILON)
        distance = np.abs(y - model.predict(X))
        inside = np.setdiff1d(np.arange(len(y)), model.support_)
        assert len(inside)
        assert distance[inside].max() <= width + 1e-6
        assert distance[model.support_].min() >= width - 1e-6


def test_the_squared_loss_has_coefficients_that_price_its_errors() -> None:
    X, y = _data(4)
    model = _model("squared").fit(X, y)
    error = y - model.predict(X)
    beyond = np.sign(error) * np.maximum(0.0, np.abs(error) - EPSILON)
    np.testing.assert_allclose(_coefficients(model, len(y)), 2.0 * C * beyond, atol=1e-5)
    K = kernel_matrix(X, gamma=0.5)
    beta = _coefficients(model, len(y))
    dual = y @ beta - EPSILON * np.abs(beta).sum() - 0.5 * beta @ K @ beta - beta @ beta / (4.0 * C)
    assert model.fit_report_[0].objective == pytest.approx(dual, rel=1e-8)


@EVERY
def test_equal_targets_need_no_support_vectors(machine: str) -> None:
    X, _ = _data(0)
    model = _model(machine).fit(X, np.full(len(X), 7.0))
    assert len(model.support_) == 0
    np.testing.assert_allclose(model.predict(X), 7.0, atol=1e-8)
    assert model.dual_coef_.shape == (1, 0)


@EVERY
def test_one_row_is_enough(machine: str) -> None:
    model = _model(machine).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 5.0]]) == pytest.approx(3.0, abs=EPSILON)


@EVERY
@pytest.mark.parametrize("kind", ["float32", "int", "frame", "list"])
def test_inputs_of_any_kind(machine: str, kind: str) -> None:
    import pandas as pd

    X, y = _data(0)
    X, y = np.round(4.0 * X), np.round(4.0 * y)
    expected = _model(machine).fit(X, y).predict(X)
    converted: dict[str, tuple[Any, Any]] = {
        "float32": (X.astype(np.float32), y.astype(np.float32)),
        "int": (X.astype(np.int64), y.astype(np.int64)),
        "frame": (pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)),
        "list": (X.tolist(), y.tolist()),
    }
    data, targets = converted[kind]
    np.testing.assert_allclose(_model(machine).fit(data, targets).predict(data), expected, atol=1e-5)


@EVERY
def test_strings_with_a_kernel_of_their_own(machine: str) -> None:
    texts = ["a", "ab", "abb", "b", "bb", "aab", "", "ba"]
    lengths = np.array([len(text) for text in texts], dtype=np.float64)

    def kernel(A: Any, B: Any) -> np.ndarray:
        counts = [
            np.array([[text.count("a"), text.count("b")] for text in block], dtype=np.float64) for block in (A, B)
        ]
        return counts[0] @ counts[1].T

    model = _model(machine, kernel=kernel, C=100.0).fit(texts, lengths)
    np.testing.assert_allclose(model.predict(texts), lengths, atol=EPSILON + 0.05)
