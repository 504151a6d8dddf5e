"""What the machines for regression share: the checks of targets and weights, warm starts, prediction."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.base import SingleMachine
from widemargin.estimators.validation import check_weights, priced, require_flag, require_prices
from widemargin.kernels import RowSource
from widemargin.kernels.rows import count
from widemargin.machines.dual import Vector
from widemargin.machines.regression import Regression, rescaled_start

#: Targets beyond this leave no room for sums of their products with coefficients.
LARGEST_TARGET = 1e100


class KernelRegressor(RegressorMixin, SingleMachine):  # type: ignore[misc]
    """What the two machines for regression share: the checks of targets and weights, warm starts, prediction."""

    C: float
    warm_start: bool
    _variables_per_row: ClassVar[int] = 1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The examples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of `C`. Weight 0 is the same as leaving the row out, weight 2 the same as repeating it.

        Returns
        -------
        SVR or NuSVR
            The estimator itself.
        """
        began = time.perf_counter()
        self._check_parameters()
        self._warn_of_unused_gamma()
        X, y, weights = self._check_training_data(X, y, sample_weight)
        n, bounds = count(X), self._bounds(weights)
        kernel = self._checked_kernel(X, weights)
        machine = self._solve(
            self._row_source(X, kernel),
            y,
            bounds,
            stop=self._stop_rule(n, time.perf_counter() - began),
            options=self._solver_options(self._variables_per_row * n),
            start=self._start(bounds),
        )
        if self.warm_start:
            self._last = (bounds, machine.variables)
        self._keep_function(
            X, kernel, coefficients=machine.coefficients, intercept=machine.intercept, outcome=machine.outcome
        )
        self._tell()
        if not machine.tube_found:
            warn_of_missing_tube(machine.epsilon)
        return self

    def predict(self, X: Any) -> Vector:
        """Values of the function for the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_flag("warm_start", self.warm_start)

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Vector, Vector]:
        """Check examples, targets and weights."""
        X, y = self._check_examples_and_numbers(X, y)
        row = int(np.abs(y).argmax())
        if abs(y[row]) > LARGEST_TARGET:
            raise ValueError(f"y holds {y[row]:.3g} at row {row}, too large to compute with; scale y.")
        return X, y, check_weights(sample_weight, count(X))

    def _bounds(self, weights: Vector) -> Vector:
        """Largest coefficient of every example."""
        bounds = priced(weights, self.C)
        require_prices(bounds, self._squared_loss())
        return bounds

    def _squared_loss(self) -> str | None:
        """Name the parameter that asks for a squared loss, if one does."""
        return None

    def _start(self, bounds: Vector) -> Vector | None:
        """Where to start: the last solution, scaled to the new bounds, if it has as many rows."""
        if not self.warm_start or not hasattr(self, "_last") or len(self._last[0]) != len(bounds):
            return None
        old_bounds, variables = self._last
        return rescaled_start(variables, old_bounds, bounds)

    @abstractmethod
    def _solve(self, rows: RowSource, y: Vector, bounds: Vector, **how: Any) -> Regression:
        """Train the machine; `how` are the stop rule, options and start that the builders take."""


def warn_of_missing_tube(epsilon: float) -> None:
    """Warn in one sentence that no function with all targets inside the tube was found."""
    warnings.warn(
        f"C=inf asks for all targets inside the tube, but no function within epsilon={epsilon:g} of all of "
        "them was found with this kernel: there is none, or none that can be computed with these budgets; the machine "
        "kept is that of a very large finite C.",
        ConvergenceWarning,
        stacklevel=3,
    )
