"""Sigmoids of decision values: maximum likelihood against SciPy's optimisers, weights, bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit

from oracles.probabilities import platt_likelihood, slope_likelihood
from widemargin.machines.sigmoid import (
    LARGEST_SLOPE,
    fit_platt,
    fit_slope,
    fit_slopes,
    slope_for_no_error,
    slopes_for_no_error,
)


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
    assert found.log_likelihood == pytest.approx(slope_likelihood(found.slope, values, signs, weights), rel=1e-12)
    oracle = minimize_scalar(
        lambda slope: -slope_likelihood(slope, values, signs, weights), bounds=(0.0, LARGEST_SLOPE), method="bounded"
    )
    ends = [slope_likelihood(slope, values, signs, weights) for slope in (0.0, LARGEST_SLOPE)]
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


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    noise=st.floats(0.0, 5.0),
    exponent=st.integers(-3, 3),
)
def test_no_other_line_is_likelier(seed, n, noise, exponent):
    values, signs = values_and_signs(seed, n, noise, 10.0**exponent)
    weights = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    found = fit_platt(values, signs, weights)
    assert found.slope >= 0.0
    own = platt_likelihood(found.slope, found.offset, values, signs, weights)
    assert found.log_likelihood == pytest.approx(own, rel=1e-12, abs=1e-12)
    scale = np.abs(values).max()
    oracles = [
        minimize(
            lambda line: -platt_likelihood(line[0] / scale, line[1], values, signs, weights),
            start,
            method="L-BFGS-B",
            bounds=[(0.0, None), (None, None)],
        ).fun
        for start in ((0.0, 0.0), (5.0, 0.0))
    ]
    assert own >= -min(oracles) - 1e-9 * (1 + abs(own))


def test_platts_targets_keep_separated_values_off_certainty():
    values = np.array([-2.0, -1.0, 1.0, 2.0])
    found = fit_platt(values, np.sign(values))
    assert 0.0 < found.slope < 10.0
    np.testing.assert_allclose(found.probabilities(values), [0.2062, 0.3376, 0.6624, 0.7938], atol=1e-4)
    useless = fit_platt(values, -np.sign(values))
    assert (useless.slope, useless.offset) == (0.0, 0.0)
    one_sided = fit_platt(np.abs(values), np.ones(4))
    assert one_sided.slope == 0.0
    assert one_sided.probabilities(np.zeros(1)) == pytest.approx(5 / 6)  # the rule of succession
    assert fit_platt(np.zeros(0), np.zeros(0)).probabilities(np.zeros(1)) == 0.5


def test_weights_count_examples_in_platts_model():
    values, signs = values_and_signs(3, 30, 1.0)
    counts = np.random.default_rng(4).integers(0, 4, 30)
    repeated = fit_platt(np.repeat(values, counts), np.repeat(signs, counts))
    weighted = fit_platt(values, signs, counts.astype(float))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-9)
    assert weighted.offset == pytest.approx(repeated.offset, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), exponent=st.integers(-8, 8))
def test_the_boldest_slope_without_errors(seed, n, exponent):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=n) * 10.0 ** generator.uniform(-4.0, 0.0, n) * 10.0**exponent
    weights = generator.integers(0, 3, n).astype(float)
    weights[0] = 1.0
    slope, total, size = slope_for_no_error(values, weights), weights.sum(), np.abs(values).max()

    def surplus(log_slope):
        return weights @ expit(-np.exp(log_slope) * np.abs(values)) - total / (total + 2.0)

    oracle = np.exp(brentq(surplus, np.log(1e-6 / size), np.log(1e12 / size), xtol=1e-13))
    assert slope == pytest.approx(oracle, rel=1e-8)
    assert slope_for_no_error(np.append(values, 0.0), np.append(weights, 5.0)) == pytest.approx(slope)
    assert slope_for_no_error(np.zeros(3)) == 0.0


def test_rows_of_a_table_get_the_slopes_that_they_get_alone():
    random = np.random.default_rng(4)
    values = random.normal(size=(40, 9)) * 10.0 ** random.integers(-3, 4, size=(40, 1))
    signs = np.where(values + random.normal(size=values.shape) * np.abs(values).mean(axis=1, keepdims=True) > 0, 1, -1)
    signs[:5] = np.sign(values[:5])  # without an error
    weights = random.integers(0, 3, size=values.shape).astype(float)
    values[7], weights[8] = 0.0, 0.0
    steepest = slopes_for_no_error(values, weights)
    slopes = fit_slopes(values, signs, weights, steepest)
    for row, (own, most) in enumerate(zip(slopes, steepest, strict=True)):
        counts = weights[row] > 0
        alone = slope_for_no_error(values[row, counts], weights[row, counts])
        assert most == pytest.approx(alone, rel=1e-8)
        fitted = fit_slope(values[row, counts], signs[row, counts], weights[row, counts], largest=most)
        assert own == pytest.approx(fitted.slope, rel=1e-7)
