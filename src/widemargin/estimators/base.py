"""What every kernel model shares: its parameters, the checks of its data, its kernel, what it keeps of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.estimators.prediction import (
    SINGLE,
    DecisionFunctions,
    Expansion,
    KnownFunctions,
    Layout,
    Matrix,
    needs_double,
)
from widemargin.estimators.report import FitReport, warn_of_early_ends
from widemargin.estimators.validation import (
    UNLABELLED,
    Accepts,
    is_numeric,
    is_plain,
    numbers_needed,
    require_finite,
    require_flag,
    require_gram,
    require_jobs,
    require_kernel,
    require_magnitude,
    require_moderate_diagonal,
    require_number,
    require_symmetric,
    warn_if_indefinite,
    warn_if_one_column_dominates,
)
from widemargin.kernels import Kernel, Linear
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import (
    LARGEST_DEGREE,
    TILE,
    KernelCallable,
    KernelParameters,
    RowSource,
    canonical,
    checked_rows,
    count,
    require_samples,
    source_at_once,
    take,
)
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.sequences import letters_left_out
from widemargin.kernels.spread import column_moments, scale_gamma
from widemargin.machines.dual import Outcome, SolverOptions, StopRule, Vector, cache_bytes, grace_of
from widemargin.runtime import Allowance, thread_count
from widemargin.runtime.callbacks import CallbackSupport
from widemargin.runtime.callers import stacklevel
from widemargin.solvers import MINIMUM_NORM, ONE_CLASS_MARGIN, Solver, as_solver, require_able

#: Parameters that kernel objects have by themselves, and their defaults.
NUMBERS_OF_NAMED_KERNELS: dict[str, Any] = {"gamma": "scale", "coef0": 0.0, "degree": 3}

#: Megabytes whose bytes the core can count.
LARGEST_CACHE = 2**40

#: Iterations that the core can count; nobody sees more of them.
MOST_ITERATIONS = 2**63 - 1

#: Arguments of scikit-learn's check of samples; finiteness is checked afterwards, to name the column and the row.
NUMBERS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "order": "C",
    "accept_sparse": "csr",
    "ensure_all_finite": False,
}


@cache
def accepted_defaults(cls: Any) -> dict[str, Any]:
    """Return the defaults of those parameters of a class that its table accepts the default of.

    Examples
    --------
    >>> from widemargin import SVC
    >>> accepted_defaults(SVC)["C"]
    1.0
    """
    found = {}
    for name, check in cls._accepts.items():
        default = getattr(cls, name)
        with suppress(ValueError):
            check(name, default)
            found[name] = default
    return found


@dataclass(kw_only=True, repr=False, eq=False)
class KernelModel(BaseEstimator, CallbackSupport):  # type: ignore[misc]
    """Parameters and steps of a fit that do not depend on what is learnt.

    Parameters are fields: a subclass adds its own, extends the table of what they accept, and writes ``fit`` from the
    methods here. Warnings point at the line that called ``fit`` if ``fit`` itself, and none of
    its helpers, calls :meth:`_checked_kernel` and :meth:`_tell`.
    """

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float | str = "auto"
    verbose: bool = False
    max_iter: int | str = "auto"
    max_time: float | None = None
    n_jobs: int | None = None
    solver: str | Solver = "auto"

    support_: NDArray[np.int32] = field(init=False)
    support_vectors_: Any = field(init=False)
    n_support_: NDArray[np.int32] = field(init=False)
    dual_coef_: Any = field(init=False)
    intercept_: Matrix = field(init=False)
    n_features_in_: int = field(init=False)
    shape_fit_: tuple[int, ...] = field(init=False)
    fit_report_: FitReport = field(init=False)
    fit_status_: int = field(init=False)
    n_iter_: Any = field(init=False)
    _kernel_parameters: KernelParameters = field(init=False)
    _takes_objects: bool = field(init=False)
    _predict_in_double: bool = field(init=False)

    #: Where decision values are known without computing them; see :meth:`_knowing`.
    _known_values: KnownFunctions | None = field(init=False, default=None)

    #: Whether a model of dense samples takes sparse ones, too, as streams bring them; scikit-learn's do not.
    _mixes_sparse_and_dense: ClassVar[bool] = False

    #: What the parameters accept.
    _accepts: ClassVar[Mapping[str, Accepts]] = {
        "kernel": require_kernel,
        "degree": partial(require_number, at_least=0, at_most=LARGEST_DEGREE, integer=True),
        "gamma": partial(require_number, at_least=0, others=("scale", "auto")),
        "coef0": require_number,
        "tol": partial(require_number, above=0),
        "cache_size": partial(require_number, above=0, at_most=LARGEST_CACHE, others=("auto",)),
        "max_iter": partial(require_number, at_least=0, integer=True, others=("auto", -1)),
        "max_time": partial(require_number, above=0, others=(None,)),
        "shrinking": require_flag,
        "verbose": require_flag,
        "n_jobs": require_jobs,
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, of its kernel and of its solver, which may be given by name.

        Parameters
        ----------
        **params : dict
            Values by name; ``solver__planning_ahead`` and the like are options of parts.

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

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row a decision function, read-only; only for the linear kernel."""
        if self.kernel != "linear" and not isinstance(self.kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        weights = self._functions().linear_weights()
        (weights.data if sp.issparse(weights) else weights).flags.writeable = False
        return weights

    @property
    def kernel_(self) -> Kernel:
        """The kernel object with the numbers of the fit; kernels by name other than "sigmoid" have one too."""
        parameters = self.__dict__.get("_kernel_parameters")
        if parameters is None:
            raise AttributeError(f"{type(self).__name__} has no kernel_ before it is fitted.")
        if parameters.source is not None:
            return cast(Kernel, parameters.source)
        if parameters.kernel not in ("linear", "poly", "rbf"):
            raise AttributeError(f"kernel={parameters.kernel!r} has no kernel object; 'linear', 'poly' and 'rbf' have.")
        numbers = {name: getattr(parameters, name) for name in ("gamma", "coef0", "degree")}
        return as_kernel(parameters.kernel, **numbers)

    def _missing(self) -> dict[str, str]:
        """Name what solvers may need that this model's problem does not offer, and what would offer it."""
        return {
            MINIMUM_NORM: "SVC with loss='squared_hinge' and fit_intercept=False, or a one-class model",
            ONE_CLASS_MARGIN: "OneClassSVM with loss='squared_hinge'",
        }

    def _check_parameters(self) -> None:
        """Refuse values of the parameters that mean nothing, by themselves or together."""
        self._check_values(accepted_defaults(cast(Any, type(self))).copy())
        self._check_combination()

    def _check_values(self, accepted: dict[str, Any]) -> None:
        """Refuse values of the parameters that mean nothing by themselves.

        `accepted` holds values that were found good before, which are not checked again; those of this model are added.
        """
        for name, check in self._accepts.items():
            value = getattr(self, name)
            if name not in accepted or accepted[name] is not value:
                check(name, value)
                accepted[name] = value

    def _check_combination(self) -> None:
        """Refuse a kernel or a solver that does not go with the other parameters."""
        if not isinstance(self.kernel, str) and is_kernel_object(self.kernel):
            as_kernel(self.kernel)
            for name, default in NUMBERS_OF_NAMED_KERNELS.items():
                if getattr(self, name) != default:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} is for kernels by name; kernel={self.kernel!r} has parameters "
                        f"of its own, and {name} must be left at {default!r}."
                    )
        if not (isinstance(self.solver, str) and self.solver == "auto"):  # which solves every problem
            require_able(self.solver, self._missing())

    def _check_samples(self, X: Any, y: Any = UNLABELLED) -> tuple[Any, Any]:
        """Check samples, and one target of any type for each if there are any.

        Numbers become float32 or float64, C-ordered or CSR; only a callable kernel takes anything else.
        """
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        self._takes_objects = callable(self.kernel) and not is_numeric(X)
        if self._takes_objects and is_kernel_object(self.kernel):
            self._takes_objects = not as_kernel(self.kernel).requires_vector_input
        if self._takes_objects:
            self._require_samples(X)
            if y is not UNLABELLED:
                check_consistent_length(X, y)
                y = validate_data(self, UNLABELLED, y)
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return X, y
        if is_plain(X, y, gram=self.kernel == "precomputed"):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        require_samples(X)
        with numbers_needed(self._why_numbers()):
            checked = validate_data(self, X, y, **NUMBERS)
        X, y = (checked, y) if y is UNLABELLED else checked
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        return X, y

    def _require_samples(self, X: Any) -> None:
        """Refuse what is no row of objects, and an empty one in the words that scikit-learn has for arrays."""
        require_samples(X)
        if count(X) == 0:
            name = type(self).__name__
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {name}.")

    def _why_numbers(self) -> str:
        return (
            f"kernel={self.kernel!r} compares numbers; encode columns of text, with OneHotEncoder say, or, for "
            "sequences, pass a list or column of strings and a kernel of sequences, such as kernel=Oligo()"
        )

    def _checked_kernel(
        self, X: Any, weights: Vector, *, tell: bool = True, checked: bool = False, rows_next: bool = False
    ) -> KernelParameters:
        """Resolve the kernel for checked samples and their weights: gamma="scale" and gamma="auto" become numbers.

        Where the two do not suit each other, that is refused or warned of; kernel values that depend on the order of
        the samples are refused. Without `tell` nobody is warned, and what was `checked` is not looked at again: for
        those who ask a second time. Where :meth:`_row_source` is what comes next (`rows_next`), it may compare values.
        """
        kernel, gamma, names = self.kernel, self.gamma, getattr(self, "feature_names_in_", None)
        if not isinstance(kernel, str) and is_kernel_object(kernel):
            own = as_kernel(kernel)
            if not checked and own.requires_vector_input:
                require_magnitude(X)
            found = self._allowance().run(own.fitted, X, weights=weights).resolved()
            if not checked and found.of_samples:
                mapped = found.mapped(X)
                require_magnitude(mapped)
                # Features that somebody scaled were meant to be what they are.
                scaled_alike = found.kernel == "rbf" and (found.map is None or own.kind_depends_on_data)
                if tell and scaled_alike and not sp.issparse(mapped):
                    warn_if_one_column_dominates(column_moments(mapped, weights)[1], names)
        else:
            number = 1.0
            if kernel in ("rbf", "poly", "sigmoid"):
                if not checked:
                    require_magnitude(X)
                wanted = gamma == "scale" or (tell and kernel == "rbf")
                moments = column_moments(X, weights) if wanted and not sp.issparse(X) else None
                if moments is not None and tell:
                    warn_if_one_column_dominates(moments[1], names)
                if gamma == "scale":
                    number = scale_gamma(X, weights, moments)
                else:
                    number = 1.0 / X.shape[1] if gamma == "auto" else float(gamma)
            elif kernel == "precomputed" and not checked:
                require_gram(X, thread_count(self.n_jobs))
                if tell:
                    warn_if_indefinite(X)
            found = KernelParameters(kernel, number, float(self.coef0), int(self.degree))
        compared = rows_next and count(X) <= TILE and self._computes_at_once(found, count(X))
        if not checked and callable(found.kernel) and not compared:
            self._allowance().run(require_symmetric, found.kernel, X)
        return found

    def _allowance(self) -> Allowance:
        """Return what computations of kernel values may use."""
        return Allowance(thread_count(self.n_jobs))

    def _rows_of(self, X: Any, kernel: KernelParameters) -> RowSource:
        """Kernel rows of checked samples, computed with the threads of this model, whenever that is."""
        return self._allowance().run(kernel.rows_of, X)

    def _row_source(self, X: Any, kernel: KernelParameters) -> RowSource:
        """Kernel rows of checked samples, refused where their values leave the range of the arithmetic.

        Rows that Python computes cost a call each: where the cache has room for all of them, and nobody waits with a
        clock, they are computed at once.
        """
        rows = self._rows_of(X, kernel)
        require_moderate_diagonal(rows, kernel)
        if not self._computes_at_once(kernel, rows.size):
            return rows
        function = cast(KernelCallable, kernel.kernel)
        return source_at_once(function, X, thread_count(self.n_jobs))

    def _computes_at_once(self, kernel: KernelParameters, n: int) -> bool:
        """Whether Python computes all values among `n` samples before the solver begins, which keeps copies of some."""
        in_python = callable(kernel.kernel) and not getattr(kernel.kernel, "in_core", False)
        if not in_python or self.max_time is not None:
            return False
        return 16 * n**2 <= cache_bytes(self.cache_size, 2 * n, "float64")

    def _stop_rule(self, n: int, began: float) -> StopRule:
        """Tolerance and budgets for `n` samples in a fit that began at this moment."""
        limit = max(10_000_000, 100 * n) if self.max_iter == "auto" else min(int(self.max_iter), MOST_ITERATIONS)
        return StopRule(
            tolerance=float(self.tol),
            max_iterations=None if limit == -1 else limit,
            deadline=None if self.max_time is None else began + float(self.max_time),
            grace_seconds=None if self.max_time is None else grace_of(float(self.max_time)),
        )

    def _solver_options(self, n: int) -> SolverOptions:
        """Options of the solver, with cache for the kernel rows of `n` samples."""
        solver = as_solver(self.solver)
        return solver.options(
            shrinking=bool(self.shrinking),
            cache_bytes=cache_bytes(self.cache_size, n, "float64"),  # which small problems, and the last digits, take
            n_threads=thread_count(self.n_jobs),
        )

    def _keep_functions(self, X: Any, kernel: KernelParameters, found: Expansion, report: FitReport) -> None:
        """Set the fitted attributes that prediction needs, in scikit-learn's layout, and what the fit says of itself.

        Coefficients are kept sparse if the checked samples `X` are.
        """
        self._kernel_parameters = kernel
        for name in ("compression_report_", "_shares_vectors"):  # of a model that was compressed before this fit
            self.__dict__.pop(name, None)
        self.support_, self.n_support_, self.intercept_ = found.support, found.n_support, found.intercept
        self.dual_coef_ = sp.csr_matrix(found.dual_coef) if sp.issparse(X) else found.dual_coef
        self.support_vectors_ = np.empty((0, 0)) if kernel.kernel == "precomputed" else take(X, found.support)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (count(X),)
        self.fit_report_ = report
        self.fit_status_ = int(report.unfinished > 0)
        self._predict_in_double = needs_double(kernel, self.support_vectors_, found.dual_coef, report.needed_double)

    def _keep_function(
        self, X: Any, kernel: KernelParameters, *, coefficients: Vector, intercept: float, outcome: Outcome
    ) -> None:
        """Set the fitted attributes of the only function, sum_n coefficients[n] k(x_n, x) + intercept."""
        support = np.flatnonzero(coefficients).astype(np.int32)
        found = Expansion(
            support,
            np.array([len(support)], dtype=np.int32),
            np.ascontiguousarray(coefficients[support], dtype=np.float64).reshape(1, -1),
            np.array([intercept], dtype=np.float64),
        )
        self._keep_functions(X, kernel, found, FitReport.of_one(outcome, len(support)))
        self.n_iter_ = outcome.iterations

    def _tell(self, remark: Callable[[], str] = str) -> None:
        """Print the report of the fit if asked to; warn, with a remark, if a problem was left before its tolerance."""
        if self.verbose:
            print(self.fit_report_)
        if self.fit_status_:
            warn_of_early_ends(self.fit_report_, self.tol, remark())

    def _layout(self) -> Layout:
        """Return where the coefficients of the decision functions lie in ``dual_coef_``."""
        return SINGLE

    def _functions(self) -> DecisionFunctions:
        """Return the decision functions that the fitted attributes describe."""
        return DecisionFunctions(
            self._layout(),
            self._kernel_parameters,
            self.support_,
            self.support_vectors_,
            self.n_support_,
            self.dual_coef_,
            self.intercept_,
            None if self._takes_objects else self.n_features_in_,
            self._predict_in_double,
            thread_count(self.n_jobs),
        )

    def _check_new_data(self, X: Any) -> Any:
        """Check samples to predict."""
        if self._takes_objects:
            self._require_samples(X)
            return X
        known = self.__dict__
        if is_plain(X) and X.shape[1] == known.get("n_features_in_") and "feature_names_in_" not in known:
            return X
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix.")
        if sp.issparse(X):
            self._require_sparse_support()
        require_samples(X)
        with numbers_needed(self._why_numbers()):
            numbers = check_array(X, **NUMBERS, estimator=self)
        numbers = canonical(numbers) if sp.issparse(numbers) else numbers
        require_finite(numbers, getattr(self, "feature_names_in_", None))
        if self.kernel == "precomputed":
            self._require_values_with_all(numbers)
        validate_data(self, X, reset=False, skip_check_array=True)
        return numbers

    def _require_values_with_all(self, K: Any) -> None:
        """Refuse kernel values with other samples than those that a model was trained on."""
        n = self.__dict__.get("n_features_in_", K.shape[1])
        if K.shape[1] != n:
            raise ValueError(
                f"X has {K.shape[1]} features, but {type(self).__name__} is expecting {n} features as input: for "
                f"kernel='precomputed', X holds kernel values with the {n} training samples, shape (n_samples, {n})."
            )

    def _require_sparse_support(self) -> None:
        """Refuse sparse samples, as scikit-learn does, for a model that was trained on dense ones."""
        of_core = isinstance(self.kernel, str) and not self._mixes_sparse_and_dense
        if of_core and "dual_coef_" in self.__dict__ and not sp.issparse(self.dual_coef_):
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data; pass X.toarray()."
            )

    def _function_values(self, X: Any) -> Matrix:
        """Check `X` and evaluate all decision functions, shape (n, functions), in the sign of the attributes."""
        if self._known_values is not None:
            return self._known_values(X)
        X = self._check_to_predict(X)
        return self._functions().values(X)

    def _check_to_predict(self, X: Any) -> Any:
        """Check that there is a fitted model, and the samples that it is to predict."""
        self._require_fit()
        X = self._check_new_data(X)
        self._warn_of_unknown_letters(X)
        return X

    def _require_fit(self) -> None:
        """Refuse to predict before a fit, unless decision values are known."""
        if "_kernel_parameters" not in self.__dict__ and self._known_values is None:
            check_is_fitted(self)

    def _warn_of_unknown_letters(self, X: Any) -> None:
        """Warn of letters that the training data did not hold, if these were to say which there are."""
        if not self._takes_objects or not is_kernel_object(self.kernel) or self._kernel_parameters.source is None:
            return
        unknown = letters_left_out(as_kernel(self.kernel), self._kernel_parameters.source, X)
        if unknown:
            warnings.warn(
                f"X holds letters that are not in the alphabet of the kernel, taken from the training data: "
                f"{', '.join(map(repr, sorted(unknown)))}; oligomers with them are skipped. Pass the kernel an "
                "alphabet of all letters that may ever occur (alphabet=...) if they matter.",
                stacklevel=stacklevel(),
            )

    def _knowing(self, values: KnownFunctions | None = None, **attributes: Any) -> Self:
        """Return a copy that knows some fitted attributes, and its decision values on some samples, without a fit."""
        return self._copy(**attributes, _known_values=values)

    def _copy(self, **attributes: Any) -> Self:
        """Return a copy with other attributes; copying it the usual way takes ten times as long."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, **attributes)
        return twin
