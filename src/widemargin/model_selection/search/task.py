"""What a model search is about: the model, its samples as it sees them, and whether all that is asked for fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from widemargin.estimators.pipelines import passed
from widemargin.estimators.regression import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import is_numeric, require_magnitude
from widemargin.kernels import Kernel
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.rows import count, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.model_selection.grid.setup import FitParameters, family_of, model_of
from widemargin.objectives import OBJECTIVES, Objective, Task
from widemargin.objectives.base import Ids
from widemargin.strategies import STRATEGIES, Strategy, strategy_named, why_not

#: Largest violation of the optimality conditions that derivatives and comparisons of neighbours put up with.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Subject:
    """A model whose parameters are searched.

    Attributes
    ----------
    model : SVC or SVR
        Not fitted.
    task : Task
        Its samples and what is trained on them.
    kernel : Kernel
        With numbers for all its parameters: where the search begins.
    c_unit : float
        What ranges of C are multiplied by.
    """

    model: Any
    task: Task
    kernel: Kernel
    c_unit: float


def kernel_of(model: Any) -> Kernel:
    """Return the kernel of a model as an object; parameters that are left to the data are None.

    Examples
    --------
    >>> kernel_of(SVC(gamma=0.5)), kernel_of(SVC())
    (Gaussian(gamma=0.5), Gaussian())
    """
    gamma = None if isinstance(model.gamma, str) else float(model.gamma)
    return as_kernel(model.kernel, gamma=gamma, coef0=float(model.coef0), degree=int(model.degree))


def require_model(estimator: Any) -> None:
    """Refuse what has no parameters that a model search could choose.

    Examples
    --------
    >>> from widemargin import NuSVC
    >>> require_model(NuSVC())
    Traceback (most recent call last):
    ...
    TypeError: ModelSearch chooses kernels and C of SVC and SVR, alone or at the end of a pipeline; got NuSVC.
    """
    model = model_of(estimator)
    if isinstance(estimator, Pipeline) and type(estimator) is not Pipeline:
        raise TypeError(
            "ModelSearch takes scikit-learn's own Pipeline, and a subclass may have methods of its own; got "
            f"{type(estimator).__module__}.{type(estimator).__name__}, which GridSearchCV searches, too."
        )
    if not isinstance(model, (SVC, SVR)) or family_of(model) is None:
        own = ", a subclass whose methods may be its own" if isinstance(model, (SVC, SVR)) else ""
        raise TypeError(
            "ModelSearch chooses kernels and C of SVC and SVR, alone or at the end of a pipeline; got "
            f"{type(model).__name__}{own}."
        )
    model._check_parameters()
    kernel_of(model)


def subject_of(
    estimator: Any, X: Any, y: Any, given: FitParameters, objective: Objective, groups: Ids | None = None
) -> Subject:
    """Check samples, targets and weights as a fit does; put the model's kernel where the search begins.

    An objective that does not suit the model and its samples is refused in its own words.

    Parameters
    ----------
    estimator : SVC, SVR or Pipeline
    X, y
        As they were given.
    given : FitParameters
    objective : Objective
    groups : ndarray of int, optional
        Numbers of the samples' groups.
    """
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        X = _behind_steps(clone(estimator), X, y, given.of_steps, objective)
    model = clone(model_of(estimator))
    X, targets, weights = model._check_training_data(X, y, given.weights)
    if count(X) < 2:
        raise ValueError("X has n_samples=1; at least two samples are needed.")
    is_classifier = isinstance(model, SVC)
    n_classes = len(model.classes_) if is_classifier else 0
    kernel = kernel_of(model)
    samples = kernel.samples(X)
    gamma = None
    if is_numeric(X):
        require_magnitude(X)
        gamma = jaakkola_gamma(samples, targets if is_classifier else None, weights)
    kernel = kernel.fitted(samples, gamma=gamma, weights=weights)
    unit = 1.0 if is_classifier else float(np.std(targets)) or 1.0
    limit: dict[str, Any] = {}
    if model.max_iter != "auto":
        limit["max_iterations"] = 2**62 if model.max_iter == -1 else int(model.max_iter)
    task = Task(
        samples,
        targets,
        n_classes,
        weights * model._class_factors(targets, weights)[targets] if is_classifier else weights,
        loss=model.loss,
        fit_intercept=bool(model.fit_intercept) if is_classifier else True,
        epsilon=0.0 if is_classifier else float(model.epsilon),
        tolerance=min(float(model.tol), TOLERANCE * unit),
        groups=groups,
        kernel=kernel,
        **limit,
    )
    reason = objective.why_not(task, float(model.C))
    if reason is not None:
        raise ValueError(reason)
    # Numbers s times as large have the same model, times s, for a C s times as large, unless slack is squared.
    return Subject(model, task, kernel, 1.0 if task.squared else unit)


def _behind_steps(pipeline: Any, X: Any, y: Any, own: dict[str, Any], objective: Objective) -> Any:
    """Fit the steps before the model to all samples; without y, if the objective may hold samples out."""
    if not objective.trains_models:
        return _kept(passed(pipeline, X, y, own).X, X)
    try:
        return _kept(passed(clone(pipeline), X, None, own).X, X)
    except Exception as error:
        _kept(passed(pipeline, X, y, own).X, X)  # what has nothing to do with y is told as it is
        raise ValueError(
            f"Steps before the model learn from y, and would have seen the labels of samples that objective="
            f"{objective.name!r} may hold out; transform X before the search, or choose another objective."
        ) from error


def _kept(made: Any, X: Any) -> Any:
    """Return what steps have made of samples; refuse fewer or more of them."""
    if count(made) != count(X):
        raise ValueError(
            f"The steps before the model made {count(made)} samples of {count(X)}, and there is a target for each of "
            "these; leave out steps that drop or add samples."
        )
    return made


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


def require_whole_numbers(strategy: Strategy, names: Sequence[str]) -> None:
    """Refuse a strategy that cannot keep parameters whole, if there are such.

    Examples
    --------
    >>> require_whole_numbers(strategy_named("cma-es"), ["degree"])
    Traceback (most recent call last):
    ...
    ValueError: strategy='cma-es' takes no whole numbers, and 'degree' is one; strategy='tabu' does.
    """
    if names and not strategy.takes_whole_numbers:
        others = " or ".join(repr(name) for name, other in STRATEGIES.items() if other.takes_whole_numbers)
        raise ValueError(
            f"strategy={strategy.name!r} takes no whole numbers, and {names[0]!r} is one; strategy={others} does."
        )


def tells_higher(objective: Objective, subject: Subject) -> bool:
    """Tell whether an objective knows derivatives of higher order for a kernel, from an evaluation at a few samples."""
    task = subject.task
    labels = task.y if task.n_classes else np.zeros(task.n_samples)
    some = [np.flatnonzero((labels == label) & (task.weights > 0))[:2] for label in np.unique(labels)]
    rows = np.sort(np.concatenate(some))
    few = replace(task, X=take(task.X, rows), y=task.y[rows], weights=task.weights[rows], groups=None)
    return len(objective.bind(few).evaluate(subject.kernel, float(subject.model.C)).higher) == 3
