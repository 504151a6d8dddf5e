"""Support vector regression."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.base import KernelModel
from widemargin.estimators.validation import (
    LARGEST_SUM,
    UNLABELLED,
    Accepts,
    check_weights,
    priced,
    require_choice,
    require_flag,
    require_fraction,
    require_number,
    warn_if_gamma_is_unused,
)
from widemargin.kernels.rows import RowSource, count
from widemargin.machines.dual import Vector
from widemargin.machines.regression import LOSSES, Regression, rescaled_start, solve_nu_tube, solve_tube
from widemargin.runtime.callbacks import fit_task, is_awaited

#: Targets beyond this leave no room for sums of their products with coefficients.
LARGEST_TARGET = 1e100


@dataclass(kw_only=True, repr=False, eq=False)
class KernelRegressor(RegressorMixin, KernelModel):  # type: ignore[misc]
    """What the two models for regression share: checks of targets and weights, warm starts, prediction."""

    C: float = 1.0
    warm_start: bool = False
    n_iter_: int = field(init=False)
    _variables_per_row: ClassVar[int] = 1
    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **KernelModel._accepts,
        "warm_start": require_flag,
        "C": partial(require_number, above=0, infinite=True),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The samples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of `C`. Weight 0 is the same as leaving the sample out, weight 2 the same as repeating it.

        Returns
        -------
        SVR or NuSVR
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y, sample_weight):
                return self.fit(X, y, sample_weight)
        began = time.perf_counter()
        self._check_parameters()
        warn_if_gamma_is_unused(self.kernel, self.gamma)
        X, y, weights = self._check_training_data(X, y, sample_weight)
        n, bounds = count(X), self._bounds(weights)
        kernel = self._checked_kernel(X, weights, rows_next=True)
        machine = self._solve(
            self._row_source(X, kernel),
            y,
            bounds,
            stop=self._stop_rule(n, began),
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
        """Values of the function for the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._function_values(X).ravel()

    def _check_samples(self, X: Any, y: Any = UNLABELLED) -> tuple[Any, Any]:
        """Check samples as all models do, and one finite float64 number for each."""
        X, y = super()._check_samples(X, y)
        if y is UNLABELLED:
            return X, y
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

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Vector, Vector]:
        """Check samples, targets and weights."""
        X, y = self._check_samples(X, y)
        row = int(np.abs(y).argmax())
        if abs(y[row]) > LARGEST_TARGET:
            raise ValueError(f"y holds {y[row]:.3g} at row {row}, too large to compute with; scale y.")
        return X, y, check_weights(sample_weight, count(X))

    def _bounds(self, weights: Vector) -> Vector:
        """Largest coefficient of every sample."""
        squared = getattr(self, "loss", LOSSES[0]) == LOSSES[1]
        return priced(weights, self.C, f"loss='{LOSSES[1]}'" if squared else None)

    def _start(self, bounds: Vector) -> Vector | None:
        """Where to start: the last solution, scaled to the new bounds, if it has as many samples."""
        if not self.warm_start or not hasattr(self, "_last") or len(self._last[0]) != len(bounds):
            return None
        old_bounds, variables = self._last
        return rescaled_start(variables, old_bounds, bounds)

    @abstractmethod
    def _solve(self, rows: RowSource, y: Vector, bounds: Vector, **how: Any) -> Regression:
        """Train; `how` are the stop rule, options and start that the builders take."""


@dataclass(kw_only=True, repr=False, eq=False)
class SVR(KernelRegressor):
    r"""Support vector regression with a tube of given width: exact, with a certificate.

    The model minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_n C_n \ell(|y_n - f(x_n)|), \quad f(x) = \langle w, \phi(x)\rangle + b,

    where the loss is :math:`\ell(r) = \max(0, r - \epsilon)`, or its square. It solves the dual problem (maximise
    :math:`y'a - \epsilon \sum_n |a_n| - a'Ka/2` over :math:`\sum_n a_n = 0`, :math:`|a_n| \le C_n`) [Glasmachers2008,
    section 2.3, there with two variables per sample, one for each sign] until no pair of variables violates the
    optimality conditions by more than `tol`, measured on a gradient recomputed in float64. The squared loss has no
    :math:`C_n` in its bounds, but subtracts :math:`\sum_n a_n^2 / (4 C_n)` from the objective [Glasmachers2008, section
    2.2]. :math:`C_n` is `C` times sample weight.

    Multiplying y, epsilon, tol and, unless the loss is squared, C by s multiplies the function by s.

    Training computes kernel rows of support vectors and of a few other candidates only: between n_SV n d and n^2 d
    operations; a cached row holds n numbers. Predicting a sample takes n_SV d operations.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, kernel object or callable, default="rbf"
        Kernel objects, from ``widemargin.kernels`` or ``sklearn.gaussian_process.kernels``, have parameters of their
        own. A callable gets two blocks of samples and returns the matrix of kernel values between them; its samples may
        be anything: strings, graphs, vectors.
    degree, coef0 : int, default=3, and float, default=0.0
        Degree of the polynomial kernel; constant of "poly" and "sigmoid".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in the units of `y`.
    C : float, default=1.0
        Regularisation parameter: the price of leaving the tube. ``inf`` asks for the flattest function with all targets
        inside the tube, for either loss; a warning says so if there is none. The report is then that of a finite C
        which no coefficient reaches.
    epsilon : float, default=0.1
        Half width of the tube.
    shrinking : bool, default=True
        Set variables aside that stay at their bounds.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel rows; "auto" takes what the problem needs, at most a quarter of the free memory.
    verbose : bool, default=False
        Print the fit report.
    max_iter : "auto" or int, default="auto"
        Limit on iterations; "auto" is max(10^7, 100 n), -1 means none.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        What a target outside the tube costs: its distance from the tube, or the square of it.
    n_jobs : int, default=None
        Threads for training and prediction; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds after which training returns the best model so far. Computing its certificate takes at most 0.2 s and a
        fifth of the time more; where that is not enough, violation and gap in ``fit_report_`` are infinite, and the
        intercept is an estimate. A call of a kernel that takes longer is not interrupted.
    warm_start : bool, default=False
        Start from the last solution, scaled to the new bounds, if the new data have as many samples.
    solver : {"auto", "smo", "block"} or Solver, default="auto"
        How the dual problem is solved; objects of :mod:`widemargin.solvers` have options of their own, as in
        ``SMO(planning_ahead=0)``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training data: those on the edge of the tube or outside of it.
    support_vectors_, n_support_ : ndarray or sparse matrix of shape (n_SV, n_features), ndarray of shape (1,)
        The support vectors (empty for a precomputed kernel), and their number.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Coefficients of the support vectors; sparse after training on sparse samples.
    kernel_ : Kernel
        The kernel object with the parameters of the fit; also for "linear", "poly" and "rbf".
    intercept_ : ndarray of shape (1,)
        Intercept of the function.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        Weights of the features, for the linear kernel; sparse after training on sparse samples.
    fit_report_ : FitReport
        One entry: why the solver stopped, violation, duality gap (primal minus dual objective), dual objective,
        iterations, kernel evaluations, seconds, the precision of kernel values that the tolerance needed.
    fit_status_, n_iter_ : int
        0 if the problem was solved to `tol`, 1 otherwise; number of iterations.
    shape_fit_ : tuple
        Shape of the training data.
    n_features_in_, feature_names_in_ : int and ndarray
        Number of features, and their names if the data had any.

    References
    ----------
    [Glasmachers2008]_ sections 2.2, 2.3 and 4.1; keys are those of ``references.bib``.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> X = np.linspace(0.0, 6.0, 50)[:, np.newaxis]
    >>> model = SVR(C=10.0, gamma=1.0, epsilon=0.05).fit(X, np.sin(X.ravel()))
    >>> bool(np.abs(model.predict(X) - np.sin(X.ravel())).max() < 0.06)
    True
    >>> model.fit_report_.converged
    True
    """

    epsilon: float = 0.1
    loss: str = LOSSES[0]

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **KernelRegressor._accepts,
        "epsilon": partial(require_number, at_least=0),
        "loss": partial(require_choice, choices=LOSSES),
    }

    def _solve(self, rows: RowSource, y: Vector, bounds: Vector, **how: Any) -> Regression:
        return solve_tube(rows, y, bounds, epsilon=float(self.epsilon), loss=self.loss, **how)


@dataclass(kw_only=True, repr=False, eq=False)
class NuSVR(KernelRegressor):
    r"""Support vector regression that finds the width of its tube: exact, with a certificate.

    The model minimises, over :math:`w`, :math:`b` and :math:`\epsilon \ge 0`,

    .. math:: \tfrac12 \|w\|^2 + \sum_n C_n \big(\nu \epsilon + \max(0, |y_n - f(x_n)| - \epsilon)\big),
        \quad f(x) = \langle w, \phi(x)\rangle + b,

    through the dual problem (maximise :math:`y'\beta - \beta'K\beta/2` with :math:`\beta = a^+ + a^-` over
    :math:`\sum a^+ = -\sum a^- = \nu \sum_n C_n / 2`, :math:`0 \le a^+_n \le C_n`, :math:`-C_n \le a^-_n \le 0`)
    [Chang2011, section 2.5] until no pair of variables on the same side of the tube violates the optimality conditions
    by more than `tol`, measured on a gradient recomputed in float64. :math:`C_n` is `C` times sample weight. Whatever
    `tol` is, at most a fraction `nu` of the weight lies outside the tube (all other samples have :math:`|y_n - f(x_n)|
    \le \epsilon` up to rounding), and at least that fraction belongs to support vectors.
    :class:`SVR` with ``epsilon=model.epsilon_`` finds the same function.

    Costs are those of :class:`SVR`: between n_SV n d and n^2 d operations, and n_SV d to predict a sample; but cached
    kernel rows hold 2 n numbers, since every sample has two variables.

    Parameters
    ----------
    nu : float, default=0.5
        Largest fraction of samples outside the tube, in (0, 1].
    C : float, default=1.0
        Regularisation parameter: the price of leaving the tube; finite, since it is also the price of its width.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        See :class:`SVR`.
    n_jobs, max_time, warm_start, solver
        See :class:`SVR`.

    Attributes
    ----------
    epsilon_ : float
        Half width of the tube that was found.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        See :class:`SVR`.
    fit_report_, fit_status_, n_iter_, shape_fit_, n_features_in_, feature_names_in_
        See :class:`SVR`.

    References
    ----------
    [Chang2011]_ section 2.5, [Glasmachers2008]_ sections 2.3 and 4.1; keys are those of ``references.bib``.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVR
    >>> X = np.linspace(0.0, 6.0, 50)[:, np.newaxis]
    >>> noise = 0.1 * np.random.default_rng(0).normal(size=50)
    >>> model = NuSVR(nu=0.2, C=10.0, gamma=1.0).fit(X, np.sin(X.ravel()) + noise)
    >>> outside = np.abs(model.predict(X) - np.sin(X.ravel()) - noise) > model.epsilon_ + model.tol
    >>> bool(outside.mean() <= 0.2), bool(len(model.support_) >= 0.2 * 50)
    (True, True)
    """

    nu: float = 0.5
    epsilon_: float = field(init=False)
    _variables_per_row: ClassVar[int] = 2
    _accepts: ClassVar[Mapping[str, Accepts]] = {**KernelRegressor._accepts, "nu": require_fraction}

    def _bounds(self, weights: Vector) -> Vector:
        bounds = super()._bounds(weights)
        with np.errstate(over="ignore"):
            total = float(bounds.sum())
        if total > LARGEST_SUM:
            raise ValueError(
                f"C times sample_weight sums to {total:.3g}, too large to compute with; lower C or the weights until "
                f"the sum, which weighs the width of the tube, is at most {LARGEST_SUM:g}."
            )
        return bounds

    def _solve(self, rows: RowSource, y: Vector, bounds: Vector, **how: Any) -> Regression:
        machine = solve_nu_tube(rows, y, bounds, nu=float(self.nu), **how)
        self.epsilon_ = machine.epsilon
        return machine

    def _check_combination(self) -> None:
        super()._check_combination()
        if np.isinf(self.C):
            raise ValueError("C must be finite for NuSVR, which weighs the width of the tube with it, too; got inf.")


def warn_of_missing_tube(epsilon: float) -> None:
    """Warn in one sentence that no function with all targets inside the tube was found."""
    warnings.warn(
        f"C=inf asks for all targets inside the tube, but no function within epsilon={epsilon:g} of all of "
        "them was found with this kernel: none exists, or none was found within these budgets; the model "
        "kept is that of a very large finite C.",
        ConvergenceWarning,
        stacklevel=3,
    )
