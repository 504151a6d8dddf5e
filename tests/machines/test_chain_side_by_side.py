"""Chains side by side against the same chains one by one: coefficients, decision values, what is counted."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from widemargin import _core
from widemargin.kernels.rows import row_source
from widemargin.machines.chain import Chain, ChainKernel, JointSolution, Link, SideBySide
from widemargin.machines.classifier import ClassPairs, box, ridge_of
from widemargin.machines.dual import StopRule, values_of
from widemargin.testing import kernel_matrix

PRICES = (0.1, 1.0, 10.0, 100.0)


def problem(n_classes: int = 5, n: int = 90, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return samples, class numbers, weights (0 for every third sample, which is held out) and a kernel matrix."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 2.0 * rng.normal(size=(n_classes, 3))[y]
    weights = np.where(np.arange(n) % 3 == 2, 0.0, rng.uniform(0.5, 2.0, size=n))
    return X, y, weights, kernel_matrix(X, gamma=0.3).astype(np.float32)


def chains_of(y: Any, weights: Any, *, squared: bool, any_sum: bool) -> tuple[ClassPairs, SideBySide]:
    pairs, bounds = ClassPairs(y, int(y.max()) + 1, weights), [price * weights for price in PRICES]
    chains = SideBySide.of(
        pairs.side_by_side(pairs.names),
        [np.where(own > 0, np.inf, 0.0) for own in bounds] if squared else bounds,
        [ridge_of(np.where(own > 0, own, np.inf)) for own in bounds] if squared else None,
        np.arange(len(y)),
        any_sum,
        pairs.names.numbers,
        int(y.max()) + 1,
    )
    return pairs, chains


def link(signs: Any, bounds: Any, *, squared: bool) -> Link:
    if not squared:
        return Link(box(signs, bounds))
    return Link(box(signs, np.where(bounds > 0, np.inf, 0.0)), ridge_of(np.where(bounds > 0, bounds, np.inf)))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("any_sum", [False, True])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_chains_find_what_each_of_them_finds_alone(squared: bool, any_sum: bool, one_by_one: bool) -> None:
    X, y, weights, K = problem()
    pairs, chains = chains_of(y, weights, squared=squared, any_sum=any_sum)
    stop = StopRule(1e-6)
    for kept_bytes in (2**20, 0):
        kernel = ChainKernel(row_source(X, gamma=0.3), K, one_by_one=one_by_one, kept_bytes=kept_bytes)
        found = [one.solution for one in kernel.solve_together(chains, None, stop)]
        assert len(found) == len(PRICES)
        for number, own in enumerate(pairs):
            signs = np.zeros(len(y))
            signs[own.ids] = own.signs
            trained = np.where(signs != 0, weights, 0.0)
            links = tuple(link(signs, price * trained, squared=squared) for price in PRICES)
            alone = list(ChainKernel(kernel.rows, K).solve(Chain(links, any_sum=any_sum), stop))
            for joint, one, own_link in zip(found, alone, links, strict=True):
                assert isinstance(joint, JointSolution)
                part = list(joint.each())[number]
                np.testing.assert_allclose(part.alpha, one.solution.alpha[own.ids], atol=1e-4)
                assert part.intercept == pytest.approx(one.solution.intercept, abs=1e-4)
                values = values_of(one.solution, signs, own_link.ridge)
                np.testing.assert_allclose(joint.values[number], values, atol=1e-4)


def test_values_are_those_of_the_coefficients() -> None:
    X, y, weights, K = problem(7, 200)
    _, chains = chains_of(y, weights, squared=False, any_sum=False)
    for one in ChainKernel(row_source(X, gamma=0.3), K).solve_together(chains, None, StopRule()):
        joint: Any = one.solution
        begins = chains.begins.tolist()
        for number, part in enumerate(joint.each()):
            ids = chains.ids[begins[number] : begins[number + 1]]
            expected = K[:, ids].astype(np.float64) @ part.alpha + part.intercept
            np.testing.assert_allclose(joint.values[number], expected, atol=1e-9)
        assert joint.outcome.reason == "converged"
        assert joint.outcome.kkt_violation <= 1e-3


def test_all_links_at_once_or_one_by_one_are_the_same_to_the_last_bit() -> None:
    X, y, weights, K = problem(4, 300)
    _, chains = chains_of(y, weights, squared=False, any_sum=False)
    found = []
    for how in ({}, {"one_by_one": True}, {"one_by_one": True, "kept_bytes": 0}):
        kernel = ChainKernel(row_source(X, gamma=0.3), K, **how)
        found.append([one.solution for one in kernel.solve_together(chains, None, StopRule())])
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            assert np.array_equal(a.alpha, b.alpha)
            assert np.array_equal(a.values, b.values)
            assert a.outcome.iterations == b.outcome.iterations


def test_a_start_that_solves_the_first_link_leaves_nothing_to_do() -> None:
    X, y, weights, K = problem()
    _, chains = chains_of(y, weights, squared=False, any_sum=False)
    kernel = ChainKernel(row_source(X, gamma=0.3), K)
    cold = next(kernel.solve_together(chains, None, StopRule()))
    warm = next(kernel.solve_together(chains, cold.solution.alpha, StopRule()))
    assert cold.solution.outcome.iterations > 0
    assert warm.solution.outcome.iterations == 0


def test_links_without_a_bounded_variable_are_repeated() -> None:
    y = np.array([0, 1, 2])
    _, chains = chains_of(y, np.ones(3), squared=False, any_sum=False)
    kernel = ChainKernel(row_source(np.eye(3), kernel="linear"), np.eye(3, dtype=np.float32))
    assert [one.repeated for one in kernel.solve_together(chains, None, StopRule())] == [False, False, False, True]


def test_time_that_is_up_ends_them() -> None:
    X, y, weights, K = problem()
    _, chains = chains_of(y, weights, squared=False, any_sum=False)
    kernel = ChainKernel(row_source(X, gamma=0.3), K)
    assert not list(kernel.solve_together(chains, None, StopRule(deadline=time.monotonic() - 1.0)))
    asked = StopRule()
    asked.request()
    assert not list(kernel.solve_together(chains, None, asked))


def test_links_that_need_exact_rows_are_left_to_others() -> None:
    """Features far from 0: float32 values of a linear kernel lack the digits."""
    X, y, weights, _ = problem()
    X = X + 1e4
    _, chains = chains_of(y, weights, squared=False, any_sum=False)
    kernel = ChainKernel(row_source(X, kernel="linear"), (X @ X.T).astype(np.float32))
    assert len(list(kernel.solve_together(chains, None, StopRule()))) < len(PRICES)
    _, squared = chains_of(y, 1e9 * weights, squared=True, any_sum=False)
    assert not kernel.can_solve_together(squared)
    assert not ChainKernel(kernel.rows).can_solve_together(chains)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"begins": np.array([0, 3])}, "begins must ascend"),
        ({"lower": np.ones((1, 4)), "upper": np.zeros((1, 4))}, "a lower bound exceeds"),
        ({"linear": np.full(4, np.nan)}, "finite"),
        ({"upper": np.ones((1, 3))}, "differ in length"),
        ({"ridge": np.full((1, 4), -1.0)}, "a ridge must be"),
    ],
)
def test_problems_that_are_none_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "ids": np.array([0, 1, 0, 2], dtype=np.int32),
        "begins": np.array([0, 2, 4]),
        "linear": np.array([1.0, -1.0, 1.0, -1.0]),
        "lower": np.zeros((1, 4)),
        "upper": np.ones((1, 4)),
        **change,
    }
    with pytest.raises(ValueError, match=message):
        _core.LaneProblems(**given)


@pytest.mark.parametrize(("ids", "asked"), [([0, 1, 0, 3], [0]), ([0, 1, -1, 2], [0]), ([0, 1, 0, 2], [3])])
def test_samples_that_a_kernel_lacks_are_refused(ids: list[int], asked: list[int]) -> None:
    nothing = np.zeros((1, 4))
    problems = _core.LaneProblems(np.array(ids, dtype=np.int32), np.array([0, 2, 4]), np.ones(4), nothing, nothing)
    with pytest.raises(ValueError, match="outside the kernel"):
        _core.Lanes(
            np.eye(3, dtype=np.float32),
            problems,
            np.array(asked, dtype=np.int32),
            None,
            None,
            0,
            [],
            True,
            1e-3,
            10,
            1.0,
        )
