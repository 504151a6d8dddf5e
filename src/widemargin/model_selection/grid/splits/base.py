"""What the families of machines share that a search trains together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import ChainKernel, LinkSolution
from widemargin.machines.classifier import ridge_of
from widemargin.machines.dual import Solution, StopRule, Vector
from widemargin.model_selection.grid.paths.starts import Start
from widemargin.solvers import Auto, Solver

Rows = NDArray[np.intp]

#: From the smallest value of each chain, the narrowest kernel first; from the largest, the widest first; from nothing.
Way = Literal["up", "down", "cold"]


class SplitMachines(ABC):
    """All candidates of one family on one split.

    Parameters
    ----------
    y : ndarray of shape (n,) or None
        Targets of all examples.
    train, test : ndarray of int
        Rows to train on, with repetitions if they are to count more than once, and rows to predict.
    weights : ndarray of shape (n,)
        Weights of all examples.
    asked : ndarray of int
        Rows whose decision values will be asked for.
    """

    #: Solvers, other than ``Auto()``, that the family has chains for.
    solvers: ClassVar[tuple[str | Solver, ...]] = ()

    def __init__(self, y: Any, train: Rows, test: Rows, weights: Vector, asked: Rows) -> None:
        self.y, self.train, self.test, self.asked = y, train, test, np.unique(asked)
        self.weights = weights * np.bincount(train, minlength=len(weights))

    @classmethod
    def why_alone(cls, setting: Mapping[str, Any]) -> str | None:
        """Say why machines with these parameters (some of them, or all) cannot be trained together, if they cannot."""
        solver = setting.get("solver", "auto")
        if solver not in ("auto", Auto(), *cls.solvers):
            return f"solver={solver!r} is asked for, and chains of models have a solver of their own"
        for name in setting:
            if name.startswith("solver__"):
                return f"{name} is an option of a solver, and chains of models have a solver of their own"
        return "max_time limits single models" if setting.get("max_time") is not None else None

    @classmethod
    def chained(cls, machine: Any) -> tuple[str, ...]:
        """Name the parameters along which a chain of such machines may go, the best one first."""
        return ("C",)

    @classmethod
    def kernel_examples(cls, kernel: KernelParameters, X: Any, weights: Vector) -> Any:
        """Return the examples that kernel values are computed from."""
        return X

    @classmethod
    def own_matrices(cls, machine: Any) -> int:
        """Return how many matrices of the size of the kernel a chain makes for itself, roughly."""
        return 0

    def suits_all(self, machines: Sequence[Any]) -> bool:
        """Tell whether there is nothing to check, so that :meth:`require_trainable` need not be asked."""
        return False

    @abstractmethod
    def require_trainable(self, machine: Any) -> None:
        """Raise a ValueError if the split does not suit the parameters of a machine."""

    @abstractmethod
    def solve(
        self, machines: Sequence[Any], X: Any, kernel: ChainKernel, stop: StopRule
    ) -> Iterator[list[LinkSolution]]:
        """Train candidates of one chain: one by one, when they are asked for, if the kernel says so.

        Parameters
        ----------
        machines : sequence of machines
            Those of a chain, in its order.
        X : all examples
        kernel : ChainKernel
            Of these machines, over all examples.
        stop : StopRule
            For each machine; the deadline is for all of them together.

        Yields
        ------
        list of LinkSolution
            For each machine those of its decision functions; for fewer machines where time ran out.
        """

    @abstractmethod
    def values(self, machine: Any, solutions: Sequence[Solution], rows: Rows) -> NDArray[np.float64]:
        """Decision values of some of the rows asked for, a column for each of a machine's functions."""

    def correct(self, machine: Any, solutions: Sequence[Solution]) -> int | None:
        """Count the test rows that a machine predicts correctly, if there is a quick way to; else return None."""
        return None

    @abstractmethod
    def twin(self, machine: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return `machine` as if it had been fitted on the split, for scorers that only predict the split's rows."""

    @abstractmethod
    def fitted(self, machine: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return `machine` fitted on the split, all its attributes set; `X` are the training rows, each once."""

    @property
    def rows(self) -> Rows:
        """The training rows, each once."""
        return np.unique(self.train)


class StartableMachines(SplitMachines):
    """Candidates of a family whose chains may start at another split's solution, or another kernel's."""

    @classmethod
    def way(cls, machine: Any) -> Way:
        """Return the way that is cheapest for such machines as a rule."""
        return "up"

    def solve(
        self, machines: Sequence[Any], X: Any, kernel: ChainKernel, stop: StopRule
    ) -> Iterator[list[LinkSolution]]:
        """Train candidates of one chain, the first from nothing."""
        return self.solve_from(machines, X, kernel, stop, None)

    @abstractmethod
    def solve_from(
        self, machines: Sequence[Any], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None
    ) -> Iterator[list[LinkSolution]]:
        """Train as `solve` does, the first machine from a given start."""

    @abstractmethod
    def start_of(self, machine: Any, solutions: Sequence[Solution]) -> Start:
        """Return what other splits and other kernels may start from: a machine's solution for each function."""


class KnownValues:
    """Decision values of the rows of a split, by the very object that holds the rows."""

    def __init__(self, values: Callable[[Rows], NDArray[np.float64]]) -> None:
        self._values = values
        self._rows: list[tuple[Any, Rows]] = []

    def know(self, X: Any, rows: Rows) -> None:
        """Let `X` stand for some rows."""
        self._rows.append((X, rows))

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Decision values of the rows that `X` stands for."""
        for known, rows in self._rows:
            if known is X:
                return self._values(rows)
        raise ValueError(
            "A scorer asked a model of the search about other samples than those of its fold; pass a scorer that "
            "predicts the samples it is given."
        )


def ridge(bounds: Vector) -> Vector:
    """Return what the square loss adds to the diagonal: nothing for examples that are not trained on."""
    return ridge_of(np.where(bounds > 0, bounds, np.inf))
