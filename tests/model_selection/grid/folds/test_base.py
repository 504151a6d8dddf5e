"""What the threads of a search share of a fold."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from widemargin import SVC
from widemargin.kernels.rows import kernel_matrix, row_source
from widemargin.machines.chain import ChainKernel
from widemargin.machines.dual import StopRule
from widemargin.model_selection.grid.folds import KnownValues
from widemargin.model_selection.grid.folds.classifier import ClassifierFold
from widemargin.runtime import Stop


@pytest.fixture
def fold() -> ClassifierFold:
    y = np.array([0, 1] * 10)
    return ClassifierFold(y, np.arange(16), np.arange(16, 20), np.ones(20), np.arange(16, 20))


def test_a_thread_sees_no_weights_that_another_has_not_finished(fold, monkeypatch):
    machine = SVC(C=2.0, class_weight="balanced")
    at_work, seen = threading.Event(), threading.Event()
    factors = SVC._class_factors

    def slow_for_the_first(self, labels, weights):
        if not at_work.is_set():
            at_work.set()
            assert seen.wait(60)
        return factors(self, labels, weights)

    monkeypatch.setattr(SVC, "_class_factors", slow_for_the_first)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(fold._bounds, machine)
        try:
            assert at_work.wait(60)
            second = fold._bounds(machine)
        finally:
            seen.set()
        expected = np.repeat([2.0, 0.0], [16, 4])
        np.testing.assert_array_equal(second, expected)
        np.testing.assert_array_equal(first.result(), expected)


def test_problems_of_another_kernel_are_not_built_again(fold):
    Cs = (1.0, 2.0, np.inf)
    first = fold._problems_of([SVC(C=C, gamma=1.0) for C in Cs], Stop())
    assert fold._problems_of([SVC(C=C, gamma=5.0) for C in Cs], Stop()) is first
    (pair,) = first
    assert [link.problem.upper.max() for link in pair.links] == [1.0, 2.0]
    assert [bounds.max() for bounds in pair.bounds] == [1.0, 2.0, np.inf]


@pytest.mark.parametrize("other", [{"C": 3.0}, {"loss": "squared_hinge"}, {"class_weight": {0: 2.0}}], ids=str)
def test_problems_of_other_machines_are_built(fold, other):
    ((first,),) = (one.links for one in fold._problems_of([SVC()], Stop()))
    ((own,),) = (one.links for one in fold._problems_of([SVC(**other)], Stop()))
    assert not np.array_equal(own.problem.upper, first.problem.upper)


def test_large_problems_are_not_kept():
    y = np.tile([0, 1], 60_000)
    rows = np.arange(len(y))
    fold = ClassifierFold(y, rows, rows[:2], np.ones(len(y)), rows[:2])
    machines = [SVC(C=1.0), SVC(C=2.0)]
    assert fold._problems_of(machines, Stop()) is not fold._problems_of(machines, Stop())


@pytest.mark.parametrize("kind", ["two classes", "a class not trained on", "rows of both parts", "weights of 0"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_models_of_a_chain_say_together_what_they_say_alone(kind, loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    train, test, weights = np.arange(40), np.arange(40, 60), np.ones(60)
    if kind == "a class not trained on":
        y[50:] = 7
    if kind == "rows of both parts":
        test = np.arange(30, 60)
    if kind == "weights of 0":
        weights[:10] = 0.0
    fold, models = ClassifierFold(y, train, test, weights, test), [SVC(C=C, loss=loss) for C in (0.1, 10.0)]
    kernel = ChainKernel(row_source(X, kernel="rbf", gamma=1.0), kernel_matrix(X, gamma=1.0))
    found = [[link.solution for link in links] for links in fold.solve(models, X, kernel, StopRule())]
    values = fold.values(models, found, test)
    predicted = fold.predicted(models[0], values).reshape(2, -1)
    for model, solutions, own in zip(models, found, predicted, strict=True):
        twin = fold.twin(model, KnownValues(fold, model, solutions, [(X, test)]), solutions)
        np.testing.assert_array_equal(twin.predict(X), fold.classes[own])
        correct = np.count_nonzero(own == fold.numbers_of(test))
        assert 0 < correct == np.count_nonzero(twin.predict(X) == y[test]) < len(test)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_values_of_a_chain_that_leaves_its_matrix_are_those_of_its_models(shape):
    """Where the digits of the matrix run out, the pairs of a chain go on one after the other."""
    X = np.random.default_rng(1).normal(size=(45, 2))
    y, samples = np.arange(45) % 3, np.arange(45)
    fold = ClassifierFold(y, samples[:30], samples[30:], np.ones(45), samples)
    models = [SVC(C=C, decision_function_shape=shape) for C in (0.1, 1.0)]
    rows = row_source(X, kernel="rbf", gamma=1.0)
    (together, _), (_, alone) = (
        [[link.solution for link in links] for links in fold.solve(models, X, kernel, StopRule())]
        for kernel in (ChainKernel(rows, kernel_matrix(X, gamma=1.0)), ChainKernel(rows))
    )
    assert (len(together), len(alone)) == (1, 3)
    of = (
        fold.values if shape == "ovo" else fold.numbers
    )  # what pairs say is all that is kept unless values are asked for
    values = of(models, [together, alone], samples)
    parts = [of([model], [own], samples) for model, own in zip(models, (together, alone), strict=True)]
    np.testing.assert_array_equal(values, np.concatenate(parts))
