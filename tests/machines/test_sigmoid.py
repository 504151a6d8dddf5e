"""Sigmoids of decision values: maximum likelihood against SciPy's optimisers, weights, bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from widemargin.machines.sigmoid import LARGEST_SLOPE, fit_slope


def log_likelihood(slope, values, signs, weights):
    return -float(weights @ np.logaddexp(0.0, -slope * signs * values))


def values_and_signs(seed, n, noise, scale=1.0):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=n)
    signs = np.where(values + noise * generator.normal(size=n) > 0, 1.0, -1.0)
    return scale * values, signs


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    noise=st.floats(0.0, 5.0),
    exponent=st.integers(-3, 3),
)
def test_no_other_slope_is_likelier(seed, n, noise, exponent):
    values, signs = values_and_signs(seed, n, noise, 10.0**exponent)
    weights = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    found = fit_slope(values, signs, weights)
    assert 0.0 <= found.slope <= LARGEST_SLOPE
    assert found.log_likelihood == log_likelihood(found.slope, values, signs, weights)
    oracle = minimize_scalar(
        lambda slope: -log_likelihood(slope, values, signs, weights), bounds=(0.0, LARGEST_SLOPE), method="bounded"
    )
    ends = [log_likelihood(slope, values, signs, weights) for slope in (0.0, LARGEST_SLOPE)]
    assert found.log_likelihood >= max(-oracle.fun, *ends) - 1e-12 * (1 + abs(oracle.fun))


@pytest.mark.parametrize("wrong", [1e-12, 1e-6, 1e-3, 0.5])
def test_the_derivative_vanishes_however_few_values_are_wrong(wrong):
    values, signs = np.array([-2.0, -1.0, 0.7, 3.0, wrong]), np.array([-1.0, -1.0, 1.0, 1.0, -1.0])
    slope = fit_slope(values, signs).slope
    margins = signs * values
    terms = margins / (1.0 + np.exp(slope * margins))
    assert abs(terms.sum()) <= 1e-9 * np.abs(terms).sum()


def test_values_of_another_scale_have_the_slope_of_that_scale():
    values, signs = values_and_signs(0, 40, 1.0)
    slope = fit_slope(values, signs).slope
    for scale in (1e-200, 1e-3, 1e5, 1e200):
        assert fit_slope(scale * values, signs, largest=LARGEST_SLOPE / scale).slope * scale == pytest.approx(slope)


def test_separated_values_get_the_largest_slope_and_useless_ones_none():
    values = np.array([-2.0, -0.5, 0.5, 1.0])
    assert fit_slope(values, np.sign(values)).slope == LARGEST_SLOPE
    assert fit_slope(values, np.sign(values), largest=3.0).slope == 3.0
    assert fit_slope(values, -np.sign(values)).slope == 0.0
    assert fit_slope(np.zeros(4), np.sign(values)).slope == 0.0
    assert fit_slope(np.zeros(0), np.zeros(0)).log_likelihood == 0.0


def test_weights_count_examples():
    values, signs = values_and_signs(3, 30, 1.0)
    counts = np.random.default_rng(4).integers(0, 4, 30)
    repeated = fit_slope(np.repeat(values, counts), np.repeat(signs, counts))
    weighted = fit_slope(values, signs, counts.astype(float))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-12)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-12)
