"""Machines for pairs of classes: hard margins, shared budgets, starting points."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from widemargin.kernels.rows import row_source
from widemargin.machines import classifier
from widemargin.machines.classifier import PROBLEMS_AT_ONCE, rescaled, solve_pairs
from widemargin.machines.dual import SolverOptions, StopRule, limits_of
from widemargin.testing import many_class_points


def test_starting_points_follow_the_bounds() -> None:
    starts = {(0, 1): np.array([1.0, -2.0, 0.0, 0.5, -3.0, 4.0])}
    old = np.array([1.0, 2.0, 1.0, 1.0, np.inf, 0.0])
    new = np.array([2.0, 1.0, 5.0, 0.0, 1.0, 1.0])
    (scaled,) = rescaled(starts, old, new).values()
    assert scaled.tolist() == [2.0, -1.0, 0.0, 0.0, -3.0, 4.0]
    (kept,) = rescaled(starts, np.full(6, 1e-300), np.full(6, 1e300)).values()
    assert kept.tolist() == starts[0, 1].tolist()
    # A bound is a bound, however small: what was at it is at the new one.
    for tiny in (1e-9, 1e-200):
        (scaled,) = rescaled({(0, 1): np.array([tiny, -0.5 * tiny])}, np.full(2, tiny), np.full(2, 3.0)).values()
        assert scaled.tolist() == [3.0, -1.5]


def test_a_hard_margin_is_found_or_said_to_be_missing() -> None:
    X, labels = many_class_points(3, 30)
    found = solve_pairs(
        row_source(X, gamma=5.0), labels, 3, np.full(90, np.inf), stop=StopRule(), options=SolverOptions()
    )
    assert all(machine.hard_margin_found for machine in found)
    X[0] = X[40]
    found = solve_pairs(
        row_source(X, gamma=5.0), labels, 3, np.full(90, np.inf), stop=StopRule(), options=SolverOptions()
    )
    contradicted = tuple(sorted((int(labels[0]), int(labels[40]))))
    assert {machine.pair for machine in found if not machine.hard_margin_found} == {contradicted}


def test_budgets_are_shared_by_pairs_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[StopRule] = []

    def slowly(stop: StopRule) -> dict[str, Any]:
        asked.append(stop)
        time.sleep(0.01)
        return limits_of(stop)

    monkeypatch.setattr(classifier, "limits_of", slowly)
    X, labels = many_class_points(3, 30)
    X[0] = X[40]
    solve_pairs(
        row_source(X, gamma=5.0),
        labels,
        3,
        np.full(90, np.inf),
        stop=StopRule(1e-3, max_iterations=10**6).within(60.0),
        options=SolverOptions(),
    )
    # Three pairs, one of which climbs the whole ladder.
    assert len(asked) >= 5
    assert len({stop.deadline for stop in asked}) == 1
    assert asked[0].deadline is not None
    steps = [stop.max_iterations for stop in asked if stop.max_iterations is not None]
    assert steps.count(10**6) == 3
    assert min(steps) < 10**6


@pytest.mark.parametrize(("C", "begun"), [(1.0, 6), (np.inf, 1)])
def test_without_time_only_the_first_machines_are_begun(C: float, begun: int) -> None:
    X, labels = many_class_points(4, 100)
    found = solve_pairs(
        row_source(X, gamma=0.5),
        labels,
        4,
        np.full(400, C),
        stop=StopRule(1e-10, max_iterations=None).within(0.0),
        options=SolverOptions(),
    )
    assert [machine.pair for machine in found] == list(combinations(range(4), 2))[:begun]
    assert all(np.isfinite(machine.solution.alpha).all() for machine in found)
    assert {machine.outcome.reason for machine in found} == {"time budget"}


def test_with_very_many_classes_time_ends_the_making_of_pairs() -> None:
    labels = np.arange(200) % 100
    rows = row_source(np.random.default_rng(0).normal(size=(200, 3)))
    found = solve_pairs(
        rows, labels, 100, np.ones(200), stop=StopRule(grace_seconds=0.1).within(-1.0), options=SolverOptions()
    )
    assert len(found) == PROBLEMS_AT_ONCE < 4950
