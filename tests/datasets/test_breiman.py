"""Breiman's problems against their definitions."""

import numpy as np

from widemargin.datasets import (
    ringnorm,
    twonorm,
    waveform,
)


def test_twonorm_moments() -> None:
    X, y = twonorm(40_000, random_state=0)
    for label in (-1, 1):
        np.testing.assert_allclose(X[y == label].mean(axis=0), label * 2 / np.sqrt(20), atol=0.04)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(20), atol=0.06)


def test_ringnorm_moments() -> None:
    X, y = ringnorm(40_000, random_state=0)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(np.cov(X[y == 1].T), 4 * np.eye(20), atol=0.25)
    np.testing.assert_allclose(X[y == -1].mean(axis=0), 2 / np.sqrt(20), atol=0.04)
    np.testing.assert_allclose(np.cov(X[y == -1].T), np.eye(20), atol=0.06)


def test_waveform_class_means_are_midpoints_of_two_waves() -> None:
    X, y = waveform(60_000, random_state=0)
    i = np.arange(1, 22)
    waves = {1: 11, 2: 15, 3: 7}
    h = {name: np.maximum(6 - np.abs(i - centre), 0) for name, centre in waves.items()}
    for label, (first, second) in enumerate([(1, 2), (1, 3), (2, 3)]):
        members = X[y == label]
        np.testing.assert_allclose(members.mean(axis=0), (h[first] + h[second]) / 2, atol=0.06)
        # u h + (1 - u) h' + noise has variance (h - h')^2 / 12 + 1 in every feature.
        np.testing.assert_allclose(members.var(axis=0), (h[first] - h[second]) ** 2 / 12 + 1, atol=0.12)
