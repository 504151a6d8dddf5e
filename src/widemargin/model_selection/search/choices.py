"""Objectives and strategies by name, and whether one fits the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widemargin import objectives
from widemargin.kernels.rows import take
from widemargin.model_selection.search.task import Subject
from widemargin.objectives import Objective
from widemargin.strategies import Strategy, strategy_named, why_not


def objective_of(given: Any) -> Objective:
    """Return an objective, given as such or by its name.

    Examples
    --------
    >>> objective_of("polarization").greater_is_better
    True
    """
    if isinstance(given, Objective):
        return given
    classes = [getattr(objectives, name) for name in objectives.__all__]
    known = {one.name: one for one in classes if hasattr(one, "name") and issubclass(one, Objective)}
    if not isinstance(given, str) or given not in known:
        names = ", ".join(repr(name) for name in sorted(known))
        raise ValueError(f"objective must be one of {names}, or an object with options of its own; got {given!r}.")
    made: Objective = known[given]()
    return made


def strategy_of(given: Any, objective: Objective) -> Strategy:
    """Return a strategy, given as such or by its name; None is the one that suits the objective.

    That is iRprop+ where there is a gradient, NoisyRprop where that is random, and CMA-ES where there is none.

    Examples
    --------
    >>> strategy_of(None, objective_of("likelihood")).name
    'noisy-rprop'
    """
    if given is None:
        given = "cma-es" if not objective.differentiable else "rprop" if objective.deterministic else "noisy-rprop"
    return strategy_named(given, deterministic=objective.deterministic)


def require_fit(strategy: Strategy, objective: Objective, subject: Subject, n_dims: int) -> None:
    """Refuse a strategy that cannot follow an objective, in the strategies' own words."""
    reason = why_not(strategy, objective, n_dims=n_dims, second_derivatives=True)
    if reason is None and strategy.needs_higher and not tells_higher(objective, subject):
        reason = why_not(strategy, objective, n_dims=n_dims, second_derivatives=False)
    if reason is not None:
        raise ValueError(reason)


def tells_higher(objective: Objective, subject: Subject) -> bool:
    """Tell whether an objective knows derivatives of higher order for a kernel, from an evaluation at a few rows."""
    task = subject.task
    labels = task.y if task.n_classes else np.zeros(task.n_examples)
    some = [np.flatnonzero((labels == label) & (task.weights > 0))[:2] for label in np.unique(labels)]
    rows = np.sort(np.concatenate(some))
    few = replace(task, X=take(task.X, rows), y=task.y[rows], weights=task.weights[rows])
    return len(objective.bind(few).evaluate(subject.kernel, float(subject.machine.C)).higher) == 3
