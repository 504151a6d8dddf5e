"""What an objective is: a number that says how good a model's parameters are, with its derivative if there is one.

An objective is bound to a task (the samples, and what is trained on them) and is then a function: of the kernel, of C
(where it can choose C), of random numbers (where it is not deterministic), and of where its models start. It knows
nothing of kernels but their values, and hands back how much each of these matters; kernels know nothing of objectives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import Kernel
from widemargin.runtime import Stop, Work

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]


@dataclass(frozen=True)
class Task:
    """Samples, and the model that is to be chosen for them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        float64 (or anything that the kernel takes).
    y : ndarray of shape (n,)
        Class numbers 0 .. n_classes - 1; for regression the targets.
    n_classes : int
        0 for regression.
    weights : ndarray of shape (n,)
        What C is multiplied by for each sample: weight of the sample times weight of its class.
    loss : str
        "hinge" or "squared_hinge"; "epsilon_insensitive" or "squared_epsilon_insensitive" for regression.
    fit_intercept : bool
    epsilon : float
        Width of the tube, for regression.
    tolerance : float
        Largest violation of the optimality conditions of models.
    max_iterations : int
        Steps after which a model is left as it is, and the evaluation says so.
    n_threads : int
    stop : Stop
        When evaluations are to end: they call its ``check`` now and then and let pass what that raises, and models
        are trained within its limits.
    groups : ndarray of shape (n,), optional
        Numbers of the groups that samples belong to: objectives that hold samples out hold out whole groups.
    kernel : Kernel, optional
        Where the search begins; priors are centred there where the data say nothing.
    """

    X: Any
    y: NDArray[Any]
    n_classes: int
    weights: Vector
    loss: str = "hinge"
    fit_intercept: bool = True
    epsilon: float = 0.1
    tolerance: float = 1e-6
    max_iterations: int = 1_000_000
    n_threads: int = 1
    stop: Stop = field(default_factory=Stop)
    groups: Ids | None = None
    kernel: Kernel | None = None

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.y)

    @property
    def squared(self) -> bool:
        """Whether slack counts by its square."""
        return self.loss.startswith("squared")

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of classes that both have samples of weight above 0.

        Examples
        --------
        >>> Task(np.zeros((4, 1)), np.array([0, 1, 2, 1]), 3, np.array([1.0, 1.0, 0.0, 1.0])).pairs
        [(0, 1)]
        """
        present = np.unique(self.y[self.weights > 0]).tolist() if self.n_classes else []
        return list(combinations(present, 2))


@dataclass(frozen=True)
class Evaluated:
    """What an objective found at a point.

    Parameters
    ----------
    value : float
    gradient : ndarray of shape (n_dims,), optional
        With respect to the kernel's `theta`.
    c_slope : float, optional
        Derivative with respect to log C.
    higher : tuple of floats
        First, second and third derivative with respect to p itself (not its logarithm), for kernels exp(-p D) with D
        free of parameters; empty for others. Line searches of second order use them.
    work : Work
    state : object
        Where the models of the next evaluation may start; None if there are none.
    notes : tuple of str
        What a reader should know: sets that were regularised, models that did not converge.
    measures : dict
        What the value is made of, by name; searches hand it on.
    """

    value: float
    gradient: Vector | None = None
    c_slope: float | None = None
    higher: tuple[float, ...] = ()
    work: Work = field(default_factory=Work)
    state: Any = None
    notes: tuple[str, ...] = ()
    measures: dict[str, float] = field(default_factory=dict)


class Place(NamedTuple):
    """Where a search is: the kernel, C, and the level of simplification if that is searched."""

    kernel: Kernel
    C: float
    level: int | None = None


class Objective(ABC):
    """A measure of how good parameters are.

    Attributes
    ----------
    name : str
        What a search calls it.
    deterministic : bool
        Whether the same point always has the same value.
    differentiable : bool
        Whether it has a gradient (almost everywhere).
    trains_models : bool
        Whether models are trained for a value.
    chooses_c : bool
        Whether its value depends on C in a way that makes for a choice.
    greater_is_better : bool
    holds_groups_out : bool
        Whether samples are held out, and whole groups of them where a task has groups.
    """

    name: ClassVar[str]
    deterministic: bool = True
    differentiable: bool = True
    trains_models: bool = True
    chooses_c: bool = True
    greater_is_better: bool = False
    holds_groups_out: bool = False

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        return None

    @abstractmethod
    def bind(self, task: Task) -> BoundObjective:
        """Prepare for a task: what depends on the samples alone is computed here, once."""


class How(TypedDict, total=False):
    """What else an evaluation may be told.

    Parameters
    ----------
    generator : numpy.random.Generator, optional
        Source of random numbers, for objectives that are not deterministic.
    state : object, optional
        `state` of an earlier evaluation at a point nearby: where models start.
    part : int, optional
        Evaluate one of the `n_parts` problems only; all of them, averaged, if not given.
    level : int, optional
        How far training samples are simplified, for objectives that can do so.
    origin : Place, optional
        A neighbour that several evaluations have in common: what it takes to know of it is computed once.
    """

    generator: np.random.Generator | None
    state: Any
    part: int | None
    level: int | None
    origin: Place | None


class BoundObjective(ABC):
    """An objective of a task: a function of the parameters."""

    #: Problems that can be evaluated by themselves (pairs of classes, say); 1 if there is but one.
    n_parts: int = 1

    #: Whether an evaluation may start from the state of the last one; if not, values depend on point and origin alone.
    keeps_state: bool = True

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Evaluate at a kernel and a C.

        Parameters
        ----------
        kernel : Kernel
            With numbers for all its parameters.
        C : float
            Price of errors; objectives without a model do not look at it.
        gradient : bool, default=True
            Whether derivatives are wanted, if there are any.
        **how
            See :class:`How`.
        """
