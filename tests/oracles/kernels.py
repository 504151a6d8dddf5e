"""The formulas of the package's kernel objects, written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin import kernels as ours
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.testing.oracles import as_matrix
from widemargin.testing.protocols import Matrix, Vector


def naive_values(kernel: Any, A: Any, B: Any) -> Matrix:
    """Kernel values pair by pair, as the formula of each kernel says.

    Examples
    --------
    >>> naive_values(ours.Gaussian(gamma=1.0) + 2.0, [[0.0]], [[0.0]]).tolist()
    [[3.0]]
    """
    left, right = as_matrix(A), as_matrix(B)
    return np.array([[_naive_value(as_kernel(kernel), x, z) for z in right] for x in left])


def _naive_value(kernel: Any, x: Vector, z: Vector) -> float:
    away = x - z
    match kernel:
        case ours.Gaussian():
            return float(np.exp(-kernel.gamma * (away @ away)))
        case ours.DiagonalGaussian():
            return float(np.exp(-(np.asarray(kernel.gammas) * away**2).sum()))
        case ours.MaskedGaussian():
            return float(np.exp(-kernel.gamma * sum(away[k] ** 2 for k in np.flatnonzero(kernel.features))))
        case ours.GeneralGaussian():
            scaled = np.asarray(kernel.matrix) @ away
            return float(np.exp(-0.5 * (scaled @ scaled)))
        case ours.Mahalanobis():
            Q = np.diag(kernel.matrix) if kernel.covariance == "diagonal" else np.asarray(kernel.matrix)
            return float(np.exp(-kernel.delta / len(Q) * (away @ np.linalg.pinv(Q) @ away)))
        case ours.Linear():
            return float(x @ z)
        case ours.Polynomial():
            return float((kernel.gamma * (x @ z) + kernel.coef0) ** kernel.degree)
        case ours.Constant():
            return float(kernel.value)
        case ours.Sum():
            return sum(_naive_value(as_kernel(part), x, z) for part in (kernel.k1, kernel.k2))
        case ours.Product():
            return _naive_value(as_kernel(kernel.k1), x, z) * _naive_value(as_kernel(kernel.k2), x, z)
        case ours.Scaled():
            return float(kernel.scale) * _naive_value(as_kernel(kernel.kernel), x, z)
        case ours.Power():
            return float(_naive_value(as_kernel(kernel.kernel), x, z) ** kernel.exponent)
        case ours.Normalized():
            inner = as_kernel(kernel.kernel)
            both = _naive_value(inner, x, x) * _naive_value(inner, z, z)
            return _naive_value(inner, x, z) / float(np.sqrt(both)) if both else 0.0
        case ours.ScikitLearnKernel():
            return float(kernel.kernel(x[np.newaxis], z[np.newaxis])[0, 0])
    raise TypeError(f"the formula of {kernel!r} is not written down here.")
