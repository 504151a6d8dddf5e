"""Every objective on every kind of machine: it works, or is refused in a sentence before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_searches import same_searches, targets, three_classes, two_classes
from sklearn.gaussian_process.kernels import RBF, Matern

from widemargin import SVC, SVR, ModelSearch, kernels, objectives
from widemargin.objectives import Objective
from widemargin.strategies import STRATEGIES

OBJECTIVES = {
    one.name: one
    for one in map(objectives.__dict__.get, objectives.__all__)
    if isinstance(one, type) and issubclass(one, Objective) and hasattr(one, "name")
}

MACHINES: dict[str, tuple[Any, Any]] = {
    "hinge": (SVC(), two_classes),
    "three classes": (SVC(class_weight="balanced"), three_classes),
    "squared hinge": (SVC(loss="squared_hinge"), two_classes),
    "without intercept": (SVC(fit_intercept=False), two_classes),
    "hard margin": (SVC(C=np.inf, gamma=1.0), two_classes),
    "one against all": (SVC(multi_class="ovr"), three_classes),
    "tube": (SVR(), targets),
    "squared tube": (SVR(loss="squared_epsilon_insensitive"), targets),
}

#: What objectives refuse, and a word of the reason.
OF_CLASSES = ("class-distance", "decision-quality", "leave-one-out", "likelihood", "posterior", "radius-margin", "span")
REFUSED = {
    **{(name, machine): "regression|classes" for name in OF_CLASSES for machine in ("tube", "squared tube")},
    **{
        ("radius-margin", machine): "margin errors"
        for machine in ("hinge", "three classes", "without intercept", "one against all")
    },
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_and_machines(objective: str, machine: str) -> None:
    estimator, data = MACHINES[machine]
    X, y = data()
    search = ModelSearch(estimator, objective=objective, max_evaluations=12, random_state=0)
    if (objective, machine) in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[objective, machine]) as refused:
            search.fit(X, y)
        assert str(refused.value).startswith(f"objective={objective!r}")
        return
    search.fit(X, y)
    assert np.isfinite(search.best_value_)
    assert 9 <= search.n_evaluations_ <= 13
    values, better = search.trace_["value"][search.trace_["stage"] == "search"], OBJECTIVES[objective].greater_is_better
    if OBJECTIVES[objective]().deterministic:
        # A point that was visited twice, from different machines, has values that differ by rounding.
        assert search.best_value_ == pytest.approx(values.max() if better else values.min(), rel=1e-12)
    chooses_c = OBJECTIVES[objective].chooses_c
    assert ("C" in search.best_params_) == np.isfinite(estimator.C)
    assert ("C" in search.trace_["stage"]) == (not chooses_c and np.isfinite(estimator.C))
    assert search.score(X, y) > (-1.0 if "tube" in machine else 0.5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_and_threads(strategy: str) -> None:
    """What a strategy finds does not depend on threads; its objective is the one that it is for."""
    X, y = two_classes()
    how: dict[str, Any] = {"strategy": strategy, "max_evaluations": 25, "random_state": 1}
    estimator: Any = SVC()
    if strategy == "newton":
        how |= {"objective": "class-distance"}
    elif STRATEGIES[strategy].needs_gradient:
        how |= {"objective": "likelihood" if strategy == "noisy-rprop" else "span"}
        estimator = SVC(kernel=kernels.DiagonalGaussian())
    else:
        how |= {"objective": "cross-validation", "space": {"C": (0.1, 100.0), "gamma": (0.01, 1.0)}}
    one = ModelSearch(estimator, **how).fit(X, y)
    same_searches(ModelSearch(estimator, **how, n_jobs=3).fit(X, y), one)
    whole = one.trace_["part"] == -1
    values = one.trace_["value"][whole & (one.trace_["stage"] == "search")]
    if strategy not in ("noisy-rprop", "newton"):
        assert one.best_value_ == values.min() <= values[0]


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Gaussian(),
        kernels.DiagonalGaussian(),
        kernels.GeneralGaussian(fixed="size"),
        kernels.Mahalanobis(covariance="full"),
        kernels.normalized(kernels.Polynomial(degree=2)),
        2.0 * kernels.Gaussian() + kernels.Linear(),
        kernels.Gaussian() * kernels.Gaussian(gamma=0.1, gamma_bounds="fixed"),
        RBF(1.5) + Matern(1.0, nu=2.5),
    ],
    ids=repr,
)
def test_kernels(kernel: Any) -> None:
    X, y = two_classes()
    for objective in ("target-alignment", "span"):
        search = ModelSearch(SVC(kernel=kernel), objective=objective, max_evaluations=20).fit(X, y)
        chosen = search.best_params_["kernel"]
        assert isinstance(chosen, kernels.Kernel)
        assert (search.trace_["gradient_norm"][:1] > 0).all()
        assert search.best_estimator_.score(X, y) > 0.6
        better = search.best_value_ - search.trace_["value"][0]
        assert (better if objective == "target-alignment" else -better) >= 0
