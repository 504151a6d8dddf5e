"""Derivatives are contracted block by block."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

from widemargin.kernels import ScikitLearnKernel
from widemargin.kernels.scikit_learn import as_kernel

X = np.random.default_rng(0).normal(size=(10, 2))


def test_derivatives_of_large_blocks_come_in_parts(monkeypatch):
    monkeypatch.setitem(ScikitLearnKernel._tensors.__globals__, "TENSOR_ENTRIES", 50)
    kernel = as_kernel(theirs.Matern([0.5, 2.0], nu=1.5))
    K = kernel.values(X, X)
    W = np.random.default_rng(1).normal(size=K.shape)
    gradient = theirs.Matern([0.5, 2.0], nu=1.5)(X, eval_gradient=True)[1]
    assert kernel.pull_back(W, X, X, K) == pytest.approx(np.einsum("ij,ijk->k", W, gradient))
    assert np.stack(list(kernel.derivatives(X, X, K)), axis=2) == pytest.approx(gradient)
