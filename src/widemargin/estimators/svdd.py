"""Support vector data description: the smallest enclosing ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.novelty import BORDER, NoveltyModel, rounding, sides
from widemargin.estimators.out_of_fold import Indices
from widemargin.estimators.prediction import as_dense
from widemargin.estimators.report import ProblemReport
from widemargin.estimators.validation import require_magnitude, require_number
from widemargin.kernels.rows import KernelParameters, count, take
from widemargin.kernels.spread import moderate
from widemargin.machines.dual import DualProblem, Outcome, Solution, Vector
from widemargin.machines.enclosing_ball import Ball, ball_machine, read_ball, scaled_stop, train_ball
from widemargin.machines.one_class import ConstantSumMachine

#: Squared radii below this share of the kernel's diagonal need more digits than float32 predictions have.
THIN_BALL = 1e-2

#: Rounding errors of a centre's coordinates and of differences to it, as shares of the largest sample.
DIGITS = 1e-15

#: Diagonals that differ by less than this share of the largest entry are constant.
CONSTANT_DIAGONAL = 1e-12


#: Differences to the centre that are held at once.
BLOCK_ENTRIES = 2**20


def centred(X: Any, weights: Vector) -> Any:
    """Take the weighted mean off dense samples; sparse ones stay as they are.

    Examples
    --------
    >>> centred(np.array([[1e9], [1e9 + 2.0], [0.0]]), np.array([1.0, 1.0, 0.0])).tolist()
    [[-1.0], [1.0], [-1000000001.0]]
    """
    if sp.issparse(X):
        return X
    # Differences to a sample, so that a common offset does not round the mean.
    weights = moderate(weights)
    shift = X[int(np.argmax(weights > 0))].astype(np.float64)
    return X - (shift + weights @ (X - shift) / weights.sum())


def squared_distances_to(centre: Any, X: Any) -> Vector:
    """Squared Euclidean distances of the samples `X`; of dense ones from their differences, in which nothing cancels.

    Examples
    --------
    >>> squared_distances_to(np.array([[1e9, 0.0]]), np.array([[1e9 + 1.0, 2.0]])).tolist()
    [5.0]
    """
    point = as_dense(centre).ravel()
    if sp.issparse(X):
        squares = as_dense(X.multiply(X).sum(axis=1)).ravel()
        return np.asarray(squares - 2.0 * as_dense(X @ point).ravel() + float(point @ point))
    step = max(1, BLOCK_ENTRIES // len(point))
    parts = [np.square(X[begin : begin + step] - point).sum(axis=1) for begin in range(0, len(X), step)]
    return np.concatenate(parts)


@dataclass(kw_only=True, repr=False, eq=False)
class SVDD(NoveltyModel):
    r"""Support vector data description [Tax2004]_: the smallest ball that encloses most training samples.

    For weights :math:`w_n` of total :math:`W` it minimises

    .. math:: R^2 + C \sum_n w_n \max(0, \|\phi(x_n) - c\|^2 - R^2), \qquad C = \frac{1}{\nu W}

    through the dual problem (maximise :math:`\sum_n a_n k(x_n, x_n) - a'Ka` over :math:`\sum a = 1`, :math:`0 \le a_n
    \le C w_n`); the centre is :math:`c = \sum_n a_n \phi(x_n)`. Samples in the ball or on it are accepted. Whatever
    `tol` is, at most a fraction `nu` of the training weight lies outside; none if :math:`\nu W` is less than any weight
    (nu n < 1), which asks for the hard ball. If k(x, x) is constant, as for the Gaussian kernel, the ball accepts what
    :class:`OneClassSVM` with the same `nu` accepts.

    Training computes kernel rows of support vectors and of a few other candidates only: between n_SV n d and n^2 d
    operations, and n_SV n numbers of cache where memory allows. Predicting a sample takes n_SV d operations, d for the
    linear kernel, whose dense samples are centred first, so that a common offset costs no digits.

    Parameters
    ----------
    nu : float, default=0.5
        Fraction of the weight that may stay outside, above 0 and at most 1.
    C : float, default=None
        Price of a sample outside, in place of `nu`, which must then keep its default; at least 1 / W. ``inf`` asks for
        the hard ball, which encloses all samples; every C of at least 1 / min(w) gives it.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in squared distances as fractions of ``spread_``: it means the
        same in any units of the data.
    target_rejection : float, default=None
        Fraction of new samples to reject, above 0 and below 1, in place of `nu` and `C`, which must then keep their
        defaults. The training samples are split into five folds; the distances of each fold are taken from the centre
        of a ball trained without it, and the radius is set so that this fraction of the held-out samples lies outside.
        Balls are trained with nu = `target_rejection`; see :class:`OneClassSVM`.
    solver : {"auto", "smo", "block", "mdm"} or Solver, default="auto"
        See :class:`OneClassSVM`. "mdm" requires a hard ball and a kernel with constant k(x, x).
    kernel, degree, gamma, coef0, shrinking, cache_size, verbose, max_iter
        See :class:`OneClassSVM`.
    n_jobs, max_time
        See :class:`OneClassSVM`.

    Attributes
    ----------
    radius_ : float
        R, in the units of the kernel's distances: those of the data for the linear kernel.
    center_coef_ : ndarray of shape (n_SV,)
        Coefficients of the centre over the support vectors; they sum to 1.
    center_squared_norm_ : float
        Squared norm of the centre, :math:`a'Ka`.
    spread_ : float
        Mean squared distance of the training samples from their mean, estimated from at most 500 of them: the unit of
        `tol`.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        ``center_coef_`` in scikit-learn's layout.
    intercept_ : ndarray of shape (1,)
        :math:`(R^2 - \|c\|^2) / 2`: the decision value is twice (sum of coefficients times kernel values plus this),
        minus k(x, x).
    offset_ : float
        Threshold of the scores, :math:`-R^2`, less a rounding error, so that samples on the surface are accepted.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        The centre, for the linear kernel; sparse after training on sparse samples.
    fit_report_ : FitReport
        First the ball: why the solver stopped, violation (in units of ``spread_``), duality gap, objective (the dual
        one, in squared distances), iterations, kernel evaluations, seconds, the precision of kernel values that the
        tolerance needed. Then, with `target_rejection`, the balls of the folds.
    support_, support_vectors_, n_support_
        See :class:`OneClassSVM`.
    fit_status_, n_iter_, shape_fit_, n_features_in_, feature_names_in_
        See :class:`OneClassSVM`.

    References
    ----------
    [Tax2004]_, [Schoelkopf2001]_, [Glasmachers2008]_, [Barbero2008]_; keys are those of ``references.bib``.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVDD
    >>> square = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.5]])
    >>> ball = SVDD(C=np.inf, kernel="linear").fit(square)
    >>> ball.coef_.round(6), round(ball.radius_**2, 6)
    (array([[1., 1.]]), 2.0)
    >>> ball.decision_function([[1.0, 1.0], [3.0, 1.0]]).round(6)
    array([ 2., -2.])
    """

    C: float | None = None

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.intp]:
        """Train on the samples `X` and tell which of them the ball accepts.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : ignored
            There by convention.
        **kwargs : dict
            Further arguments of :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 or -1.
        """
        self.fit(X, y, **kwargs)
        return self.predict(X, np.diagonal(np.asarray(X)) if self.kernel == "precomputed" else None)

    def decision_function(self, X: Any, diagonal: Any = None) -> Vector:
        """Squared radius minus squared distance from the centre, in the kernel's own units; positive inside.

        For the linear kernel these are squared units of the data; for the Gaussian kernel no squared distance exceeds
        2.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For a precomputed kernel, (n_samples, n_train).
        diagonal : array-like of shape (n_samples,), optional
            k(x, x) for each sample, only for a precomputed kernel; may be left out if the training matrix has a
            constant diagonal, which then is that of new samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X, diagonal) - self.offset_

    def score_samples(self, X: Any, diagonal: Any = None) -> Vector:
        """Negative squared distances of the samples `X` from the centre.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        diagonal : array-like of shape (n_samples,), optional
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if self._known_values is not None:
            return np.asarray(self._known_values(X).ravel() + self.offset_)
        check_is_fitted(self)
        if diagonal is not None and self.kernel != "precomputed":
            raise ValueError("diagonal is for kernel='precomputed' only; other kernels compute k(x, x) from X.")
        if self._kernel_parameters.is_linear:
            return -squared_distances_to(self._functions().linear_weights(), self._check_new_data(X))
        similarities = self._function_values(X).ravel() - self.intercept_[0]
        return np.asarray(2.0 * similarities - self._own_similarities(X, diagonal) - self.center_squared_norm_)

    def predict(self, X: Any, diagonal: Any = None) -> NDArray[np.intp]:
        """Tell samples in the ball or on it from those outside.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        diagonal : array-like of shape (n_samples,), optional
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 where the decision value is at least 0, -1 elsewhere.
        """
        return sides(self.decision_function(X, diagonal))

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.C is not None:
            require_number("C", self.C, above=0, infinite=True)
            self._require_default_nu("C", self.C)
            if self.target_rejection is not None:
                raise ValueError(
                    f"target_rejection={self.target_rejection!r} takes the place of C, which must then be None; got "
                    f"C={self.C!r}."
                )

    def _require_feasible(self, weights: Vector, total: float) -> None:
        """Check that the price of a sample outside allows for a centre."""
        least = 1.0 / total
        if self.C is not None and least * (1.0 - 1e-12) > self.C:
            raise ValueError(
                f"C={self.C!r} is infeasible: the coefficients of the centre could not sum to 1; it must be at least "
                f"1 / (sum of the weights) = {least:.6g}."
            )

    def _train(self, X: Any, weights: Vector, kernel: KernelParameters, began: float) -> None:
        n = len(weights)
        if kernel.is_linear:
            require_magnitude(X)  # predictions are of samples as they are, whatever is left of them once centred
        rows = self._row_source(centred(X, weights) if kernel.is_linear else X, kernel)
        options, diagonal = self._solver_options(n), rows.diagonal()
        machine = self._machine(weights, diagonal)
        stop = self._stop_rule(n, began)
        ball, solution, self.spread_ = train_ball(machine, rows, diagonal, stop=stop, options=options)
        squared_radius = ball.squared_radius
        held_out: list[ProblemReport] = []
        # Where time has run out, there is none for others: the ball's own radius rejects about as many samples.
        if self.target_rejection is not None and solution.outcome.reason != "time budget":

            def read(problem: DualProblem, found: Solution) -> tuple[Vector, Outcome]:
                other = read_ball(machine, problem, found, diagonal, self.spread_)
                return -other.squared_distances, other.outcome

            left = scaled_stop(machine, diagonal, self.spread_, stop, options)
            threshold, held_out = self._held_out_threshold(X, weights, machine, solution, rows, read, left)
            squared_radius = -threshold
        self._keep_ball(X, kernel, machine, ball, squared_radius, diagonal)
        self._add_to_report(held_out)

    def _machine(self, weights: Vector, diagonal: Vector) -> ConstantSumMachine:
        if self.C is not None:
            with np.errstate(over="ignore"):
                least = 1.0 / float(weights.sum())
            return ball_machine(weights, diagonal, C=max(float(self.C), least))
        return ball_machine(
            weights, diagonal, nu=float(self.nu if self.target_rejection is None else self.target_rejection)
        )

    def _keep_ball(
        self,
        X: Any,
        kernel: KernelParameters,
        machine: ConstantSumMachine,
        ball: Ball,
        squared_radius: float,
        diagonal: Vector,
        *,
        measured: bool = False,
    ) -> None:
        """Set the fitted attributes; `measured` if the ball's distances are not from the kernel of predictions."""
        coefficients = np.zeros(len(diagonal))
        coefficients[machine.ids] = ball.center
        norm = ball.squared_norm
        self._keep_function(X, kernel, coefficients=coefficients, intercept=0.0, outcome=ball.outcome)
        self.center_coef_ = coefficients[self.support_]
        if kernel.is_linear:
            # The kernel solved with was that of centred samples.
            norm = float(np.square(as_dense(self._functions().linear_weights())).sum())
        self.center_squared_norm_ = norm
        used = diagonal[machine.ids]
        largest = float(np.abs(used).max())
        self.radius_ = math.sqrt(max(0.0, squared_radius))
        self._predict_in_double = bool(self._predict_in_double or squared_radius < THIN_BALL * largest)
        constant = float(used.max() - used.min()) <= CONSTANT_DIAGONAL * largest
        self._diagonal_of_new_rows = float(used[0]) if constant else None
        self.offset_ = -squared_radius
        if self.target_rejection is None:
            lower = BORDER * largest
            if kernel.is_linear:
                # Coordinates of samples far from the origin have few digits left for their distances.
                reach = math.sqrt(float(self._rows_of(X, kernel).diagonal()[machine.ids].max()))
                lower = max(lower, DIGITS * reach * (reach if sp.issparse(X) else self.radius_ + DIGITS * reach))
            if measured or kernel.is_linear or self._predicts_in_single:
                lower = max(lower, self._rounding(X, machine, ball, diagonal))
            self.offset_ -= lower
        self.intercept_ = np.array([-0.5 * (self.offset_ + norm)])

    def _rounding(self, X: Any, machine: ConstantSumMachine, ball: Ball, diagonal: Vector) -> float:
        """Measure by how much predicted distances of samples on the surface differ from those that the radius knows."""
        free = machine.ids[(ball.center > 0) & (ball.center < machine.upper / machine.total)].astype(np.intp)
        distances = np.zeros(len(diagonal))
        distances[machine.ids] = ball.squared_distances

        def predicted(chosen: Indices) -> Vector:
            if self._kernel_parameters.is_linear:
                return squared_distances_to(self._functions().linear_weights(), take(X, chosen))
            sums = self._functions().values(take(X, chosen)).ravel() - self.intercept_[0]
            return np.asarray(diagonal[chosen] - 2.0 * sums + self.center_squared_norm_)

        return rounding(free, distances, predicted)

    def _own_similarities(self, X: Any, diagonal: Any) -> Vector | float:
        """k(x, x) for the samples `X`."""
        kernel = self._kernel_parameters
        if kernel.kernel == "rbf":
            return 1.0
        if kernel.kernel != "precomputed":
            return self._rows_of(self._check_new_data(X), kernel).diagonal()
        if diagonal is None:
            if self._diagonal_of_new_rows is None:
                raise ValueError(
                    "diagonal is needed: the precomputed training matrix has no constant diagonal, so k(x, x) of new "
                    "samples is unknown; pass one number for each sample."
                )
            return self._diagonal_of_new_rows
        numbers = np.asarray(diagonal, dtype=np.float64)
        if numbers.shape != (count(X),) or not np.isfinite(numbers).all():
            raise ValueError(
                f"diagonal must hold one finite number for each of the {count(X)} rows of X; got shape {numbers.shape}."
            )
        return numbers
