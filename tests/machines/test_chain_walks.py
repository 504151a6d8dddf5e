"""Chains that are solved link by link: the bits of those that are solved all at once."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from chain_cases import CHAINS, Kernel, classification, points, square_loss

from widemargin import _core
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution, solve_chain, walk_chain
from widemargin.machines.classifier import PairSamples, box
from widemargin.machines.dual import DualProblem, StopRule, as_task
from widemargin.machines.nu_classifier import solve_nu_chain


def assert_same(one: LinkSolution, other: LinkSolution) -> None:
    assert one.solution.alpha.tobytes() == other.solution.alpha.tobytes()
    assert one.solution.gradient.tobytes() == other.solution.gradient.tobytes()
    assert one.solution.intercept == other.solution.intercept
    assert one.repeated == other.repeated
    ours, theirs = one.solution.outcome, other.solution.outcome
    assert (ours.reason, ours.iterations, ours.objective) == (theirs.reason, theirs.iterations, theirs.objective)


def large(n: int = 1300) -> tuple[Kernel, Chain]:
    """A chain whose variables are so many that their kernel values are kept in two bytes, and come and go."""
    X, y = points(n, separation=0.2)
    return kernel_matrix(X, gamma=1.0), Chain(tuple(Link(box(y, np.full(n, C))) for C in 2.0 ** np.arange(-4, 8)))


@pytest.mark.parametrize("keeps", [True, False], ids=["keeps", "lets go"])
@pytest.mark.parametrize("name", [*CHAINS, "large"])
def test_a_walk_is_the_chain(name: str, keeps: bool) -> None:
    K, chain = large() if name == "large" else CHAINS[name]()
    walk = list(walk_chain(K, chain, stop=StopRule(1e-5), keeps=keeps))
    for one, other in zip(walk, solve_chain(K, chain, stop=StopRule(1e-5)), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("keeps", [True, False], ids=["keeps", "lets go"])
@pytest.mark.parametrize("any_sum", [True, False], ids=["any sum", "constant sum"])
@pytest.mark.parametrize("squared", [True, False], ids=["squared", "hinge"])
def test_a_walk_over_some_examples_is_the_chain(squared: bool, any_sum: bool, keeps: bool) -> None:
    K, chain = (square_loss if squared else classification)(n=120, kind="weights")
    ids = np.random.default_rng(5).permutation(120)[:80].astype(np.int32)
    links = []
    for link in chain.links:
        p = link.problem
        links.append(Link(DualProblem(p.linear[ids], p.lower[ids], p.upper[ids]), link.ridge[ids] if squared else None))
    part = Chain(tuple(links), ids, any_sum=any_sum)
    walk = list(walk_chain(K, part, stop=StopRule(1e-5), keeps=keeps))
    for one, other in zip(walk, solve_chain(K, part, stop=StopRule(1e-5)), strict=True):
        assert_same(one, other)
        assert len(one.solution.alpha) == len(ids)


def test_chains_take_turns() -> None:
    K, _ = classification(n=150)
    chains = [classification(n=150, kind=kind)[1] for kind in ("plain", "weights", "held out")]
    walks = [walk_chain(K, chain, stop=StopRule(1e-5), keeps=False) for chain in chains]
    together = list(zip(*walks, strict=True))
    for number, chain in enumerate(chains):
        for links, other in zip(together, solve_chain(K, chain, stop=StopRule(1e-5)), strict=True):
            assert_same(links[number], other)


def test_some_links_at_a_time() -> None:
    K, chain = classification(n=90)
    tasks = [as_task(link.problem) for link in chain.links]
    held = _core.Chain(K, None, tasks, None, tolerance=1e-3, max_iterations=10**9, max_seconds=1e10)
    counts = []
    while found := held.advance(4):
        counts.append(len(found))
    assert counts == [4, 4, 1]
    assert held.advance(1) == []
    held.rest()


def test_a_link_is_solved_when_it_is_asked_for() -> None:
    K, chain = classification(n=90)
    impossible = Link(DualProblem(np.zeros(90), np.zeros(90), np.ones(90), (91.0, 0.0)))
    walk = walk_chain(K, Chain((*chain.links, impossible)), stop=StopRule())
    for _ in chain.links:
        next(walk)
    with pytest.raises(ValueError, match="sum"):
        next(walk)


def test_a_chain_holds_its_kernel_and_lets_go_of_it() -> None:
    K, chain = classification(n=90)
    expected = solve_chain(K, chain, stop=StopRule())
    kernel = K.copy()
    walk = walk_chain(kernel, chain, stop=StopRule())
    before = sys.getrefcount(kernel)
    found = [next(walk)]
    assert sys.getrefcount(kernel) > before
    there = weakref.ref(kernel)
    del kernel
    gc.collect()
    found.extend(walk)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)
    del walk
    gc.collect()
    assert there() is None


def test_two_threads_are_not_at_the_same_chain() -> None:
    rng = np.random.default_rng(0)
    n = 700
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    K, signal = kernel_matrix(rng.normal(size=(n, 3)), gamma=0.05), _core.StopSignal()
    task = as_task(box(y, np.full(n, 1e9)))
    held = _core.Chain(K, None, [task, task], None, 1e-13, 10**12, 1e10, signal)
    thread = threading.Thread(target=held.advance, args=(1,))
    thread.start()
    threading.Event().wait(0.1)
    try:
        with pytest.raises(RuntimeError, match="another thread"):
            held.advance(1)
        with pytest.raises(RuntimeError, match="another thread"):
            held.rest()
    finally:
        signal.request()
        thread.join()


N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)


def nu_chain(kernel: ChainKernel) -> Iterator[LinkSolution]:
    ids = np.arange(0, N, 2, dtype=np.int32)
    samples = PairSamples((0, 1), ids, Y[ids])
    for one in solve_nu_chain(kernel, samples, np.ones(len(ids)), [0.1, 0.3, 0.5], stop=StopRule(1e-7)):
        yield LinkSolution(one.solution)


def test_a_chain_along_nu_that_lets_go() -> None:
    matrix = kernel_matrix(X, gamma=0.5)
    kernels = [ChainKernel(row_source(X, gamma=0.5), matrix, one_by_one=True, keeps=keeps) for keeps in (True, False)]
    for one, other in zip(*map(nu_chain, kernels), strict=True):
        assert_same(one, other)
