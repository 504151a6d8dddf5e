"""What the families of models share that a search trains together.

The samples of a fold are those of the whole data set: held-out ones are variables whose box is [0, 0], so that the
solution of a chain's link tells the decision values of every sample. What scorers get is a *twin*: the model with the
parameters of a candidate, which knows its decision values on the fold's own samples and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import KernelParameters
from widemargin.machines.chain import ChainKernel, LinkSolution
from widemargin.machines.classifier import ridge_of
from widemargin.machines.dual import Solution, StopRule, Vector
from widemargin.solvers import Auto, Solver

Indices = NDArray[np.intp]

#: From the smallest value of each chain, the narrowest kernel first; from the largest, the widest first; from nothing.
Way = Literal["up", "down", "cold"]

#: What starts call the one function of models that have no more.
FUNCTION = "f"


@dataclass(frozen=True)
class Start:
    """Coefficients to start from, by decision function; those of most samples are 0."""

    size: int
    functions: Mapping[Hashable, tuple[NDArray[np.intp], Vector]]

    @classmethod
    def of(cls, functions: Mapping[Hashable, Vector]) -> Start:
        """Keep the coefficients of all samples, (n,), of each function.

        Examples
        --------
        >>> start = Start.of({"f": np.array([0.0, 2.0, 0.0])})
        >>> start.coefficients("f").tolist(), start.coefficients("g")
        ([0.0, 2.0, 0.0], None)
        """
        size = len(next(iter(functions.values())))
        kept = {key: (np.flatnonzero(own), own[own != 0]) for key, own in functions.items()}
        return cls(size, kept)

    def coefficients(self, function: Hashable) -> Vector | None:
        """Return the coefficients of all samples, or None for a function that is not known."""
        if function not in self.functions:
            return None
        samples, values = self.functions[function]
        whole = np.zeros(self.size)
        whole[samples] = values
        return whole


class FoldModels(ABC):
    """All candidates of one family on one fold.

    Parameters
    ----------
    y : ndarray of shape (n,) or None
        Targets of all samples.
    train, test : ndarray of int
        Samples to train on, with repetitions if they are to count more than once, and samples to predict.
    weights : ndarray of shape (n,)
        Weights of all samples.
    asked : ndarray of int
        Samples whose decision values will be asked for.
    """

    #: Solvers, other than ``Auto()``, that the family has chains for.
    solvers: ClassVar[tuple[str | Solver, ...]] = ()

    #: Whether chains may start at the solution of another fold, or of another kernel.
    startable: ClassVar[bool] = True

    #: Parameters whose values, if they are accepted alone, go with any of the others.
    free: ClassVar[tuple[str, ...]] = ()

    def __init__(self, y: Any, train: Indices, test: Indices, weights: Vector, asked: Indices) -> None:
        self.y, self.train, self.test, self.asked = y, train, test, np.unique(asked)
        self.weights = weights * np.bincount(train, minlength=len(weights))

    @classmethod
    def why_alone(cls, settings: Iterable[Mapping[str, Any]]) -> str | None:
        """Say why models with these parameters (some of them, or all) cannot be trained together, if they cannot."""
        for setting in settings:
            solver = setting.get("solver", "auto")
            if solver != "auto" and solver not in (Auto(), *cls.solvers):
                return f"solver={solver!r} is asked for, and chains of models have a solver of their own"
            for name in setting:
                if name.startswith("solver__"):
                    return f"{name} is an option of a solver, and chains of models have a solver of their own"
            if setting.get("max_time") is not None:
                return "max_time limits single models"
        return None

    @classmethod
    def chained(cls, model: Any) -> tuple[str, ...]:
        """Name the parameters along which a chain of such models may go, the best one first."""
        return ("C",)

    @classmethod
    def kernel_samples(cls, kernel: KernelParameters, X: Any, weights: Vector) -> Any:
        """Return the samples that kernel values are computed from."""
        return X

    @classmethod
    def order(cls, y: Any, folds: Sequence[tuple[Indices, Indices]]) -> Indices | None:
        """Return the order of the samples in which the kernel values of a problem lie side by side; None for any."""
        return None

    @classmethod
    def own_matrices(cls, model: Any) -> int:
        """Return how many matrices of the size of the kernel a chain makes for itself, roughly."""
        return 0

    @classmethod
    def way(cls, model: Any) -> Way:
        """Return the way that is cheapest for such models as a rule."""
        return "up" if cls.startable else "cold"

    @classmethod
    def suit_any_fold(cls, models: Sequence[Any]) -> bool:
        """Tell whether :meth:`require_trainable` need not be asked about any of these models."""
        return False

    @abstractmethod
    def require_trainable(self, model: Any) -> None:
        """Raise a ValueError if the fold does not suit the parameters of a model."""

    @abstractmethod
    def solve(
        self, models: Sequence[Any], X: Any, kernel: ChainKernel, stop: StopRule, start: Start | None = None
    ) -> Iterator[list[LinkSolution]]:
        """Train candidates of one chain: one by one, when they are asked for, if the kernel says so.

        Parameters
        ----------
        models : sequence of estimators
            Those of a chain, in its order.
        X : all samples
        kernel : ChainKernel
            Of these models, over all samples.
        stop : StopRule
            For each model; the deadline is for all of them together.
        start : Start, optional
            Where the first model starts, if the family is `startable`.

        Yields
        ------
        list of LinkSolution
            For each model those of its decision functions; for fewer models where time ran out.
        """

    def start_of(self, model: Any, solutions: Sequence[Solution]) -> Start:
        """Return what other folds and other kernels may start from: a model's coefficients for each function."""
        (solution,) = solutions
        return Start.of({FUNCTION: solution.alpha})

    @abstractmethod
    def values(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices
    ) -> NDArray[np.float64]:
        """Return decision values of some of the samples asked for, by models of a chain.

        Returns
        -------
        ndarray of shape (n_models * n_samples, n_functions)
            Those of all samples by the first model, then by the next.
        """

    def tallied(
        self, models: Sequence[Any], found: Sequence[Sequence[Solution]], samples: Indices, rule: str
    ) -> NDArray[np.float64]:
        """Return what the functions of pairs of classes say of samples, (n_models * n_samples, n_classes)."""
        raise NotImplementedError(f"{type(self).__name__} has no pairs of classes.")

    @abstractmethod
    def twin(self, model: Any, known: KnownValues, solutions: Sequence[Solution]) -> Any:
        """Return `model` as if it had been fitted on the fold, for scorers that only predict its samples."""

    @abstractmethod
    def fitted(self, model: Any, X: Any, kernel: KernelParameters, solutions: Sequence[Solution]) -> Any:
        """Return `model` fitted on the fold, all its attributes set; `X` are the training samples, each once."""

    @cached_property
    def samples(self) -> Indices:
        """The training samples, each once."""
        return np.unique(self.train)


class KnownValues:
    """Decision values of the samples of a fold, by the very object that holds the samples, and their numbers."""

    def __init__(
        self, fold: FoldModels, model: Any, solutions: Sequence[Solution], known: Sequence[tuple[Any, Indices]]
    ) -> None:
        self._fold, self._models, self._found, self._known = fold, [model], [solutions], known

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of the samples that `X` stands for."""
        return self._fold.values(self._models, self._found, self._samples(X))

    def tallied(self, X: Any, rule: str) -> NDArray[np.float64]:
        """Return what the functions of pairs say of the classes of the samples that `X` stands for."""
        return self._fold.tallied(self._models, self._found, self._samples(X), rule)

    def _samples(self, X: Any) -> Indices:
        for known, samples in self._known:
            if known is X:
                return samples
        raise ValueError(
            "A scorer asked a model of the search about other samples than those of its fold; pass a scorer that "
            "predicts the samples it is given."
        )


def ridge(bounds: Vector) -> Vector:
    """Return what the square loss adds to the diagonal: nothing for samples that are not trained on."""
    return ridge_of(np.where(bounds > 0, bounds, np.inf))
