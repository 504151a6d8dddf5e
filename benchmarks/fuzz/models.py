"""Models as users train them: finite, certified, or refused in a sentence."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks.fuzz.draws import FindingError, Matrix, Vector, labels, number_of_samples, samples, scale
from benchmarks.fuzz.problems import TOLERANCE, judge
from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.machines.classifier import ridge_of
from widemargin.machines.dual import DualProblem
from widemargin.testing import kernel_matrix
from widemargin.testing.oracles import resolve_gamma

#: The right of a fit to take this many steps keeps every case short.
MOST_STEPS = 50_000


def _kernel_settings(rng: np.random.Generator, unit: float) -> dict[str, Any]:
    kernel = str(rng.choice(["linear", "rbf", "poly", "sigmoid", "precomputed"]))
    gamma: Any = "scale" if rng.random() < 0.6 else 10.0 ** rng.uniform(-3.0, 2.0)
    if gamma != "scale" and rng.random() < 0.8:
        gamma = min(gamma / unit / unit, 1e300)
    coef0 = float(rng.choice([0.0, 1.0, -1.0])) * (scale(rng, 40.0) if rng.random() < 0.2 else 1.0)
    return {"kernel": kernel, "gamma": gamma, "coef0": coef0, "degree": int(rng.integers(1, 5))}


def _weights(rng: np.random.Generator, n: int) -> Vector | None:
    if rng.random() < 0.7:
        return None
    found = 10.0 ** rng.uniform(-3.0, 3.0, size=n) * scale(rng, 100.0)
    found[rng.random(n) < 0.1] = 0.0
    if rng.random() < 0.2:
        found[0] = float(rng.choice([1e300, 1e-300]))
    return np.asarray(found)


def _model(rng: np.random.Generator, unit: float) -> Any:
    common = {**_kernel_settings(rng, unit), "tol": TOLERANCE, "max_iter": MOST_STEPS}
    common["n_jobs"] = int(rng.choice([1, 2]))
    C = float(
        np.clip(10.0 ** rng.uniform(-2.0, 5.0) * (scale(rng, 300.0) if rng.random() < 0.2 else 1.0), 1e-300, 1e300)
    )
    nu = float(rng.choice([1e-6, 0.01, 0.3, 0.9, 1.0]))
    solver = str(rng.choice(["auto", "smo", "block"], p=[0.6, 0.2, 0.2]))
    kind = rng.choice(["SVC", "SVC", "SVC", "SVR", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "SVDD"])
    if kind == "SVC":
        squared, intercept = rng.random() < 0.4, rng.random() < 0.7
        if squared and not intercept and rng.random() < 0.5:
            solver = "mdm"
        loss = "squared_hinge" if squared else "hinge"
        return SVC(C=C, loss=loss, fit_intercept=bool(intercept), solver=solver, **common)
    if kind == "SVR":
        loss = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
        return SVR(C=C, loss=loss, solver=solver, epsilon=float(rng.choice([0.0, 0.1])), **common)
    if kind == "NuSVC":
        return NuSVC(nu=nu, **common)
    if kind == "NuSVR":
        return NuSVR(nu=nu, C=C, **common)
    return OneClassSVM(nu=nu, **common) if kind == "OneClassSVM" else SVDD(nu=nu, **common)


def _gram(model: Any, X: Matrix, weights: Vector | None) -> Matrix:
    if model.kernel == "precomputed":
        return X
    with np.errstate(all="ignore"):
        gamma = resolve_gamma(model.gamma, X, weights)
        return kernel_matrix(X, kernel=model.kernel, gamma=gamma, coef0=model.coef0, degree=model.degree)


def _coefficients(model: Any, n: int) -> Vector:
    found = np.zeros(n)
    row = model.dual_coef_
    found[model.support_] = np.ravel(row.toarray() if sp.issparse(row) else row)
    return found


def _problem(model: Any, y: Vector, bounds: Vector) -> tuple[DualProblem, Vector | None]:
    """Return the dual problem of a model with one decision function, and its ridge."""
    squared = model.loss.startswith("squared")
    ridge, box = (ridge_of(bounds), np.where(bounds > 0, np.inf, 0.0)) if squared else (None, bounds)
    if isinstance(model, SVR):
        return DualProblem(y, -box, box, kink=np.full(len(y), model.epsilon)), ridge
    return DualProblem(y, np.where(y < 0, -box, 0.0), np.where(y > 0, box, 0.0)), ridge


def _judge_certificate(model: Any, K: Matrix, y: Vector, weights: Vector | None) -> None:
    n = len(y)
    with np.errstate(over="ignore"):
        bounds = model.C * (np.ones(n) if weights is None else weights)
    if np.isinf(bounds).any() or getattr(model, "solver", "auto") == "mdm":
        return
    problem, ridge = _problem(model, y, bounds)
    alpha, whole = _coefficients(model, n), K if ridge is None else K + np.diag(ridge)
    if not getattr(model, "fit_intercept", True):  # the spare variable that takes the sum
        problem = DualProblem(
            np.append(problem.linear, 0.0), np.append(problem.lower, -np.inf), np.append(problem.upper, np.inf)
        )
        alpha, whole = np.append(alpha, -alpha.sum()), np.pad(whole, ((0, 1), (0, 1)))
    largest = float(np.abs(np.diagonal(K)).max())
    doubtful = model.kernel in ("sigmoid", "poly", "precomputed") or (
        ridge is not None and float(ridge.min()) < 1e-13 * largest
    )
    precision = "float64" if n <= 1000 else "float32"
    judge(problem, whole, alpha, model.fit_report_[0], precision=precision, doubtful=doubtful)


def _judge_values(model: Any, given: Any, K: Matrix) -> None:
    """Decision values are those of the coefficients, and finite."""
    asked: tuple[Any, ...] = (
        (given, np.diagonal(K)) if isinstance(model, SVDD) and model.kernel == "precomputed" else (given,)
    )
    values = model.decision_function(*asked) if hasattr(model, "decision_function") else model.predict(*asked)
    if not np.isfinite(values).all():
        raise FindingError("decision values that are not finite")
    if isinstance(model, SVDD) or not np.isfinite(K).all():
        return
    a = _coefficients(model, len(K))
    expected = K @ a + np.ravel(model.intercept_)
    allowed = 1e-5 * (np.abs(K) @ np.abs(a) + np.abs(model.intercept_)).max() + 1e-5 * TOLERANCE
    error = float(np.abs(np.ravel(values) - expected).max())
    if not error <= allowed:
        raise FindingError(f"decision values are off by {error:.3g}, allowed {allowed:.3g}")


def run(seed: int) -> str:
    """Train one drawn model; return what it was."""
    rng = np.random.default_rng([seed, 2])
    X = samples(rng, number_of_samples(rng))
    unit = scale(rng, 140.0)
    model = _model(rng, unit)
    y = 2.0 * labels(rng, X) - 1.0
    if isinstance(model, (SVR, NuSVR)):
        y = (X[:, 0] + rng.normal(size=len(X))) * scale(rng, 20.0)
    X = X * unit
    weights = _weights(rng, len(X))
    if model.kernel == "precomputed":
        with np.errstate(all="ignore"):
            X = X @ X.T * float(rng.choice([1.0, -1.0], p=[0.9, 0.1]))
        if not np.isfinite(X).all():
            return "precomputed: not finite"
    given: Any = sp.csr_matrix(X) if model.kernel != "precomputed" and rng.random() < 0.3 else X
    words = f"{model} n={len(X)} d={X.shape[1]} unit={unit:.3g} weights={None if weights is None else weights[:3]}"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model.fit(given, y, **({} if weights is None else {"sample_weight": weights}))
        except ValueError as error:
            return f"{words}: refused ({str(error)[:60]}...)"
    strange = [one for one in told if not issubclass(one.category, UserWarning)]
    if strange:
        raise FindingError(f"{words}: {strange[0].category.__name__}: {strange[0].message}")
    reasons = {entry.reason for entry in model.fit_report_}
    if reasons != {"converged"} and not any(issubclass(one.category, ConvergenceWarning) for one in told):
        raise FindingError(f"{words}: ended with {reasons}, without a warning")
    K = _gram(model, X, weights)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _judge_values(model, given, K)
        if isinstance(model, (SVC, SVR)) and np.isfinite(K).all():
            _judge_certificate(model, K, y, weights)
    except FindingError as finding:
        raise FindingError(f"{words}: {finding}") from None
    return f"{words}: {'converged' if reasons == {'converged'} else 'warned'}"
