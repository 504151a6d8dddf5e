"""Machines with C=inf: a finite C that no variable meets stands for it; alone, or at the end of a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, repeat

import numpy as np

from widemargin.machines.chain import Chain, ChainKernel, Link, LinkSolution
from widemargin.machines.dual import Solution, StopRule, Vector

#: Hard margins are sought as soft ones whose C exceeds every coefficient: multiples of 1 / mean kernel diagonal.
HARD_MARGIN_LADDER = (1e3, 1e6, 1e9)


def solve_hard(
    attempt: Callable[[Vector, Vector | None, StopRule], Solution],
    bounds: Vector,
    prices: Sequence[float],
    start: Vector | None,
    stop: StopRule,
) -> tuple[Solution, bool]:
    """Raise a finite C until no variable meets it: from there on every larger C gives the same solution.

    Parameters
    ----------
    attempt : callable
        Solves the problem of finite bounds, from a start, as long as it is told.
    bounds : ndarray
        Largest coefficients, some of them infinite.
    prices : sequence of float
        What to put in the place of these, one after the other.
    start : ndarray, optional
    stop : StopRule

    Returns
    -------
    (Solution, bool)
        What stands for the hard margin, and whether it is one.
    """
    hard = np.isinf(bounds)
    tried: list[Solution] = []
    for price in prices:
        raised = np.where(hard, price, bounds)
        left = stop.after(sum(one.outcome.iterations for one in tried))
        tried.append(attempt(raised, tried[-1].alpha if tried else start, left))
        held_back = bool(np.any(hard & (np.abs(tried[-1].alpha) >= raised)))
        if not held_back or tried[-1].outcome.reason != "converged":
            break
    return _kept(tried, held_back)


def solve_to_the_hard_end(
    kernel: ChainKernel,
    chain: Chain,
    bounds: Sequence[Vector],
    soft: Callable[[Vector], Link],
    unit: float,
    stop: StopRule,
) -> Iterator[LinkSolution]:
    """Solve a chain of soft margins and those that follow with infinite bounds.

    Parameters
    ----------
    kernel : ChainKernel
    chain : Chain
        The soft ones; there may be none.
    bounds : sequence of ndarray
        Largest coefficients of all problems, infinite ones last.
    soft : callable
        Builds the problem of finite bounds that stands for one with infinite ones.
    unit : float
        Price, in the units of the kernel, that the ladder of prices consists of multiples of.
    stop : StopRule

    Yields
    ------
    LinkSolution
        One for each problem, fewer if time ran out.
    """
    n_soft = len(chain.links)
    if n_soft == len(bounds):
        yield from kernel.solve(chain, stop)
        return
    hard = np.isinf(bounds[-1])
    largest = float(bounds[n_soft - 1][hard].max(initial=0.0)) if n_soft else 0.0
    prices = [unit * factor for factor in HARD_MARGIN_LADDER if unit * factor > largest] or [2.0 * largest]
    raised = [np.where(hard, price, bounds[-1]) for price in prices]
    found = kernel.solve(replace(chain, links=(*chain.links, *map(soft, raised))), stop)
    yield from islice(found, n_soft)
    tried, held_back = _climbed(found, raised)
    if tried:
        kept, is_hard = _kept([one.solution for one in tried], held_back)
        stands = LinkSolution(kept, all(one.repeated for one in tried), is_hard)
        yield from repeat(stands, len(bounds) - n_soft)


def _climbed(found: Iterator[LinkSolution], raised: Sequence[Vector]) -> tuple[list[LinkSolution], bool]:
    """Try one price after the other; tell whether a variable still meets its bound at the last one that was tried."""
    tried: list[LinkSolution] = []
    held_back = False
    for one, bounds in zip(found, raised, strict=False):
        tried.append(one)
        held_back = bool(np.any((bounds > 0) & (np.abs(one.solution.alpha) >= bounds)))
        if not held_back or one.solution.outcome.reason != "converged":
            break
    return tried, held_back


def _kept(tried: Sequence[Solution], held_back: bool) -> tuple[Solution, bool]:
    """Choose what stands for the hard margin; it is one if no variable meets its bound."""
    outcomes = [one.outcome for one in tried]
    # The exact solution for a smaller C, one that holds variables back, is worth more than a torso for a larger one.
    torso = len(tried) > 1 and outcomes[-1].reason != "converged"
    kept = tried[-2] if torso else tried[-1]
    outcome = replace(kept.outcome, reason=outcomes[-1].reason).with_work(outcomes)
    return replace(kept, outcome=outcome), not (held_back or torso)
