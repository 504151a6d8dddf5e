"""Grid searches: they end, and their scores are those of the same models trained alone."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.fuzz.draws import FindingError, labels, samples, scale
from widemargin import SVC, SVR, GridSearchCV

#: Decision values, or residuals, closer than this to deciding otherwise may do so.
MARGIN = 2e-2

#: A search may take this many times as long as its models alone, and this many seconds.
LONGEST, SECONDS = 5.0, 3.0


def _uncertain(model: Any, X: Any, y: Any) -> float:
    """By how much the score of a model may differ where it was trained in another way, to the same tolerance."""
    if isinstance(model, SVR):
        residual = y - model.predict(X)
        spread = float(np.square(y - y.mean()).sum())
        change = 2.0 * float(np.abs(residual).sum()) * MARGIN + len(y) * MARGIN**2
        return change / spread if spread > 0 else np.inf
    return float(np.count_nonzero(np.abs(model.decision_function(X)) < MARGIN)) / len(y)


def run(seed: int) -> str:
    """Search one drawn grid; return what it was."""
    rng = np.random.default_rng([seed, 3])
    n = int(rng.choice([12, 40, 150, 400, 700]))
    X = samples(rng, n)
    if rng.random() < 0.3:  # contradicting duplicates of most rows
        X = X[rng.integers(0, max(2, n // 4), size=n)]
    unit = scale(rng, 100.0)
    grid: dict[str, Any] = {"C": np.sort(10.0 ** rng.uniform(-2.0, 4.0, size=3))}
    kernel = str(rng.choice(["rbf", "rbf", "linear", "poly"]))
    if kernel != "linear":
        grid["gamma"] = 10.0 ** rng.uniform(-3.0, 2.0, size=2) / unit**2
    squared = rng.random() < 0.3
    folds: KFold | StratifiedKFold
    if rng.random() < 0.6:
        y: Any = labels(rng, X)
        loss = "squared_hinge" if squared else "hinge"
        base: Any = SVC(kernel=kernel, degree=2, loss=loss, fit_intercept=bool(rng.random() < 0.8))
        folds = StratifiedKFold(3)
        if np.bincount(y).min() < 3:
            return "too few samples of a class"
    else:
        y = X[:, 0] + rng.normal(size=n)
        base = SVR(kernel=kernel, degree=2, loss="squared_epsilon_insensitive" if squared else "epsilon_insensitive")
        folds = KFold(3)
    base.set_params(max_iter=100_000)
    plan = str(rng.choice(["heuristic", "cold"]))
    X = X * unit
    words = f"{base} {grid} n={n} unit={unit:.3g} plan={plan}"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        began = time.perf_counter()
        try:
            search = GridSearchCV(base, grid, cv=folds, plan=plan, refit=False, n_jobs=1).fit(X, y)
        except ValueError as error:
            return f"{words}: refused ({str(error)[:60]}...)"
        took = time.perf_counter() - began
        if any(issubclass(one.category, ConvergenceWarning) for one in told):
            return f"{words}: warned"
        alone = 0.0
        for candidate, parameters in enumerate(search.cv_results_["params"]):
            for split, (train, test) in enumerate(folds.split(X, y)):
                began = time.perf_counter()
                model = clone(base).set_params(**parameters).fit(X[train], y[train])
                alone += time.perf_counter() - began
                if not model.fit_report_.converged:
                    continue
                score, expected = (
                    search.cv_results_[f"split{split}_test_score"][candidate],
                    model.score(X[test], y[test]),
                )
                allowed = _uncertain(model, X[test], y[test]) + 1e-9
                if not abs(score - expected) <= allowed:
                    raise FindingError(
                        f"{words}: {parameters} split {split}: {score:.4f}, but {expected:.4f} alone, +-{allowed:.2g}"
                    )
    if took > SECONDS + LONGEST * alone:
        raise FindingError(f"{words}: took {took:.1f} s, its models alone {alone:.1f} s")
    return f"{words}: the same scores"
