"""The posterior: a prior that knows no axes."""

from __future__ import annotations

import numpy as np
import pytest
from machine_contracts import LOSSES, machine_contract, tasks

from widemargin.kernels import Gaussian, GeneralGaussian
from widemargin.objectives import (
    Likelihood,
    Posterior,
    Task,
)
from widemargin.objectives.held_out.likelihood import JaakkolaPrior


@pytest.mark.parametrize("degrees", [0.0, 20.0, 45.0, 90.0])
def test_turning_data_and_kernel_does_not_change_the_prior(degrees: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = np.diag([3.0, 0.5])
    straight, turned = (
        JaakkolaPrior(Task(points, y, 2, np.ones(40)))(GeneralGaussian(metric), 1.0)
        for points, metric in ((X, matrix), (X @ turn.T, turn @ matrix @ turn.T))
    )
    assert turned[0] == pytest.approx(straight[0], rel=1e-9)
    assert np.linalg.norm(turned[1]) == pytest.approx(np.linalg.norm(straight[1]), rel=1e-9)


def test_the_slopes_of_the_prior_are_those_of_its_density() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    prior, kernel = JaakkolaPrior(Task(X, y, 2, np.ones(40))), GeneralGaussian(np.diag([2.0, 1.0, 0.3]))
    _, slopes, _ = prior(kernel, 1.0)
    for number, step in enumerate(1e-5 * np.eye(6)):
        ahead, behind = (prior(kernel.clone_with_theta(kernel.theta + way * step), 1.0)[0] for way in (1.0, -1.0))
        assert slopes[number] == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss):
    machine_contract(Posterior(share=0.4), loss).check()


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


def noise(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose labels have nothing to do with them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), np.arange(n) % 2


def test_priors_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"prior must be None or a callable .*; got 3"):
        Posterior(prior=3)
    X, y = noise()
    bound = Posterior(prior=lambda kernel, C: (0.0, np.zeros(3), 0.0)).bind(Task(X, y, 2, np.ones(60)))
    with pytest.raises(ValueError, match=r"shape \(3,\) for Gaussian\(gamma=0.5\), whose theta holds 1 numbers"):
        bound.evaluate(Gaussian(gamma=0.5), 1.0, generator=np.random.default_rng(0))
