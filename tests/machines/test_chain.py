"""Chains of problems: every link is solved as if it were alone, whatever came before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from chain_cases import (
    CHAINS,
    KINDS,
    check_chain,
    check_link,
    classification,
    kernel_of,
    points,
    square_loss,
    weights_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import Chain, Link, LinkSolution, solve_chain, walk_chain_on_rows
from widemargin.machines.classifier import box
from widemargin.machines.dual import DualProblem, SolverOptions, StopRule, solve
from widemargin.testing import certificate, solve_exactly


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("name", CHAINS)
def test_every_link_is_solved(name: str, tolerance: float) -> None:
    K, chain = CHAINS[name]()
    check_chain(K, chain, solve_chain(K, chain, stop=StopRule(tolerance)), tolerance)


@pytest.mark.parametrize(
    "name", ["classification-weights", "square-loss-plain", "regression-plain", "squared-tube-plain"]
)
def test_tight_tolerances_lead_to_the_exact_solution(name: str) -> None:
    K, chain = CHAINS[name]()
    gram = K.astype(np.float64)
    chain = Chain(chain.links[::4])
    for link, one in zip(chain.links, solve_chain(K, chain, stop=StopRule(1e-9)), strict=True):
        full = gram if link.ridge is None else gram + np.diag(link.ridge)
        best = certificate(link.problem, full, solve_exactly(link.problem, full, tolerance=1e-11)).objective
        assert one.solution.outcome.objective == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("name", CHAINS)
def test_kernel_rows_give_the_same_objectives(name: str) -> None:
    K, chain = CHAINS[name]()
    stop = StopRule(1e-6)
    on_matrix = solve_chain(K, chain, stop=stop)
    rows = row_source(K, kernel="precomputed")
    on_rows = list(walk_chain_on_rows(rows, chain, stop=stop, options=SolverOptions()))
    assert len(on_rows) == len(on_matrix)
    for link, one, other in zip(chain.links, on_matrix, on_rows, strict=True):
        check_link(K, chain, link, other.solution, 1e-6)
        allowed = max(one.solution.outcome.duality_gap, other.solution.outcome.duality_gap) + 1e-9 * max(
            1.0, np.abs(one.solution.alpha).sum()
        )
        assert abs(one.solution.outcome.objective - other.solution.outcome.objective) <= allowed


@pytest.mark.parametrize("name", ["classification-held out", "square-loss-held out", "regression-held out"])
def test_decision_values_of_held_out_rows_fall_out_of_the_gradient(name: str) -> None:
    K, chain = CHAINS[name]()
    held = weights_of(len(K), "held out") == 0
    for link, one in zip(chain.links, solve_chain(K, chain, stop=StopRule()), strict=True):
        assert not one.solution.alpha[held].any()
        values = K[held].astype(np.float64) @ one.solution.alpha
        np.testing.assert_allclose(link.problem.linear[held] - one.solution.gradient[held], values, atol=1e-9)


@pytest.mark.parametrize("squared", [False, True])
def test_ids_are_a_part_of_the_kernel(squared: bool) -> None:
    K, chain = (square_loss if squared else classification)(n=60, kind="weights")
    rng = np.random.default_rng(5)
    ids = rng.permutation(60)[:40].astype(np.int32)

    def of_part(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[ids]

    links = tuple(
        Link(DualProblem(p.linear[ids], p.lower[ids], p.upper[ids]), of_part(link.ridge))
        for link in chain.links
        for p in (link.problem,)
    )
    found = solve_chain(K, Chain(links, ids), stop=StopRule(1e-5))
    check_chain(K, Chain(links, ids), found, 1e-5)
    gathered = solve_chain(np.ascontiguousarray(K[np.ix_(ids, ids)]), Chain(links), stop=StopRule(1e-5))
    for one, other in zip(found, gathered, strict=True):
        assert same(one.solution.alpha, other.solution.alpha)


@pytest.mark.parametrize("name", ["classification-everything", "square-loss-everything", "one-class"])
def test_a_start_whose_gradient_is_known(name: str) -> None:
    K, chain = CHAINS[name]()
    chain = replace(chain, links=chain.links[:3])
    first, stop = chain.links[0], StopRule(1e-6)
    start = np.random.default_rng(0).normal(size=len(K))
    gradient = first.problem.linear - K.astype(np.float64) @ start
    if first.ridge is not None:
        gradient -= first.ridge * start
    known = replace(chain, start=start, start_gradient=gradient)
    check_chain(K, known, solve_chain(K, known, stop=stop), 1e-6)
    rows = row_source(K, kernel="precomputed")
    on_rows = list(walk_chain_on_rows(rows, known, stop=stop, options=SolverOptions()))
    check_chain(K, known, on_rows, 1e-6)
    (solved,) = solve_chain(K, replace(chain, links=(first,)), stop=stop)
    optimal = replace(chain, links=(first,), start=solved.solution.alpha, start_gradient=solved.solution.gradient)
    (again,) = solve_chain(K, optimal, stop=stop)
    assert again.solution.outcome.iterations == 0


@pytest.mark.parametrize(
    "name", ["classification-everything", "square-loss-everything", "regression-weights", "one-class"]
)
@pytest.mark.parametrize("start", ["optimal", "noise", "huge", "zero"])
def test_a_start_changes_nothing_but_the_way(name: str, start: str) -> None:
    K, chain = CHAINS[name]()
    stop = StopRule(1e-6)
    n = len(chain.links[0].problem.linear)
    given_start = {
        "optimal": lambda: solve_chain(K, chain, stop=stop)[0].solution.alpha,
        "noise": lambda: np.random.default_rng(0).normal(size=n),
        "huge": lambda: 1e3 * np.random.default_rng(1).normal(size=n),
        "zero": lambda: np.zeros(n),
    }[start]()
    found = solve_chain(K, replace(chain, start=given_start), stop=stop)
    check_chain(K, chain, found, 1e-6)
    if start == "optimal":
        assert found[0].solution.outcome.iterations == 0


def test_warm_links_cost_less_than_cold_ones() -> None:
    K, chain = classification(n=200, prices=np.logspace(0, 3, 13))
    warm = sum(one.solution.outcome.iterations for one in solve_chain(K, chain, stop=StopRule()))
    alone = sum(solve_chain(K, Chain((link,)), stop=StopRule())[0].solution.outcome.iterations for link in chain.links)
    assert warm < alone


def test_over_rows_the_gradient_of_a_warm_start_is_known() -> None:
    X, y = points(1200)
    rows, links = row_source(X, gamma=0.5), tuple(Link(box(y, np.full(1200, c))) for c in (1.0, 1.01, 4.0))
    stop, options = StopRule(), SolverOptions()
    chain = list(walk_chain_on_rows(rows, Chain(links), stop=stop, options=options))
    for last, link, one in zip(chain, links[1:], chain[1:], strict=False):
        again = solve(link.problem, rows, stop=stop, options=options, start=last.solution.alpha)
        assert one.solution.outcome.kernel_evaluations < 0.8 * again.outcome.kernel_evaluations
        if link is links[1]:  # four times the bound are another machine: no start is worth much there
            cold = solve(link.problem, rows, stop=stop, options=options)
            assert one.solution.outcome.iterations < 0.5 * cold.outcome.iterations


@pytest.mark.parametrize("name", ["classification-plain", "square-loss-plain", "regression-plain", "nu-classification"])
def test_a_chain_of_one_link(name: str) -> None:
    K, chain = CHAINS[name]()
    alone = Chain(chain.links[3:4], chain.ids)
    check_chain(K, alone, solve_chain(K, alone, stop=StopRule(1e-6)), 1e-6)


def test_one_variable_and_boxes_of_one_point() -> None:
    K = np.ones((1, 1), dtype=np.float32)
    only = Link(DualProblem(np.ones(1), np.zeros(1), np.full(1, 5.0)))
    frozen = Link(DualProblem(np.ones(1), np.zeros(1), np.zeros(1)))
    for one in solve_chain(K, Chain((only, frozen, only)), stop=StopRule()):
        assert one.solution.alpha.tolist() == [0.0]
        assert one.solution.gradient.tolist() == [1.0]
        assert one.solution.outcome.reason == "converged"


def test_boxes_that_empty_and_fill_again() -> None:
    K, chain = classification(n=50)
    signs = chain.links[0].problem.linear
    links = tuple(Link(box(signs, np.full(50, c))) for c in (1.0, 0.0, 2.0, 0.0, 0.0, 30.0))
    found = solve_chain(K, Chain(links), stop=StopRule(1e-6))
    check_chain(K, Chain(links), found, 1e-6)
    assert not found[1].solution.alpha.any()


def test_folds_one_after_the_other() -> None:
    K, chain = classification(n=80)
    signs = chain.links[0].problem.linear
    links = tuple(
        Link(box(np.where(np.arange(80) % 4 == fold, 0.0, signs), np.full(80, 3.0))) for fold in (0, 1, 2, 3, 0)
    )
    found = solve_chain(K, Chain(links), stop=StopRule(1e-6))
    check_chain(K, Chain(links), found, 1e-6)


def on_rows(K: np.ndarray, chain: Chain, *, stop: StopRule) -> list[LinkSolution]:
    return list(walk_chain_on_rows(row_source(K, kernel="precomputed"), chain, stop=stop, options=SolverOptions()))


@pytest.mark.parametrize("solve", [solve_chain, on_rows])
def test_an_impossible_sum_is_refused(solve: Callable[..., list[LinkSolution]]) -> None:
    problem = DualProblem(np.zeros(3), np.zeros(3), np.ones(3), (4.0, 0.0))
    with pytest.raises(ValueError, match="sum"):
        solve(np.eye(3, dtype=np.float32), Chain((Link(problem),)), stop=StopRule())


@pytest.mark.parametrize("solve", [solve_chain, on_rows])
@pytest.mark.parametrize(
    "what", ["kernel", "links", "ids", "no id", "start", "ridge", "nan start", "nan ridge", "negative ridge"]
)
def test_what_does_not_fit_is_refused(what: str, solve: Callable[..., list[LinkSolution]]) -> None:
    K, chain = classification(n=10, prices=np.ones(2))
    ridge = np.ones(10)
    if what == "kernel":
        K = np.ascontiguousarray(K[:, :9])
    elif what == "links":
        chain = Chain(())
    elif what == "ids":
        chain = replace(chain, ids=np.arange(1, 11, dtype=np.int32))
    elif what == "no id":
        chain = replace(chain, ids=np.array([0, 1, -1, 3, 4, 5, 6, 7, 8, 9], dtype=np.int32))
    elif what == "start":
        chain = replace(chain, start=np.zeros(9))
    elif what == "nan start":
        chain = replace(chain, start=np.full(10, np.nan))
    elif what == "ridge":
        chain = Chain((Link(chain.links[0].problem, ridge[:9]),))
    else:
        ridge[3] = np.nan if what == "nan ridge" else -5.0
        chain = Chain((Link(chain.links[0].problem, ridge),))
    with pytest.raises(ValueError):  # noqa: PT011 - the sentence depends on what does not fit
        solve(K, chain, stop=StopRule())


def test_contradicting_duplicates() -> None:
    X, y = points(60)
    K = kernel_of(X[np.arange(60) % 10])
    chain = Chain(tuple(Link(box(y, np.full(60, c))) for c in (0.1, 1.0, 100.0, 1e5)))
    check_chain(K, chain, solve_chain(K, chain, stop=StopRule(1e-4)), 1e-4)


def test_a_kernel_of_low_rank() -> None:
    X, y = points(70, separation=0.3)
    K = kernel_matrix(X, kernel="linear")
    chain = Chain(tuple(Link(box(y, np.full(70, c))) for c in (1e-2, 1.0, 1e2, 1e-1, 1e3)))
    check_chain(K, chain, solve_chain(K, chain, stop=StopRule(1e-3)), 1e-3)


@pytest.mark.parametrize(
    "prices", [(1e-8, 1e-3, 1e2, 1e-5, 1e4), tuple(np.logspace(-7, 4, 12)), (1e-10, 1e4), (1e5, 1e-2)]
)
def test_prices_far_apart(prices: tuple[float, ...]) -> None:
    # Rounding errors of a gradient of small variables must not grow with the variables. Products of whole numbers are
    # exact, so that the kernel is not indefinite by a rounding error.
    X, y = points(70, separation=0.3)
    K = kernel_matrix(np.round(2.0 * X), kernel="linear")
    chain = Chain(tuple(Link(box(y, np.full(70, c))) for c in prices))
    check_chain(K, chain, solve_chain(K, chain, stop=StopRule(1e-3)), 1e-3)


def test_an_indefinite_kernel_ends() -> None:
    X, y = points(60)
    K = kernel_matrix(X, kernel="sigmoid", gamma=0.8, coef0=-1.0)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -0.1
    chain = Chain(tuple(Link(box(y, np.full(60, c))) for c in (0.1, 1.0, 10.0)))
    for link, one in zip(chain.links, solve_chain(K, chain, stop=StopRule(1e-3)), strict=True):
        check_link(K, chain, link, replace(one.solution, outcome=replace(one.solution.outcome, duality_gap=0.0)), 1e-3)


@pytest.mark.parametrize("name", CHAINS)
def test_bits_do_not_depend_on_what_ran_before(name: str) -> None:
    K, chain = CHAINS[name]()
    first = solve_chain(K, chain, stop=StopRule())
    solve_chain(*classification(n=130), stop=StopRule())
    for one, other in zip(first, solve_chain(K, chain, stop=StopRule()), strict=True):
        assert same(one.solution.alpha, other.solution.alpha)
        assert same(one.solution.gradient, other.solution.gradient)
        assert one.solution.intercept == other.solution.intercept
        assert one.solution.outcome.iterations == other.solution.outcome.iterations


def test_bits_do_not_depend_on_threads() -> None:
    K, _ = classification(n=90)
    chains = [classification(n=90, kind=kind)[1] for kind in KINDS]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(lambda chain: solve_chain(K, chain, stop=StopRule()), chains))
    for chain, links in zip(chains, together, strict=True):
        for one, other in zip(links, solve_chain(K, chain, stop=StopRule()), strict=True):
            assert same(one.solution.alpha, other.solution.alpha)
            assert same(one.solution.gradient, other.solution.gradient)


def drawn(rng: np.random.Generator, n: int, kind: str) -> Link:
    """Draw a problem whose boxes admit its sum, with bounds on a grid so that there are ties."""
    linear = rng.choice([-1.0, 0.0, 1.0], size=n) if rng.random() < 0.5 else rng.normal(size=n)
    lower, upper = -rng.choice([0.0, 0.0, 1.0, 4.0, 100.0], size=n), rng.choice([0.0, 0.5, 1.0, 100.0], size=n)
    ridge = 10.0 ** rng.uniform(-4, 2, size=n) if rng.random() < 0.3 else None
    share = rng.uniform(0.1, 0.9) if rng.random() < 0.5 else 0.0
    if kind == "kinks":
        kink = rng.choice([0.0, 0.1, 1.0], size=n)
        return Link(DualProblem(linear, lower, upper, (share * upper.sum(), 0.0), kink=kink), ridge)
    if kind == "groups":
        group = rng.integers(0, 2, size=n).astype(np.uint8)
        total = (share * upper[group == 0].sum(), share * lower[group == 1].sum())
        return Link(DualProblem(linear, lower, upper, total, group), ridge)
    return Link(DualProblem(linear, lower, upper, (share * upper.sum(), 0.0)), ridge)


@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["plain", "kinks", "groups"]))
def test_any_chain(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    # Products of whole numbers are exact, so that a kernel of low rank is not indefinite by a rounding error.
    name, X = ("rbf", rng.normal(size=(n, 2))) if rng.random() < 0.5 else ("linear", rng.integers(-3, 4, size=(n, 2)))
    X[rng.random(n) < 0.2] = X[0]
    K = kernel_matrix(X, kernel=name, gamma=1.0)
    links = [drawn(rng, n, kind) for _ in range(3)]
    factor = float(rng.choice([0.1, 2.0, 50.0]))
    last = links[-1].problem
    totals = (factor * last.total[0], factor * last.total[1])
    links.append(
        Link(replace(last, lower=factor * last.lower, upper=factor * last.upper, total=totals), links[-1].ridge)
    )
    chain = Chain(tuple(links), None, rng.normal(size=n) if rng.random() < 0.3 else None)
    check_chain(K, chain, solve_chain(K, chain, stop=StopRule(1e-6)), 1e-6)
