"""Support vector classification with a bound on the share of margin errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.calibration import (
    FOLDS,
    CalibratedClassifier,
    fitted_sigmoids,
    joined,
    warn_of_early_folds,
)
from widemargin.estimators.out_of_fold import content_folds
from widemargin.estimators.report import plain
from widemargin.estimators.validation import Accepts, require_choice, require_fraction, warn_if_gamma_is_unused
from widemargin.kernels.rows import RowSource
from widemargin.kernels.spread import moderate
from widemargin.machines.classifier import PairSamples, PairSolution, classes_present
from widemargin.machines.dual import Vector
from widemargin.machines.held_out import Folds, HeldOutValues, held_out_values
from widemargin.machines.nu_classifier import solve_nu_pairs, starting_points_in_weights, tightest_pair
from widemargin.runtime.callbacks import fit_task, is_awaited


@dataclass(kw_only=True, repr=False, eq=False)
class NuSVC(CalibratedClassifier):
    r"""Support vector classification with `nu` in place of C: exact, with a certificate.

    For each pair of classes, with labels :math:`y_n = \pm 1` and weights :math:`v_n`, the model minimises

    .. math::
        \tfrac12 \|w\|^2 - \nu \rho \sum_n v_n
        + \sum_n v_n \max(0, \rho - y_n(\langle w, \phi(x_n)\rangle + b))

    [Chang2011, section 2.2]. It solves the dual problem: minimise :math:`a'Ka/2` over :math:`0 \le y_n a_n \le v_n`
    with a constant sum for each class, :math:`\pm\tfrac{\nu}{2} \sum v`. Whatever `tol` is, margin errors carry at most
    the fraction `nu` of the weight (their coefficients are at their bounds; all other samples have :math:`y_n f(x_n)
    \ge 1` up to rounding), and support vectors at least this fraction. Divided by :math:`\rho`, the model has margin 1:
    it is that of :class:`~widemargin.SVC` with :math:`C_n = v_n / \rho`, and `tol` and the fit report are in its units.
    :math:`v_n` is class weight times sample weight.

    `nu` cannot exceed twice the fraction of the lighter class of any pair, counted by weight; otherwise it is refused
    before any kernel value is computed. If `nu` is so small that the classes overlap (their convex hulls, with no
    sample weighing more than :math:`v_n`, meet or come closer than a thousandth of `tol`, in units of the largest
    :math:`\rho` that weights and kernel admit), no margin exists: :math:`\rho` counts as 0, the report of that pair is
    in these units, and a warning says so. If a class has no coefficient strictly between its bounds, its border is in
    the middle of all optimal ones.

    The first iteration needs the kernel rows of a fraction `nu` of the samples; from there on training costs what it
    costs for :class:`~widemargin.SVC`: between n_SV n d and n^2 d operations. Predicting a sample takes n_SV d.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1: an upper bound on the fraction of margin errors and a lower bound on the fraction of
        support vectors.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the margin.
    class_weight : dict or "balanced", default=None
        Multiplies the weights of the samples of a class, as if they occurred that often; "balanced" makes every `nu`
        feasible. (scikit-learn's class of this name accepts it and ignores it.)
    solver : {"auto", "smo", "block"} or Solver, default="auto"
        How the dual problems are solved: a name, or an object of :mod:`widemargin.solvers`.
    probability : bool, default=False
        Make probabilities (:meth:`predict_proba`): the same as ``calibration="folds"``.
    calibration : {"folds"} or None, default=None
        See :class:`~widemargin.SVC`; the models without a fold have the C, :math:`v_n / \rho`, of the model of all
        samples. A pair of classes without a margin has probability 1/2.
    calibration_method : {"slope", "platt"}, default="slope"
        See :class:`~widemargin.SVC`.
    kernel, degree, gamma, coef0, shrinking, cache_size, verbose, max_iter
        See :class:`~widemargin.SVC`.
    decision_function_shape, break_ties, random_state, n_jobs, max_time, warm_start
        See :class:`~widemargin.SVC`.

    Attributes
    ----------
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts of the decision functions.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of the weights for each class.
    fit_report_ : FitReport
        As for :class:`~widemargin.SVC`; violation, gap and objective are those of the model with margin 1.
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, sigmoids_, probA_, probB_
        See :class:`~widemargin.SVC`.
    fit_status_, n_iter_, shape_fit_, n_features_in_, feature_names_in_
        See :class:`~widemargin.SVC`.

    References
    ----------
    [Chang2011]_ section 2.2, [Glasmachers2008]_ chapters 2 to 7; keys are those of ``references.bib``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.987
    >>> model.fit_report_.converged
    True
    """

    nu: float = 0.5

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **CalibratedClassifier._accepts,
        "nu": require_fraction,
        "calibration": partial(require_choice, choices=(None, FOLDS)),
    }

    _or_in_a_search: ClassVar[str] = ""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the samples `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The samples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the sample out, weight 2 the same as repeating it.

        Returns
        -------
        NuSVC
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y, sample_weight):
                return self.fit(X, y, sample_weight)
        began = time.perf_counter()
        self._check_parameters()
        warn_if_gamma_is_unused(self.kernel, self.gamma)
        calibrated = self._forget_calibration()
        X, labels, weights = self._check_training_data(X, y, sample_weight)
        self.class_weight_ = self._class_factors(labels, weights)
        with np.errstate(over="ignore"):
            weights_of_all = self._bounds(labels, weights * self.class_weight_[labels])

        kernel = self._checked_kernel(X, weights, rows_next=True)
        rows = self._row_source(X, kernel)
        how: Any = {"stop": self._stop_rule(len(labels), began), "options": self._solver_options(len(labels))}
        solutions = solve_nu_pairs(
            rows,
            labels,
            len(self.classes_),
            float(self.nu),
            weights_of_all,
            starts=self._starts(weights_of_all) if self.warm_start else None,
            **how,
        )

        scheme = self._scheme()
        left = scheme.names(classes_present(labels, weights_of_all))[len(solutions) :]
        self._keep_solutions(X, labels, weights_of_all, kernel, scheme, solutions, left)
        if self.warm_start:
            starts = starting_points_in_weights(solutions, weights_of_all, float(self.nu))
            self._last = (self.classes_.tolist(), weights_of_all, starts)
        if calibrated:
            problems = scheme.problems(labels, weights_of_all)[: len(solutions)]
            samples = None if self.kernel == "precomputed" or self._takes_objects else X
            folds = content_folds(samples, labels, weights_of_all)
            how["options"] = replace(how["options"], solver="auto", selection="auto")
            found = [
                self._held_out_values(rows, weights_of_all, folds, *pair, **how)
                for pair in zip(problems, solutions, strict=True)
            ]
            values, reasons = joined(found)
            warn_of_early_folds(reasons, stacklevel=3)
            self.sigmoids_ = fitted_sigmoids(self.calibration_method, scheme, problems, values, weights)
        self._tell(lambda: self._remark(X, labels, weights_of_all))
        self._warn_of_missing_margins(solutions)
        return self

    def _held_out_values(
        self, rows: RowSource, weights: Vector, folds: Folds, problem: PairSamples, solution: PairSolution, **how: Any
    ) -> HeldOutValues:
        """Decision values of a pair's samples by models of the same regularisation without their folds.

        The model of a pair is that of C = v / rho, and so are those without a fold. Where there is no margin, there is
        no such C, and nothing is known.
        """
        total = float(np.abs(solution.solution.alpha).sum())
        if not solution.hard_margin_found or total == 0.0:
            return HeldOutValues(np.full(len(problem.ids), np.nan), ())
        rho = float(self.nu) * float(weights[problem.ids].sum()) / total
        return held_out_values(rows, [problem], [solution], weights / rho, folds, **how)[0]

    def _bounds(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        if not np.isfinite(weights).all():
            row = int(np.flatnonzero(~np.isfinite(weights))[0])
            raise ValueError(f"class_weight times sample_weight exceeds float64 at sample {row}; lower one of them.")
        self._require_feasible(labels, weights)
        return moderate(weights)

    def _require_feasible(self, labels: NDArray[np.intp], weights: Vector) -> None:
        """Refuse a `nu` that asks for more weight than the lighter class of a pair has."""
        tightest = tightest_pair(labels, len(self.classes_), moderate(weights))
        if tightest is None or self.nu <= tightest[1] * (1.0 + 1e-12):
            return
        (first, second), largest = tightest
        names = [repr(plain(self.classes_[c])) for c in (first, second)]
        shares = [float(weights[labels == c].sum()) for c in (first, second)]
        raise ValueError(
            f"specified nu is infeasible: nu={self.nu:g} exceeds {largest:g}, the largest value for classes {names[0]} "
            f"and {names[1]}, whose weights are {shares[0]:g} and {shares[1]:g}."
        )

    def _warn_of_missing_margins(self, solutions: Sequence[PairSolution]) -> None:
        touching = [one for one in solutions if not one.hard_margin_found and one.outcome.reason == "converged"]
        if not touching:
            return
        first, second = (plain(self.classes_[c]) for c in touching[0].pair)
        warnings.warn(
            f"nu={self.nu:g} is too small for classes {first!r} and {second!r}: they overlap, so no margin "
            "exists; the model kept for them is not scaled to margin 1; raise nu.",
            ConvergenceWarning,
            stacklevel=3,
        )
