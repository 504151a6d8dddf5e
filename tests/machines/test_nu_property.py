"""What nu promises: borders beyond which there are only variables at their bounds, and the gap that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widemargin import _core
from widemargin.kernels.rows import row_source
from widemargin.machines.dual import DualProblem, SolverOptions, StopRule, solve
from widemargin.machines.nu_property import border, with_borders
from widemargin.machines.one_class import nu_machine, train
from widemargin.testing import kernel_matrix


def test_free_variables_are_on_the_border_or_inside() -> None:
    slopes, sizes = np.array([3.0, 2.01, 1.99, 1.0]), np.array([1.0, 0.25, 0.25, 0.0])
    assert border(slopes, sizes, np.ones(4), 1.5) == 2.01


def test_without_free_variables_the_border_is_in_the_middle() -> None:
    slopes, bounds = np.array([3.0, 2.0, 1.0]), np.ones(3)
    assert border(slopes, np.array([1.0, 0.0, 0.0]), bounds, 1.0) == 2.5
    # A variable that is at its bound but for rounding does not decide.
    assert border(slopes, np.array([1.0, 1.0 - 1e-15, 1e-15]), bounds, 2.0) == 1.5
    assert border(slopes, np.ones(3), bounds, 3.0) == 1.0


def test_what_was_cut_short_leaves_no_more_outside() -> None:
    slopes, bounds = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 1.0, 2.0, 1.0])
    sizes = np.array([0.0, 0.0, 0.5, 1.0])
    assert border(slopes, sizes, bounds, 1.5, converged=False) == 3.0
    assert border(slopes, sizes, bounds, 1.5) == 4.0


@pytest.mark.parametrize("seed", range(20))
def test_the_core_reads_slopes_and_gaps_as_numpy_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    slopes, bounds = rng.normal(size=n), rng.uniform(size=n) * (rng.uniform(size=n) < 0.8)
    sizes = bounds * rng.choice([0.0, 1e-13, 0.4, 1.0 - 1e-13, 1.0], size=n)
    below, above = sizes < (1.0 - 1e-12) * bounds, sizes > 1e-12 * bounds
    expected = slopes[below].max(initial=-np.inf), slopes[above].min(initial=np.inf)
    assert _core.slopes_inside(slopes, sizes, bounds) == expected
    lower, upper = -rng.uniform(size=n), bounds
    gap = np.sum(np.where(slopes > 0.0, upper, lower) * slopes) - slopes @ sizes
    assert _core.gap_above_prices(slopes, sizes, lower, upper) == pytest.approx(gap, abs=1e-12)
    with pytest.raises(ValueError, match="differ in length"):
        _core.slopes_inside(slopes, sizes, bounds[1:])


@pytest.mark.parametrize("two_sums", [False, True])
@pytest.mark.parametrize("iterations", [3, None])
@pytest.mark.parametrize("tolerance", [0.3, 1e-3])
def test_the_gap_is_that_of_the_borders(two_sums: bool, iterations: int | None, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, size=60)
    weights[50:] = 0.0  # held out
    K, y = kernel_matrix(X, gamma=0.4), rng.normal(size=60)
    group = (np.arange(60) % 2).astype(np.uint8) if two_sums else np.zeros(60, dtype=np.uint8)
    signs = 1.0 - 2.0 * group
    totals = (0.3 * weights[group == 0].sum(), -0.3 * weights[group == 1].sum())
    problem = DualProblem(
        y,
        np.where(signs < 0, -weights, 0.0),
        np.where(signs > 0, weights, 0.0),
        totals if two_sums else (totals[0], 0.0),
        group if two_sums else None,
    )
    options = SolverOptions(solver="smo", dtype="float64")
    stop = StopRule(tolerance, max_iterations=iterations)
    found = with_borders(problem, solve(problem, row_source(X, gamma=0.4), stop=stop, options=options))
    a, prices = found.alpha, np.array([found.intercept, found.second_intercept])[group]
    slack = weights * np.maximum(0.0, signs * (y - K @ a - prices))
    primal, dual = 0.5 * a @ K @ a + slack.sum() + prices @ a, y @ a - 0.5 * a @ K @ a
    assert found.outcome.duality_gap == pytest.approx(primal - dual, abs=1e-9)
    for g in range(2 if two_sums else 1):
        mine = group == g
        outside = weights[mine & (signs * (found.gradient - prices) > 0.0)].sum()
        assert outside <= abs(problem.total[g]) * (1.0 + 1e-12)


@pytest.mark.parametrize(("scale", "nu", "seed"), [(100.0, 0.5, 0), (100.0, 0.9, 2), (300.0, 0.5, 4), (1000.0, 0.9, 0)])
def test_violations_that_float32_hides_are_measured(scale: float, nu: float, seed: int) -> None:
    """The tolerance is far below the digits of float32 gradients: what is reported is that of all free variables."""
    rng = np.random.default_rng(seed)
    X, weights = scale * rng.normal(size=(1200, 2)), 10.0 ** rng.uniform(-2.0, 2.0, size=1200)
    kernel: dict[str, Any] = {"kernel": "poly", "degree": 2, "gamma": 1.5, "coef0": 1.0}
    _, found = train(nu_machine(weights, nu), row_source(X, **kernel), stop=StopRule(1e-6), options=SolverOptions())
    G = -(kernel_matrix(X, **kernel) @ found.alpha)
    violation = G[found.alpha < weights].max() - G[found.alpha > 0.0].min()
    assert found.outcome.kkt_violation == pytest.approx(max(0.0, violation), abs=1e-11 * np.abs(G).max())
