"""One-class support vector machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from widemargin.estimators.novelty import BORDER, NoveltyModel, rounding
from widemargin.estimators.out_of_fold import Indices
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.report import ProblemReport
from widemargin.estimators.validation import LARGEST_SUM, Accepts, priced, require_choice, require_number
from widemargin.kernels.rows import KernelParameters, RowSource, count, derived_rows, take
from widemargin.machines.dual import DualProblem, Outcome, Solution, SolverOptions, StopRule, Vector, cache_bytes
from widemargin.machines.max_min_over import CountingState, count_to_gap
from widemargin.machines.nu_property import with_borders
from widemargin.machines.one_class import (
    ConstantSumMachine,
    at_margin_one,
    nu_machine,
    nu_scale,
    scores_of,
    squared_norm,
    squared_slack_machine,
    times,
    train,
    train_squared_slack,
)
from widemargin.runtime import thread_count
from widemargin.solvers import ONE_CLASS_MARGIN, MaxMinOver, as_solver

LOSSES = ("hinge", "squared_hinge")


@dataclass(kw_only=True, repr=False, eq=False)
class OneClassSVM(NoveltyModel):
    r"""One-class support vector machine: tells samples like those it was trained on from others.

    With ``loss="hinge"`` it is the model of [Schoelkopf2001]_, a drop-in for scikit-learn's: for weights :math:`w_n` of
    total :math:`W` it minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_n w_n \max(0, \rho - \langle w, \phi(x_n)\rangle) - \nu W \rho

    through the dual problem (maximise :math:`-a'Ka/2` over :math:`\sum a = \nu W`, :math:`0 \le a_n \le w_n`) and
    accepts samples with :math:`f(x) = \sum_n a_n k(x_n, x) - \rho \ge 0`. Whatever `tol` is, at most a fraction `nu` of
    the training weight is rejected: the threshold is the lowest score of the samples whose coefficients are below their
    bounds, and samples on it are accepted. Support vectors carry at least a fraction `nu`. If :math:`\nu W` is less
    than any weight (nu n < 1), no sample may be rejected, and `nu` only scales the coefficients.

    With ``loss="squared_hinge"`` it is the model of [Timm2009, eq. 1]: it minimises

    .. math:: \tfrac12 \|w\|^2 + \tfrac12 \sum_n C_n \max(0, 1 - \langle w, \phi(x_n)\rangle)^2

    and accepts samples with :math:`f(x) = \sum_n a_n k(x_n, x) - 1 \ge 0`. Every support vector lies outside by
    :math:`a_n / C_n`; a small `C` makes many of them.

    Training computes kernel rows of support vectors and of a few other candidates only: between n_SV n d and n^2 d
    operations, and n_SV n numbers of cache where memory allows. Predicting a sample takes n_SV d operations.

    Parameters
    ----------
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
    tol : float, default=1e-3
        Largest violation of the optimality conditions: for the hinge in units of f, which grow with the number of
        samples (as in scikit-learn), or of typical scores where these are below 1; for the squared hinge in units of
        the margin 1.
    nu : float, default=0.5
        Above 0 and at most 1: the largest fraction of the weight that is rejected; only for ``loss="hinge"``.
    shrinking : bool, default=True
        Set variables aside that stay at their bounds. No effect for "mdm" and "maxminover", which always choose among
        all samples.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel rows; "auto" takes what the problem needs, at most a quarter of the free memory.
    verbose : bool, default=False
        Print the fit report.
    max_iter : "auto" or int, default="auto"
        Limit on iterations; "auto" is max(10^7, 100 n), -1 means none.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        What a sample on the wrong side costs: its distance from the border, or the square of it.
    C : float, default=1.0
        Regularisation parameter of the squared hinge; only for ``loss="squared_hinge"``.
    target_rejection : float, default=None
        Fraction of new samples to reject, above 0 and below 1, in place of `nu`, which must then keep its default. The
        training samples are split into five folds; each fold is scored by a model trained without it, and the threshold
        (``offset_``, and ``-intercept_``) is the score below which this fraction of the held-out samples lies. The
        models are trained with nu = `target_rejection`: with more and more samples the fraction of rejected ones,
        training or new, approaches nu (the nu-property of [Schoelkopf2001]_), so that the threshold only has to correct
        the optimism of a finite sample. With the squared hinge the model is that of `C`. Equal samples are always in
        the same fold, and the folds do not depend on the order of the samples (for a precomputed kernel and for
        objects, they do). Only the kernel (``gamma="scale"``) is chosen on all samples. This costs five more fits, each
        of which starts from the model of all samples.
    n_jobs : int, default=None
        Threads for training and prediction; the result does not depend on it. -1 uses all cores.
    max_time : float, default=None
        Seconds after which training returns the best model so far. Computing its certificate takes at most 0.2 s and a
        fifth of the time more; where that is not enough, violation and gap in ``fit_report_`` are infinite, and the
        threshold is an estimate. A call of a kernel that takes longer is not interrupted.
    solver : {"auto", "smo", "block", "mdm", "maxminover"} or Solver, default="auto"
        How the dual problem is solved; objects of :mod:`widemargin.solvers` have options of their own, as in
        ``SMO(planning_ahead=0)``. "mdm" requires ``loss="squared_hinge"``, or a `nu` so small that no sample may be
        rejected (nu <= min(w) / W); "maxminover" requires ``loss="squared_hinge"``.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in the training data.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The support vectors (empty for a precomputed kernel).
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Their coefficients; with the hinge they sum to nu times the sum of the weights, as in scikit-learn.
    kernel_ : Kernel
        The kernel object with the parameters of the fit; also for "linear", "poly" and "rbf".
    intercept_ : ndarray of shape (1,)
        Intercept of the decision function.
    offset_ : ndarray of shape (1,)
        Threshold of the scores, ``-intercept_``: rho (less a rounding error, so that support vectors on the border
        are accepted), 1 for the squared hinge, or what `target_rejection` asks for.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        Weights of the features, for the linear kernel; sparse after training on sparse samples.
    fit_report_ : FitReport
        First the model: why the solver stopped, violation, duality gap, objective, iterations, kernel evaluations,
        seconds, the precision of kernel values that the tolerance needed. Then, with `target_rejection`, the models of
        the folds. With the squared hinge all are in units of the model with margin 1.
    fit_status_ : int
        0 if every problem was solved to `tol`, 1 otherwise.
    n_iter_ : int
        Iterations of the model.
    shape_fit_ : tuple
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, if the data had any.

    References
    ----------
    [Schoelkopf2001]_, [Timm2009]_, [Glasmachers2008]_, [Barbero2008]_; keys are those of ``references.bib``.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> bool(0.08 < np.mean(model.predict(X) == -1) <= 0.1)
    True
    >>> OneClassSVM(loss="squared_hinge", C=10.0).fit(X).offset_
    array([1.])
    """

    loss: str = "hinge"
    C: float = 1.0

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        **NoveltyModel._accepts,
        "loss": partial(require_choice, choices=LOSSES),
        "C": partial(require_number, above=0),
    }

    @property
    def offset_(self) -> Vector:
        """Threshold of the scores, shape (1,)."""
        return 0.0 - self.intercept_

    def score_samples(self, X: Any) -> Vector:
        """Scores of the samples `X`: the decision values before the threshold ``offset_`` is taken off.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> Vector:
        """Values of f for the samples `X`: positive inside.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._function_values(X).ravel()

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.loss == "squared_hinge":
            self._require_default_nu("loss", self.loss)
        elif self.C != 1.0:
            raise ValueError(f"C is the price of squared slack, and loss='hinge' takes nu instead; got C={self.C!r}.")

    def _missing(self) -> dict[str, str]:
        missing = super()._missing()
        missing[ONE_CLASS_MARGIN] = "loss='squared_hinge'"
        if self.loss == "squared_hinge":
            del missing[ONE_CLASS_MARGIN]
        return missing

    def _require_feasible(self, weights: Vector, total: float) -> None:
        """Check that what the coefficients sum to, or prices of slack, can be computed with."""
        if self.loss == "squared_hinge":
            self._prices(weights)
            return
        name, share = ("nu", self.nu) if self.target_rejection is None else ("target_rejection", self.target_rejection)
        product = share * total
        if not 0.0 < product <= LARGEST_SUM:
            raise ValueError(
                f"{name} times the sum of the weights is {product:.3g}, too {'small' if product < 1 else 'large'} to "
                f"compute with; change {name}, or multiply all weights by the same number, so that it is above 0 and "
                f"at most {LARGEST_SUM:g}."
            )

    def _prices(self, weights: Vector) -> Vector:
        """Return the prices of squared slack, the largest number for those beyond it."""
        return np.minimum(priced(weights, self.C, "loss='squared_hinge'"), np.finfo(np.float64).max)

    def _train(self, X: Any, weights: Vector, kernel: KernelParameters, began: float) -> None:
        n, rows = len(weights), self._row_source(X, kernel)
        stop = self._stop_rule(n, began)
        if isinstance(as_solver(self.solver), MaxMinOver):
            self._count(X, weights, kernel, rows, stop)
            return
        machine, scale, solution = self._solve(weights, rows, stop, self._solver_options(n))
        alpha, offset, outcome = self._read(machine, scale, solution)
        held_out: list[ProblemReport] = []
        # Where time has run out, there is none for others: the model's own threshold rejects about as many samples.
        if self.target_rejection is not None and solution.outcome.reason != "time budget":
            share, held_out = self._held_out_threshold(
                X,
                weights,
                machine,
                solution,
                rows,
                lambda *found: self._scores(machine, scale, *found),
                self._tight(stop, solution),
            )
            # Models of fewer samples have smaller sums of coefficients; scores are compared per unit of the sum.
            offset = share * (scale * machine.total if self.loss == "hinge" else 1.0)
        self._keep_machine(X, kernel, machine, alpha, offset, outcome)
        if self.loss == "hinge" and self.target_rejection is None:
            scores = np.zeros(n)
            scores[machine.ids] = scale * scores_of(solution)
            self._accept_border(X, weights, rows.diagonal(), scores, measured=self._predicts_in_single)
        self._add_to_report(held_out)

    def _keep_machine(
        self,
        X: Any,
        kernel: KernelParameters,
        machine: ConstantSumMachine,
        alpha: Vector,
        offset: float,
        outcome: Outcome,
    ) -> None:
        coefficients = np.zeros(count(X))
        coefficients[machine.ids] = alpha
        self._keep_function(X, kernel, coefficients=coefficients, intercept=-offset, outcome=outcome)

    def _accept_border(self, X: Any, weights: Vector, diagonal: Vector, scores: Vector, *, measured: bool) -> None:
        """Lower the threshold by what rounding may take off the scores of samples on the border, measured or not."""
        coefficients = np.zeros(len(weights))
        coefficients[self.support_] = as_dense(self.dual_coef_)[0]
        lower = BORDER * float(coefficients.sum()) * float(np.abs(diagonal[weights > 0]).max())
        if measured:
            free = np.flatnonzero((coefficients > 0) & (coefficients < weights))

            def predicted(chosen: Indices) -> Vector:
                return np.asarray(self._functions().values(take(X, chosen)).ravel() - self.intercept_[0])

            lower = max(lower, rounding(free, scores, predicted))
        self.intercept_ = self.intercept_ + lower

    def _count(self, X: Any, weights: Vector, kernel: KernelParameters, rows: RowSource, stop: StopRule) -> None:
        """Train by OneClassMaxMinOver, whose tolerance is the feasibility gap."""
        machine, n = squared_slack_machine(self._prices(weights)), len(weights)
        source = rows if len(machine.ids) == n else derived_rows(rows, base=machine.ids)
        state = CountingState.fresh(source, kernel.gamma, cache_bytes(self.cache_size, n, "float32"))
        counted = count_to_gap(
            state,
            self._prices(weights[machine.ids]),
            stop=stop,
            n_threads=thread_count(self.n_jobs),
        )
        self._keep_machine(X, kernel, machine, counted.coefficients, 1.0, counted.outcome)

    def _solve(
        self, weights: Vector, rows: RowSource, stop: StopRule, options: SolverOptions
    ) -> tuple[ConstantSumMachine, float, Solution]:
        """Train; return the machine that was solved, the scale of its variables, and its solution."""
        if self.loss == "squared_hinge":
            machine = squared_slack_machine(self._prices(weights))
            return machine, 1.0, train_squared_slack(machine, rows, stop=stop, options=options)[1]
        nu = float(self.nu if self.target_rejection is None else self.target_rejection)
        used = weights > 0
        scale = nu_scale(nu * float(weights[used].sum()), float(np.abs(rows.diagonal()[used]).mean()))
        machine = nu_machine(weights, nu, scale)
        problem, solution = train(machine, rows, stop=stop, options=options)
        return machine, scale, with_borders(problem, solution)

    def _read(self, machine: ConstantSumMachine, scale: float, solution: Solution) -> tuple[Vector, float, Outcome]:
        """Coefficients, threshold and outcome of the machine."""
        if self.loss == "squared_hinge":
            alpha, outcome = at_margin_one(machine, solution)
            return alpha, 1.0, outcome
        own = times(solution, scale)
        return own.alpha, -own.intercept, own.outcome

    def _scores(
        self, machine: ConstantSumMachine, scale: float, problem: DualProblem, solution: Solution
    ) -> tuple[Vector, Outcome]:
        similarities = machine.similarities(problem, solution)
        if self.loss == "squared_hinge":
            return similarities / squared_norm(solution), at_margin_one(machine, solution)[1]
        return similarities, times(solution, scale).outcome

    def _tight(self, stop: StopRule, solution: Solution) -> StopRule:
        """Translate the tolerance into units of the problems solved."""
        if self.loss == "hinge":
            return stop
        return replace(stop, tolerance=stop.tolerance * squared_norm(solution))
