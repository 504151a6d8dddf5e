"""The task that a model search hands to its objective says what the machine would be trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from model_searches import Downhill, targets, three_classes, two_classes
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from widemargin import SVC, SVR, ModelSearch
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.objectives import BoundObjective, Evaluated, Objective, Task


class Captured(Objective):
    """Keeps the task that it is bound to."""

    name = "captured"
    chooses_c = False
    differentiable = False

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def __deepcopy__(self, memo: Any) -> Captured:
        return self

    def bind(self, task: Task) -> BoundObjective:
        self.tasks.append(task)
        return _Zero(task)


class _Zero(BoundObjective):
    def evaluate(self, kernel: Any, C: float, **how: Any) -> Evaluated:
        return Evaluated(0.0)


def task_of(machine: Any, X: Any, y: Any, *, n_jobs: int = 1, **fit: Any) -> Task:
    """Return the task of a search in which nothing but C is chosen, and that not by the objective."""
    objective = Captured()
    name = "svc__C" if hasattr(machine, "steps") else "C"
    ModelSearch(machine, objective=objective, strategy=Free(), space={name: (0.5, 1.0)}, n_jobs=n_jobs).fit(X, y, **fit)
    return objective.tasks[0]


class Free(Downhill):
    """Needs no gradient; it is not asked where there is nothing to search."""

    needs_gradient = False


def test_classifiers() -> None:
    X, y = three_classes()
    names = np.array(["b", "c", "a"])[y]
    task = task_of(SVC(tol=1e-3), X, names, n_jobs=2)
    np.testing.assert_array_equal(task.X, X)
    assert task.X.dtype == np.float64
    np.testing.assert_array_equal(task.y, np.array([1, 2, 0])[y])
    assert (task.n_classes, task.loss, task.fit_intercept, task.n_threads) == (3, "hinge", True, 2)
    assert task.tolerance == 1e-6
    np.testing.assert_array_equal(task.weights, np.ones(len(y)))
    other = task_of(SVC(loss="squared_hinge", fit_intercept=False, tol=1e-8), X, y)
    assert (other.loss, other.fit_intercept, other.tolerance) == ("squared_hinge", False, 1e-8)


def test_weights_of_classes_and_rows_multiply() -> None:
    X, y = two_classes()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    task = task_of(SVC(class_weight={0: 2.0, 1: 3.0}), X, y, sample_weight=weights)
    np.testing.assert_allclose(task.weights, weights * np.array([2.0, 3.0])[y])


def test_regressors() -> None:
    X, y = targets()
    task = task_of(SVR(epsilon=0.25, loss="squared_epsilon_insensitive"), X, 1000.0 * y)
    np.testing.assert_array_equal(task.y, 1000.0 * y)
    assert (task.n_classes, task.epsilon, task.loss) == (0, 0.25, "squared_epsilon_insensitive")
    assert task.tolerance == 1e-3  # a millionth of the targets' spread would be more
    assert task_of(SVR(), X, y).tolerance == pytest.approx(1e-6 * np.std(y))


def test_rows_behind_steps_and_sparse_rows() -> None:
    X, y = two_classes()
    task = task_of(make_pipeline(StandardScaler(), SVC()), 5.0 * X, y)
    np.testing.assert_allclose(task.X, StandardScaler().fit_transform(X), atol=1e-12)
    sparse = task_of(SVC(), sp.csr_array(X.astype(np.float32)), y)
    assert sp.issparse(sparse.X)
    assert sparse.X.dtype == np.float64


def test_the_kernel_that_it_begins_with() -> None:
    X, y = two_classes()
    kept = np.arange(len(y)) % 3 > 0
    started = ModelSearch(SVC(C=2.0), objective="polarization", strategy="rprop").fit(X, y, sample_weight=1.0 * kept)
    assert started.trace_[0]["gamma"] == pytest.approx(jaakkola_gamma(X[kept], y[kept]))
    assert started.trace_[0]["C"] == 2.0
    X, y = targets()
    regression = ModelSearch(SVR(), strategy="rprop").fit(X, y)
    assert regression.trace_[0]["gamma"] == pytest.approx(jaakkola_gamma(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("own", "expected"), [("auto", 1_000_000), (7, 7), (-1, 2**62)])
def test_machines_of_objectives_take_as_many_steps_as_the_machine_may(own: Any, expected: int) -> None:
    assert task_of(SVC(max_iter=own), *two_classes()).max_iterations == expected


class NoBase:
    """Knows fit and transform, and nothing else of scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> NoBase:
        return self

    def transform(self, X: Any) -> Any:
        return 2.0 * np.asarray(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("objective", ["target-alignment", "cross-validation"])
@pytest.mark.parametrize("step", [FunctionTransformer(lambda X: 2.0 * X), NoBase()], ids=["function", "no base"])
def test_steps_without_a_state_before_the_model(step: Any, objective: str) -> None:
    X, y = two_classes()
    how: dict[str, Any] = {"objective": objective, "strategy": "random", "max_evaluations": 3, "random_state": 0}
    search = ModelSearch(Pipeline([("scaler", StandardScaler()), ("step", step), ("svc", SVC())]), **how).fit(X, y)
    plain = ModelSearch(SVC(), **how).fit(2.0 * StandardScaler().fit_transform(X), y)
    assert search.best_params_["svc__gamma"] == pytest.approx(plain.best_params_["gamma"])


def test_steps_with_a_memory(tmp_path: Any) -> None:
    X, y = two_classes()
    pipeline = Pipeline([("scaler", StandardScaler()), ("svc", SVC())], memory=str(tmp_path))
    search = ModelSearch(pipeline, strategy="random", max_evaluations=3, random_state=0).fit(X, y)
    assert search.best_params_ == clone(search).set_params(estimator__memory=None).fit(X, y).best_params_
    assert any(tmp_path.rglob("*.pkl"))


def test_steps_that_lose_samples_are_refused() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:-1]), SVC())
    with pytest.raises(ValueError, match="The steps before the model made"):
        ModelSearch(pipeline, max_evaluations=3).fit(X, y)


def test_subclasses_may_have_methods_of_their_own() -> None:
    class OwnPipeline(Pipeline):  # type: ignore[misc]
        """Of somebody else."""

    class OwnSVC(SVC):
        """Of somebody else."""

    X, y = two_classes()
    with pytest.raises(TypeError, match=r"a subclass may have methods of its own; got .*\.OwnPipeline"):
        ModelSearch(OwnPipeline([("svc", SVC())])).fit(X, y)
    for model in (OwnSVC(), make_pipeline(OwnSVC())):
        with pytest.raises(TypeError, match="got OwnSVC, a subclass whose methods may be its own"):
            ModelSearch(model).fit(X, y)


def test_pipelines_of_kernel_matrices_are_refused() -> None:
    X, y = two_classes()
    pipeline = make_pipeline(KernelPCA(kernel="precomputed"), SVC())
    with pytest.raises(ValueError, match="goes by matrices between samples"):
        ModelSearch(pipeline).fit(X @ X.T, y)
