"""Distances between class centres, with derivatives up to the third."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.objectives import class_distances
from widemargin.kernels import DiagonalGaussian, Gaussian, Mahalanobis
from widemargin.kernels.rows import kernel_matrix
from widemargin.objectives import ClassDistance, Task, distance_tiles
from widemargin.testing import ObjectiveContract, adaptable_kernels, small_regression_task, small_tasks

PROBLEMS = ["one-against-all", "pairs"]


@pytest.mark.parametrize("problems", PROBLEMS)
def test_keeps_the_contract(problems):
    one_class = Task(np.zeros((3, 1)), np.array([1, 1, 0]), 2, np.array([1.0, 1.0, 0.0]))
    ObjectiveContract(
        ClassDistance(problems),
        kernels=adaptable_kernels(),
        oracle=lambda task, kernel, C, generator: float(np.mean(class_distances(task, kernel(task.X), problems))),
        refuses=[(small_regression_task(), 1.0), (one_class, 1.0)],
        n_points=8,
    ).check()


@pytest.mark.parametrize("problems", PROBLEMS)
def test_every_problem_by_itself(problems):
    task, kernel = small_tasks(n=50)[2], Gaussian(0.3)
    for one in (kernel, DiagonalGaussian([0.1, 0.2, 0.3])):
        bound = ClassDistance(problems).bind(task)
        meant = class_distances(task, one(task.X), problems)
        assert bound.n_parts == len(meant) == 3
        found = [bound.evaluate(one, 1.0, part=part).value for part in range(3)]
        np.testing.assert_allclose(found, meant, rtol=1e-11)
    with pytest.raises(IndexError):
        bound.evaluate(kernel, 1.0, part=3)


@pytest.mark.parametrize("problems", PROBLEMS)
def test_two_classes_are_one_problem(problems):
    assert ClassDistance(problems).bind(small_tasks()[0]).n_parts == 1


@pytest.mark.parametrize("problems", PROBLEMS)
@pytest.mark.parametrize("part", [None, 1])
def test_derivatives_with_respect_to_the_scale(problems, part, monkeypatch):
    monkeypatch.setattr(distance_tiles, "EDGE", 7)
    task = replace(small_tasks()[2], weights=np.random.default_rng(1).integers(0, 3, size=40).astype(float))
    bound, p, step = ClassDistance(problems).bind(task), 0.4, 3e-5

    def at(p: float) -> np.ndarray:
        found = bound.evaluate(Gaussian(p), 1.0, part=part)
        return np.array([found.value, *found.higher])

    centre, slopes = at(p), (at(p + step) - at(p - step)) / (2.0 * step)
    np.testing.assert_allclose(centre[1:], slopes[:3], atol=2e-6 * np.abs(centre).max())
    gradient = bound.evaluate(Gaussian(p), 1.0, part=part).gradient
    assert gradient[0] == pytest.approx(p * centre[1], rel=1e-12)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_mahalanobis_has_derivatives_with_respect_to_delta(covariance):
    task, step = small_tasks()[2], 1e-5
    kernel = Mahalanobis(delta=0.7, covariance=covariance).fitted(task.X)
    bound = ClassDistance().bind(task)
    at = {p: bound.evaluate(kernel.clone_with_theta(np.log([p])), 1.0) for p in (0.7 - step, 0.7, 0.7 + step)}
    slopes = (np.array(at[0.7 + step].higher) - np.array(at[0.7 - step].higher)) / (2.0 * step)
    np.testing.assert_allclose(at[0.7].higher[1:], slopes[:2], rtol=1e-6)
    assert at[0.7].value == pytest.approx(np.mean(class_distances(task, kernel(task.X))), rel=1e-11)


def test_third_derivative_against_its_formula():
    task = small_tasks()[0]
    squared = -np.log(kernel_matrix(task.X, gamma=1.0, dtype="float64"))
    sides = np.where(task.y == 1, 1.0 / (task.y == 1).sum(), -1.0 / (task.y == 0).sum())
    meant = [sides @ ((-squared) ** k * np.exp(-0.3 * squared)) @ sides for k in range(4)]
    found = ClassDistance().bind(task).evaluate(Gaussian(0.3), 1.0)
    np.testing.assert_allclose([found.value, *found.higher], meant, rtol=1e-9)


def test_many_equal_widths_are_one():
    task = small_tasks()[2]
    many = ClassDistance().bind(task).evaluate(DiagonalGaussian([0.3, 0.3, 0.3]), 1.0)
    one = ClassDistance().bind(task).evaluate(Gaussian(0.3), 1.0)
    assert many.value == pytest.approx(one.value, rel=1e-10)
    assert many.gradient.sum() == pytest.approx(one.gradient[0], rel=1e-9)


def test_fixed_kernels_have_a_value():
    task = small_tasks()[0]
    found = ClassDistance().bind(task).evaluate(Gaussian(0.3, "fixed"), 1.0)
    assert found.value == pytest.approx(ClassDistance().bind(task).evaluate(Gaussian(0.3), 1.0).value)
    assert found.gradient.shape == (0,)


def test_sparse_examples():
    task = small_tasks()[2]
    thin = np.where(task.X > 0.3, task.X, 0.0)
    dense, sparse = (
        ClassDistance().bind(replace(task, X=X)).evaluate(Gaussian(0.4), 1.0) for X in (thin, sp.csr_array(thin))
    )
    np.testing.assert_allclose([sparse.value, *sparse.higher], [dense.value, *dense.higher], rtol=1e-10)


def test_classes_without_weight_are_no_problem():
    task = small_tasks()[2]
    thin = replace(task, weights=np.where(task.y == 1, 0.0, 1.0))
    kept = task.y != 1
    two = Task(task.X[kept], task.y[kept] // 2, 2, np.ones(kept.sum()))
    for problems in PROBLEMS:
        bound = ClassDistance(problems).bind(thin)
        assert bound.n_parts == 1
        meant = ClassDistance().bind(two).evaluate(Gaussian(0.3), 1.0).value
        assert bound.evaluate(Gaussian(0.3), 1.0).value == pytest.approx(meant, rel=1e-12)
        assert bound.evaluate(DiagonalGaussian([0.3, 0.3, 0.3]), 1.0).value == pytest.approx(meant, rel=1e-12)


def test_unknown_problems_are_named():
    with pytest.raises(ValueError, match="problems is 'all-pairs'; it must be"):
        ClassDistance("all-pairs").bind(small_tasks()[0])
