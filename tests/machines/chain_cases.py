"""Chains to judge the solver of chains by, and what is asked of each of their links."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import derived_rows, kernel_matrix, row_source
from widemargin.machines.chain import Chain, Link, LinkSolution
from widemargin.machines.classifier import box, ridge_of
from widemargin.machines.dual import DualProblem, Solution, StopRule, solve
from widemargin.machines.regression import nu_tube, tube
from widemargin.testing import certificate, intercept, kkt_violation

Vector = NDArray[np.float64]
Kernel = NDArray[np.float32]

PRICES = 2.0 ** np.arange(-6, 11, 2)


def points(n: int, seed: int = 0, separation: float = 0.7) -> tuple[NDArray[np.float64], Vector]:
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return rng.normal(size=(n, 3)) + separation * labels[:, None], labels


def kernel_of(X: NDArray[np.float64], gamma: float = 0.5) -> Kernel:
    return kernel_matrix(X, gamma=gamma)


def weights_of(n: int, kind: str) -> Vector:
    rng = np.random.default_rng(11)
    weights = np.ones(n)
    if kind in ("weights", "everything"):
        weights = 10.0 ** rng.uniform(-1.5, 1.5, size=n)
    if kind in ("zero weights", "everything"):
        weights[5::9] = 0.0
    if kind in ("held out", "everything"):
        weights[2::5] = 0.0
    return weights


def classification(n: int = 90, kind: str = "plain", prices: Vector = PRICES) -> tuple[Kernel, Chain]:
    X, y = points(n)
    weights = weights_of(n, kind)
    signs = np.where(weights > 0, y, 0.0) if kind in ("held out", "everything") else y
    return kernel_of(X), Chain(tuple(Link(box(signs, price * weights)) for price in prices))


def square_loss(n: int = 90, kind: str = "plain", prices: Vector = PRICES) -> tuple[Kernel, Chain]:
    X, y = points(n)
    weights = weights_of(n, kind)
    signs, limits = np.where(weights > 0, y, 0.0), np.where(weights > 0, np.inf, 0.0)
    ridges = [ridge_of(np.where(weights > 0, price * weights, np.inf)) for price in prices]
    return kernel_of(X), Chain(tuple(Link(box(signs, limits), ridge) for ridge in ridges))


def regression(n: int = 80, kind: str = "plain", prices: Vector = PRICES, epsilon: float = 0.1) -> tuple[Kernel, Chain]:
    X, _ = points(n, seed=1)
    y = np.sin(X).sum(axis=1) + 0.2 * np.random.default_rng(2).normal(size=n)
    weights = weights_of(n, kind)
    return kernel_of(X), Chain(tuple(Link(tube(y, epsilon, price * weights)) for price in prices))


def squared_tube(n: int = 80, kind: str = "plain", prices: Vector = PRICES) -> tuple[Kernel, Chain]:
    K, chain = regression(n, kind)
    weights = weights_of(n, kind)
    limit = np.where(weights > 0, np.inf, 0.0)
    problem = chain.links[0].problem
    free = DualProblem(problem.linear, -limit, limit, kink=problem.kink)
    return K, Chain(tuple(Link(free, ridge_of(np.where(weights > 0, price * weights, np.inf))) for price in prices))


def one_class(
    n: int = 80, fractions: tuple[float, ...] = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
) -> tuple[Kernel, Chain]:
    X, _ = points(n)
    upper = weights_of(n, "weights")
    links = (Link(DualProblem(np.zeros(n), np.zeros(n), upper, (nu * upper.sum(), 0.0))) for nu in fractions)
    return kernel_of(X), Chain(tuple(links))


def nu_classification(
    n: int = 80, fractions: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
) -> tuple[Kernel, Chain]:
    X, y = points(n)
    bounded = box(y, np.ones(n))
    group = (y < 0).astype(np.uint8)
    links = (
        Link(DualProblem(np.zeros(n), bounded.lower, bounded.upper, (nu * n / 2, -nu * n / 2), group))
        for nu in fractions
    )
    return kernel_of(X), Chain(tuple(links))


def nu_regression(n: int = 50, fractions: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)) -> tuple[Kernel, Chain]:
    K, chain = regression(n)
    problem = chain.links[0].problem
    # Every example twice, once for either side of its tube.
    ids = np.tile(np.arange(n, dtype=np.int32), 2)
    return K, Chain(tuple(Link(nu_tube(problem.linear, nu, np.ones(n))) for nu in fractions), ids)


KINDS = ("plain", "weights", "zero weights", "held out", "everything")
MACHINES: dict[str, Callable[..., tuple[Kernel, Chain]]] = {
    "classification": classification,
    "square-loss": square_loss,
    "regression": regression,
    "squared-tube": squared_tube,
}
CHAINS: dict[str, Callable[[], tuple[Kernel, Chain]]] = {
    **{
        f"{name}-{kind}": (lambda make=make, kind=kind: make(kind=kind))
        for name, make in MACHINES.items()
        for kind in KINDS
    },
    **{f"{name}-descending": (lambda make=make: make(prices=PRICES[::-1])) for name, make in MACHINES.items()},
    "one-class": one_class,
    "one-class-descending": lambda: one_class(fractions=(0.95, 0.6, 0.3, 0.05)),
    "nu-classification": nu_classification,
    "nu-classification-descending": lambda: nu_classification(fractions=(0.6, 0.4, 0.2, 0.1)),
    "nu-regression": nu_regression,
}


def gram_of(K: Kernel, chain: Chain, link: Link) -> NDArray[np.float64]:
    """The kernel of a link's variables in float64, its ridge included."""
    gram = K.astype(np.float64)
    if chain.ids is not None:
        gram = gram[np.ix_(chain.ids, chain.ids)]
    return gram if link.ridge is None else gram + np.diag(link.ridge)


def groups_of(problem: DualProblem) -> list[NDArray[np.bool_]]:
    if problem.group is None:
        return [np.ones(len(problem.linear), dtype=bool)]
    return [problem.group == g for g in (0, 1)]


def part(problem: DualProblem, mine: NDArray[np.bool_]) -> DualProblem:
    kink = None if problem.kink is None else problem.kink[mine]
    return DualProblem(problem.linear[mine], problem.lower[mine], problem.upper[mine], kink=kink)


def settled(problem: DualProblem, alpha: Vector) -> Vector:
    """Put variables that are rounding errors away from their bounds on them: they must not decide the intercept."""
    width = problem.upper - problem.lower
    nearly = 1e-12 * np.where(np.isfinite(width), width, np.abs(alpha))
    for bound in (problem.lower, problem.upper):
        alpha = np.where(np.abs(alpha - bound) <= nearly, bound, alpha)
    return alpha


def check_link(K: Kernel, chain: Chain, link: Link, solution: Solution, tolerance: float) -> None:
    """Raise AssertionError unless a link's solution is feasible, optimal, and all that it says about itself is true."""
    problem, gram, alpha = link.problem, gram_of(K, chain, link), solution.alpha
    assert solution.outcome.reason == "converged"
    assert (alpha >= problem.lower).all()
    assert (alpha <= problem.upper).all()
    gradient = problem.linear - gram @ alpha
    magnitude = max(1.0, float((np.abs(gram) @ np.abs(alpha)).max(initial=0.0)))
    np.testing.assert_allclose(solution.gradient, gradient, rtol=0.0, atol=1e-9 * max(1.0, 1e-3 * magnitude))
    violation = 0.0
    for g, mine in enumerate(groups_of(problem)):
        assert abs(alpha[mine].sum() - problem.total[g]) <= 1e-11 * max(1.0, np.abs(alpha).sum())
        violation = max(violation, kkt_violation(part(problem, mine), alpha[mine], gradient[mine]))
    assert violation <= tolerance * (1.0 + 1e-6) + 1e-12 * magnitude
    assert abs(solution.outcome.kkt_violation - violation) <= 1e-9 * magnitude
    recomputed = certificate(problem, gram, alpha)
    breadth = max(1.0, float(np.abs(alpha).sum()))
    assert abs(solution.outcome.objective - recomputed.objective) <= 1e-9 * magnitude * breadth
    if problem.group is None:
        assert abs(solution.intercept - intercept(problem, settled(problem, alpha), gradient)) <= 1e-9 * magnitude
    assert solution.outcome.duality_gap >= -1e-9 * magnitude * breadth


def cold(K: Kernel, chain: Chain, link: Link, tolerance: float) -> Solution:
    """Solve a link alone, from nothing, over float64 rows."""
    rows = row_source(gram_of(K, chain, Link(link.problem)), kernel="precomputed")
    if link.ridge is not None:
        rows = derived_rows(rows, ridge=link.ridge)
    return solve(link.problem, rows, stop=StopRule(tolerance))


def check_chain(K: Kernel, chain: Chain, found: list[LinkSolution], tolerance: float) -> None:
    """Raise AssertionError unless every link is solved, to the objective of a cold solve."""
    assert len(found) == len(chain.links)
    for link, one in zip(chain.links, found, strict=True):
        check_link(K, chain, link, one.solution, tolerance)
        alone = cold(K, chain, link, tolerance)
        ours, theirs = one.solution.outcome, alone.outcome
        # Both lie below the optimum, by their gaps at most.
        allowed = max(ours.duality_gap, theirs.duality_gap) + 1e-9 * max(1.0, np.abs(one.solution.alpha).sum())
        assert abs(ours.objective - theirs.objective) <= allowed
