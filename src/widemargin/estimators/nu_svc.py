"""Support vector classification with a bound on the share of margin errors."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.pairwise import PairwiseClassifier
from widemargin.estimators.report import plain, warn_of_early_ends
from widemargin.estimators.scale import resolve_kernel
from widemargin.estimators.validation import require_number
from widemargin.kernels.rows import KernelCallable, count
from widemargin.machines.classifier import PairSolution
from widemargin.machines.dual import Vector
from widemargin.machines.nu_classifier import solve_nu_pairs, starting_points_in_weights, tightest_pair


class NuSVC(PairwiseClassifier):
    r"""Support vector classification with `nu` in place of C, exact and certified.

    For each pair of classes, with labels :math:`y_n = \pm 1` and weights :math:`v_n`, the machine minimises

    .. math::
        \tfrac12 \|w\|^2 - \nu \rho \sum_n v_n
        + \sum_n v_n \max(0, \rho - y_n(\langle w, \phi(x_n)\rangle + b))

    [Chang2011, section 2.2] by solving its dual: minimise :math:`a'Ka/2` over :math:`0 \le y_n a_n \le v_n` with a
    constant sum for each class, :math:`\pm\tfrac{\nu}{2} \sum v`. At most the share `nu` of the weight lies on the
    wrong side of the margin, and at least this share belongs to support vectors. Divided by :math:`\rho` the machine
    has margin 1: it is that of :class:`~widemargin.SVC` with :math:`C_n = v_n / \rho`, and `tol` and the fit report
    are in its units. :math:`v_n` is class weight times sample weight.

    `nu` cannot exceed twice the share of the lighter class of any pair, counted by weight; it is refused otherwise,
    before any kernel value is computed. Where it is so small that the hulls of two classes, with no example weighing
    more than :math:`v_n`, meet, there is no margin: :math:`\rho` is 0, that pair is kept without a scale, and a warning
    says so.

    The start alone takes the kernel rows of the share `nu` of the examples; from there on training costs what it costs
    for :class:`~widemargin.SVC`: between n_SV n d and n^2 d operations. Prediction costs n_SV d operations a row.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1: bounds the share of margin errors from above and that of support vectors from below.
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
        Largest violation of the optimality conditions, in units of the margin.
    cache_size : "auto" or float, default="auto"
        Megabytes for kernel rows; "auto" takes what the problem needs, at most a quarter of the free memory.
    class_weight : dict or "balanced", default=None
        Multiplies the weights of the examples of a class, as if they occurred that often; "balanced" makes every `nu`
        feasible. (scikit-learn's class of this name takes it and does nothing with it.)
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
        Start from the last solution if the new data have as many rows and the same classes.
    solver : {"auto", "smo", "block"}, default="auto"
        Two variables at a time, or blocks of rows; "auto" computes rows in blocks while they are new, then takes single
        steps, and Newton steps on all free variables at once where these are few.
    selection : {"auto", "most-violating-pair", "second-order", "maximum-gain"}, default="auto"
        Working-set selection [Glasmachers2008, eq. 4.5, eq. 4.7, Algorithm 6.1], both variables of one class; "auto" is
        "second-order", but for ``solver="smo"`` with a kernel that does not fit the cache, where it is "maximum-gain".
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
        Factor of the weights for each class.
    fit_report_ : FitReport
        Per binary problem: reason of the end, violation, duality gap, objective, steps, kernel values, seconds,
        precision of the kernel values that the tolerance needed. Violation, gap and objective are those of the machine
        with margin 1.
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

    _refused_solvers: ClassVar[dict[str, str]] = {
        **PairwiseClassifier._refused_solvers,
        "mdm": "solves minimum norm problems only: classifiers with squared loss and no intercept",
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        self.nu = nu
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The examples, or the (n_samples, n_samples) kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 0 is the same as leaving the row out, weight 2 the same as repeating it.

        Returns
        -------
        NuSVC
            The estimator itself.
        """
        began = time.perf_counter()
        self._check_parameters()
        X, labels, weights = self._check_training_data(X, y, sample_weight)
        n = count(X)
        self.class_weight_ = self._class_factors(labels, weights)
        effective = weights * self.class_weight_[labels]
        self._require_feasible(labels, effective)
        self._check_kernel_values(X)
        kernel = resolve_kernel(*self._kernel_choice(X, weights))
        machines = solve_nu_pairs(
            self._row_source(X, kernel),
            labels,
            len(self.classes_),
            float(self.nu),
            effective,
            stop=self._stop_rule(n, time.perf_counter() - began),
            options=self._solver_options(n),
            starts=self._starts(effective),
        )
        self._keep_start(effective, starting_points_in_weights(machines, effective, float(self.nu)))
        self._keep_pairs(X, labels, kernel, machines)
        if self.verbose:
            print(self.fit_report_)
        warn_of_early_ends(self.fit_report_, self.tol)
        _warn_of_touching_hulls(machines, self.classes_, self.nu)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("nu", self.nu, above=0)
        if self.nu > 1:
            raise ValueError(f"nu must be a number above 0 and at most 1; got {self.nu!r}.")

    def _require_feasible(self, labels: NDArray[np.intp], weights: Vector) -> None:
        """Refuse a `nu` that asks for more weight than the lighter class of a pair has."""
        tightest = tightest_pair(labels, len(self.classes_), weights)
        if tightest is None or self.nu <= tightest[1] * (1.0 + 1e-12):
            return
        (first, second), largest = tightest
        names = [repr(plain(self.classes_[c])) for c in (first, second)]
        shares = [float(weights[labels == c].sum()) for c in (first, second)]
        raise ValueError(
            f"specified nu is infeasible: nu={self.nu:g} exceeds {largest:g}, the largest value for classes {names[0]} "
            f"and {names[1]}, whose weights are {shares[0]:g} and {shares[1]:g}."
        )


def _warn_of_touching_hulls(machines: list[PairSolution], classes: Any, nu: float) -> None:
    """Warn in one sentence if a pair of classes has no margin at this nu."""
    touching = [machine for machine in machines if not machine.hard_margin_found]
    touching = [machine for machine in touching if machine.outcome.reason == "converged"]
    if not touching:
        return
    first, second = (plain(classes[c]) for c in touching[0].pair)
    warnings.warn(
        f"nu={nu:g} leaves classes {first!r} and {second!r} no margin: their hulls, reduced by so little, meet; the "
        "machine kept for them is not scaled to margin 1, and a larger nu would make one.",
        ConvergenceWarning,
        stacklevel=3,
    )
