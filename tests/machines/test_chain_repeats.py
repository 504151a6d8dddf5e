"""Links that are known without solving them: those, and no others."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chain_cases import CHAINS, check_chain, classification, kernel_of, points

from widemargin.kernels.rows import row_source
from widemargin.machines.chain import Chain, Link, same_solution, solve_chain, walk_chain_on_rows
from widemargin.machines.classifier import box
from widemargin.machines.dual import DualProblem, Solution, SolverOptions, StopRule
from widemargin.testing import chess_board_case


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


def known(before: Link, link: Link, last: Solution) -> bool:
    """Tell whether bounds alone differ, none is tighter, and those that are looser are not touched."""
    a, b = before.problem, link.problem
    same_but_bounds = (
        a.total == b.total
        and np.array_equal(a.linear, b.linear)
        and all(np.array_equal(x, y) for x, y in ((a.kink, b.kink), (a.group, b.group), (before.ridge, link.ridge)))
    )
    no_tighter = (b.lower <= a.lower).all() and (b.upper >= a.upper).all()
    touched = ((b.lower < a.lower) & (last.alpha <= a.lower)) | ((b.upper > a.upper) & (last.alpha >= a.upper))
    return bool(same_but_bounds and no_tighter and not touched.any())


@pytest.mark.parametrize("on", ["matrix", "rows"])
@pytest.mark.parametrize("name", CHAINS)
def test_links_that_are_known_are_repeated_and_no_others(name: str, on: str) -> None:
    K, chain = CHAINS[name]()
    if on == "matrix":
        found = solve_chain(K, chain, stop=StopRule(1e-6))
    else:
        rows = row_source(K, kernel="precomputed")
        found = list(walk_chain_on_rows(rows, chain, stop=StopRule(1e-6), options=SolverOptions()))
    assert not found[0].repeated
    for before, link, last, one in zip(chain.links, chain.links[1:], found, found[1:], strict=False):
        assert one.repeated == known(before, link, last.solution) == same_solution(before, link, last.solution)
        if one.repeated:
            assert same(one.solution.alpha, last.solution.alpha)
            assert same(one.solution.gradient, last.solution.gradient)
            assert one.solution.intercept == last.solution.intercept
            assert one.solution.outcome.iterations == one.solution.outcome.kernel_evaluations == 0


@pytest.mark.parametrize("kind", ["plain", "zero weights", "held out"])
def test_prices_above_the_largest_coefficient_are_not_solved(kind: str) -> None:
    prices = np.logspace(-2, 4, 9)
    X, _ = points(60, separation=2.5)
    K = kernel_of(X)
    chain = classification(n=60, kind=kind, prices=prices)[1]
    found = solve_chain(K, chain, stop=StopRule(1e-6))
    largest = np.abs(found[-1].solution.alpha).max()
    assert prices[1] < largest < prices[-3]
    assert [one.repeated for one in found[1:]] == (prices[:-1] > largest).tolist()


def test_a_repeated_link_is_repeated_again_and_then_left() -> None:
    y = np.array([1.0, -1.0])
    K = np.eye(2, dtype=np.float32)
    found = solve_chain(
        K, Chain(tuple(Link(box(y, np.full(2, c))) for c in (5.0, 5.0, 9.0, 0.5, 9.0))), stop=StopRule()
    )
    assert [one.repeated for one in found] == [False, True, True, False, False]
    for one, size in zip(found, (1.0, 1.0, 1.0, 0.5, 1.0), strict=True):
        np.testing.assert_allclose(one.solution.alpha, [size, -size], atol=1e-3)


def changed(link: Link, what: str) -> Link:
    p, n = link.problem, len(link.problem.linear)
    return {
        "linear": Link(replace(p, linear=1.5 * p.linear)),
        "linear of a frozen variable": Link(replace(p, linear=p.linear + (np.arange(n) == 4))),
        "tighter": Link(replace(p, upper=0.5 * p.upper, lower=0.5 * p.lower)),
        "one bound tighter": Link(replace(p, upper=np.where(np.arange(n) == 0, 0.0, p.upper))),
        "total": Link(replace(p, total=(0.25, 0.0))),
        "ridge": Link(p, np.full(n, 0.7)),
        "other side opened": Link(replace(p, lower=p.lower - 10.0, upper=p.upper + 10.0)),
    }[what]


@pytest.mark.parametrize(
    "what",
    [
        "linear",
        "linear of a frozen variable",
        "tighter",
        "one bound tighter",
        "total",
        "ridge",
        "other side opened",
    ],
)
def test_other_problems_are_not_taken_for_the_same(what: str) -> None:
    X, y = points(40, separation=2.0)
    K = kernel_of(X)
    prices = np.where(np.arange(40) == 4, 0.0, 1e6)
    links = (Link(box(y, prices)), changed(Link(box(y, prices)), what), Link(box(y, prices)))
    found = solve_chain(K, Chain(links), stop=StopRule(1e-6))
    # What was made tighter, where nothing touched it, may be loosened again.
    assert [one.repeated for one in found] == [False, False, what == "tighter"]
    check_chain(K, Chain(links), found, 1e-6)


LEAVING_KINKS = """
import numpy as np
from dataclasses import replace
from chain_cases import check_chain, kernel_of, points
from widemargin.machines.chain import Chain, Link, solve_chain
from widemargin.machines.classifier import box
from widemargin.machines.dual import StopRule
X, y = points(40, separation=2.0)
plain = Link(box(y, np.full(40, 5.0)))
links = (plain, Link(replace(plain.problem, kink=np.full(40, 0.3))), plain)
chain = Chain(links)
found = solve_chain(kernel_of(X), chain, stop=StopRule(1e-6))
assert not any(one.repeated for one in found)
check_chain(kernel_of(X), chain, found, 1e-6)
"""


def test_a_chain_may_take_on_kinks_and_leave_them() -> None:
    # In a process of its own: what goes wrong here may end it.
    ran = subprocess.run(
        [sys.executable, "-c", LEAVING_KINKS], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_a_link_that_did_not_converge_is_not_repeated() -> None:
    case = chess_board_case(100, 1e4)
    K = case.gram.astype(np.float32)
    links = tuple(Link(DualProblem(case.linear, c * case.lower, c * case.upper)) for c in (1.0, 1.0))
    found = solve_chain(K, Chain(links), stop=StopRule(1e-3, max_iterations=20))
    assert [one.solution.outcome.reason for one in found] == ["iteration budget", "iteration budget"]
    assert [one.repeated for one in found] == [False, False]
    on_rows = walk_chain_on_rows(
        row_source(K, kernel="precomputed"),
        Chain(links),
        stop=StopRule(1e-3, max_iterations=20),
        options=SolverOptions(),
    )
    assert [one.repeated for one in on_rows] == [False, False]
