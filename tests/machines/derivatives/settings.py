"""Random kernels, labels and C, with some samples held out, and models trained on them."""

from __future__ import annotations

import numpy as np

from widemargin.datasets import chess_board, noisy_chess_board, sparse_coordinates
from widemargin.kernels import DiagonalGaussian
from widemargin.machines.derivatives import PairProblem, Sensitivity, train

N = 60
HELD = np.arange(0, N, 6)


def setting(number: int):
    """Random kernels, C, labels; some rows held out."""
    generator = np.random.default_rng(number)
    draw = (chess_board, noisy_chess_board, sparse_coordinates)[number % 3]
    X, y = draw(N, random_state=number)
    X = X + 0.01 * generator.normal(size=X.shape)
    kernel = DiagonalGaussian(np.exp(generator.normal(size=X.shape[1])) / X.shape[1])
    return X, y.astype(float), kernel, float(np.exp(generator.uniform(-4.0, 5.0))), generator


def trained(X, y, kernel, C, squared, fit_intercept):
    K = kernel(X)
    problem = PairProblem(y, np.full(N, C), squared, fit_intercept).held_out(HELD)
    single = K.astype(np.float32)
    return Sensitivity(K, train(single, problem), single)
