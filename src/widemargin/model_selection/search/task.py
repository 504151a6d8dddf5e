"""What a model search is about: the model, its samples as it sees them, and whether all that is asked for fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from widemargin.estimators.regression import SVR
from widemargin.estimators.scale import require_magnitude
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import is_numeric
from widemargin.kernels import Kernel
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.rows import count, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.model_selection.grid.setup import FitParameters, family_of, model_of
from widemargin.objectives import OBJECTIVES, Objective, Task
from widemargin.strategies import Strategy, strategy_named, why_not

#: Largest violation of the optimality conditions that derivatives and comparisons of neighbours put up with.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Subject:
    """A model whose parameters are searched.

    Attributes
    ----------
    machine : SVC or SVR
        Not fitted.
    task : Task
        Its samples and what is trained on them.
    kernel : Kernel
        With numbers for all its parameters: where the search begins.
    c_unit : float
        What ranges of C are multiplied by.
    """

    machine: Any
    task: Task
    kernel: Kernel
    c_unit: float


def kernel_of(machine: Any) -> Kernel:
    """Return the kernel of a model as an object; parameters that are left to the data are None.

    Examples
    --------
    >>> kernel_of(SVC(gamma=0.5)), kernel_of(SVC())
    (Gaussian(gamma=0.5), Gaussian())
    """
    gamma = None if isinstance(machine.gamma, str) else float(machine.gamma)
    return as_kernel(machine.kernel, gamma=gamma, coef0=float(machine.coef0), degree=int(machine.degree))


def require_machine(estimator: Any) -> None:
    """Refuse what has no parameters that a model search could choose.

    Examples
    --------
    >>> from widemargin import NuSVC
    >>> require_machine(NuSVC())
    Traceback (most recent call last):
    ...
    TypeError: ModelSearch chooses kernels and C of SVC and SVR, alone or at the end of a pipeline; got NuSVC.
    """
    machine = model_of(estimator)
    if not isinstance(machine, (SVC, SVR)) or family_of(machine) is None:
        own = ", which is trained in a way of its own" if isinstance(machine, (SVC, SVR)) else ""
        raise TypeError(
            "ModelSearch chooses kernels and C of SVC and SVR, alone or at the end of a pipeline; got "
            f"{type(machine).__name__}{own}."
        )
    machine._check_parameters()
    kernel_of(machine)


def subject_of(estimator: Any, X: Any, y: Any, given: FitParameters, objective: Objective) -> Subject:
    """Check samples, targets and weights as a fit does; put the model's kernel where the search begins.

    Parameters
    ----------
    estimator : SVC, SVR or Pipeline
    X, y
        As they were given.
    given : FitParameters
    objective : Objective
    """
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        X = _behind_steps(clone(estimator)[:-1], X, y, given.of_steps, objective)
    machine = clone(model_of(estimator))
    X, targets, weights = machine._check_training_data(X, y, given.weights)
    if count(X) < 2:
        raise ValueError("X has n_samples=1; at least two samples are needed.")
    is_classifier = isinstance(machine, SVC)
    n_classes = len(machine.classes_) if is_classifier else 0
    kernel = kernel_of(machine)
    examples = kernel.examples(X)
    gamma = None
    if is_numeric(X):
        require_magnitude(X)
        gamma = jaakkola_gamma(examples, targets if is_classifier else None, weights)
    kernel = kernel.fitted(examples, gamma=gamma, weights=weights)
    unit = 1.0 if is_classifier else float(np.std(targets)) or 1.0
    task = Task(
        examples,
        targets,
        n_classes,
        weights * machine._class_factors(targets, weights)[targets] if is_classifier else weights,
        loss=machine.loss,
        fit_intercept=bool(machine.fit_intercept) if is_classifier else True,
        epsilon=0.0 if is_classifier else float(machine.epsilon),
        tolerance=min(float(machine.tol), TOLERANCE * unit),
        **_steps(machine.max_iter),
    )
    # Numbers s times as large have the same model, times s, for a C s times as large, unless slack is squared.
    return Subject(machine, task, kernel, 1.0 if task.squared else unit)


def _steps(max_iter: int | str) -> dict[str, Any]:
    """Say how many steps a model may take, where that is not left to the objective; -1 sets no limit."""
    if max_iter == "auto":
        return {}
    return {"max_iterations": 2**62 if max_iter == -1 else int(max_iter)}


def _behind_steps(steps: Pipeline, X: Any, y: Any, own: dict[str, Any], objective: Objective) -> Any:
    """Fit the steps before the model to all samples; without y, if the objective may hold samples out."""
    if not objective.needs_machine:
        return steps.fit_transform(X, y, **own)
    try:
        return clone(steps).fit_transform(X, None, **own)
    except Exception as error:
        steps.fit_transform(X, y, **own)  # what has nothing to do with y is told as it is
        raise ValueError(
            f"Steps before the model learn from y, and would have seen the labels of samples that objective="
            f"{objective.name!r} may hold out; transform X before the search, or choose another objective."
        ) from error


def require_suitable(objective: Objective, subject: Subject) -> None:
    """Refuse an objective that does not suit the model and its samples, in the objective's own words."""
    reason = objective.why_not(subject.task, float(subject.machine.C))
    if reason is not None:
        raise ValueError(reason)


def objective_of(given: Any) -> Objective:
    """Return an objective, given as such or by its name.

    Examples
    --------
    >>> objective_of("polarization").greater_is_better
    True
    """
    if isinstance(given, Objective):
        return given
    if not isinstance(given, str) or given not in OBJECTIVES:
        names = ", ".join(map(repr, sorted(OBJECTIVES)))
        raise ValueError(f"objective must be one of {names}, or an object with options of its own; got {given!r}.")
    return OBJECTIVES[given]()


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
    """Tell whether an objective knows derivatives of higher order for a kernel, from an evaluation at a few samples."""
    task = subject.task
    labels = task.y if task.n_classes else np.zeros(task.n_examples)
    some = [np.flatnonzero((labels == label) & (task.weights > 0))[:2] for label in np.unique(labels)]
    rows = np.sort(np.concatenate(some))
    few = replace(task, X=take(task.X, rows), y=task.y[rows], weights=task.weights[rows])
    return len(objective.bind(few).evaluate(subject.kernel, float(subject.machine.C)).higher) == 3
