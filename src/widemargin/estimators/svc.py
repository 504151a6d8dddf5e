"""Support vector classification."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.calibration import CalibratedClassifier, fitted_sigmoids, values_of_folds
from widemargin.estimators.multi_class import DECISIONS, SCHEMES
from widemargin.estimators.report import warn_of_missing_margin
from widemargin.estimators.validation import (
    Accepts,
    priced,
    require_choice,
    require_flag,
    require_number,
    warn_if_gamma_is_unused,
)
from widemargin.kernels.rows import RowSource
from widemargin.machines.classifier import (
    PairSamples,
    PairSolution,
    classes_present,
    solve_pairs,
    starting_points,
)
from widemargin.machines.dual import SolverOptions, StopRule, Vector
from widemargin.machines.minimum_norm import solve_minimum_norm_pairs
from widemargin.machines.one_against_all import Solves, solve_against_all
from widemargin.runtime.callbacks import fit_task, is_awaited
from widemargin.solvers import MINIMUM_NORM

LOSSES = ("hinge", "squared_hinge")


@dataclass(kw_only=True, repr=False, eq=False)
class SVC(CalibratedClassifier):
    r"""C-support vector classification: exact, with a certificate of how far the model is from the optimum.

    For each pair of classes (or each class against all others), with labels :math:`y_n = \pm 1`, the model minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_n C_n \max(0, 1 - y_n(\langle w, \phi(x_n)\rangle + b))^p,

    with :math:`p = 1` for ``loss="hinge"`` and :math:`p = 2` for ``loss="squared_hinge"``. It solves the dual problem:
    maximise :math:`y'a - a'Ka/2` over :math:`\sum a = 0`, :math:`0 \le y_n a_n \le C_n` [Glasmachers2008, eq. 4.1]. The
    squared loss has no upper bounds, but adds :math:`1 / (2 C_n)` to the diagonal of K; ``fit_intercept=False`` drops b
    and the constraint on the sum. Training stops when no pair of variables violates the optimality conditions by more
    than `tol`, measured on a gradient recomputed in float64. :math:`C_n` is `C` times class weight times sample weight.

    Training computes kernel rows of support vectors and of a few other candidates only: between n_SV n d and n^2 d
    operations, and n_SV n numbers of cache where memory allows. The squared loss makes more support vectors: every
    sample inside the margin becomes one. Predicting a sample takes n_SV d operations.

    ``solver="mdm"`` solves the squared loss without intercept as a geometric problem [Barbero2008]: it finds the point
    W nearest to the origin in the convex hull of the samples, mirrored by their labels; the model is
    :math:`W / \|W\|^2`. It stops when the largest margin of a support vector and the smallest margin of any sample
    differ by at most `tol` times the margin. That difference, in units of the margin, is `kkt_violation` in
    ``fit_report_``; `kernel_operations` counts as the paper does: n for each kernel row that is read, cached or not.

    Parameters
    ----------
    C : float, default=1.0
        Regularisation parameter: the price of a margin error. ``inf`` asks for a hard margin, which is the same model
        for both losses.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, kernel object or callable, default="rbf"
        Kernel objects, from ``widemargin.kernels`` or ``sklearn.gaussian_process.kernels``, have parameters of their
        own. A callable gets two blocks of samples and returns the matrix of kernel values between them; its samples may
        be anything: strings, graphs, vectors.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Set variables aside that stay at their bounds. No effect for ``solver="mdm"``, which always chooses among all
        samples.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel rows; "auto" takes what the problem needs, at most a quarter of the free memory. More than
        two classes with ``multi_class="ovr"`` may take half as much again.
    class_weight : dict or "balanced", default=None
        Multiplies `C` for the samples of a class.
    verbose : bool, default=False
        Print the fit report.
    max_iter : "auto" or int, default="auto"
        Limit on iterations per binary problem; "auto" is max(10^7, 100 n), -1 means none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of :meth:`decision_function` for more than two classes: one per class, or one per pair. There are no
        pairs with ``multi_class="ovr"``.
    break_ties : bool, default=True
        Break ties between votes by confidence; otherwise the first of the tied classes wins. For votes only.
    random_state : int, RandomState instance or None, default=None
        No effect, since training uses no random numbers; it is there for compatibility with scikit-learn.
    n_jobs : int, default=None
        Threads for training and prediction; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds, for all binary problems together, after which training returns the best model so far. Computing its
        certificate takes at most 0.2 s and a fifth of the time more; where that is not enough, violation and gap in
        ``fit_report_`` are infinite. Binary problems that were not started have no coefficients. A call of a kernel
        that takes longer is not interrupted.
    warm_start : bool, default=False
        Start from the last solution, scaled to the new bounds, if the new data have as many samples and the same
        classes.
    solver : {"auto", "smo", "block", "mdm"} or Solver, default="auto"
        How the dual problems are solved; objects of :mod:`widemargin.solvers` have options of their own, as in
        ``SMO(planning_ahead=0)``. "mdm" requires ``fit_intercept=False``, and ``loss="squared_hinge"`` or ``C=inf``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        A margin error counts by its size, or by the square of it, as in ``sklearn.svm.LinearSVC``.
    fit_intercept : bool, default=True
        Whether decision functions have an intercept. Without one, give the kernel a constant: `coef0`, or a constant
        feature.
    multi_class : {"ovo", "ovr"}, default="ovo"
        What is trained for k > 2 classes: one binary problem for each of the k (k - 1) / 2 pairs, or one for each class
        against all others: k problems of all samples, which share their kernel values. Two classes are one problem in
        either case.
    decision : {"auto", "votes", "argmax", "fuzzy-minimum"}, default="auto"
        How one of k > 2 classes is chosen. Pairs: "votes" (the default), or "fuzzy-minimum", the class whose worst
        pair, :math:`\min_j \min(1, D_{ij})`, is best [Abe2005, chapter 3]; the two agree wherever a class wins all of
        its pairs. Against all: "argmax" of the decision values (the default), or "fuzzy-minimum", whose memberships
        :math:`m_i = \min(1, D_i, -\max_{j \ne i} D_j)` [Abe2007, section 4] choose the same class, and are what
        :meth:`decision_function` then returns. May be changed after the fit.
    probability : bool, default=False
        Make probabilities (:meth:`predict_proba`), as in scikit-learn: the same as ``calibration="folds"``, unless
        `calibration` says something else.
    calibration : {"folds", "from-search"} or None, default=None
        Where probabilities (:meth:`predict_proba`) come from: decision values of held-out samples. "folds" holds out
        five stratified folds of the training data; equal samples are always in the same fold. The models of the folds
        start from the model of all samples and share its kernel, which mostly takes the time of one or two fits. They
        are trained to `tol` with ``solver="auto"``. "from-search" uses the held-out values that a search,
        :class:`GridSearchCV` or :class:`ModelSearch`, has for its best candidate. None makes no probabilities, unless
        `probability` asks for them.
    calibration_method : {"slope", "platt"}, default="slope"
        How a decision value f becomes a probability. "slope": :math:`1 / (1 + e^{-sf})` with the most likely s
        [Glasmachers2008, section 9.2.2], but no steeper than the rule of succession allows: after N held-out samples
        without an error, that is 1 error in N + 2. "platt": :math:`1 / (1 + e^{-(sf + r)})`, regularised [Platt1999;
        Lin2007]. Pairs of more than two classes are coupled [Wu2004, second approach]; classes against all others are
        scaled to sum to 1. The most probable class is always the predicted one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training data, sorted by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors (empty for a precomputed kernel).
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Signed coefficients, in scikit-learn's layout; sparse after training on sparse samples. With
        ``multi_class="ovr"`` and more than two classes, shape (n_classes, n_SV): one row per class.
    kernel_ : Kernel
        The kernel object with the parameters of the fit; also for "linear", "poly" and "rbf".
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts of the decision functions. Without `fit_intercept` they are 0, except for pairs of which one class
        has no samples of positive weight: these always vote for the other. With ``multi_class="ovr"``, (n_classes,),
        and -1 for a class without samples. `coef_` and `n_iter_` have as many rows, the latter without the problems
        that there was nothing to train for.
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features, for the linear kernel; sparse after training on sparse samples.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of `C` for each class.
    sigmoids_ : ndarray of shape (n_functions, 2)
        With `calibration`: slope and offset of each decision function, in the order of `intercept_`.
    probA_, probB_ : ndarray of shape (n_functions,)
        The same in LIBSVM's signs, as in scikit-learn; empty without `calibration`.
    fit_report_ : FitReport
        For each binary problem: why the solver stopped, violation, duality gap, objective, iterations, kernel
        evaluations, seconds, the precision of kernel values that the tolerance needed; for ``solver="mdm"`` its kernel
        operations.
    fit_status_ : int
        0 if every binary problem was solved to `tol`, 1 otherwise.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Iterations of each binary problem.
    shape_fit_ : tuple
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, if the data had any.

    References
    ----------
    [Glasmachers2008]_ chapters 2 to 7 and section 9.2.2, [Barbero2008]_, [Abe2005]_ chapter 3, [Abe2007]_,
    [Platt1999]_, [Lin2007]_, [Wu2004]_; keys are those of ``references.bib``.

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
    >>> SVC(gamma=0.1, loss="squared_hinge", fit_intercept=False, solver="mdm").fit(X, y).intercept_
    array([0., 0., 0.])
    >>> fuzzy = SVC(C=10, gamma=0.1, multi_class="ovr", decision="fuzzy-minimum").fit(X, y)
    >>> fuzzy.dual_coef_.shape[0], fuzzy.decision_function(X[:2]).round(2).tolist()
    (3, [[1.0, -1.87, -2.53], [1.0, -1.7, -2.32]])
    >>> SVC(C=10, gamma=0.1, calibration="folds").fit(X, y).predict_proba(X[[0, 60, 120]]).round(2).tolist()
    [[0.99, 0.01, 0.0], [0.0, 0.99, 0.0], [0.0, 0.0, 1.0]]
    """

    C: float = 1.0
    loss: str = "hinge"
    fit_intercept: bool = True
    multi_class: str = "ovo"
    decision: str = "auto"

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **CalibratedClassifier._accepts,
        "C": partial(require_number, above=0, infinite=True),
        "loss": partial(require_choice, choices=LOSSES),
        "fit_intercept": require_flag,
        "multi_class": partial(require_choice, choices=SCHEMES),
        "decision": partial(require_choice, choices=DECISIONS),
    }

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
        SVC
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
        with np.errstate(over="ignore"):  # what there is no number for asks for a hard margin, or is refused
            bounds = self._bounds(labels, weights * self.class_weight_[labels])

        kernel = self._checked_kernel(X, weights, rows_next=True)
        rows, scheme = self._row_source(X, kernel), self._scheme()
        problems = scheme.problems(labels, bounds)

        loss: Any = {"squared": self.loss == "squared_hinge", "fit_intercept": bool(self.fit_intercept)}
        how: Any = {"stop": self._stop_rule(len(labels), began), "options": self._solver_options(len(labels))}
        solutions = self._solve(rows, labels, bounds, problems, loss, **how)

        in_time = len(solutions) == len(problems)
        left = () if in_time else scheme.names(classes_present(labels, bounds))[len(solutions) :]
        self._keep_solutions(X, labels, bounds, kernel, scheme, solutions, left)
        if self.warm_start:
            self._last = (self.classes_.tolist(), bounds, starting_points(solutions, len(bounds)))
        if calibrated:
            if not in_time:
                problems = problems[: len(solutions)]
            samples = None if self.kernel == "precomputed" or self._takes_objects else X
            values = values_of_folds(samples, rows, labels, bounds, problems, solutions, **how, **loss)
            self.sigmoids_ = fitted_sigmoids(self.calibration_method, scheme, problems, values, weights)
        self._tell(partial(self._remark, X, labels, weights))
        if np.isinf(bounds).any():
            self._warn_of_missing_margins(solutions)
        return self

    def _check_combination(self) -> None:
        super()._check_combination()
        self._rule()
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "decision_function_shape='ovo' asks for a value for each pair of classes, and multi_class='ovr' trains "
                "none of these; pass 'ovr', or multi_class='ovo'."
            )

    def _missing(self) -> dict[str, str]:
        missing = super()._missing()
        if self.fit_intercept:
            missing[MINIMUM_NORM] = "fit_intercept=False"
        elif self.loss == "hinge" and np.inf != self.C:
            missing[MINIMUM_NORM] = "loss='squared_hinge' or C=inf"
        else:
            del missing[MINIMUM_NORM]
        return missing

    def _rule(self) -> str:
        pairs = self.multi_class == "ovo"
        rule = ("votes" if pairs else "argmax") if self.decision == "auto" else self.decision
        if rule not in DECISIONS:  # set after the fit
            require_choice("decision", rule, DECISIONS)
        if rule == "votes" and not pairs:
            raise ValueError(
                "decision='votes' counts the votes of pairs of classes, and multi_class='ovr' trains none of these; "
                "pass 'auto', 'argmax' or 'fuzzy-minimum'."
            )
        if rule == "argmax" and pairs:
            raise ValueError(
                "decision='argmax' compares the decision values of classes, and multi_class='ovo' has those of pairs "
                "only; pass 'auto', 'votes' or 'fuzzy-minimum', or multi_class='ovr'."
            )
        if rule != "votes" and not self.break_ties:
            raise ValueError(
                f"break_ties=False is about votes, and multi_class={self.multi_class!r} with decision="
                f"{self.decision!r} counts none; pass True."
            )
        return rule

    def _bounds(self, labels: NDArray[np.intp], weights: Vector) -> Vector:
        return priced(weights, self.C, "loss='squared_hinge'" if self.loss == "squared_hinge" else None)

    def _solve(
        self,
        rows: RowSource,
        labels: NDArray[np.intp],
        bounds: Vector,
        problems: Sequence[PairSamples],
        loss: dict[str, Any],
        *,
        stop: StopRule,
        options: SolverOptions,
    ) -> Sequence[PairSolution]:
        """Solve the problems; those that time did not suffice to begin with are left out, the last ones."""
        # The square loss has no bounds to follow, and its coefficients hardly change with C once that is large.
        starts = self._starts(bounds, follow=self.loss == "hinge") if self.warm_start else None
        common: dict[str, Any] = {"labels": labels, "n_classes": len(self.classes_), "bounds": bounds, "starts": starts}
        solve: Solves = (
            partial(solve_minimum_norm_pairs, **common)
            if options.solver == "mdm"
            else partial(solve_pairs, **common, **loss)
        )
        if len(self.classes_) > 2 and self.multi_class == "ovr" and self.kernel != "precomputed":
            return solve_against_all(solve, rows, problems, stop=stop, options=options)
        return solve(rows, problems=problems, stop=stop, options=options)

    def _warn_of_missing_margins(self, solutions: Sequence[PairSolution]) -> None:
        for one in solutions:
            if not one.hard_margin_found:
                warn_of_missing_margin(one, self.classes_)
                break
