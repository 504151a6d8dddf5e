"""What kernel objects have in common: parameters on an unconstrained scale, values, and derivatives in blocks.

A kernel object follows the habits of scikit-learn's Gaussian-process kernels, and is one: `theta` holds its free
parameters on a scale without bounds (mostly their logarithms), `bounds` the range to search in, ``k1 + k2`` and ``k1 *
k2`` combine, and ``clone_with_theta`` makes the same kernel with other numbers. What it adds is the pull-back: an
objective says how much every kernel value matters, W, and the kernel answers with <W, dK/dtheta>, without storing dK.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import signature
from numbers import Number
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from widemargin.kernels.rows import (
    FixedKernel,
    KernelParameters,
    LinearMap,
    RowSource,
    canonical,
    count,
    kernel_matrix,
    multiplied,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Range of a parameter to search in, or "fixed" for one that keeps its number.
Bounds = tuple[float, float] | str

#: Range of a positive parameter, unless told otherwise.
WIDE: tuple[float, float] = (1e-8, 1e8)


class Kernel(GaussianProcessKernel):  # type: ignore[misc]
    """A kernel with parameters, their derivatives, and an algebra.

    A subclass stores its parameters in ``__init__``, names the positive ones that can be searched in `_positive` (each
    with a parameter ``<name>_bounds`` beside it, which is a pair or "fixed"), and writes :meth:`values`,
    :meth:`diagonal` and :meth:`derivatives`; :meth:`pull_back` if it knows a faster way. A parameter named in
    `_from_data` may be None: :meth:`fitted` then estimates it from the data.
    """

    #: Parameters that may be None.
    _from_data: ClassVar[tuple[str, ...]] = ()

    #: Parameters that `theta` holds the logarithms of, in its order.
    _positive: ClassVar[tuple[str, ...]] = ()

    #: The kernel of the core that this one is, on :meth:`mapped` samples, and the parameters that the map consists of.
    core_name: ClassVar[str | None] = None
    _map_parameters: ClassVar[tuple[str, ...]] = ()

    #: Whether the core computes rows of kernel values from what :meth:`row_source` hands it.
    has_row_source: ClassVar[bool] = False

    #: Parameters of ``__init__`` and their defaults; looking them up anew would take longer than a small kernel matrix.
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._defaults = {one.name: one.default for one in list(signature(cls.__init__).parameters.values())[1:]}

    @abstractmethod
    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the samples `X` and `Y`, in float64."""

    @abstractmethod
    def diagonal(self, X: Any) -> Vector:
        """k(x, x) for the samples `X`."""

    @abstractmethod
    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivatives of a block `K` of kernel values, in the order of `theta`."""

    def diagonal_derivatives(self, X: Any) -> Iterator[Vector]:
        """Yield the derivatives of :meth:`diagonal`; 0, as for kernels with k(x, x) = 1, unless overridden."""
        return iter(np.zeros((self.n_dims, count(X))))

    def pull_back(self, W: Matrix, X: Any, Y: Any, K: Matrix) -> Vector:
        """<W, dK/dtheta> of a block: the sum of the derivatives, weighted by `W`, for each free parameter.

        Parameters
        ----------
        W : ndarray of shape (n, m)
            How much each kernel value matters.
        X, Y : n and m samples
        K : ndarray of shape (n, m)
            Their kernel values, as :meth:`values` gives them.
        """
        return np.array([np.vdot(W, one) for one in self.derivatives(X, Y, K)], dtype=np.float64)

    def pull_back_diagonal(self, w: Vector, X: Any) -> Vector:
        """Sum of the derivatives of k(x, x), weighted by `w`."""
        return np.array([np.vdot(w, one) for one in self.diagonal_derivatives(X)], dtype=np.float64)

    def fitted(self, X: Any, *, gamma: float | None = None, weights: Vector | None = None) -> Self:
        """Return this kernel with parameters that are None estimated from the data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The samples.
        gamma : float, optional
            Coefficient of squared distances to take for kernels of distances; 1 / (d times variance of X) otherwise.
        weights : ndarray of shape (n,), optional
            How often each sample counts.
        """
        found = cast(Self, clone(self))
        found._take_from_data(X, gamma, weights)
        found._require_numbers()
        return found

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        """Set parameters that are None; for kernels that name such in `_from_data`."""

    #: Parameters that are whole numbers: no part of `theta`, but a search may be told to choose them.
    whole: ClassVar[tuple[str, ...]] = ()

    @property
    def whole_numbers(self) -> dict[str, int]:
        """Parameters that are whole numbers by name, those of kernels inside of this one too.

        Examples
        --------
        >>> from widemargin.kernels import Gaussian, Polynomial
        >>> (Gaussian(gamma=1.0) + Polynomial(degree=2)).whole_numbers
        {'k2__degree': 2}
        """
        found = {name: int(getattr(self, name)) for name in self.whole}
        for key, inner in self.get_params().items():
            if isinstance(inner, Kernel):
                found |= {f"{key}__{name}": int(getattr(inner, name)) for name in inner.whole}
        return found

    #: How far `theta` moves where the logarithm of a coefficient of squared distances moves by 1.
    theta_per_log_gamma: ClassVar[float] = 1.0

    def typical(self, X: Any, *, gamma: float | None, weights: Vector | None = None) -> Self:
        """Return this kernel with parameters estimated from the data, also in place of given ones."""
        return self._emptied().fitted(X, gamma=gamma, weights=weights)

    def _emptied(self) -> Self:
        """Return this kernel without the parameters that can be estimated from the data."""
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if isinstance(value, Kernel):
                parameters[name] = value._emptied()
            elif name in self._from_data:
                parameters[name] = None
        return type(self)(**parameters)

    @property
    def core_kernel(self) -> KernelParameters | None:
        """The kernel that the core computes on :meth:`mapped` samples, or None if it has no such form."""
        return None

    @property
    def linear_map(self) -> Matrix | None:
        """What samples are multiplied by for the core's kernel: a factor for each feature, a matrix, or nothing."""
        return None

    def mapped(self, X: Any) -> Any:
        """Return samples as the core's kernel takes them."""
        factors = self.linear_map
        return X if factors is None else multiplied(X, factors)

    def resolved(self) -> KernelParameters:
        """Return this kernel as solvers take it: one of the core's where there is such a form, else a function."""
        core, factors = self.core_kernel, self.linear_map
        if core is None:
            return KernelParameters(FixedKernel(self), source=self)
        return replace(core, map=None if factors is None else LinearMap(factors), source=self)

    def row_source(self, X: Any) -> RowSource:
        """Return kernel rows of the samples `X`, computed by the core, for kernels that say they have such."""
        raise NotImplementedError(f"the core computes no rows of {self!r}.")

    @property
    def kind(self) -> tuple[str, ...]:
        """Key of the kernels that share distances or dot products with this one.

        Kernels of a kind are functions of the same distances, or of the same dot products: of the samples, or of these
        after the same map.
        """
        if self.core_name is None:
            return (repr(self),)
        own = [value_written(getattr(self, name)) for name in self._map_parameters]
        return (self.core_name, *([type(self).__name__] if own else []), *own)

    @property
    def leaves_to_data(self) -> bool:
        """Whether :meth:`fitted` has parameters to estimate."""
        return any(getattr(self, name) is None for name in self._from_data)

    @property
    def kind_depends_on_data(self) -> bool:
        """Whether :attr:`kind` depends on parameters that :meth:`fitted` estimates."""
        if self.core_name is None:
            return self.leaves_to_data
        return any(getattr(self, name) is None for name in self._map_parameters)

    def is_stationary(self) -> bool:
        """Whether values depend on differences of samples only."""
        return False

    def diag(self, X: Any) -> Vector:
        """Return k(x, x) for the samples `X`, as scikit-learn's kernels do."""
        return self.diagonal(self.samples(X))

    def samples(self, X: Any) -> Any:
        """Return samples as the other methods take them: float64, C-ordered or CSR, if they have to be vectors."""
        return as_samples(X) if self.requires_vector_input else X

    def measurable(self, X: Any) -> NDArray[np.bool_]:
        """Tell which samples have kernel values: all of them, but for sequences that hold nothing to compare.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,), bool

        Examples
        --------
        >>> from widemargin.kernels import Spectrum
        >>> Spectrum(k=2, alphabet="ACGT").measurable(["ACGT", "NNNN", "A"]).tolist()
        [True, False, False]
        """
        return np.ones(count(X), dtype=np.bool_)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values between `X` and `Y` (itself if None), and their derivatives if asked for.

        Parameters
        ----------
        X, Y : array or sparse matrix of shape (n, d) and (m, d)
        eval_gradient : bool, default=False
            Also return the derivatives, shape (n, n, n_dims); only without `Y`.

        Returns
        -------
        ndarray of shape (n, m), or a pair of these
        """
        self._require_numbers()
        left = self.samples(X)
        right = left if Y is None else self.samples(Y)
        K = self.values(left, right)
        if not eval_gradient:
            return K
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        stacked = [np.array(one) for one in self.derivatives(left, right, K)]
        return K, np.stack(stacked, axis=2) if stacked else np.empty((*K.shape, 0))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of kernels inside of this one too, as ``<name>__<parameter>``."""
        found = {name: getattr(self, name) for name in self._defaults}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, GaussianProcessKernel):
                    found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    @property
    def hyperparameters(self) -> list[Any]:
        """Searchable parameters as scikit-learn describes them, in the order of `theta`."""
        return [
            Hyperparameter(name, "numeric", getattr(self, f"{name}_bounds"), len(self._numbers(name)))
            for name in self._positive
        ]

    @property
    def n_dims(self) -> int:
        """How many numbers `theta` holds."""
        number = 0
        for name in self._free():
            number += len(self._numbers(name))
        return number

    @property
    def theta(self) -> Vector:
        """Free parameters on an unconstrained scale."""
        self._require_given()
        free = [self._numbers(name) for name in self._free()]
        return np.log(np.hstack(free)) if free else np.empty(0)

    @theta.setter
    def theta(self, theta: Vector) -> None:
        self._require_given()
        self._take_logarithms(self._checked_theta(theta))

    def _checked_theta(self, theta: Any) -> Vector:
        numbers = np.asarray(theta, dtype=np.float64)
        if numbers.shape != (self.n_dims,):
            raise ValueError(f"theta holds {numbers.size} numbers, but {self!r} takes {self.n_dims}.")
        return numbers

    def _take_logarithms(self, logarithms: Vector) -> None:
        numbers, begin = np.exp(logarithms), 0
        for name in self._free():
            end = begin + len(self._numbers(name))
            self._take_numbers(name, numbers[begin:end])
            begin = end

    def _numbers(self, name: str) -> Vector:
        """Return the positive numbers that a parameter holds, in the order of `theta`."""
        return np.ravel(np.asarray(getattr(self, name), dtype=np.float64))

    def _take_numbers(self, name: str, numbers: Vector) -> None:
        """Set a parameter to other numbers, as many as it holds."""
        old = getattr(self, name)
        setattr(self, name, numbers.reshape(np.shape(old)) if np.ndim(old) else float(numbers[0]))

    def clone_with_theta(self, theta: Vector) -> Self:
        """Return this kernel with other numbers for its free parameters; what is not free is shared, not copied."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.theta = theta
        return other

    @property
    def bounds(self) -> Matrix:
        """Range of `theta` to search in, shape (n_dims, 2)."""
        self._require_given()
        found = [
            broadcast_bounds(name, getattr(self, f"{name}_bounds"), len(self._numbers(name))) for name in self._free()
        ]
        return np.log(np.vstack(found)) if found else np.empty((0, 2))

    def _free(self) -> list[str]:
        """Names of the parameters that `theta` holds."""
        return [name for name in self._positive if not isinstance(getattr(self, f"{name}_bounds"), str)]

    def _require_given(self) -> None:
        for name in self._from_data:
            if getattr(self, name) is None:
                raise ValueError(
                    f"{self!r} has no {name} yet; pass a number, or call fitted(X) to take it from the data."
                )

    def _require_numbers(self) -> None:
        """Refuse parameters that are None, and those that are not positive but must be."""
        self._require_given()
        for name in self._positive:
            self._require_positive(name)
            bounds = getattr(self, f"{name}_bounds")
            if isinstance(bounds, str) and bounds != "fixed":
                raise ValueError(f"{name}_bounds is {bounds!r}; it must be a pair of positive numbers or 'fixed'.")

    def _require_positive(self, name: str) -> None:
        require_positive(type(self).__name__, name, getattr(self, name))

    # Sums and products are kernels themselves, so that this module cannot import theirs before it is there.

    def __add__(self, other: Any) -> Kernel:
        from widemargin.kernels.algebra import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from widemargin.kernels.algebra import add

        return add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from widemargin.kernels.algebra import multiply

        return multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        from widemargin.kernels.algebra import multiply

        return multiply(other, self)

    def __pow__(self, exponent: int) -> Kernel:
        from widemargin.kernels.algebra import Power

        return Power(self, exponent)

    def __repr__(self) -> str:
        """Write the kernel as Python code."""
        return written(self, self._defaults)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class CoreKernel(Kernel):
    """A kernel whose values the core computes, on samples that pass through a linear map first."""

    @property
    @abstractmethod
    def core_kernel(self) -> KernelParameters:
        """The kernel that the core computes."""

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the samples `X` and `Y`, in float64."""
        core, factors = self.core_kernel, self.linear_map
        left, right = X, None if X is Y else Y
        if factors is not None:
            left, right = multiplied(X, factors), None if right is None else multiplied(right, factors)
        return kernel_matrix(
            left,
            right,
            kernel=cast(str, core.kernel),
            gamma=core.gamma,
            coef0=core.coef0,
            degree=core.degree,
            dtype="float64",
            n_jobs=1,
        )


def is_kernel_object(kernel: Any) -> bool:
    """Whether something is a kernel object, of this package or of scikit-learn's Gaussian processes."""
    return isinstance(kernel, GaussianProcessKernel)


def require_instance(name: str, kernel: Any) -> None:
    """Refuse the class of a kernel where a kernel is needed.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> require_instance("kernel", Linear)
    Traceback (most recent call last):
    ...
    ValueError: kernel=Linear is a class of kernels, not one of them: did you forget ()? Pass Linear().
    """
    if isinstance(kernel, type) and issubclass(kernel, GaussianProcessKernel):
        own = kernel.__name__
        raise ValueError(f"{name}={own} is a class of kernels, not one of them: did you forget ()? Pass {own}().")


def as_samples(X: Any) -> Any:
    """Return numbers as the core takes them: float64, C-ordered, or CSR."""
    if sp.issparse(X):
        return canonical(X.tocsr().astype(np.float64))
    return np.ascontiguousarray(np.atleast_2d(X), dtype=np.float64)


def require_positive(kernel: str, name: str, value: Any) -> None:
    """Refuse a parameter of a kernel that is not a positive finite number, or several of these."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    if isinstance(value, bool | str) or not numbers.size or not ((numbers > 0.0) & np.isfinite(numbers)).all():
        raise ValueError(f"{name} of {kernel} is {value!r}; it must be positive and finite.")


def broadcast_bounds(name: str, bounds: Any, length: int) -> NDArray[np.float64]:
    """Return the range of a parameter, a row for each of its numbers, or refuse it."""
    given = np.asarray(bounds, dtype=np.float64)
    if given.shape not in ((2,), (1, 2), (length, 2)) or not (given > 0.0).all() or (np.diff(given) < 0.0).any():
        raise ValueError(
            f"{name}_bounds is {bounds!r}; it must be a pair of positive numbers in order, one such pair for each of "
            f"{length} numbers, or 'fixed'."
        )
    return np.broadcast_to(given, (length, 2))


def written(kernel: Any, defaults: Mapping[str, Any] | None = None) -> str:
    """Write a call that makes a kernel, parameters at their defaults left out.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> written(RBF(length_scale=1 / 3))
    'RBF(length_scale=0.3333333333333333)'
    """
    if defaults is None:
        parameters = signature(type(kernel).__init__).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
    given = [
        f"{name}={value_written(value)}"
        for name, value in kernel.get_params(deep=False).items()
        if not same(value, defaults[name])
    ]
    return f"{type(kernel).__name__}({', '.join(given)})"


def value_written(value: Any) -> str:
    """Write a parameter: arrays as lists, numbers without their type."""
    if isinstance(value, np.ndarray | np.generic):
        return repr(value.tolist())
    return repr(value)


_ROWS = (list, tuple, range, np.ndarray)


def same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal; lists, tuples and arrays of the same numbers are.

    Examples
    --------
    >>> same([1.0, 2.0], np.array([1.0, 2.0])), same(1.0, None), same(1.0, np.float64(1.0))
    (True, False, True)
    """
    if one is other:
        return True
    if isinstance(one, GaussianProcessKernel) or isinstance(other, GaussianProcessKernel):
        return bool(one == other)
    if isinstance(one, _ROWS) and isinstance(other, _ROWS):
        return np.shape(one) == np.shape(other) and bool(np.all(np.asarray(one) == np.asarray(other)))
    for kind in (Number, str):  # of whatever library
        if isinstance(one, kind) and isinstance(other, kind):
            return bool(one == other)
    return type(one) is type(other) and bool(one == other)
