"""Support vector classification."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin import _core
from widemargin._runtime import cache_bytes, single_threaded_blas, thread_count
from widemargin.estimators.report import FitReport, PairReport
from widemargin.estimators.validation import (
    check_weights,
    require_choice,
    require_finite,
    require_flag,
    require_gram,
    require_number,
)
from widemargin.kernels import KernelParameters, examples, row_source
from widemargin.kernels.rows import KernelCallable, call_kernel
from widemargin.machines.classifier import PairSolution, gather_votes, solve_pairs, starting_points
from widemargin.machines.dual import SELECTIONS, SOLVERS, SolverOptions, StopRule

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


class SVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""C-support vector classification, exact and certified.

    For each pair of classes, with labels :math:`y_n = \pm 1`, the machine minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_n C_n \max(0, 1 - y_n(\langle w, \phi(x_n)\rangle + b)),

    by solving its dual (maximise :math:`y'a - a'Ka/2` over :math:`\sum a = 0`, :math:`0 \le y_n a_n \le C_n`)
    [Glasmachers2008, eq. 4.1] until no pair of variables violates the optimality conditions by more than `tol`, measured on
    a gradient recomputed in float64. :math:`C_n` is `C` times class weight times sample weight.

    Training touches the kernel rows of support vectors and of passing candidates only: between n_SV n d and n^2 d
    operations, n_SV n numbers of cache where memory allows. Prediction costs n_SV d operations a row.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin error. ``inf`` asks for a hard margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two arrays of examples and returns the matrix of kernel values between them.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Leave variables that stay at their bounds aside while solving.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel rows; "auto" takes what the problem needs, at most a quarter of the free memory.
    class_weight : dict or "balanced", default=None
        Multiplies `C` for the examples of a class.
    verbose : bool, default=False
        Print the fit report.
    max_iter : "auto" or int, default="auto"
        Limit on solver steps per pair of classes; "auto" is max(10^7, 100 n), -1 means none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of :meth:`decision_function` for more than two classes: one a class, or one a pair.
    break_ties : bool, default=True
        Break ties between votes by confidence; otherwise the first of the tied classes wins.
    random_state : int, RandomState instance or None, default=None
        Has no effect, since training uses no random numbers; it is there so that scikit-learn's signature keeps working.
    n_jobs : int, default=None
        Threads for training and prediction; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds after which training returns the best machine so far.
    warm_start : bool, default=False
        Start from the last solution if the new data have as many rows and the same classes, else from zero.
    solver : {"auto", "smo", "block"}, default="auto"
        Two variables at a time, or blocks of rows; "auto" chooses by size.
    selection : {"auto", "most-violating-pair", "second-order", "maximum-gain"}, default="auto"
        Working-set selection [Glasmachers2008, eq. 4.5, eq. 4.7, Algorithm 6.1]; "auto" is "second-order" where the kernel
        fits the cache and "maximum-gain" where it does not.
    planning_ahead : int, default=1
        Plan steps with this many recent working sets [Glasmachers2008, chapter 7]; 0 takes plain Newton steps.
    dtype : {"float32", "float64"}, default="float32"
        Storage of kernel values while solving. Where float32 does not reach `tol`, float64 takes over by itself.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Rows of the support vectors in the training data, sorted by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors (empty for a precomputed kernel).
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Signed coefficients, in scikit-learn's layout.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the decision functions.
    coef_ : ndarray
        Weights of the features, for the linear kernel.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of `C` for each class.
    fit_report_ : FitReport
        Per binary problem: reason of the end, violation, duality gap, objective, steps, kernel values, seconds.
    fit_status_ : int
        0 if every binary problem was solved to `tol`, 1 otherwise.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Solver steps of each pair.
    shape_fit_ : tuple
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, if the data had any.

    References
    ----------
    [Glasmachers2008]_ chapters 2 to 7; keys are those of ``references.bib``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10, gamma=0.1).fit(X, y)
    >>> model.score(X, y)
    0.98
    >>> model.fit_report_.converged
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | KernelCallable = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        max_iter: int | str = "auto",
        decision_function_shape: str = "ovr",
        break_ties: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        selection: str = "auto",
        planning_ahead: int = 1,
        dtype: str = "float32",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.solver = solver
        self.selection = selection
        self.planning_ahead = planning_ahead
        self.dtype = dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The examples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of `C`. Weight 0 is the same as leaving the row out, weight 2 the same as repeating it.

        Returns
        -------
        SVC
            The estimator itself.
        """
        self._check_parameters()
        X, labels = self._check_training_data(X, y)
        n, n_classes = X.shape[0], len(self.classes_)
        weights = check_weights(sample_weight, n, X.dtype)
        if len(np.unique(labels[weights > 0])) < 2:
            raise ValueError("Invalid input - all samples with positive weights belong to the same class; two are needed.")
        self.class_weight_ = self._class_factors(labels, weights)
        bounds = np.where(weights > 0, self.C, 0.0) * np.where(weights > 0, weights * self.class_weight_[labels], 1.0)
        kernel = self._resolve_kernel(X, weights)
        rows = row_source(X, kernel=kernel.kernel, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree)
        self._check_magnitude(rows, kernel)

        warm = self.warm_start and getattr(self, "_warm_key", None) == (n, self.classes_.tolist())
        machines = solve_pairs(
            rows,
            labels,
            n_classes,
            bounds,
            stop=self._stop_rule(n),
            options=self._solver_options(n),
            starts=self._warm_starts if warm else None,
        )
        if self.warm_start:
            self._warm_key = (n, self.classes_.tolist())
            self._warm_starts = starting_points(machines, n)
        self._keep(machines, X, labels, kernel)
        self._speak_up(machines)
        return self

    def _check_parameters(self) -> None:
        require_number("C", self.C, above=0, infinite=True)
        if not callable(self.kernel):
            require_choice("kernel", self.kernel, KERNELS)
        require_number("degree", self.degree, at_least=0, integer=True)
        if not isinstance(self.gamma, str):
            require_number("gamma", self.gamma, at_least=0)
        else:
            require_choice("gamma", self.gamma, ("scale", "auto"))
        require_number("coef0", self.coef0)
        require_number("tol", self.tol, above=0)
        if self.cache_size != "auto":
            require_number("cache_size", self.cache_size, above=0)
        if self.max_iter not in ("auto", -1):
            require_number("max_iter", self.max_iter, at_least=0, integer=True)
        if self.max_time is not None:
            require_number("max_time", self.max_time, above=0)
        require_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        require_choice("solver", self.solver, ("auto", *SOLVERS))
        require_choice("selection", self.selection, ("auto", *SELECTIONS))
        require_number("planning_ahead", self.planning_ahead, at_least=0, integer=True)
        require_choice("dtype", self.dtype, ("float32", "float64"))
        for flag in ("shrinking", "break_ties", "warm_start", "verbose"):
            require_flag(flag, getattr(self, flag))
        if isinstance(self.class_weight, str):
            require_choice("class_weight", self.class_weight, ("balanced",))

    def _check_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[np.intp]]:
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_all_finite=False
        )
        require_finite(X, getattr(self, "feature_names_in_", None))
        if self.kernel == "precomputed":
            require_gram(X)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes; got 1 class, {self.classes_[0]!r}, in all {len(y)} rows.")
        return X, labels

    def _class_factors(self, labels: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.class_weight == "balanced":
            per_class = np.bincount(labels, weights=weights, minlength=len(self.classes_))
            present = per_class > 0
            factors = np.ones(len(self.classes_))
            factors[present] = weights.sum() / (present.sum() * per_class[present])
            return factors
        given = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[labels])
        factors = np.asarray(given, dtype=np.float64)
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise ValueError(f"class_weight must hold finite numbers of at least 0; got {self.class_weight!r}.")
        return factors

    def _resolve_kernel(self, X: Any, weights: NDArray[np.float64]) -> KernelParameters:
        gamma = 1.0
        if not callable(self.kernel) and self.kernel in ("rbf", "poly", "sigmoid"):
            if self.gamma == "scale":
                variance = weighted_variance(X, weights)
                gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
            elif self.gamma == "auto":
                gamma = 1.0 / X.shape[1]
            else:
                gamma = float(self.gamma)
        return KernelParameters(self.kernel, gamma, float(self.coef0), int(self.degree))

    def _check_magnitude(self, rows: Any, kernel: KernelParameters) -> None:
        if kernel.kernel not in ("linear", "poly"):
            return
        diagonal = rows.diagonal()
        largest = float(np.abs(diagonal).max())
        if not largest < 1e30:
            row = int(np.abs(diagonal).argmax())
            raise ValueError(
                f"kernel={kernel.kernel!r} reaches {largest:.3g} at row {row} of X, too large to compute with; "
                "scale X (for example to unit variance) or lower gamma, coef0 or degree."
            )

    def _stop_rule(self, n: int) -> StopRule:
        limit = max(10_000_000, 100 * n) if self.max_iter == "auto" else None if self.max_iter == -1 else int(self.max_iter)
        return StopRule(float(self.tol), limit, None if self.max_time is None else float(self.max_time))

    def _solver_options(self, n: int) -> SolverOptions:
        return SolverOptions(
            solver=self.solver,
            selection=self.selection,
            planning_ahead=int(self.planning_ahead),
            shrinking=bool(self.shrinking),
            dtype=self.dtype,
            cache_bytes=cache_bytes(self.cache_size, n, self.dtype),
            n_threads=thread_count(self.n_jobs),
        )

    def _keep(self, machines: list[PairSolution], X: Any, labels: NDArray[np.intp], kernel: KernelParameters) -> None:
        n_classes = len(self.classes_)
        votes = gather_votes(machines, labels, n_classes)
        # One sign convention inside (the first class of a pair is positive); scikit-learn's binary machines point the other way.
        sign = -1.0 if n_classes == 2 else 1.0
        self._kernel_parameters = kernel
        self.support_ = votes.support
        self.n_support_ = votes.n_support
        self.dual_coef_ = sign * votes.dual_coef
        self.intercept_ = sign * votes.intercept
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[votes.support]
        self.shape_fit_ = X.shape
        self.fit_report_ = FitReport(
            PairReport(
                classes=(self.classes_[m.pair[0]], self.classes_[m.pair[1]]),
                reason=m.outcome.reason,
                kkt_violation=m.outcome.kkt_violation,
                duality_gap=m.outcome.duality_gap,
                objective=m.outcome.objective,
                iterations=m.outcome.iterations,
                kernel_evaluations=m.outcome.kernel_evaluations,
                seconds=m.outcome.seconds,
                n_support=int(np.count_nonzero(m.solution.alpha)),
            )
            for m in machines
        )
        self.n_iter_ = np.array([entry.iterations for entry in self.fit_report_], dtype=np.int64)
        self.fit_status_ = int(not self.fit_report_.converged)
        # A float32 kernel that could not certify the machine would not do for predicting with it either.
        self._predict_in_double = self.dtype == "float64" or bool(np.abs(self.dual_coef_).max(initial=0.0) > 1e4)

    def _speak_up(self, machines: list[PairSolution]) -> None:
        if self.verbose:
            print(self.fit_report_)
        late = [entry for entry in self.fit_report_ if entry.reason != "converged"]
        if late:
            worst = max(late, key=lambda entry: entry.kkt_violation)
            warnings.warn(
                f"Training ended before the tolerance was met ({worst.reason}) in {len(late)} of {len(self.fit_report_)} binary "
                f"problems; the best machine found is kept, its worst violation is {worst.kkt_violation:.3g} (tol={self.tol:g}) "
                f"with a duality gap of {worst.duality_gap:.3g} at objective {worst.objective:.6g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        soft = [m for m in machines if not m.hard_margin_reached]
        if soft:
            first, second = (self.classes_[c] for c in soft[0].pair)
            warnings.warn(
                f"C=inf asks for a hard margin, but classes {first!r} and {second!r} are not separable with this kernel (or only by "
                "a margin too thin to compute); the machine kept is a soft-margin one with a very large finite C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------ prediction

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Decision values of all pairs, shape (n, pairs); positive for the first class of a pair, binary machines too."""
        check_is_fitted(self)
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_all_finite=False, reset=False
        )
        require_finite(X, getattr(self, "feature_names_in_", None))
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        dual_coef = np.ascontiguousarray(sign * self.dual_coef_)
        if self._kernel_parameters.of_examples and len(self.support_):
            p = self._kernel_parameters
            support = row_source(self.support_vectors_, kernel=p.kernel, gamma=p.gamma, coef0=p.coef0, degree=p.degree)
            with single_threaded_blas():
                values = _core.decision_values(
                    support,
                    examples(X),
                    dual_coef,
                    [int(count) for count in self.n_support_],
                    self._predict_in_double,
                    thread_count(self.n_jobs),
                )
            return np.asarray(values).T + sign * self.intercept_
        if not len(self.support_):
            return np.tile(sign * self.intercept_, (X.shape[0], 1))
        if callable(self.kernel):
            K = call_kernel(self.kernel, X, self.support_vectors_)
        else:
            K = X[:, self.support_].astype(np.float64)
        return self._vote_values(K, dual_coef) + sign * self.intercept_

    def _vote_values(self, K: NDArray[np.float64], dual_coef: NDArray[np.float64]) -> NDArray[np.float64]:
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        columns = []
        for a in range(len(self.classes_)):
            for b in range(a + 1, len(self.classes_)):
                first, second = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
                columns.append(K[:, first] @ dual_coef[b - 1, first] + K[:, second] @ dual_coef[a, second])
        return np.column_stack(columns)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
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

    def _confidences(self, pair_values: NDArray[np.float64]) -> NDArray[np.float64]:
        confidences: NDArray[np.float64] = _ovr_decision_function(pair_values < 0, -pair_values, len(self.classes_))
        return confidences

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
            pairs = [(a, b) for a in range(len(self.classes_)) for b in range(a + 1, len(self.classes_))]
            for column, (a, b) in enumerate(pairs):
                votes[:, a] += values[:, column] > 0
                votes[:, b] += values[:, column] <= 0
            winners = votes.argmax(axis=1)
        return self.classes_[winners]

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row a pair; only for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        weights = []
        for a in range(len(self.classes_)):
            for b in range(a + 1, len(self.classes_)):
                first, second = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
                weight = self.dual_coef_[b - 1, first] @ self.support_vectors_[first]
                weights.append(weight + self.dual_coef_[a, second] @ self.support_vectors_[second])
        return np.vstack([np.asarray(w).ravel() for w in weights])


def weighted_variance(X: Any, weights: NDArray[np.float64]) -> float:
    """Variance of all entries of `X`, rows counted by their weights."""
    if np.all(weights == weights[0]):
        if not sp.issparse(X):
            return float(X.var())
        mean = X.mean()
        return float(X.multiply(X).mean() - mean * mean)
    share = weights / (weights.sum() * X.shape[1])
    mean = float(share @ np.asarray(X.sum(axis=1)).ravel())
    if sp.issparse(X):
        return float(share @ np.asarray(X.multiply(X).sum(axis=1)).ravel()) - mean * mean
    return float(share @ np.square(X - mean).sum(axis=1))
