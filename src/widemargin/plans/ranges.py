r"""Where to look for the width of a Gaussian kernel and for C.

The kernel compares distances with its width, so ranges of gamma come from distances in the data: their quantiles, and
Jaakkola's heuristic, the median distance of a sample to the nearest one of another class.

C bounds the coefficients, and what matters is how it compares with theirs. Take the dual of a classifier for n samples,
with signed coefficients a,

.. math:: \max_a \; y^T a - a^T K a / 2, \qquad \sum_i a_i = 0, \quad 0 \le y_i a_i \le C.

Samples enter through K alone, and a Gaussian kernel has k(x, x) = 1 and 0 < k <= 1 in any units of the features. So
the range is one of numbers without a unit, the same for all data:

- **Small C.** Coefficients of either sign add up to nC/2 at most, so that :math:`|\sum_j a_j K_{ij}| \le nC/2`, and
  no two samples of different classes reach their margins while nC < 2: all coefficients of the smaller class are C, and
  a smaller C only scales all of them. That is the worst case, a kernel so wide that all samples look alike; of a narrow
  one, K = I, it is so up to C = 1, and if a sample sees m others of n, up to about 2/m.
- **Large C: saturation.** A solution in which no coefficient meets C solves the problem of every larger C too. For K
  = I coefficients are :math:`y_i - b`, and nothing changes from C = 2 on; the wider the kernel, the nearer K is to
  singular and the larger they grow: they add up to :math:`1/\rho^2` for samples that a margin :math:`\rho` separates.

:func:`c_values` reaches from 2^-4, the first limit where a sample sees 32 others, to 2^12, which is beyond the second
but for wide kernels and small margins. A width that saturates earlier ends there: its further models are known to
be equal and are not trained. What lies outside is left to the search, which goes on where the best model is on an
edge (:func:`beyond`), though not beyond a C that is saturated (:func:`widemargin.select`).

Numbers s times as large, with a tube s times as wide and a C s times as large, have the solution s a: for regression
the range of C is in units of the targets' standard deviation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.heuristics import distances_of_pairs, jaakkola_gamma

Vector = NDArray[np.float64]

#: Rows that heuristics look at, evenly spread over the data.
SAMPLE = 800

#: Powers of 2 to begin with as values of C.
C_EXPONENTS = np.arange(-4, 13, 2)


def sampled(n: int) -> NDArray[np.intp]:
    """Return the indices of the samples to look at, of n samples.

    Examples
    --------
    >>> len(sampled(10)), len(sampled(10_000))
    (10, 800)
    """
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))


def gamma_values(X: Any, labels: NDArray[Any] | None = None, *, count: int = 8) -> Vector:
    """Return values of gamma from wide to narrow, evenly spaced in logarithms.

    They reach from a kernel that sees the far quarter of the data as near to one that sees the near tenth as far, and
    hold Jaakkola's value between them.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> values = gamma_values(X)
    >>> len(values), bool((np.diff(values) > 0).all())
    (8, True)
    """
    rows = sampled(X.shape[0])
    distances = distances_of_pairs(X[rows])
    distances = distances[distances > 0.0]
    if not len(distances):
        raise ValueError("X must hold different samples; all samples that were looked at are equal.")
    near, far = np.square(np.quantile(distances, [0.1, 0.75]))
    widest, narrowest = 1.0 / (8.0 * far), 2.0 / near
    if labels is not None and len(np.unique(labels[rows])) > 1:
        guess = jaakkola_gamma(X[rows], labels[rows])
        widest, narrowest = min(widest, guess / 8.0), max(narrowest, 4.0 * guess)
    return np.geomspace(widest, narrowest, count)


def c_values() -> Vector:
    """Return values of C, from small to large: for targets -1 and 1, or in units of the targets' standard deviation.

    The beginning of this module says why they are the same for all data, and where they matter.

    Examples
    --------
    >>> c_values()[[0, -1]].tolist()
    [0.0625, 4096.0]
    """
    return 2.0 ** C_EXPONENTS.astype(np.float64)


def beyond(values: Vector, edge: str) -> float:
    """Return the value that comes next beyond the "smallest" or "largest" of a geometric range, at its own factor.

    Examples
    --------
    >>> beyond(np.array([1.0, 4.0]), "largest"), beyond(np.array([1.0, 4.0]), "smallest")
    (16.0, 0.25)
    """
    factor = float(values[-1] / values[0]) ** (1.0 / (len(values) - 1)) if len(values) > 1 else 4.0
    return float(values[-1]) * factor if edge == "largest" else float(values[0]) / factor
