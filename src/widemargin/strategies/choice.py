"""Strategies by name, and whether one suits an objective."""

from __future__ import annotations

from widemargin.objectives.base import Objective
from widemargin.strategies.base import Strategy
from widemargin.strategies.cma_es import CMAES
from widemargin.strategies.grid import GridSearch
from widemargin.strategies.lbfgsb import LBFGSB
from widemargin.strategies.noisy_rprop import NoisyRprop
from widemargin.strategies.random_search import RandomSearch
from widemargin.strategies.rprop import Rprop
from widemargin.strategies.second_order import SecondOrder
from widemargin.strategies.tabu import TabuSearch

#: All strategies of the package by their names.
STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (Rprop, NoisyRprop, CMAES, SecondOrder, LBFGSB, GridSearch, RandomSearch, TabuSearch)
}


def strategy_named(strategy: str | Strategy, *, deterministic: bool = True) -> Strategy:
    """Return a strategy with its usual settings, or the one that was given.

    Parameters
    ----------
    strategy : str or Strategy
        A name of `STRATEGIES`, or a strategy, which is returned as it is.
    deterministic : bool, default=True
        Whether the values will be free of noise. With noise CMA-ES chooses a mean instead of the lowest value.

    Examples
    --------
    >>> strategy_named("rprop")
    Rprop(initial_step=0.1, shortest=1e-08, longest=2.0, shrink=0.5, grow=1.2, tolerance=0.0001, iterations=None)
    >>> strategy_named("cma-es", deterministic=False).answer
    'mean'
    """
    if isinstance(strategy, Strategy):
        return strategy
    if strategy not in STRATEGIES:
        names = _listed([f"{name!r}" for name in STRATEGIES], "or")
        raise ValueError(f"strategy must be {names}, or an object with settings of its own; it is {strategy!r}.")
    if strategy == CMAES.name and not deterministic:
        return CMAES(answer="mean")
    return STRATEGIES[strategy]()


def why_not(
    strategy: Strategy,
    objective: Objective,
    *,
    n_dims: int,
    second_derivatives: bool = False,
    described: str | None = None,
) -> str | None:
    """Say in a sentence why a strategy does not suit an objective, and which do; None if it suits.

    Parameters
    ----------
    strategy : Strategy
    objective : Objective
        Its flags are looked at: whether it has a gradient, and whether it is random.
    n_dims : int
        Parameters to search.
    second_derivatives : bool, default=False
        Whether it tells a second and a third derivative, with this kernel.
    described : str, optional
        What the sentence calls the objective; its name if not given.

    Examples
    --------
    >>> from widemargin.objectives import Polarization
    >>> why_not(Rprop(), Polarization(), n_dims=2)
    >>> print(why_not(SecondOrder(), Polarization(), n_dims=2))
    strategy='newton' searches along one parameter, and there are 2; 'rprop', 'noisy-rprop', 'cma-es', 'l-bfgs-b', \
'grid', 'random' and 'tabu' take any number.
    """
    described = f"objective={objective.name!r}" if described is None else described

    def misfit(candidate: Strategy) -> tuple[str, str, str] | None:
        if candidate.needs_gradient and not objective.differentiable:
            return f"needs a gradient, and {described} has none", "work", "without"
        if not objective.deterministic and not candidate.copes_with_noise:
            return f"needs a deterministic objective, and {described} is random", "accept", "noise"
        if candidate.needs_higher and n_dims != 1:
            return f"searches along one parameter, and there are {n_dims}", "take", "any number"
        if candidate.needs_higher and not second_derivatives:
            return f"needs second derivatives, and {described} has none for this kernel", "work", "without"
        return None

    found = misfit(strategy)
    if found is None:
        return None
    reason, do, what = found
    others = [f"{name!r}" for name, other in STRATEGIES.items() if misfit(other()) is None]
    return f"strategy={strategy.name!r} {reason}; {_listed(others, 'and')} {do}{'s' * (len(others) == 1)} {what}."


def _listed(names: list[str], word: str) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> _listed(["a", "b", "c"], "and")
    'a, b and c'
    """
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]
