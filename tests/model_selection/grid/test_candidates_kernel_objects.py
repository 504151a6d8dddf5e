"""Searches over kernel objects: the scores of machines trained alone, and work that is shared where it can be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process import kernels as theirs
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC
from widemargin.kernels import DiagonalGaussian, Gaussian, GeneralGaussian, Linear, Mahalanobis, Polynomial
from widemargin.kernels.rows import KernelParameters, LinearMap, kernel_matrix
from widemargin.kernels.shared import SharedKernel

X, y = load_iris(return_X_y=True)
X = X * [1.0, 10.0, 0.1, 3.0]
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
MATRICES = [np.diag([0.1, 1.0, 0.3, 0.5]), np.eye(4)]


def scores_alone(estimator, candidates) -> np.ndarray:
    """Test scores of every candidate on every fold, each machine trained by itself."""
    return np.array(
        [
            [
                clone(estimator).set_params(**one).fit(X[train], y[train]).score(X[test], y[test])
                for train, test in FOLDS
            ]
            for one in candidates
        ]
    )


CASES = [
    (SVC(kernel=Gaussian()), {"kernel__gamma": [0.01, 0.1, None], "C": [0.1, 1.0, 10.0]}),
    (SVC(kernel=Mahalanobis()), {"kernel__delta": [0.1, 1.0], "C": [0.1, 1.0, 10.0]}),
    (SVC(kernel=Mahalanobis()), {"kernel__covariance": ["diagonal", "full"], "C": [0.1, 10.0]}),
    (SVC(kernel=DiagonalGaussian()), {"kernel__gammas": [None, 0.01, [0.1, 0.0001, 1.0, 0.1]], "C": [0.1, 10.0]}),
    (SVC(kernel=GeneralGaussian()), {"kernel__matrix": [None, *MATRICES], "C": [1.0, 10.0]}),
    (SVC(kernel=Polynomial(gamma=1e-3)), {"kernel__degree": [1, 2], "kernel__coef0": [0.0, 1.0], "C": [0.1, 1.0]}),
    (SVC(kernel=0.5 * Gaussian() + Linear()), {"kernel__k1__kernel__gamma": [0.01, None], "C": [0.01, 0.1]}),
    (
        SVC(),
        {"kernel": ["rbf", "linear", Gaussian(), Mahalanobis(), theirs.RBF(3.0), Gaussian() + 1.0], "C": [0.1, 1.0]},
    ),
    (SVC(), [{"kernel": [Gaussian()], "kernel__gamma": [0.1, 1.0]}, {"gamma": [0.1, 1.0]}]),
    (
        SVC(kernel=Mahalanobis(), loss="squared_hinge", fit_intercept=False),
        {"kernel__delta": [0.1, 1.0], "C": [0.1, 1.0]},
    ),
    (NuSVC(kernel=Mahalanobis()), {"kernel__delta": [0.1, 1.0], "nu": [0.1, 0.2]}),
    (SVR(kernel=Mahalanobis(covariance="full")), {"kernel__delta": [0.1, 1.0], "C": [0.1, 1.0]}),
    (
        make_pipeline(StandardScaler(), SVC(kernel=Mahalanobis())),
        {"svc__kernel__delta": [0.1, 1.0], "svc__C": [1.0, 10.0]},
    ),
    (make_pipeline(StandardScaler(), SVC()), {"svc__kernel": [Gaussian(), DiagonalGaussian()], "svc__C": [1.0, 10.0]}),
]


@pytest.mark.parametrize("memory", ["auto", 0.01])
@pytest.mark.parametrize(("estimator", "grid"), CASES, ids=lambda one: repr(one)[:60])
def test_scores_are_those_of_machines_trained_alone(estimator, grid, memory):
    search = GridSearchCV(estimator, grid, cv=FOLDS, max_memory=memory, refit=False).fit(X, y)
    assert search.work_report_.iterations is not None  # work was shared
    found = np.column_stack([search.cv_results_[f"split{number}_test_score"] for number in range(3)])
    assert found == pytest.approx(scores_alone(estimator, search.cv_results_["params"]), abs=0.021)


def test_the_best_machine_has_its_kernel():
    search = GridSearchCV(SVC(kernel=Mahalanobis()), {"kernel__delta": [0.01, 1.0], "C": [1.0]}, cv=FOLDS).fit(X, y)
    assert search.best_params_["kernel__delta"] == search.best_estimator_.kernel_.delta
    assert search.best_estimator_.kernel_.matrix == pytest.approx(X.var(axis=0))
    assert search.estimator.kernel == Mahalanobis()
    assert (search.predict(X) == search.best_estimator_.predict(X)).all()


def kernel_values(estimator, grid) -> int:
    return GridSearchCV(estimator, grid, cv=FOLDS, refit=False).fit(X, y).work_report_.kernel_evaluations


def test_kernels_of_a_kind_share_their_distances(monkeypatch):
    made = []
    original = SharedKernel.__init__

    def counted(self, *args, **kwargs):
        made.append(kwargs.get("map"))
        original(self, *args, **kwargs)

    monkeypatch.setattr(SharedKernel, "__init__", counted)
    costs = {"C": [0.1, 1.0, 10.0]}
    assert kernel_values(SVC(kernel=Gaussian()), {"kernel__gamma": [0.1, 1.0], **costs}) == 2 * 150**2
    assert made == [None]
    made.clear()
    # A covariance for each fold: distances three times, kernels of two widths from each.
    assert kernel_values(SVC(kernel=Mahalanobis()), {"kernel__delta": [0.1, 1.0], **costs}) == 6 * 150**2
    assert len(made) == len(set(made)) == 3
    made.clear()
    assert kernel_values(SVC(kernel=Gaussian(gamma=0.1) + 1.0), costs) == 150**2
    assert made == [None]


def test_the_covariance_is_that_of_the_rows_trained_on():
    """A row that is held out must not have a say in how far it is from the others."""
    rows = np.vstack([X, 1e6 * np.ones((1, 4))])
    labels = np.append(y, 0)
    fold = [(np.arange(150), np.array([150]))]
    search = GridSearchCV(
        SVC(kernel=Mahalanobis()), {"C": [1.0]}, cv=fold, scoring=lambda machine, A, b: machine.kernel_.matrix[0]
    )
    search.fit(rows, labels)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(X[:, 0].var())


def test_balls_and_scorers_that_ask_for_more():
    def radius(machine, rows, labels=None):
        return machine.radius_

    grid = {"kernel__delta": [0.1, 1.0], "nu": [0.1, 0.5]}
    folds = list(KFold(3).split(X))
    for kernel in (Mahalanobis(), 2.0 * Mahalanobis()):
        own = (
            grid
            if kernel == Mahalanobis()
            else {
                f"kernel__kernel__{key.split('__')[-1]}" if "__" in key else key: value for key, value in grid.items()
            }
        )
        search = GridSearchCV(SVDD(kernel=kernel), own, cv=folds, scoring=radius, refit=False).fit(X)
        alone = [
            clone(SVDD(kernel=kernel)).set_params(**one).fit(X[folds[0][0]]).radius_
            for one in search.cv_results_["params"]
        ]
        assert search.cv_results_["split0_test_score"] == pytest.approx(alone, rel=1e-3)


def test_workers_and_journals(tmp_path):
    grid = {"kernel__delta": [0.1, 1.0], "C": [0.1, 1.0, 10.0]}
    journal = tmp_path / "search.jsonl"
    first = GridSearchCV(SVC(kernel=Mahalanobis()), grid, cv=FOLDS, n_jobs=2, journal=journal).fit(X, y)
    again = GridSearchCV(SVC(kernel=Mahalanobis()), grid, cv=FOLDS, journal=journal).fit(X, y)
    assert again.cv_results_["mean_test_score"] == pytest.approx(first.cv_results_["mean_test_score"], abs=0)


def test_names_that_no_kernel_has():
    with pytest.raises(ValueError, match="Invalid parameter"):
        GridSearchCV(SVC(kernel=Gaussian()), {"kernel__delta": [1.0]}, cv=FOLDS).fit(X, y)


def test_shared_kernels_tell_maps_apart():
    factors = np.array([1.0, 2.0, 3.0, 4.0])
    shared = SharedKernel(X, "rbf", map=LinearMap(factors))
    found = shared.matrix(KernelParameters("rbf", 0.5, map=LinearMap(factors)))
    assert found == pytest.approx(kernel_matrix(X * factors, gamma=0.5, dtype="float64"), abs=1e-5)
    with pytest.raises(ValueError, match="this shared kernel holds kernel='rbf'"):
        shared.matrix(KernelParameters("rbf", 0.5))
