"""Support vector classification."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from widemargin._runtime import cache_bytes, thread_count
from widemargin.estimators.prediction import PairwisePrediction, needs_double
from widemargin.estimators.report import FitReport, plain, warn_of_early_ends, warn_of_missing_margins
from widemargin.estimators.scale import require_moderate_diagonal, resolve_kernel
from widemargin.estimators.validation import (
    check_weights,
    is_numeric,
    require_choice,
    require_finite,
    require_flag,
    require_gram,
    require_number,
    require_symmetric,
    warn_if_indefinite,
)
from widemargin.kernels import KernelParameters, row_source
from widemargin.kernels.rows import KernelCallable, count, take
from widemargin.machines.classifier import Pair, PairSolution, gather_votes, rescaled, solve_pairs, starting_points
from widemargin.machines.dual import SELECTIONS, SOLVERS, SolverOptions, StopRule, Vector

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


class SVC(PairwisePrediction, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""C-support vector classification, exact and certified.

    For each pair of classes, with labels :math:`y_n = \pm 1`, the machine minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_n C_n \max(0, 1 - y_n(\langle w, \phi(x_n)\rangle + b)),

    by solving its dual (maximise :math:`y'a - a'Ka/2` over :math:`\sum a = 0`, :math:`0 \le y_n a_n \le C_n`)
    [Glasmachers2008, eq. 4.1] until no pair of variables violates the optimality conditions by more than `tol`,
    measured on a gradient recomputed in float64. :math:`C_n` is `C` times class weight times sample weight.

    Training touches the kernel rows of support vectors and of passing candidates only: between n_SV n d and n^2 d
    operations, n_SV n numbers of cache where memory allows. Prediction costs n_SV d operations a row.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin error. ``inf`` asks for a hard margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two blocks of examples and returns the matrix of kernel values between them; its examples may be
        anything: strings, graphs, rows of numbers.
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
        Has no effect, since training uses no random numbers; there so that scikit-learn's signature keeps working.
    n_jobs : int, default=None
        Threads for training and prediction; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds after which training returns the best machine so far, all pairs of classes together.
    warm_start : bool, default=False
        Start from the last solution, scaled to the new bounds, if the new data have as many rows and the same classes.
    solver : {"auto", "smo", "block"}, default="auto"
        Two variables at a time, or blocks of rows; "auto" computes rows in blocks while they are new, then takes single
        steps, and Newton steps on all free variables at once where these are few.
    selection : {"auto", "most-violating-pair", "second-order", "maximum-gain"}, default="auto"
        Working-set selection [Glasmachers2008, eq. 4.5, eq. 4.7, Algorithm 6.1]; "auto" is "second-order", but for
        ``solver="smo"`` with a kernel that does not fit the cache, where it is "maximum-gain".
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
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Signed coefficients, in scikit-learn's layout; sparse after training on sparse examples.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the decision functions.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, for the linear kernel; sparse after training on sparse examples.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of `C` for each class.
    fit_report_ : FitReport
        Per binary problem: reason of the end, violation, duality gap, objective, steps, kernel values, seconds,
        precision of the kernel values that the tolerance needed.
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
    >>> round(model.score(X, y), 3)
    0.987
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
        began = time.perf_counter()
        self._check_parameters()
        X, labels = self._check_training_data(X, y)
        n = count(X)
        weights = check_weights(sample_weight, n)
        if len(np.unique(labels[weights > 0])) < 2:
            raise ValueError("Invalid input - all samples with positive weights belong to the same class; two needed.")
        self._check_kernel_values(X)
        self.class_weight_ = self._class_factors(labels, weights)
        bounds = np.where(weights > 0, self.C, 0.0) * np.where(weights > 0, weights * self.class_weight_[labels], 1.0)
        names = getattr(self, "feature_names_in_", None)
        kernel = resolve_kernel(self.kernel, self.gamma, self.coef0, self.degree, X, weights, names)
        rows = row_source(X, kernel=kernel.kernel, gamma=kernel.gamma, coef0=kernel.coef0, degree=kernel.degree)
        require_moderate_diagonal(rows, kernel)
        machines = solve_pairs(
            rows,
            labels,
            len(self.classes_),
            bounds,
            stop=self._stop_rule(n, time.perf_counter() - began),
            options=self._solver_options(n),
            starts=self._starts(bounds),
        )
        if self.warm_start:
            self._last = (self.classes_.tolist(), bounds, starting_points(machines, n))
        self._keep(machines, X, labels, kernel)
        if self.verbose:
            print(self.fit_report_)
        warn_of_early_ends(self.fit_report_, self.tol)
        warn_of_missing_margins(machines, self.classes_)
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
        thread_count(self.n_jobs)
        for flag in ("shrinking", "break_ties", "warm_start", "verbose"):
            require_flag(flag, getattr(self, flag))
        if isinstance(self.class_weight, str):
            require_choice("class_weight", self.class_weight, ("balanced",))

    def _check_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[np.intp]]:
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        self._takes_objects = callable(self.kernel) and not is_numeric(X)
        if self._takes_objects:
            check_consistent_length(X, y)
            y = validate_data(self, "no_validation", y)
            self.__dict__.pop("n_features_in_", None)
        else:
            X, y = validate_data(
                self, X, y, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_all_finite=False
            )
            require_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes; got 1 class, {plain(self.classes_[0])!r}, in all {len(y)} rows."
            )
        return X, labels

    def _check_kernel_values(self, X: Any) -> None:
        if self.kernel == "precomputed":
            require_gram(X)
            warn_if_indefinite(X)
        elif callable(self.kernel):
            require_symmetric(self.kernel, X)

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

    def _starts(self, bounds: Vector) -> dict[Pair, Vector] | None:
        """Where to start: the last solution, scaled to the new bounds, if it has as many rows and the same classes."""
        if not self.warm_start or not hasattr(self, "_last"):
            return None
        classes, old_bounds, starts = self._last
        if len(old_bounds) != len(bounds) or classes != self.classes_.tolist():
            return None
        return rescaled(starts, old_bounds, bounds)

    def _stop_rule(self, n: int, elapsed: float) -> StopRule:
        limit = max(10_000_000, 100 * n) if self.max_iter == "auto" else int(self.max_iter)
        return StopRule(
            tolerance=float(self.tol),
            max_iterations=None if limit == -1 else limit,
            max_seconds=None if self.max_time is None else max(0.0, float(self.max_time) - elapsed),
        )

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
        # One sign convention inside: the first class of a pair is positive. scikit-learn's binary machines point the
        # other way.
        sign = -1.0 if n_classes == 2 else 1.0
        dual_coef = sign * votes.dual_coef
        self._kernel_parameters = kernel
        self.support_ = votes.support
        self.n_support_ = votes.n_support
        self.dual_coef_ = sp.csr_matrix(dual_coef) if sp.issparse(X) else dual_coef
        self.intercept_ = sign * votes.intercept
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else take(X, votes.support)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (count(X),)
        self.fit_report_ = FitReport.of(machines, self.classes_)
        self.n_iter_ = np.array([entry.iterations for entry in self.fit_report_], dtype=np.int64)
        self.fit_status_ = int(not self.fit_report_.converged)
        precisions = {entry.precision for entry in self.fit_report_}
        self._predict_in_double = kernel.of_examples and needs_double(
            self.support_vectors_, dual_coef, self.dtype, precisions
        )
