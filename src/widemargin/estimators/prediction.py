"""Prediction with machines for pairs of classes, from the fitted attributes alone."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin import _core
from widemargin._runtime import single_threaded_blas, thread_count
from widemargin.estimators.validation import require_finite
from widemargin.kernels import KernelParameters, examples, row_source
from widemargin.kernels.rows import call_kernel, count, take

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


class PairwisePrediction:
    """Votes, decision values and linear weights of a classifier with scikit-learn's one-versus-one attributes."""

    classes_: NDArray[Any]
    support_: NDArray[np.int32]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: Any
    intercept_: Matrix
    n_features_in_: int
    kernel: Any
    decision_function_shape: str
    break_ties: bool
    n_jobs: int | None
    _kernel_parameters: KernelParameters
    _takes_objects: bool
    _predict_in_double: bool

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
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return -values.ravel()
        if self.decision_function_shape == "ovo":
            return values
        return self._confidences(values)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels for the rows of `X`: the most votes of the pairs, ties broken by confidence.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            winners = (values.ravel() < 0).astype(np.intp)
        elif self.break_ties:
            winners = self._confidences(values).argmax(axis=1)
        else:
            votes = np.zeros((len(values), len(self.classes_)))
            for column, (a, b) in enumerate(self._pairs()):
                votes[:, a] += values[:, column] > 0
                votes[:, b] += values[:, column] <= 0
            winners = votes.argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row a pair, read-only; only for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        self._require_consistent_attributes()
        weights = self._linear_weights()
        (weights.data if sp.issparse(weights) else weights).flags.writeable = False
        return weights

    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _class_slices(self) -> list[slice]:
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def _linear_weights(self) -> Any:
        """Weights, one row a pair, in the sign of the attributes; sparse where the support vectors are."""
        dual_coef, vectors = as_dense(self.dual_coef_), self.support_vectors_
        if sp.issparse(vectors):
            parts = [sp.csr_matrix(dual_coef[:, mine]) @ vectors[mine] for mine in self._class_slices()]
            return sp.csr_matrix(sp.vstack([parts[a][[b - 1]] + parts[b][[a]] for a, b in self._pairs()]))
        with single_threaded_blas():
            parts = [dual_coef[:, mine] @ vectors[mine] for mine in self._class_slices()]
        return np.vstack([parts[a][b - 1] + parts[b][a] for a, b in self._pairs()])

    def _linear_values(self, X: Any) -> Matrix:
        weights = self._linear_weights()
        if sp.issparse(weights) and weights.shape[0] * weights.shape[1] <= BLOCK_ENTRIES:
            weights = weights.toarray()
        with single_threaded_blas():
            return as_dense(X @ weights.T)

    def _require_consistent_attributes(self) -> None:
        """Refuse attributes that were altered into shapes that do not fit together."""
        n_classes, n_vectors = len(self.classes_), count(self.support_)
        expected: dict[str, tuple[int, ...]] = {
            "n_support_": (n_classes,),
            "dual_coef_": (n_classes - 1, n_vectors),
            "intercept_": (n_classes * (n_classes - 1) // 2,),
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
            if count(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by SVC.")
            return X
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        numbers = check_array(
            X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_all_finite=False, estimator=self
        )
        require_finite(numbers, getattr(self, "feature_names_in_", None))
        validate_data(self, X, reset=False, skip_check_array=True)
        return numbers

    def _pair_values(self, X: Any) -> Matrix:
        """Decision values of all pairs, shape (n, pairs); positive for the first class of a pair, binary too."""
        check_is_fitted(self)
        X = self._check_new_data(X)
        self._require_consistent_attributes()
        kernel = self._kernel_parameters
        # One sign convention inside; scikit-learn's binary machines point the other way.
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        intercept = sign * np.asarray(self.intercept_)
        n_vectors = len(self.support_)
        if n_vectors == 0:
            return np.tile(intercept, (count(X), 1))
        if kernel.kernel == "linear" and len(intercept) <= n_vectors:
            return sign * self._linear_values(X) + intercept
        dual_coef = np.ascontiguousarray(sign * as_dense(self.dual_coef_))
        if kernel.of_examples:
            return self._core_values(X, dual_coef) + intercept
        if kernel.kernel == "precomputed":
            return self._vote_values(X[:, self.support_].astype(np.float64), dual_coef) + intercept
        rows = max(1, BLOCK_ENTRIES // n_vectors)
        blocks = (
            take(X, np.arange(begin, min(begin + rows, count(X)))) if count(X) > rows else X
            for begin in range(0, count(X), rows)
        )
        evaluated = (call_kernel(self.kernel, block, self.support_vectors_) for block in blocks)
        return np.vstack([self._vote_values(K, dual_coef) for K in evaluated]) + intercept

    def _core_values(self, X: Any, dual_coef: Matrix) -> Matrix:
        kernel = self._kernel_parameters
        support = row_source(
            self.support_vectors_, kernel=kernel.kernel, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree
        )
        with single_threaded_blas():
            values = _core.decision_values(
                support,
                examples(X),
                dual_coef,
                [int(of_class) for of_class in self.n_support_],
                self._predict_in_double,
                thread_count(self.n_jobs),
            )
        return np.asarray(values).T

    def _vote_values(self, K: Matrix, dual_coef: Matrix) -> Matrix:
        mine = self._class_slices()
        columns = []
        for a, b in self._pairs():
            columns.append(K[:, mine[a]] @ dual_coef[b - 1, mine[a]] + K[:, mine[b]] @ dual_coef[a, mine[b]])
        return np.column_stack(columns)

    def _confidences(self, pair_values: Matrix) -> Matrix:
        confidences: Matrix = _ovr_decision_function(pair_values < 0, -pair_values, len(self.classes_))
        return confidences
