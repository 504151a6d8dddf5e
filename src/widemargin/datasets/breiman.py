"""Breiman's artificial problems: twonorm and ringnorm [Breiman1996] and waveform [Breiman1984]."""

from functools import cache
from math import log, sqrt

import numpy as np
from scipy.special import chndtr, ndtr

from widemargin.datasets.checks import FloatMatrix, Labels, RandomState, size_and_generator

NORM_FEATURES = 20
NORM_SHIFT = 2 / sqrt(NORM_FEATURES)
WAVEFORM_FEATURES = 21


def twonorm(n_samples: int, *, random_state: RandomState = None) -> tuple[FloatMatrix, Labels]:
    """Draw from two normal distributions in 20 dimensions that differ in their mean.

    Class +1 is normal with mean ``(a, ..., a)``, class -1 with mean ``(-a, ..., -a)``, both with unit covariance and
    a = 2 / sqrt(20) [Breiman1996]. The best rule is linear: the sign of the sum of the features.

    Parameters
    ----------
    n_samples : int
        Number of points.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, 20), float64
    y : ndarray of shape (n_samples,), int64
        Labels -1 and +1, equally likely.

    Examples
    --------
    >>> from widemargin.datasets import bayes_error, twonorm
    >>> X, y = twonorm(300, random_state=0)
    >>> X.shape, round(bayes_error(twonorm), 4)
    ((300, 20), 0.0228)
    """
    X, y = _norm_noise(n_samples, random_state)
    X += NORM_SHIFT * y[:, np.newaxis]
    return X, y


def twonorm_bayes_error() -> float:
    """Return Phi(-2): the two means are four standard deviations apart and the best rule cuts halfway."""
    return float(ndtr(-NORM_SHIFT * sqrt(NORM_FEATURES)))


def ringnorm(n_samples: int, *, random_state: RandomState = None) -> tuple[FloatMatrix, Labels]:
    """Draw from a tight normal distribution inside a wide one, in 20 dimensions.

    Class +1 is normal with mean zero and covariance 4 I, class -1 with mean ``(a, ..., a)`` and unit covariance,
    a = 2 / sqrt(20) [Breiman1996]. The best rule is a sphere around class -1.

    Parameters and results are those of :func:`twonorm`.

    Examples
    --------
    >>> from widemargin.datasets import bayes_error, ringnorm
    >>> X, y = ringnorm(300, random_state=0)
    >>> X.shape, round(bayes_error(ringnorm), 4)
    ((300, 20), 0.0124)
    """
    X, y = _norm_noise(n_samples, random_state)
    wide = y > 0
    X[wide] *= 2.0
    X[~wide] += NORM_SHIFT
    return X, y


def ringnorm_bayes_error() -> float:
    """Return the Bayes error of :func:`ringnorm` from two noncentral chi-square distributions.

    With mu the mean of class -1 and d = 20 features, equating the two log densities gives a sphere: class -1 is the
    better guess where ||x - 4/3 mu||^2 < r^2 = 8/3 d log 2 + 4/9 ||mu||^2. In class +1, x = 2 z with standard
    normal z, so ||x - 4/3 mu||^2 / 4 is noncentral chi-square with noncentrality 4/9 ||mu||^2; in class -1,
    x = mu + z, so ||x - 4/3 mu||^2 is noncentral chi-square with noncentrality ||mu||^2 / 9.
    """
    squared_mean = NORM_FEATURES * NORM_SHIFT**2
    squared_radius = 8 / 3 * NORM_FEATURES * log(2) + 4 / 9 * squared_mean
    wide_inside = chndtr(squared_radius / 4, NORM_FEATURES, 4 / 9 * squared_mean)
    tight_outside = 1 - chndtr(squared_radius, NORM_FEATURES, squared_mean / 9)
    return float((wide_inside + tight_outside) / 2)


def _norm_noise(n_samples: int, random_state: RandomState) -> tuple[FloatMatrix, Labels]:
    """Draw what twonorm and ringnorm start from: labels, and a standard normal vector for each."""
    n_samples, generator = size_and_generator(n_samples, random_state)
    y = generator.choice(np.array([-1, 1], dtype=np.int64), size=n_samples)
    return generator.standard_normal((n_samples, NORM_FEATURES)), y


def waveform(n_samples: int, *, random_state: RandomState = None) -> tuple[FloatMatrix, Labels]:
    """Draw noisy mixtures of two out of three triangular waves: 21 features, three classes.

    The waves are h1(i) = max(6 - |i - 11|, 0), h2(i) = h1(i - 4) and h3(i) = h1(i + 4) for i = 1, ..., 21. A point is
    u h + (1 - u) h' plus unit normal noise in every feature, u uniform on [0, 1]; the pair (h, h') is (h1, h2) in
    class 0, (h1, h3) in class 1 and (h2, h3) in class 2 [Breiman1984].

    Parameters
    ----------
    n_samples, random_state
        As in :func:`twonorm`.

    Returns
    -------
    X : ndarray of shape (n_samples, 21), float64
    y : ndarray of shape (n_samples,), int64
        Labels 0, 1 and 2, equally likely.

    Examples
    --------
    >>> from widemargin.datasets import waveform
    >>> X, y = waveform(300, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 21), [0, 1, 2])
    """
    n_samples, generator = size_and_generator(n_samples, random_state)
    y = generator.integers(3, size=n_samples)
    share = generator.random((n_samples, 1))
    start, end = waveform_edges()
    X = share * start[y] + (1 - share) * end[y]
    X += generator.standard_normal((n_samples, WAVEFORM_FEATURES))
    return X, y


def waveform_edges() -> tuple[FloatMatrix, FloatMatrix]:
    """Return the two waves that classes 0, 1 and 2 mix, one row per class."""
    i = np.arange(1, WAVEFORM_FEATURES + 1)
    h1, h2, h3 = (np.maximum(6.0 - np.abs(i - centre), 0.0) for centre in (11, 15, 7))
    return np.array([h1, h1, h2]), np.array([h2, h3, h3])


@cache
def waveform_bayes_error() -> float:
    """Return the Bayes error of :func:`waveform` by quadrature, to about six digits.

    The three waves span a plane, and the noise orthogonal to it is the same in all classes: only the projection onto
    the plane matters. There class k is uniform on one edge of a triangle, blurred by unit normal noise. With t along
    an edge of length L and s across it, its density is phi(s) (Phi(t) - Phi(t - L)) / L. The error is one minus a
    third of the integral of the largest of the three densities (trapezoidal rule; beyond the margin of 8 standard
    deviations nothing is left).
    """
    start, end = waveform_edges()
    origin = start[0]
    basis, _ = np.linalg.qr(np.array([end[0] - origin, end[1] - origin]).T)
    start, end = (start - origin) @ basis, (end - origin) @ basis
    step, margin = 0.04, 8.0
    corners = np.vstack([start, end])
    axes = [
        np.arange(low - margin, high + margin, step) for low, high in zip(corners.min(0), corners.max(0), strict=True)
    ]
    across, along = axes[0][:, np.newaxis], axes[1][np.newaxis, :]
    largest = np.zeros((axes[0].size, axes[1].size))
    for tail, head in zip(start, end, strict=True):
        length = float(np.linalg.norm(head - tail))
        direction = (head - tail) / length
        t = (across - tail[0]) * direction[0] + (along - tail[1]) * direction[1]
        s = (across - tail[0]) * direction[1] - (along - tail[1]) * direction[0]
        density = np.exp(-s * s / 2) / sqrt(2 * np.pi) * (ndtr(t) - ndtr(t - length)) / length
        np.maximum(largest, density, out=largest)
    return float(1 - largest.sum() * step**2 / 3)
