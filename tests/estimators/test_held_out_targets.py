"""Values of held-out rows come from gradients; rounding must not bring the rows' own targets into them."""

import numpy as np
import pytest

from widemargin import SVC, SVR, GridSearchCV, ModelSearch, NuSVR
from widemargin.kernels import Polynomial

HUGE = {"kernel": "poly", "gamma": 1e-8, "coef0": 1e5}  # kernel values of 1e15: all rows look alike


@pytest.fixture
def noise():
    generator = np.random.default_rng(0)
    return generator.normal(size=(60, 3)), generator.normal(size=60)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "machine",
    [SVR(**HUGE), SVR(loss="squared_epsilon_insensitive", **HUGE), NuSVR(**HUGE)],
    ids=["SVR", "squared", "nu"],
)
def test_regression_learns_nothing_from_noise(machine, noise):
    X, y = noise
    search = GridSearchCV(machine, {"C": [1.0, 1e5]}, cv=5).fit(X, y)
    assert search.best_score_ < 0.2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("objective", ["cross-validation", "hold-out", "leave-one-out"])
def test_objectives_learn_nothing_from_noise(objective, noise):
    X, y = noise
    machine = SVC(kernel=Polynomial(gamma=1e-8, coef0=1e5), C=1e5)
    search = ModelSearch(machine, objective=objective, strategy="random", max_evaluations=1, refit=False)
    assert search.fit(X, y > 0).best_value_ > 0.25
