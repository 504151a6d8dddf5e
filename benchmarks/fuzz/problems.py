"""Dual problems of the core: what is returned is feasible, and worth what is claimed."""

from typing import Any

import numpy as np

from benchmarks.fuzz.draws import FindingError, Matrix, Vector, labels, number_of_samples, penalties, samples, scale
from widemargin.estimators.report import ProblemReport
from widemargin.kernels.rows import derived_rows, row_source
from widemargin.machines.chain import Chain, ChainKernel, Link
from widemargin.machines.dual import COMBINATIONS, DualProblem, Outcome, Solution, SolverOptions, StopRule, solve
from widemargin.testing.checks import certificate

TOLERANCE = 1e-3

#: Relative rounding error of a recomputed gradient; kernel values in float32 decide where they may.
ROUNDING = {"float64": 1e-12, "float32": 1e-6}


def _kernel(rng: np.random.Generator, X: Matrix, unit: float) -> tuple[Matrix, str]:
    kind = str(rng.choice(["linear", "rbf", "poly", "indefinite"], p=[0.3, 0.5, 0.15, 0.05]))
    if kind == "linear":
        K = X @ X.T
    elif kind == "rbf":
        gamma = 10.0 ** rng.uniform(-4.0, 3.0)
        K = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    elif kind == "poly":
        K = (X @ X.T / max(1.0, float(np.abs(X).max()) ** 2) + 1.0) ** int(rng.integers(1, 4))
    else:
        K = np.tanh(X @ X.T - 1.0)
    return unit * K, kind


def _problem(rng: np.random.Generator, X: Matrix, unit: float) -> tuple[DualProblem, Vector | None]:
    n = len(X)
    C = penalties(rng, n, unit)
    squared = rng.random() < 0.3
    ridge = np.minimum(0.5 / np.maximum(C, 1e-300), 1e30 / unit if unit < 1e200 else 1e30) if squared else None
    bounds = np.where(C > 0, np.inf, 0.0) if squared else C
    if rng.random() < 0.5:
        y = 2.0 * labels(rng, X) - 1.0
        lower, upper = np.where(y < 0, -bounds, 0.0), np.where(y > 0, bounds, 0.0)
        return DualProblem(y, lower, upper), ridge
    targets = (X[:, 0] + rng.normal(size=n)) * scale(rng, 30.0)
    kink = np.full(n, float(np.abs(targets).max()) * rng.choice([0.0, 1e-3, 0.3]))
    return DualProblem(targets, -bounds, bounds, kink=kink), ridge


def judge(
    problem: DualProblem, K: Matrix, alpha: Vector, claimed: Outcome | ProblemReport, *, precision: str, doubtful: bool
) -> Vector | None:
    """Raise a finding where coefficients are not worth what is claimed; return their gradient, if that is finite.

    `doubtful` problems, whose kernel is not positive semidefinite or is not known to be, may have no solution.
    """
    if not np.isfinite(alpha).all():
        raise FindingError("coefficients that are not finite")
    if (alpha < problem.lower).any() or (alpha > problem.upper).any():
        raise FindingError("a coefficient outside its box")
    total = float(np.abs(alpha).sum())
    if abs(float(alpha.sum())) > 1e-9 * total:
        raise FindingError(f"the coefficients sum to {alpha.sum():.3g}, the largest is {np.abs(alpha).max():.3g}")
    with np.errstate(over="ignore", invalid="ignore"):
        magnitude = float((np.abs(problem.linear) + np.abs(K) @ np.abs(alpha)).max())
        found = certificate(problem, K, alpha)
    if not np.isfinite(magnitude * total):
        return None
    rounding, exact = ROUNDING[precision] * magnitude, 20.0 * ROUNDING["float64"] * magnitude
    if abs(found.kkt_violation - claimed.kkt_violation) > 1e-2 * TOLERANCE + exact:
        raise FindingError(f"a violation of {claimed.kkt_violation:.4g} is claimed, it is {found.kkt_violation:.4g}")
    if abs(found.objective - claimed.objective) > 10.0 * rounding * total + 1e-300:
        raise FindingError(f"an objective of {claimed.objective:.6g} is claimed, it is {found.objective:.6g}")
    if claimed.reason == "converged" and found.kkt_violation > 1.01 * TOLERANCE + exact:
        raise FindingError(f"converged, with a violation of {found.kkt_violation:.4g}")
    if claimed.reason == "unbounded" and not doubtful:
        raise FindingError("called unbounded, with a positive semidefinite kernel")
    if claimed.reason == "stalled" and not doubtful and 1e-14 * magnitude < 1e-2 * TOLERANCE:
        raise FindingError(f"stalled at {claimed.kkt_violation:.3g} where rounding is {1e-14 * magnitude:.3g}")
    return found.gradient


def _finding(problem: DualProblem, K: Matrix, ridge: Vector | None, found: Solution, doubtful: bool) -> str | None:
    """Say what is wrong with a solution, if anything is."""
    whole = K if ridge is None else K + np.diag(ridge)
    precision = "float64" if len(K) <= 1000 else "float32"
    try:
        gradient = judge(problem, whole, found.alpha, found.outcome, precision=precision, doubtful=doubtful)
    except FindingError as finding:
        return str(finding)
    if gradient is None:
        return None
    error = float(np.abs(gradient - found.gradient).max())
    magnitude = float((np.abs(problem.linear) + np.abs(whole) @ np.abs(found.alpha)).max())
    allowed = 10.0 * ROUNDING[precision] * magnitude
    return None if error <= allowed else f"the gradient is off by {error:.3g}, allowed {allowed:.3g}"


def run(seed: int) -> str:
    """Solve one drawn problem; return what it was."""
    rng = np.random.default_rng([seed, 1])
    X = samples(rng, number_of_samples(rng))
    unit = scale(rng, 140.0)
    K, kind = _kernel(rng, X, unit)
    largest = float(np.abs(np.diagonal(K)).max())
    problem, ridge = _problem(rng, X, 1.0 / largest if largest > 0 else 1.0)
    chosen: dict[str, Any] = dict(COMBINATIONS[rng.integers(len(COMBINATIONS))]) if rng.random() < 0.5 else {}
    options = SolverOptions(**chosen, n_threads=int(rng.choice([1, 2])))
    stop = StopRule(tolerance=TOLERANCE, max_iterations=int(rng.choice([0, 3, 100_000], p=[0.03, 0.07, 0.9])))
    in_a_chain = rng.random() < 0.3 and 1e-30 < largest < 1e30
    words = (
        f"n={len(X)} {kind} unit={unit:.2g} {'square ' if ridge is not None else ''}{'chain' if in_a_chain else chosen}"
    )
    # What a chain finds is certified on its matrix, or, where that has too few digits, on exact rows.
    kernels = [K]
    try:
        if in_a_chain:
            matrix = K.astype(np.float32)
            kernels = [matrix.astype(np.float64), K]
            kernel = ChainKernel(row_source(K, kernel="precomputed"), matrix)
            found = next(kernel.solve(Chain((Link(problem, ridge),)), stop)).solution
        else:
            rows = row_source(K, kernel="precomputed")
            found = solve(
                problem, rows if ridge is None else derived_rows(rows, ridge=ridge), stop=stop, options=options
            )
    except ValueError as error:
        if "too large to compute with" not in str(error):
            raise
        return f"{words}: refused"
    # A ridge that rounding takes away is none.
    doubtful = kind == "indefinite" or (ridge is not None and float(ridge.min()) < 1e-14 * largest)
    findings = [_finding(problem, own, ridge, found, doubtful) for own in kernels]
    if None not in findings:
        raise FindingError(f"{words}: {findings[-1]}")
    return f"{words}: {found.outcome.reason}"
