"""Prediction from the fitted attributes alone: kernel expansions, and how their coefficients are laid out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, pairwise
from operator import add
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import (
    BLOCK_ENTRIES,
    KernelParameters,
    RowSource,
    call_kernel,
    core_samples,
    count,
    prepared,
    take,
)
from widemargin.runtime import Allowance, single_threaded_blas

Matrix = NDArray[np.float64]

#: Numbers in the support vectors up to which prediction is computed in float64 for nothing worth mentioning.
SMALL_MODEL = 200_000

#: Float32 squares of magnitudes outside of this range leave it.
FLOAT32_MAGNITUDES = (1e-15, 1e15)

#: Float32 kernel values err by about 1e-7; coefficients beyond this make decision values err visibly.
LARGE_COEFFICIENT = 1e4


def as_dense(matrix: Any) -> Matrix:
    """Return a dense float64 matrix."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def needs_double(kernel: KernelParameters, support_vectors: Any, dual_coef: Matrix, trained_so: bool) -> bool:
    """Decide from the model alone, never from the samples to predict, whether the core is to predict in float64.

    `trained_so` tells whether training already needed kernel values in float64.
    """
    if callable(kernel.kernel) or kernel.kernel == "precomputed":
        return False
    if trained_so:
        return True
    mapped = kernel.mapped(support_vectors)
    if mapped.shape[0] * mapped.shape[1] <= SMALL_MODEL:
        return True
    values = mapped.data if sp.issparse(mapped) else mapped
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if largest and not FLOAT32_MAGNITUDES[0] <= largest <= FLOAT32_MAGNITUDES[1]:
        return True
    return bool(np.abs(dual_coef).max(initial=0.0) > LARGE_COEFFICIENT)


@dataclass(frozen=True)
class Layout:
    """Where the coefficients of the decision functions lie in ``dual_coef_``.

    The support vectors come in `groups`, whose sizes are ``n_support_``, and have `rows` of coefficients. A decision
    function is a sum of terms, each the coefficients in one row of one group's support vectors: (row, group).
    """

    groups: int
    rows: int
    functions: tuple[tuple[tuple[int, int], ...], ...]


#: Decision values that exist at a time where only what they say of the classes is kept.
BLOCK_VALUES = 2**21

#: Rows of the products that the core has BLAS compute, and multiplications that BLAS makes without further threads.
ROWS_OF_A_PRODUCT, PRODUCT_OF_ONE_THREAD = 64, 2**18

#: All support vectors in one group, one row of coefficients, one decision function.
SINGLE = Layout(1, 1, (((0, 0),),))


@lru_cache(maxsize=8)
def pairwise_layout(n_classes: int) -> Layout:
    """Lay out one decision function a pair of classes as scikit-learn does.

    A support vector of class k finds its coefficient against class m in row m (m < k) or m - 1 (m > k).

    Examples
    --------
    >>> pairwise_layout(2).functions
    (((0, 0), (0, 1)),)
    """
    pairs = combinations(range(n_classes), 2)
    return Layout(n_classes, n_classes - 1, tuple(((b - 1, a), (a, b)) for a, b in pairs))


@lru_cache(maxsize=8)
def against_all_layout(n_classes: int) -> Layout:
    """Lay out one decision function a class, with a row of coefficients for the support vectors of all classes.

    Examples
    --------
    >>> against_all_layout(3).functions[1]
    ((1, 0), (1, 1), (1, 2))
    """
    return shared_layout(n_classes, n_classes)


@lru_cache(maxsize=8)
def shared_layout(groups: int, functions: int) -> Layout:
    """Lay out decision functions that all have a row of coefficients for the support vectors of all groups.

    Examples
    --------
    >>> shared_layout(3, 2).functions[1]
    ((1, 0), (1, 1), (1, 2))
    """
    return Layout(groups, functions, tuple(tuple((row, group) for group in range(groups)) for row in range(functions)))


#: By the names of the schemes for several classes: pairs, and each class against all others.
LAYOUTS = {"ovo": pairwise_layout, "ovr": against_all_layout}


def tallied(values: Matrix, n_classes: int, rule: str) -> Matrix:
    """Return what decision values of pairs, (n_samples, n_pairs), say of the classes, (n_samples, n_classes).

    Examples
    --------
    >>> tallied(np.array([[2.0, -0.5, 0.0]]), 3, "votes-alone").tolist()
    [[1.0, 0.0, 2.0]]
    """
    return np.asarray(_core.tallied(np.ascontiguousarray(values.T, dtype=np.float64), n_classes, rule))


@dataclass(frozen=True)
class Expansion:
    """Support vectors by their places in the training data, sorted by group, and the coefficients of the functions.

    `n_support` counts the support vectors of each group; `dual_coef` has a column for each of them.
    """

    support: NDArray[np.int32]
    n_support: NDArray[np.int32]
    dual_coef: Matrix
    intercept: Matrix


class KnownFunctions(Protocol):
    """Decision functions whose values on some samples are known without computing them."""

    def __call__(self, X: Any) -> Matrix:
        """Return the values of all functions, (n_samples, n_functions)."""

    def tallied(self, X: Any, rule: str) -> Matrix:
        """Return what the functions of pairs say of the classes, as :meth:`DecisionFunctions.tallied` does."""


@dataclass(frozen=True)
class DecisionFunctions:
    """The functions sum_i a_i k(x_i, x) + b that the fitted attributes of a model describe.

    Parameters
    ----------
    layout : Layout
    kernel : KernelParameters
    support, support_vectors, n_support, dual_coef, intercept
        The attributes, as they are after the fit or as somebody altered them since.
    n_features : int or None
        None where samples are no vectors.
    in_double : bool
    n_threads : int

    Raises
    ------
    ValueError
        If attributes were altered into shapes that do not fit together.
    """

    layout: Layout
    kernel: KernelParameters
    support: NDArray[np.int32]
    support_vectors: Any
    n_support: NDArray[np.int32]
    dual_coef: Any
    intercept: Matrix
    n_features: int | None
    in_double: bool
    n_threads: int

    def __post_init__(self) -> None:
        n_vectors, n_support = np.shape(self.support)[0], np.asarray(self.n_support)
        shapes = [
            ("n_support", (self.layout.groups,)),
            ("dual_coef", (self.layout.rows, n_vectors)),
            ("intercept", (len(self.layout.functions),)),
        ]
        if isinstance(self.kernel.kernel, str) and self.kernel.kernel != "precomputed":
            shapes.append(("support_vectors", (n_vectors, self.n_features)))
        for name, shape in shapes:
            value = getattr(self, name)
            found = value.shape if sp.issparse(value) else np.shape(value)
            if found != shape:
                raise ValueError(f"{name}_ was altered since the fit: its shape is {found} where {shape} belongs.")
        if n_support.min() < 0 or int(n_support.sum()) != n_vectors:
            raise ValueError(f"n_support_ was altered since the fit: it must sum to the {n_vectors} support vectors.")
        if callable(self.kernel.kernel) and count(self.support_vectors) != n_vectors:
            raise ValueError(f"support_vectors_ was altered since the fit: it must hold {n_vectors} samples.")

    def linear_weights(self) -> Any:
        """Weights of the features, one row a function; sparse where the support vectors are."""
        dual_coef, vectors, functions = as_dense(self.dual_coef), self.support_vectors, self.layout.functions
        if sp.issparse(vectors):
            parts = [sp.csr_matrix(dual_coef[:, mine]) @ vectors[mine] for mine in self._groups()]
            rows = [reduce(add, (parts[group][[row]] for row, group in terms)) for terms in functions]
            return sp.csr_matrix(sp.vstack(rows))
        with single_threaded_blas():
            parts = [dual_coef[:, mine] @ vectors[mine] for mine in self._groups()]
        return np.vstack([reduce(add, (parts[group][row] for row, group in terms)) for terms in functions])

    def values(self, X: Any) -> Matrix:
        """Evaluate all functions on checked samples, shape (n_samples, n_functions)."""
        kernel, intercept, n_vectors = self.kernel, np.asarray(self.intercept), len(self.support)
        if n_vectors == 0:
            return np.tile(intercept, (count(X), 1))
        if kernel.is_linear and len(intercept) <= n_vectors:
            return self._linear_values(X) + intercept
        dual_coef = np.ascontiguousarray(as_dense(self.dual_coef))
        if kernel.kernel == "precomputed":
            return self._combined(X[:, self.support].astype(np.float64), dual_coef) + intercept
        if not callable(kernel.kernel):
            support, new = self._in_core(X)
            # Where every function has a row of coefficients for all support vectors, these are one group.
            whole = len(self.layout.functions) == self.layout.rows
            sizes = [n_vectors] if whole else np.asarray(self.n_support).tolist()
            with self._blas_for(new):
                values = _core.decision_values(support, new, dual_coef, sizes, self.in_double, self.n_threads)
            return np.asarray(values).T + intercept
        rows, function = max(1, BLOCK_ENTRIES // n_vectors), kernel.kernel
        X, vectors = prepared(function, X), prepared(function, self.support_vectors)
        blocks = (
            take(X, np.arange(begin, min(begin + rows, count(X)))) if count(X) > rows else X
            for begin in range(0, count(X), rows)
        )
        evaluated = (Allowance(self.n_threads).run(call_kernel, function, block, vectors) for block in blocks)
        return np.vstack([self._combined(K, dual_coef) for K in evaluated]) + intercept

    @property
    def counts_in_core(self) -> bool:
        """Whether values of pairs are counted while they are computed: there are more of them than support vectors."""
        in_core = isinstance(self.kernel.kernel, str) and self.kernel.kernel != "precomputed"
        many = len(self.layout.functions) > len(self.support) > 0
        return in_core and many and self.layout == pairwise_layout(self.layout.groups)

    def tallied(self, X: Any, rule: str) -> Matrix:
        """Evaluate the functions of all pairs of classes; return what they say of the classes, (n_samples, n_classes).

        `rule` is one of :meth:`widemargin.estimators.multi_class.OneVersusOne.confidences`, or "votes-alone". The
        values themselves are never there all at once.
        """
        n_classes = self.layout.groups
        if self.counts_in_core:
            support, new = self._in_core(X)
            intercept = np.asarray(self.intercept, dtype=np.float64)
            dual_coef = np.ascontiguousarray(as_dense(self.dual_coef))
            sizes = np.asarray(self.n_support).tolist()
            with self._blas_for(new):
                return np.asarray(
                    _core.pair_votes(support, new, dual_coef, sizes, intercept, rule, self.in_double, self.n_threads)
                )
        return np.vstack([tallied(values, n_classes, rule) for _, values in self.values_in_blocks(X)])

    def values_in_blocks(self, X: Any) -> Iterator[tuple[int, Matrix]]:
        """Evaluate all functions on some samples at a time; give the number of the first of them, too."""
        n, rows = count(X), max(1, BLOCK_VALUES // len(self.layout.functions))
        if n <= rows:
            yield 0, self.values(X)
            return
        for begin in range(0, n, rows):
            yield begin, self.values(take(X, np.arange(begin, min(begin + rows, n))))

    def _in_core(self, X: Any) -> tuple[RowSource, _core.Samples]:
        return self.kernel.rows_of(self.support_vectors), core_samples(self.kernel.mapped(X))

    def _blas_for(self, new: _core.Samples) -> AbstractContextManager[None]:
        # BLAS takes no threads for products of so few numbers; saying so takes a tenth of the time of a sample.
        few = ROWS_OF_A_PRODUCT * new.size * (self.n_features or 1) <= PRODUCT_OF_ONE_THREAD
        return nullcontext() if few else single_threaded_blas()

    def _linear_values(self, X: Any) -> Matrix:
        weights = self.linear_weights()
        if sp.issparse(weights) and weights.shape[0] * weights.shape[1] <= BLOCK_ENTRIES:
            weights = weights.toarray()
        with single_threaded_blas():
            return as_dense(X @ weights.T)

    def _groups(self) -> list[slice]:
        ends = np.concatenate([[0], np.cumsum(self.n_support)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def _combined(self, K: Matrix, dual_coef: Matrix) -> Matrix:
        """Decision values, intercepts aside, from kernel values between new samples and support vectors."""
        mine = self._groups()
        return np.column_stack(
            [
                reduce(add, (K[:, mine[group]] @ dual_coef[row, mine[group]] for row, group in terms))
                for terms in self.layout.functions
            ]
        )
