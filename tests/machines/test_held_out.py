"""Machines without a fold: their decision values against machines trained on the other rows alone."""

import time

import numpy as np
import pytest

from widemargin import SVC
from widemargin.kernels.rows import row_source
from widemargin.machines import held_out
from widemargin.machines.classifier import ClassPairs, solve_pairs
from widemargin.machines.dual import SolverOptions, StopRule
from widemargin.machines.held_out import held_out_values
from widemargin.machines.one_against_all import classes_against_all
from widemargin.testing import many_class_points

GAMMA, STOP = 0.5, StopRule(tolerance=1e-7)


@pytest.fixture(autouse=True, params=["matrix", "rows"])
def kernel_kind(request, monkeypatch):
    """Small problems are solved on rows, larger ones on matrices: here all of them on either."""
    monkeypatch.setattr(held_out, "FINISHED_EXACTLY", 0 if request.param == "matrix" else 10**6)
    return request.param


def found_values(X, y, bounds, folds, *, against_all=False, options=None, stop=STOP, kernel="rbf", **loss):
    n_classes = int(y.max()) + 1
    rows, options = row_source(X, kernel=kernel, gamma=GAMMA), options or SolverOptions()
    list_problems = classes_against_all if against_all else ClassPairs
    problems = list_problems(y, n_classes, bounds)
    machines = solve_pairs(rows, y, n_classes, bounds, stop=stop, options=options, problems=problems, **loss)
    return problems, held_out_values(rows, problems, machines, bounds, folds, stop=stop, options=options, **loss)


def naive_values(X, y, bounds, folds, problem, **parameters):
    """Train on all other folds, predict the one that was held out; NaN if a class is missing then."""
    C, weights = (1.0, bounds) if np.isfinite(bounds).all() else (np.inf, np.ones(len(bounds)))
    values = np.full(len(problem.ids), np.nan)
    for fold in np.unique(folds[problem.ids]):
        train, test = (problem.ids[folds[problem.ids] != fold], problem.ids[folds[problem.ids] == fold])
        signs = problem.signs[folds[problem.ids] != fold]
        if len(np.unique(signs)) == 2:
            model = SVC(C=C, gamma=GAMMA, tol=1e-7, **parameters).fit(X[train], signs, sample_weight=weights[train])
            values[folds[problem.ids] == fold] = model.decision_function(X[test])
    return values


def check(X, y, bounds, folds, *, against_all=False, options=None, **parameters):
    loss = {
        "squared": parameters.get("loss") == "squared_hinge",
        "fit_intercept": parameters.get("fit_intercept", True),
    }
    problems, found = found_values(X, y, bounds, folds, against_all=against_all, options=options, **loss)
    for problem, one in zip(problems, found, strict=True):
        assert set(one.reasons) == {"converged"}
        np.testing.assert_allclose(
            one.values, naive_values(X, y, bounds, folds, problem, **parameters), atol=2e-4, rtol=1e-4
        )


@pytest.mark.parametrize("against_all", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "squared_hinge"},
        {"fit_intercept": False},
        {"loss": "squared_hinge", "fit_intercept": False},
    ],
)
def test_values_are_those_of_machines_trained_without_the_fold(n_classes, against_all, parameters):
    X, y = many_class_points(n_classes, 40)
    generator = np.random.default_rng(0)
    bounds = 3.0 * generator.integers(0, 3, len(y))
    check(X, y, bounds, generator.integers(0, 4, len(y)), against_all=against_all, **parameters)


def test_hard_margins():
    X, y = many_class_points(2, 15)
    check(X, y, np.full(30, np.inf), np.arange(30) % 3)


@pytest.mark.parametrize(("far", "some"), [(-0.5, 256), (0.0, 256), (0.2, 256), (1.0, 2)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_were_left_aside_wrongly_take_part(far, some, loss, monkeypatch):
    X, y = many_class_points(2, 60)
    rounds = []
    plain = held_out._Problem._trained

    def counted(self, part, *others):
        rounds.append(len(part))
        return plain(self, part, *others)

    monkeypatch.setattr(held_out, "FAR", far)
    monkeypatch.setattr(held_out, "SOME", some)
    monkeypatch.setattr(held_out, "MOST_NEAR", 4 if some > 2 else 1)
    monkeypatch.setattr(held_out._Problem, "_trained", counted)
    check(X, y, np.full(120, 10.0), np.arange(120) % 5, loss=loss)
    assert len(rounds) > 1
    assert rounds == sorted(set(rounds))


def test_the_worst_of_those_left_aside_come_first():
    short = np.array([0.0, 0.3, -1.0, 0.1, 0.2])
    assert np.flatnonzero(held_out._worst(short, 2)).tolist() == [1, 4]
    assert np.flatnonzero(held_out._worst(short, 9)).tolist() == [1, 3, 4]
    assert not held_out._worst(np.zeros(3), 2).any()
    assert not held_out._worst(np.zeros(0), 2).any()


def test_a_fold_without_which_there_is_one_class_has_no_values():
    X, y = many_class_points(2, 10)
    folds = np.where(y == 1, 0, 1 + np.arange(20) % 3)
    _, (found,) = found_values(X, y, np.ones(20), folds)
    ids = ClassPairs(y, 2, np.ones(20))[0].ids
    np.testing.assert_array_equal(np.isnan(found.values), folds[ids] == 0)
    assert len(found.reasons) == 3


def test_kernels_that_do_not_fit_into_the_cache_and_threads():
    X, y = many_class_points(2, 150)
    bounds, folds = np.full(300, 2.0), np.arange(300) % 5
    _, (whole,) = found_values(X, y, bounds, folds)
    _, (rows,) = found_values(X, y, bounds, folds, options=SolverOptions(cache_bytes=50_000))
    _, (threads,) = found_values(X, y, bounds, folds, options=SolverOptions(n_threads=3))
    np.testing.assert_allclose(rows.values, whole.values, atol=1e-5)
    np.testing.assert_array_equal(threads.values, whole.values)


def test_a_clock_that_has_run_out(kernel_kind):
    X, y = many_class_points(2, 150)
    bounds, folds = np.full(300, 1e5), np.arange(300) % 5
    rows, options = row_source(X, gamma=GAMMA), SolverOptions()
    problems = ClassPairs(y, 2, bounds)
    machines = solve_pairs(rows, y, 2, bounds, stop=StopRule(), options=options)
    over = StopRule().within(0.0)
    (found,) = held_out_values(rows, problems, machines, bounds, folds, stop=over, options=options)
    assert found.reasons == ("time budget",)
    assert np.isnan(found.values).all()


def test_an_error_in_a_thread_is_raised():
    def failing(fold):
        raise RuntimeError(f"fold {fold}")

    with pytest.raises(RuntimeError, match="fold"):
        held_out._in_threads(failing, [0, 1, 2], 2, StopRule())


@pytest.mark.parametrize("loss", [{}, {"squared": True}, {"fit_intercept": False}])
def test_small_pairs_together_give_what_each_of_them_gives(loss, kernel_kind):
    random = np.random.default_rng(8)
    y = random.permutation(np.repeat(np.arange(7), [6, 5, 9, 1, 2, 7, 4]))
    X = random.normal(size=(len(y), 3)) + 1.5 * random.normal(size=(7, 3))[y]
    bounds = np.where(random.uniform(size=len(y)) < 0.1, 0.0, random.uniform(1.0, 5.0, size=len(y)))
    folds = np.where(bounds > 0, random.integers(0, 5, size=len(y)), -1)
    problems, expected = found_values(X, y, bounds, folds, **loss)
    how = {"squared": False, "fit_intercept": True, **loss}
    values, reasons = held_out.held_out_of_small_pairs(
        row_source(X, gamma=GAMMA), y, problems, bounds, folds, stop=STOP, options=SolverOptions(), **how
    )
    np.testing.assert_allclose(values, np.concatenate([one.values for one in expected]), atol=2e-5)
    assert reasons == ["converged"] * sum(len(one.reasons) for one in expected)
    over = StopRule(1e-7, deadline=time.perf_counter() - 1.0)
    _, reasons = held_out.held_out_of_small_pairs(
        row_source(X, gamma=GAMMA), y, problems, bounds, folds, stop=over, options=SolverOptions(), **how
    )
    assert reasons[-1] == "time budget"
