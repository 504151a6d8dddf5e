"""Prediction from the fitted attributes alone: one decision function, or one for each pair of classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from operator import add
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin import _core
from widemargin.estimators.validation import require_finite
from widemargin.kernels import Kernel, KernelParameters, Linear, as_kernel, examples
from widemargin.kernels.rows import KernelCallable, call_kernel, canonical, count, take
from widemargin.runtime import single_threaded_blas, thread_count

Matrix = NDArray[np.float64]

#: Numbers in the support vectors up to which prediction is computed in float64 for nothing worth mentioning.
SMALL_MODEL = 200_000

#: Float32 squares of magnitudes outside of this range leave it.
FLOAT32_MAGNITUDES = (1e-15, 1e15)

#: Float32 kernel values err by about 1e-7; coefficients beyond this make decision values err visibly.
LARGE_COEFFICIENT = 1e4

#: Largest dense matrix that prediction makes at once: kernel values of a callable, weights of a linear machine.
BLOCK_ENTRIES = 2**24


def as_dense(matrix: Any) -> Matrix:
    """Return a dense float64 matrix."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def require_examples(X: Any, estimator: Any) -> None:
    """Refuse an empty sequence of objects, in the words that scikit-learn has for arrays."""
    if count(X) == 0:
        name = type(estimator).__name__
        raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {name}.")


def needs_double(support_vectors: Any, dual_coef: Matrix, dtype: str, precisions: set[str]) -> bool:
    """Decide from the model alone, never from the rows to predict, whether to predict in float64."""
    if dtype == "float64" or "float64" in precisions:
        return True
    n_vectors, n_features = support_vectors.shape
    if n_vectors * n_features <= SMALL_MODEL:
        return True
    values = support_vectors.data if sp.issparse(support_vectors) else support_vectors
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

    @property
    def whole(self) -> bool:
        """Whether every function has a row of coefficients of its own, for all support vectors."""
        return all(
            terms == tuple((row, group) for group in range(self.groups)) for row, terms in enumerate(self.functions)
        )


#: All support vectors in one group, one row of coefficients, one decision function.
SINGLE = Layout(1, 1, (((0, 0),),))


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


class KernelPrediction(ABC):
    """Values and linear weights of the decision functions that the fitted attributes describe."""

    support_: NDArray[np.int32]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: Any
    intercept_: Matrix
    n_features_in_: int
    kernel: Any
    n_jobs: int | None
    _kernel_parameters: KernelParameters
    _takes_objects: bool
    _predict_in_double: bool

    @abstractmethod
    def _layout(self) -> Layout:
        """Say where the coefficients of the decision functions lie."""

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row a decision function, read-only; only for the linear kernel."""
        if self.kernel != "linear" and not isinstance(self.kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        self._require_consistent_attributes()
        weights = self._linear_weights()
        (weights.data if sp.issparse(weights) else weights).flags.writeable = False
        return weights

    @property
    def kernel_(self) -> Kernel:
        """The kernel object with the numbers of the fit; kernels by name other than "sigmoid" have one too."""
        parameters = self.__dict__.get("_kernel_parameters")
        if parameters is None:
            raise AttributeError(f"{type(self).__name__} has no kernel_ before it is fitted.")
        if parameters.source is not None:
            return cast(Kernel, parameters.source)
        if parameters.kernel not in ("linear", "poly", "rbf"):
            raise AttributeError(f"kernel={parameters.kernel!r} has no kernel object; 'linear', 'poly' and 'rbf' have.")
        numbers = {name: getattr(parameters, name) for name in ("gamma", "coef0", "degree")}
        return as_kernel(parameters.kernel, **numbers)

    def _groups(self) -> list[slice]:
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def _linear_weights(self) -> Any:
        """Weights, one row a decision function; sparse where the support vectors are."""
        dual_coef, vectors, functions = as_dense(self.dual_coef_), self.support_vectors_, self._layout().functions
        if sp.issparse(vectors):
            parts = [sp.csr_matrix(dual_coef[:, mine]) @ vectors[mine] for mine in self._groups()]
            rows = [reduce(add, (parts[group][[row]] for row, group in terms)) for terms in functions]
            return sp.csr_matrix(sp.vstack(rows))
        with single_threaded_blas():
            parts = [dual_coef[:, mine] @ vectors[mine] for mine in self._groups()]
        return np.vstack([reduce(add, (parts[group][row] for row, group in terms)) for terms in functions])

    def _linear_values(self, X: Any) -> Matrix:
        weights = self._linear_weights()
        if sp.issparse(weights) and weights.shape[0] * weights.shape[1] <= BLOCK_ENTRIES:
            weights = weights.toarray()
        with single_threaded_blas():
            return as_dense(X @ weights.T)

    def _require_consistent_attributes(self) -> None:
        """Refuse attributes that were altered into shapes that do not fit together."""
        layout, n_vectors = self._layout(), count(self.support_)
        expected: dict[str, tuple[int, ...]] = {
            "n_support_": (layout.groups,),
            "dual_coef_": (layout.rows, n_vectors),
            "intercept_": (len(layout.functions),),
        }
        if self._kernel_parameters.of_examples:
            expected["support_vectors_"] = (n_vectors, self.n_features_in_)
        for name, shape in expected.items():
            value = getattr(self, name)
            found = value.shape if sp.issparse(value) else np.shape(value)
            if found != shape:
                raise ValueError(f"{name} was altered since the fit: its shape is {found} where {shape} belongs.")
        if np.min(self.n_support_) < 0 or int(np.sum(self.n_support_)) != n_vectors:
            raise ValueError(f"n_support_ was altered since the fit: it must sum to the {n_vectors} support vectors.")
        if callable(self._kernel_parameters.kernel) and count(self.support_vectors_) != n_vectors:
            raise ValueError(f"support_vectors_ was altered since the fit: it must hold {n_vectors} examples.")

    def _check_new_data(self, X: Any) -> Any:
        if self._takes_objects:
            require_examples(X, self)
            return X
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        numbers = check_array(
            X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_all_finite=False, estimator=self
        )
        numbers = canonical(numbers) if sp.issparse(numbers) else numbers
        require_finite(numbers, getattr(self, "feature_names_in_", None))
        validate_data(self, X, reset=False, skip_check_array=True)
        return numbers

    def _function_values(self, X: Any) -> Matrix:
        """Check `X` and evaluate all decision functions, shape (n, functions), in the sign of the attributes."""
        check_is_fitted(self)
        X = self._check_new_data(X)
        self._require_consistent_attributes()
        return self._evaluated(X)

    def _evaluated(self, X: Any) -> Matrix:
        """Evaluate all decision functions on checked data."""
        kernel, intercept, n_vectors = self._kernel_parameters, np.asarray(self.intercept_), len(self.support_)
        if n_vectors == 0:
            return np.tile(intercept, (count(X), 1))
        if kernel.is_linear and len(intercept) <= n_vectors:
            return self._linear_values(X) + intercept
        dual_coef = np.ascontiguousarray(as_dense(self.dual_coef_))
        if kernel.of_examples:
            return self._core_values(X, dual_coef) + intercept
        if kernel.kernel == "precomputed":
            return self._combined(X[:, self.support_].astype(np.float64), dual_coef) + intercept
        rows = max(1, BLOCK_ENTRIES // n_vectors)
        blocks = (
            take(X, np.arange(begin, min(begin + rows, count(X)))) if count(X) > rows else X
            for begin in range(0, count(X), rows)
        )
        function = cast(KernelCallable, kernel.kernel)
        evaluated = (call_kernel(function, block, self.support_vectors_) for block in blocks)
        return np.vstack([self._combined(K, dual_coef) for K in evaluated]) + intercept

    def _core_values(self, X: Any, dual_coef: Matrix) -> Matrix:
        kernel = self._kernel_parameters
        support, new = kernel.rows_of(self.support_vectors_), kernel.mapped(X)
        sizes = [int(size) for size in self.n_support_]
        with single_threaded_blas():
            values = _core.decision_values(
                support,
                examples(new),
                dual_coef,
                [sum(sizes)] if self._layout().whole else sizes,
                self._predict_in_double,
                thread_count(self.n_jobs),
            )
        return np.asarray(values).T

    def _combined(self, K: Matrix, dual_coef: Matrix) -> Matrix:
        """Decision values, intercepts aside, from kernel values between rows to predict and support vectors."""
        mine = self._groups()
        return np.column_stack(
            [
                reduce(add, (K[:, mine[group]] @ dual_coef[row, mine[group]] for row, group in terms))
                for terms in self._layout().functions
            ]
        )


class SinglePrediction(KernelPrediction):
    """Values of a machine with one decision function: regression, one class."""

    def _layout(self) -> Layout:
        return SINGLE

    def _values(self, X: Any) -> Matrix:
        """Check `X` and evaluate sum_i dual_coef_[0, i] k(x_i, x) + intercept_[0] on its rows, shape (n_samples,)."""
        return self._function_values(X).ravel()


class PairwisePrediction(KernelPrediction):
    """Votes and decision values of a classifier with scikit-learn's one-versus-one attributes."""

    classes_: NDArray[Any]
    decision_function_shape: str
    break_ties: bool

    def decision_function(self, X: Any) -> Matrix:
        """Signed distances, in units of the margin, for the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray
            Shape (n_samples,) for two classes, positive for ``classes_[1]``. For more, (n_samples, n_classes) or, with
            ``decision_function_shape="ovo"``, (n_samples, n_classes * (n_classes - 1) / 2).
        """
        return self._decisions(self._pair_values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels for the rows of `X`: the most votes of the pairs, ties broken by confidence.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        winners = self._winners(self._pair_values(X))
        return np.asarray(self.classes_[winners])

    def _decisions(self, values: Matrix) -> Matrix:
        """Decision values as users see them."""
        if len(self.classes_) == 2:
            return -values.ravel()
        return values if self.decision_function_shape == "ovo" else self._confidences(values)

    def _winners(self, values: Matrix) -> NDArray[np.intp]:
        """Numbers of the classes that are predicted."""
        if len(self.classes_) == 2:
            return (values.ravel() < 0).astype(np.intp)
        if self.break_ties:
            return np.asarray(np.argmax(self._confidences(values), axis=1))
        votes = np.zeros((len(values), len(self.classes_)))
        for column, (a, b) in enumerate(self._pairs()):
            votes[:, a] += values[:, column] > 0
            votes[:, b] += values[:, column] <= 0
        return np.asarray(np.argmax(votes, axis=1))

    def _layout(self) -> Layout:
        return pairwise_layout(len(self.classes_))

    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _pair_values(self, X: Any) -> Matrix:
        """Decision values of all pairs, shape (n, pairs); positive for the first class of a pair, binary too."""
        values = self._function_values(X)
        # One sign convention inside; scikit-learn's binary machines point the other way.
        return -values if len(self.classes_) == 2 else values

    def _confidences(self, pair_values: Matrix) -> Matrix:
        confidences: Matrix = _ovr_decision_function(pair_values < 0, -pair_values, len(self.classes_))
        return confidences
