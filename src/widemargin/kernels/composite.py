"""Kernels that hold kernels: what they pass on."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter

from widemargin.kernels.base import Kernel

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Composite(Kernel):
    """A kernel that holds others; `theta` holds its own parameters first, then theirs."""

    #: Parameters that are kernels.
    _inner: ClassVar[tuple[str, ...]]

    def _kernels(self) -> list[Kernel]:
        """Kernels inside, those of scikit-learn in the form of ours."""
        return [_as_kernel(getattr(self, name)) for name in self._inner]

    def fitted(self, X: Any, *, gamma: float | None = None, weights: Vector | None = None) -> Self:
        """Return this kernel with numbers for what was left to the data in any kernel inside."""
        found = cast(Self, clone(self))
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            setattr(found, name, bare(kernel.fitted(X, gamma=gamma, weights=weights)))
        found._require_numbers()
        return found

    @property
    def n_dims(self) -> int:
        """How many numbers `theta` holds."""
        return self._n_logarithms() + sum(kernel.n_dims for kernel in self._kernels())

    @property
    def theta(self) -> Vector:
        """Free parameters on an unconstrained scale."""
        return np.concatenate([self._logarithms(), *(kernel.theta for kernel in self._kernels())])

    @theta.setter
    def theta(self, theta: Vector) -> None:
        given = self._checked_theta(theta)
        begin = self._n_logarithms()
        self._take_logarithms(given[:begin])
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            end = begin + kernel.n_dims
            # Kernels that share a part of another, as clones with other numbers do, must not change it.
            setattr(self, name, bare(kernel.clone_with_theta(given[begin:end])))
            begin = end

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        return np.vstack([self._own_bounds(), *(kernel.bounds for kernel in self._kernels())])

    @property
    def hyperparameters(self) -> list[Any]:
        """Searchable parameters as scikit-learn describes them, in the order of `theta`."""
        found = super().hyperparameters
        for name, kernel in zip(self._inner, self._kernels(), strict=True):
            found += [Hyperparameter(f"{name}__{one.name}", *one[1:]) for one in kernel.hyperparameters]
        return found

    @property
    def requires_vector_input(self) -> bool:
        """Whether some kernel inside takes vectors only."""
        return any(kernel.requires_vector_input for kernel in self._kernels())

    def is_stationary(self) -> bool:
        """Whether values depend on differences only, as they do if this is so for all kernels inside."""
        return all(kernel.is_stationary() for kernel in self._kernels())

    def _missing(self) -> list[str]:
        return [
            f"{name}__{one}"
            for name, kernel in zip(self._inner, self._kernels(), strict=True)
            for one in kernel._missing()
        ]

    def _require_given(self) -> None:
        for kernel in self._kernels():
            kernel._require_given()

    def _require_numbers(self) -> None:
        super()._require_numbers()
        for kernel in self._kernels():
            kernel._require_numbers()


def operand_written(kernel: Any, weaker: tuple[type, ...]) -> str:
    """Write a kernel inside of another, in parentheses if it is of a kind that binds more weakly."""
    ours = _as_kernel(kernel)
    return f"({ours!r})" if isinstance(ours, weaker) else repr(ours)


def bare(kernel: Any) -> Any:
    """Return a kernel as its user would write it: one of scikit-learn's without what makes it one of ours."""
    from widemargin.kernels.scikit_learn import ScikitLearnKernel

    ours = _as_kernel(kernel)
    return ours.kernel if isinstance(ours, ScikitLearnKernel) else ours


def _as_kernel(kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    # Sums of scikit-learn's kernels become sums of ours, so that the two modules need each other.
    from widemargin.kernels.scikit_learn import as_kernel

    return as_kernel(kernel)
