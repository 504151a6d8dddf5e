"""Small tasks and kernels to try objectives on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RationalQuadratic

from widemargin.kernels import DiagonalGaussian, Gaussian, GeneralGaussian, Kernel, Mahalanobis, Polynomial, normalized
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.objectives import Task


def small_tasks(n: int = 40, d: int = 3, *, seed: int = 0, **settings: Any) -> list[Task]:
    """Tasks with few samples: two classes, two of unequal weights, three classes.

    Parameters
    ----------
    n, d : int
        Samples and features.
    seed : int
    **settings
        Of :class:`widemargin.objectives.Task`; a tight `tolerance` by default, so that differences of values tell
        slopes.

    Examples
    --------
    >>> [(task.n_classes, task.n_samples) for task in small_tasks()]
    [(2, 40), (2, 40), (3, 40)]
    """
    generator = np.random.default_rng(seed)
    settings = {"tolerance": 1e-11, **settings}
    tasks = []
    for n_classes, weighted in ((2, False), (2, True), (3, False)):
        y = generator.permutation(np.arange(n) % n_classes)
        centres = generator.normal(size=(n_classes, d))
        weights = generator.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
        tasks.append(Task(centres[y] + generator.normal(size=(n, d)), y, n_classes, weights, **settings))
    return tasks


def small_regression_task(n: int = 40, d: int = 3, *, seed: int = 0, **settings: Any) -> Task:
    """Return a regression task with few samples.

    Examples
    --------
    >>> small_regression_task().n_classes
    0
    """
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * generator.normal(size=n)
    settings = {"tolerance": 1e-11, "loss": "epsilon_insensitive", **settings}
    return Task(X, y, 0, generator.uniform(0.5, 2.0, size=n), **settings)


def adaptable_kernels() -> list[Kernel]:
    """One kernel of each kind with parameters to adapt: of one width and of many, of dot products, made of others.

    Examples
    --------
    >>> adaptable_kernels()[:2]
    [Gaussian(), DiagonalGaussian()]
    """
    polynomial = Polynomial(degree=2, gamma=0.5, coef0=1.0)
    return [
        Gaussian(),
        DiagonalGaussian(),
        GeneralGaussian(),
        Mahalanobis(),
        Mahalanobis(covariance="full"),
        polynomial,
        normalized(polynomial),
        Gaussian() + 0.5 * polynomial,
        Gaussian() * DiagonalGaussian(),
        as_kernel(RationalQuadratic()),
    ]
