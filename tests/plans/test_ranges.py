"""Ranges of gamma and C: what they rest on."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from widemargin import SVC, SVR
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.plans.ranges import beyond, c_values, gamma_values
from widemargin.solvers import Auto

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > np.median(X[:, 0]), 1, -1)
NARROW = 1e6


def trained(C: float, gamma: float, rows: Any = X, labels: Any = LABELS) -> SVC:
    return SVC(C=C, gamma=gamma, tol=1e-9, solver=Auto(dtype="float64")).fit(rows, labels)


def test_values_of_c_are_a_geometric_range() -> None:
    values = c_values()
    assert {larger / smaller for smaller, larger in pairwise(values)} == {4.0}
    assert (values[0], values[-1]) == (2.0**-4, 2.0**12)


def test_gamma_follows_the_units_of_the_data_and_holds_the_guess() -> None:
    values = gamma_values(X, LABELS)
    np.testing.assert_allclose(gamma_values(10.0 * X, LABELS), values / 100.0)
    assert values[0] < jaakkola_gamma(X, LABELS) < values[-1]


@pytest.mark.parametrize("gamma", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize("sizes", [(20, 20), (8, 24)])
def test_below_two_over_n_a_machine_keeps_its_shape(gamma: float, sizes: tuple[int, int]) -> None:
    rows = np.concatenate([np.flatnonzero(LABELS < 0)[: sizes[0]], np.flatnonzero(LABELS > 0)[: sizes[1]]])
    C = 1.98 / len(rows)
    one, other = (trained(price, gamma, X[rows], LABELS[rows]) for price in (C, C / 64))
    smaller = one.dual_coef_[one.dual_coef_ < 0]
    np.testing.assert_allclose(smaller, np.full(sizes[0], -C))
    values, scaled = (machine.decision_function(X) - machine.intercept_ for machine in (one, other))
    np.testing.assert_allclose(64 * scaled, values, atol=1e-3 * C)


def test_a_narrow_kernel_saturates_at_two() -> None:
    machine = trained(2.0, NARROW)
    assert np.abs(machine.dual_coef_).max() < 2.0
    np.testing.assert_allclose(trained(c_values()[-1], NARROW).dual_coef_, machine.dual_coef_)
    shares = np.array([np.mean(LABELS < 0), np.mean(LABELS > 0)])  # a = y - b, and these sum to 0
    np.testing.assert_allclose(np.unique(np.abs(machine.dual_coef_).round(6)), np.unique((2 * shares).round(6)))


def test_a_machine_that_no_coefficient_bounds_is_that_of_every_larger_c() -> None:
    machine = trained(2.0**12, 3.0)
    largest = np.abs(machine.dual_coef_).max()
    assert largest < 2.0**12
    for factor in (1.01, 100.0):
        np.testing.assert_allclose(trained(factor * largest, 3.0).dual_coef_, machine.dual_coef_, rtol=1e-3, atol=1e-3)


def test_c_goes_with_the_units_of_numbers() -> None:
    numbers = np.sin(X[:, 0])
    one, other = (
        SVR(C=scale, epsilon=0.1 * scale, gamma=0.5, tol=1e-6 * scale).fit(X, scale * numbers)
        for scale in (1.0, 1000.0)
    )
    np.testing.assert_allclose(other.predict(X), 1000.0 * one.predict(X), rtol=1e-3, atol=1e-3)


def test_beyond_goes_on_at_the_factor_of_the_range() -> None:
    assert beyond(c_values(), "largest") == 2.0**14
    assert beyond(c_values(), "smallest") == 2.0**-6
    assert beyond(np.array([3.0]), "largest") == 12.0
