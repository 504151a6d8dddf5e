"""Objectives that train machines: values against naive loops, derivatives against differences, theorems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.objectives import (
    naive_continuous_span,
    naive_held_out,
    naive_leave_one_out,
    naive_radius_margin,
)
from widemargin.datasets import chess_board
from widemargin.kernels import DiagonalGaussian, Gaussian, GeneralGaussian, Polynomial, normalized
from widemargin.objectives import (
    Bootstrap,
    CrossValidation,
    HoldOut,
    LeaveOneOut,
    Likelihood,
    Posterior,
    RadiusMargin,
    SpanBound,
    SupportVectors,
    Task,
)
from widemargin.objectives.hold_out import random_split
from widemargin.testing import ObjectiveContract, points_with_a_closest_pair, small_regression_task, small_tasks

LOSSES = ["hinge", "squared_hinge"]
MACHINE = {"state_error": 2e-4, "value_error": 2e-4}


def tasks(loss: str, **settings) -> list[Task]:
    return small_tasks(loss=loss, tolerance=1e-7, **settings)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "objective",
    [CrossValidation(loss="smooth"), HoldOut(loss="smooth", share=0.4), SpanBound(), SpanBound("unchanged")],
    ids=["cross-validation", "hold-out", "span", "span-unchanged"],
)
def test_smooth_objectives_keep_the_contract(objective, loss):
    ObjectiveContract(objective, tasks(loss), refuses=[(small_regression_task(), 1.0)], **MACHINE).check()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", [Likelihood(share=0.4), Posterior(share=0.4), Likelihood(draws=3)])
def test_random_objectives_keep_the_contract(objective, loss):
    ObjectiveContract(objective, tasks(loss), refuses=[(small_regression_task(), 1.0)], **MACHINE).check()


def test_radius_margin_keeps_the_contract():
    ObjectiveContract(
        RadiusMargin(),
        tasks("squared_hinge"),
        oracle=lambda task, kernel, C, generator: naive_radius_margin(task, kernel, C),
        refuses=[(tasks("hinge")[0], 1.0), (small_regression_task(), 1.0)],
        **(MACHINE | {"value_error": 1e-6}),
    ).check()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", [CrossValidation(), HoldOut(), Bootstrap(), LeaveOneOut(), SupportVectors()])
def test_counting_objectives_keep_the_contract(objective, loss):
    refused = [] if not isinstance(objective, LeaveOneOut) else [(small_regression_task(), 1.0)]
    contract = ObjectiveContract(objective, tasks(loss), refuses=refused, **MACHINE)
    # One example more or less is no rounding: what a start changes is compared by machines elsewhere.
    skipped = (contract.does_not_depend_on_its_start,)
    for clause in contract.clauses():
        if clause not in skipped:
            clause()


@pytest.mark.parametrize("objective", [CrossValidation(), HoldOut(), Bootstrap(), SupportVectors()])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression(objective, loss):
    task = replace(small_regression_task(tolerance=1e-7), loss=loss)
    found = objective.bind(task).evaluate(Gaussian(0.3), 1.0, generator=np.random.default_rng(0))
    assert found.gradient is None
    assert 0 < found.value < (len(task.y) + 1 if isinstance(objective, SupportVectors) else np.var(task.y))


@pytest.mark.parametrize("kernel", [GeneralGaussian(), 0.5 * Gaussian(1.0) + normalized(Polynomial(2, gamma=0.5))])
def test_gradients_of_other_kernels(kernel):
    task = small_tasks(tolerance=1e-7)[0]
    for objective in (Likelihood(share=0.4), SpanBound("unchanged")):
        ObjectiveContract(objective, [task], [kernel], n_points=6, **MACHINE).has_the_slope_of_its_values()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_leave_one_out_is_the_naive_loop(loss, number, C):
    task = tasks(loss)[number]
    kernel = Gaussian(0.4)
    assert LeaveOneOut().bind(task).evaluate(kernel, C).value == pytest.approx(naive_leave_one_out(task, kernel, C))
    found = SpanBound().bind(task).evaluate(kernel, C).value
    assert found == pytest.approx(naive_continuous_span(task, kernel, C), rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_held_out_losses_are_the_naive_ones(loss):
    task = tasks(loss)[1]
    kernel = DiagonalGaussian([0.2, 0.5, 0.1])
    split = random_split(task, 0.2, np.random.default_rng(3))
    found = Likelihood().bind(task).evaluate(kernel, 2.0, generator=np.random.default_rng(3)).value
    assert found == pytest.approx(naive_held_out(task, kernel, 2.0, [split], "likelihood"), rel=1e-5)
    for kind in ("zero-one", "smooth"):
        objective = HoldOut(loss=kind, random_state=3).bind(task)
        meant = naive_held_out(task, kernel, 2.0, [split], kind)
        assert objective.evaluate(kernel, 2.0).value == pytest.approx(meant, rel=1e-5)


def test_the_span_predicts_left_out_values_where_sets_stay():
    # Far apart pairs: leaving one out changes no set, so that prediction and retraining agree.
    X = np.array([[0.0], [1.0], [50.0], [51.0], [52.5]])
    task = Task(X, np.array([0, 1, 0, 1, 0]), 2, np.ones(5), loss="squared_hinge", tolerance=1e-9)
    predicted, retrained = (SpanBound(s).bind(task).evaluate(Gaussian(0.1), 5.0) for s in ("unchanged", "retrained"))
    assert predicted.value == pytest.approx(retrained.value, rel=1e-6)
    np.testing.assert_allclose(predicted.gradient, retrained.gradient, rtol=1e-5)


@pytest.mark.parametrize(("gamma", "C"), [(0.01, 1e5), (0.1, 1e6), (1.0, 1e3)])
def test_span_lies_between_errors_and_support_vectors(gamma, C):
    """The first two kernel matrices are nearly singular for their C, and it is said so."""
    X, y = chess_board(200, random_state=np.random.default_rng([9, 0]))
    task = Task(X, np.where(y > 0, 1, 0), 2, np.ones(200))
    errors, span, count = (
        one.bind(task).evaluate(Gaussian(gamma), C, gradient=False)
        for one in (LeaveOneOut(), SpanBound(), SupportVectors())
    )
    assert 200 * errors.value <= span.value <= count.value
    assert any("float32" in note for note in span.notes) == (gamma < 1.0)
    assert span.notes == errors.notes


def test_hard_margins_out_of_reach_are_told():
    X, y = chess_board(100, random_state=0)
    bound = RadiusMargin().bind(Task(X, np.where(y > 0, 1, 0), 2, np.ones(100)))
    narrow, wide = (bound.evaluate(Gaussian(gamma), np.inf) for gamma in (5.0, 0.05))
    assert narrow.notes == ()
    assert "no hard margin" in wide.notes[0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), unlike=st.booleans())
def test_theorem_9_3(seed, unlike):
    """[Glasmachers2008, Theorem 9.3]: narrow kernels follow the labels of the closest pair."""
    X, (p, q), squared = points_with_a_closest_pair(8, 3, seed=seed, closer=0.7)
    generator = np.random.default_rng(seed)
    y = np.repeat([0, 1], 4)
    while (y[p] != y[q]) != unlike:
        y = generator.permutation(y)
    task = Task(X, y, 2, np.ones(8), tolerance=1e-9)
    for exponent in (12.0, 20.0):
        found = RadiusMargin().bind(task).evaluate(Gaussian(exponent / squared), np.inf)
        assert found.c_slope is None
        assert (found.gradient[0] < 0) == unlike


def test_posterior_adds_a_prior_of_the_users():
    task = tasks("hinge")[0]
    kernel = Gaussian(0.3)

    def prior(kernel, C):
        return 7.0, np.array([2.0]), -3.0

    plain, with_prior = (
        one.bind(task).evaluate(kernel, 2.0, generator=np.random.default_rng(1))
        for one in (Likelihood(), Posterior(prior))
    )
    assert with_prior.value == plain.value + 7.0
    assert with_prior.gradient[0] == plain.gradient[0] + 2.0
    assert with_prior.c_slope == plain.c_slope - 3.0


def test_dependent_free_variables_are_held_and_told():
    task = small_tasks(tolerance=1e-7)[0]
    twice = replace(task, X=np.vstack([task.X, task.X]), y=np.tile(task.y, 2), weights=np.ones(2 * len(task.y)))
    for objective in (SpanBound(), SpanBound("unchanged"), LeaveOneOut()):
        notes = {note for C in (0.3, 3.0, 30.0) for note in objective.bind(twice).evaluate(Gaussian(0.3), C).notes}
        assert any("depend" in note for note in notes)
    ObjectiveContract(
        Likelihood(share=0.4), [twice], [Gaussian()], n_points=10, **MACHINE
    ).has_the_slope_of_its_values()
