"""What every kernel machine shares: its parameters, the checks of its data, its kernel, what it keeps of a fit."""

from __future__ import annotations

import warnings
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from widemargin.estimators.prediction import KernelPrediction, SinglePrediction, needs_double, require_examples
from widemargin.estimators.report import FitReport, warn_of_early_ends
from widemargin.estimators.scale import (
    UnusedGammaWarning,
    leaves_gamma_unused,
    require_moderate_diagonal,
    resolve_kernel,
)
from widemargin.estimators.validation import (
    is_numeric,
    require_choice,
    require_finite,
    require_flag,
    require_gram,
    require_number,
    require_symmetric,
    warn_if_indefinite,
)
from widemargin.kernels import KernelParameters, RowSource, as_kernel, is_kernel_object
from widemargin.kernels.rows import LARGEST_DEGREE, FixedKernel, checked_rows, count, source_at_once, take
from widemargin.machines.dual import Outcome, SolverOptions, StopRule, Vector, grace_of
from widemargin.runtime import cache_bytes, thread_count
from widemargin.solvers import Solver, as_solver
from widemargin.solvers.base import MINIMUM_NORM, ONE_CLASS_MARGIN
from widemargin.solvers.choice import require_able

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

#: Parameters that kernel objects have by themselves, and their defaults.
NUMBERS_OF_NAMED_KERNELS: dict[str, Any] = {"gamma": "scale", "coef0": 0.0, "degree": 3}

#: Megabytes whose bytes the core can count.
LARGEST_CACHE = 2**40

#: Iterations that the core can count; nobody sees more of them.
MOST_ITERATIONS = 2**63 - 1

#: Arguments of scikit-learn's check of examples; finiteness is checked afterwards, to name the column and the row.
NUMBERS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "order": "C",
    "accept_sparse": "csr",
    "ensure_all_finite": False,
}


class KernelMachine(KernelPrediction, BaseEstimator):  # type: ignore[misc]
    """Parameters and steps of a fit that do not depend on what is learnt.

    A subclass stores the parameters below and its own in ``__init__``, adds its own checks to
    :meth:`_check_parameters`, and writes ``fit`` from the methods here. Warnings point at the line that called ``fit``
    if ``fit`` itself, and none of its helpers, calls :meth:`_warn_of_unused_gamma`, :meth:`_checked_kernel` and
    :meth:`_tell`.
    """

    degree: int
    gamma: float | str
    coef0: float
    shrinking: bool
    tol: float
    cache_size: float | str
    verbose: bool
    max_iter: int | str
    max_time: float | None
    solver: str | Solver

    shape_fit_: tuple[int, ...]
    fit_report_: FitReport
    fit_status_: int
    n_iter_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _missing(self) -> dict[str, str]:
        """Name what solvers may need that this model's problem does not offer, and what would offer it."""
        return {
            MINIMUM_NORM: "SVC with loss='squared_hinge' and fit_intercept=False, or a one-class model",
            ONE_CLASS_MARGIN: "OneClassSVM with loss='squared_hinge'",
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, of its kernel and of its solver, which may be given by name.

        Parameters
        ----------
        **params : dict
            Values by name, ``solver__planning_ahead`` and the like for parts.

        Returns
        -------
        estimator
            The estimator itself.
        """
        solver = params.get("solver", self.solver)
        if isinstance(solver, str) and any(name.startswith("solver__") for name in params):
            params = {**params, "solver": as_solver(solver)}
        super().set_params(**params)
        return self

    def _check_parameters(self) -> None:
        """Refuse values of the shared parameters that mean nothing."""
        if is_kernel_object(self.kernel):
            self._check_kernel_object()
        elif not callable(self.kernel):
            require_choice("kernel", self.kernel, KERNELS)
        require_number("degree", self.degree, at_least=0, at_most=LARGEST_DEGREE, integer=True)
        if not isinstance(self.gamma, str):
            require_number("gamma", self.gamma, at_least=0)
        else:
            require_choice("gamma", self.gamma, ("scale", "auto"))
        require_number("coef0", self.coef0)
        require_number("tol", self.tol, above=0)
        if self.cache_size != "auto":
            require_number("cache_size", self.cache_size, above=0, at_most=LARGEST_CACHE)
        if self.max_iter not in ("auto", -1):
            require_number("max_iter", self.max_iter, at_least=0, integer=True)
        if self.max_time is not None:
            require_number("max_time", self.max_time, above=0)
        require_able(self.solver, self._missing()).options()
        if self.n_jobs is not None:
            thread_count(self.n_jobs)
        for flag in ("shrinking", "verbose"):
            require_flag(flag, getattr(self, flag))

    def _warn_of_unused_gamma(self) -> None:
        """Warn, at the line that called ``fit``, if there is a gamma that makes no difference."""
        if leaves_gamma_unused(self.kernel, self.gamma):
            warnings.warn(
                f"gamma={self.gamma!r} makes no difference to kernel='{self.kernel}', which has no such parameter; "
                "leave it at 'scale', or choose another kernel.",
                UnusedGammaWarning,
                stacklevel=3,
            )

    def _check_kernel_object(self) -> None:
        """Refuse kernel objects that machines cannot use, and numbers that are meant for kernels by name."""
        as_kernel(self.kernel)
        for name, default in NUMBERS_OF_NAMED_KERNELS.items():
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for kernels by name; kernel={self.kernel!r} has parameters of "
                    f"its own, and {name} must be left at {default!r}."
                )

    def _check_examples(self, X: Any) -> Any:
        """Check examples that come without targets: numbers become float32 or float64, C-ordered or CSR."""
        self._note_kind(X)
        if self._takes_objects:
            require_examples(X, self)
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return X
        X = validate_data(self, X, **NUMBERS)
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _check_examples_and_labels(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Check examples as :meth:`_check_examples` does, and one target of any type for each."""
        self._note_kind(X)
        if self._takes_objects:
            require_examples(X, self)
            check_consistent_length(X, y)
            y = validate_data(self, "no_validation", y)
            self.__dict__.pop("n_features_in_", None)
            return X, y
        X, y = validate_data(self, X, y, **NUMBERS)
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        return X, y

    def _check_examples_and_numbers(self, X: Any, y: Any) -> tuple[Any, Vector]:
        """Check examples as :meth:`_check_examples` does, and one finite float64 number for each."""
        X, y = self._check_examples_and_labels(X, y)
        try:
            if y.dtype.kind not in "biufOSU":
                raise TypeError(f"its type is {y.dtype}")
            numbers = np.ascontiguousarray(y, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as failure:
            raise ValueError(f"y must hold one real number for every row of X ({failure}).") from failure
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise ValueError(f"y contains {numbers[row]} at row {row}; only finite numbers are accepted.")
        return X, numbers

    def _note_kind(self, X: Any) -> None:
        """Tell numbers from the objects that only a callable kernel takes."""
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        for_vectors = is_kernel_object(self.kernel) and as_kernel(self.kernel).requires_vector_input
        self._takes_objects = callable(self.kernel) and not for_vectors and not is_numeric(X)

    def _checked_kernel(self, X: Any, weights: Vector, *, tell: bool = True) -> KernelParameters:
        """Resolve the kernel for checked examples and their weights; warn, or not, if the two do not suit each other.

        Kernel values that depend on the order of the examples are refused.
        """
        if self.kernel == "precomputed":
            require_gram(X)
            if tell:
                warn_if_indefinite(X)
        names = getattr(self, "feature_names_in_", None)
        found = resolve_kernel(self.kernel, self.gamma, self.coef0, self.degree, X, weights, names, tell=tell)
        if callable(found.kernel):
            require_symmetric(found.kernel, X)
        return found

    def _row_source(self, X: Any, kernel: KernelParameters) -> RowSource:
        """Kernel rows of checked examples, refused where their values leave the range of the arithmetic.

        Rows of a kernel object that the core cannot compute cost a call each: where the cache has room for all of them,
        and nobody waits with a clock, they are computed at once.
        """
        rows, n = kernel.rows_of(X), count(X)
        require_moderate_diagonal(rows, kernel)
        at_once = isinstance(kernel.kernel, FixedKernel) and self.max_time is None
        if at_once and 8 * n**2 <= cache_bytes(self.cache_size, n, "float64"):
            return source_at_once(cast(FixedKernel, kernel.kernel), X)
        return rows

    def _stop_rule(self, n: int, elapsed: float) -> StopRule:
        """Tolerance and budgets for `n` examples, after some seconds of the fit have passed."""
        limit = max(10_000_000, 100 * n) if self.max_iter == "auto" else min(int(self.max_iter), MOST_ITERATIONS)
        return StopRule(
            tolerance=float(self.tol),
            max_iterations=None if limit == -1 else limit,
            max_seconds=None if self.max_time is None else float(self.max_time) - elapsed,
            grace_seconds=None if self.max_time is None else grace_of(float(self.max_time)),
        )

    def _solver_options(self, n: int) -> SolverOptions:
        """Parts of the solver, with cache for the kernel rows of `n` examples."""
        solver = as_solver(self.solver)
        return solver.options(
            shrinking=bool(self.shrinking),
            cache_bytes=cache_bytes(self.cache_size, n, solver.dtype),
            n_threads=thread_count(self.n_jobs),
        )

    def _keep_functions(
        self,
        X: Any,
        kernel: KernelParameters,
        *,
        support: NDArray[np.int32],
        n_support: NDArray[np.int32],
        dual_coef: Vector,
        intercept: Vector,
        report: FitReport,
    ) -> None:
        """Set the fitted attributes that prediction needs, in scikit-learn's layout, and what the fit says of itself.

        Parameters
        ----------
        X : checked examples
        kernel : KernelParameters
        support : ndarray of shape (n_SV,)
            Rows of the support vectors, sorted by group.
        n_support : ndarray of shape (groups,)
            Support vectors of each group: a class, or all.
        dual_coef : ndarray of shape (rows, n_SV)
            Dense; kept sparse if the examples are.
        intercept : ndarray of shape (functions,)
        report : FitReport
        """
        self._kernel_parameters = kernel
        self.support_ = support
        self.n_support_ = n_support
        self.dual_coef_ = sp.csr_matrix(dual_coef) if sp.issparse(X) else dual_coef
        self.intercept_ = intercept
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else take(X, support)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (count(X),)
        self.fit_report_ = report
        self.fit_status_ = int(not report.converged)
        precisions = {entry.precision for entry in report.begun}
        self._predict_in_double = kernel.of_examples and needs_double(
            kernel.mapped(self.support_vectors_), dual_coef, as_solver(self.solver).dtype, precisions
        )

    def _tell(self) -> None:
        """Print the report of the fit if asked to; warn if a problem was left before its tolerance was met."""
        if self.verbose:
            print(self.fit_report_)
        warn_of_early_ends(self.fit_report_, self.tol)


class SingleMachine(SinglePrediction, KernelMachine):
    """A kernel machine with one decision function: regression, one class."""

    n_iter_: int

    def _keep_function(
        self, X: Any, kernel: KernelParameters, *, coefficients: Vector, intercept: float, outcome: Outcome
    ) -> None:
        """Set the fitted attributes of the function sum_n coefficients[n] k(x_n, x) + intercept.

        Parameters
        ----------
        X : checked examples
        kernel : KernelParameters
        coefficients : ndarray of shape (n_samples,)
            Those other than 0 make the support vectors.
        intercept : float
        outcome : Outcome
            How the solve ended.
        """
        support = np.flatnonzero(coefficients).astype(np.int32)
        self._keep_functions(
            X,
            kernel,
            support=support,
            n_support=np.array([len(support)], dtype=np.int32),
            dual_coef=np.ascontiguousarray(coefficients[support], dtype=np.float64)[np.newaxis],
            intercept=np.array([intercept], dtype=np.float64),
            report=FitReport.of_one(outcome, len(support)),
        )
        self.n_iter_ = outcome.iterations
