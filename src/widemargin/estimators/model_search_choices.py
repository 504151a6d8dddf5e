"""Objectives and strategies by name, and whether one fits the other."""

from __future__ import annotations

from typing import Any

from widemargin import objectives
from widemargin.objectives import Objective
from widemargin.search import strategies
from widemargin.search.strategies import Strategy


def objective_of(given: Any) -> Objective:
    """Return an objective, given as such or by its name.

    Examples
    --------
    >>> objective_of("polarization").greater_is_better
    True
    """
    found: Objective = _of("objective", given, Objective, objectives)
    return found


def strategy_of(given: Any, objective: Objective) -> Strategy:
    """Return a strategy, given as such or by its name; None is the one that suits the objective.

    That is iRprop+ where there is a gradient, NoisyRprop where that is random, and CMA-ES where there is none.
    """
    if given is None:
        given = "cma-es" if not objective.differentiable else "rprop" if objective.deterministic else "noisy-rprop"
    found: Strategy = _of("strategy", given, Strategy, strategies)
    return found


def _of(parameter: str, given: Any, kind: Any, module: Any) -> Any:
    if isinstance(given, kind):
        return given
    classes = [getattr(module, name) for name in module.__all__]
    known = {
        one.name: one for one in classes if isinstance(one, type) and issubclass(one, kind) and hasattr(one, "name")
    }
    if not isinstance(given, str) or given not in known:
        names = ", ".join(repr(name) for name in sorted(known))
        raise ValueError(f"{parameter} must be one of {names}, or an object with options of its own; got {given!r}.")
    return known[given]()


def require_fit(objective: Objective, strategy: Strategy) -> None:
    """Refuse a strategy that cannot follow an objective."""
    if (strategy.needs_higher or strategy.needs_gradient) and not objective.differentiable:
        raise ValueError(
            f"strategy={strategy.name!r} follows derivatives, and objective={objective.name!r} has none; "
            "strategy='cma-es' needs none."
        )
    if not objective.deterministic and not strategy.copes_with_noise:
        raise ValueError(
            f"objective={objective.name!r} is random, which strategy={strategy.name!r} cannot cope with; "
            "strategy='noisy-rprop' can."
        )
