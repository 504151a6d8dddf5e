"""The test distributions of [Glasmachers2008, section 3.4]: chess boards and sparse coordinates."""

from math import comb

import numpy as np

from widemargin.datasets.checks import FloatMatrix, Labels, RandomState, probability, size_and_generator, whole_number


def chess_board(
    n_samples: int,
    *,
    size: int = 4,
    dimensions: int = 2,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[FloatMatrix, Labels]:
    """Draw points from a chess board whose fields alternate between the two classes.

    Points are uniform on ``[0, size)^dimensions`` and labelled ``(-1)^(sum of floor(x_i))``
    [Glasmachers2008, section 3.4]. Without noise the Bayes error is zero, and the quadratic program of a
    large C is hard for any solver that works on two variables at a time.

    Parameters
    ----------
    n_samples : int
        Number of points.
    size : int, default=4
        Number of fields along one edge.
    dimensions : int, default=2
        Number of features.
    noise : float, default=0.0
        Probability with which a label is replaced by a fair coin flip; the Bayes error is ``noise / 2``.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, dimensions), float64
    y : ndarray of shape (n_samples,), int64
        Labels -1 and +1.

    Examples
    --------
    >>> from widemargin.datasets import chess_board
    >>> X, y = chess_board(1000, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [-1, 1])
    """
    n_samples, generator = size_and_generator(n_samples, random_state)
    size = whole_number("size", size)
    dimensions = whole_number("dimensions", dimensions)
    noise = probability("noise", noise)
    X = generator.random((n_samples, dimensions)) * size
    y = 1 - 2 * (np.floor(X).sum(axis=1).astype(np.int64) % 2)
    coin = generator.choice(np.array([-1, 1], dtype=np.int64), size=n_samples)
    return X, np.where(generator.random(n_samples) < noise, coin, y)


def chess_board_bayes_error(*, size: int = 4, dimensions: int = 2, noise: float = 0.0) -> float:
    """Return ``noise / 2``: half of the coin flips agree with the field, whatever the shape of the board."""
    whole_number("size", size)
    whole_number("dimensions", dimensions)
    return probability("noise", noise) / 2


def noisy_chess_board(
    n_samples: int,
    *,
    size: int = 4,
    dimensions: int = 2,
    noise: float = 0.2,
    random_state: RandomState = None,
) -> tuple[FloatMatrix, Labels]:
    """Draw points from a chess board on which one label in five is random.

    The same as :func:`chess_board`, with the noise of [Glasmachers2008, chapter 12] as default;
    the Bayes error is 0.1.

    Examples
    --------
    >>> from widemargin.datasets import bayes_error, noisy_chess_board
    >>> X, y = noisy_chess_board(1000, random_state=0)
    >>> bayes_error(noisy_chess_board)
    0.1
    """
    return chess_board(n_samples, size=size, dimensions=dimensions, noise=noise, random_state=random_state)


def sparse_coordinates(
    n_samples: int,
    *,
    n: int = 3,
    m: int = 14,
    k: int = 3,
    random_state: RandomState = None,
) -> tuple[FloatMatrix, Labels]:
    """Draw binary vectors of which only the first 2n coordinates say something about the class.

    Every vector has exactly k ones among ``2n + m`` coordinates. The first of them falls among the first n
    coordinates for class +1 and among the next n for class -1; the other ``k - 1`` are drawn without replacement
    from all remaining coordinates, so that the last m carry no information [Glasmachers2008, section 3.4].

    Parameters
    ----------
    n_samples : int
        Number of vectors.
    n : int, default=3
        Number of coordinates that speak for one class.
    m : int, default=14
        Number of uninformative coordinates.
    k : int, default=3
        Number of ones in every vector.
    random_state
        As in :func:`chess_board`.

    Returns
    -------
    X : ndarray of shape (n_samples, 2 * n + m), float64
        Zeros and ones.
    y : ndarray of shape (n_samples,), int64
        Labels -1 and +1, equally likely.

    Examples
    --------
    >>> from widemargin.datasets import sparse_coordinates
    >>> X, y = sparse_coordinates(5, random_state=0)
    >>> X.shape, X.sum(axis=1).tolist()
    ((5, 20), [3.0, 3.0, 3.0, 3.0, 3.0])
    """
    n_samples, generator = size_and_generator(n_samples, random_state)
    n, m, k = _sparse_parameters(n, m, k)
    y = generator.choice(np.array([-1, 1], dtype=np.int64), size=n_samples)
    first = generator.integers(n, size=n_samples) + np.where(y > 0, 0, n)
    # The k smallest of independent uniform keys are a uniform draw without replacement; a negative key always wins.
    keys = generator.random((n_samples, 2 * n + m))
    keys[np.arange(n_samples), first] = -1.0
    ones = np.argpartition(keys, k - 1, axis=1)[:, :k]
    X = np.zeros_like(keys)
    np.put_along_axis(X, ones, 1.0, axis=1)
    return X, y


def sparse_coordinates_bayes_error(*, n: int = 3, m: int = 14, k: int = 3) -> float:
    """Return the Bayes error of :func:`sparse_coordinates` by counting.

    A vector with a ones among the first n coordinates and b among the next n has probability
    a / (n D) in class +1 and b / (n D) in class -1, D = binomial(2n + m - 1, k - 1), because any of its a
    (or b) ones may have been the first. The error is half the sum of the smaller of the two over all vectors.
    """
    n, m, k = _sparse_parameters(n, m, k)
    losses = sum(
        comb(n, a) * comb(n, b) * comb(m, k - a - b) * min(a, b)
        for a in range(1, min(n, k) + 1)
        for b in range(1, min(n, k - a) + 1)
    )
    return losses / (2 * n * comb(2 * n + m - 1, k - 1))


def _sparse_parameters(n: object, m: object, k: object) -> tuple[int, int, int]:
    n, m, k = whole_number("n", n), whole_number("m", m, least=0), whole_number("k", k)
    if k > 2 * n + m:
        raise ValueError(f"k must be at most 2 n + m = {2 * n + m}, got {k}.")
    return n, m, k
