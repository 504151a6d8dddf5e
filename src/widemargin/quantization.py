"""Vector quantisation: samples simplified to 1, 2, 4, 8 ... prototypes [Linde1980], each the mean of a cell.

A codebook of m prototypes p_j assigns every sample x_i, of weight w_i, to a cell c(i). Its distortion is the mean
squared distance from a sample to the prototype of its cell,

    D = sum_i w_i |x_i - p_c(i)|^2 / sum_i w_i.

Level 0 is the mean of all samples. Level k + 1 splits every cell of level k in two, then repeats Lloyd's two steps
until D hardly falls: every sample goes to the nearest prototype, every prototype to the mean of its cell. D never
rises, from round to round or from level to level. [Lebrun2006] trains support vector machines on prototypes
instead of samples and lets a search choose the level.

Levels depend on the samples alone: nothing is random, and threads make no difference to any digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import canonical, core_samples, take
from widemargin.runtime import Lock, Stop

#: A round that lowers the distortion by no more than this share of it is the last one of its level. On the samples of
#: benchmarks/peers/quantize.py a tenth of that takes two to three times as many distances, and lowers the distortion of
#: 1024 prototypes by half a percent at most.
TOLERANCE = 1e-3

#: Rounds of a level. At the tolerance above, so many would lower the distortion by a tenth; a level that starts from
#: the one before has less to gain. The limit is for tolerances near 0.
MAX_ROUNDS = 100

#: Levels from here on are those of more samples than a computer holds.
HIGHEST_LEVEL = 62

#: Why a level has as many prototypes as there are samples.
WHOLE = "whole"


@dataclass(frozen=True)
class Level:
    """Samples at a level of simplification.

    Attributes
    ----------
    prototypes : ndarray or sparse matrix of shape (m, d)
        The means of the cells, in float64; CSR if the samples are sparse. Fewer than 2^k if fewer samples than that
        differ. Of a level that keeps the samples whole: the samples themselves, as they were given.
    counts : ndarray of int64 of shape (m,)
        Samples in each cell.
    weights : ndarray of shape (m,)
        The sum of their weights.
    labels : ndarray of int32 of shape (n,)
        The cell of each sample (of positive weight).
    distortion : float
        Mean squared distance from a sample to the prototype of its cell. While rounds still move samples this is a
        little more than the distance to the nearest prototype; where `rounds` ended because no sample moved, the same.
    rounds : int
        Lloyd's iterations.
    evaluations : int
        Distances between a sample and a prototype that these took.
    reason : str
        "converged", "iteration budget" or, for samples that are kept whole, "whole".
    """

    prototypes: Any
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: NDArray[np.int32]
    distortion: float
    rounds: int
    evaluations: int
    reason: str


class Codebooks:
    """The levels of simplification of some samples, each built from the one before and kept.

    Level k takes 2^k n d multiplications for each of its rounds, fewer than ten as a rule. All levels up to k take
    twice as many as level k alone. Only entries other than 0 are multiplied where they are a tenth or less.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Distances are computed with the digits of their type: float32 or float64, means always in float64.
    weights : array-like of shape (n,), optional
        Weight 0 is the same as leaving a sample out, weight 2 the same as repeating it.
    tol : float, default=1e-3
        A level ends with the round that lowers its distortion by no more than this share of it.
    max_rounds : int, default=100
    n_threads : int, default=1
    stop : Stop, optional
        When to end: :meth:`level` then raises StoppedError, and may be called again.

    Attributes
    ----------
    n_samples : int
        Samples of positive weight.
    whole_level : int
        The first level that keeps the samples as they are: the smallest k with 2^k >= n.

    Examples
    --------
    >>> books = Codebooks(np.array([[0.0], [1.0], [10.0], [11.0], [12.0]]))
    >>> [books.level(k).prototypes.ravel().tolist() for k in range(2)]
    [[6.8], [0.5, 11.0]]
    >>> books.level(1).counts.tolist(), round(books.level(1).distortion, 6)
    ([2, 3], 0.5)
    >>> books.whole_level, len(books.level(3).prototypes)
    (3, 5)
    """

    def __init__(
        self,
        X: Any,
        weights: Any = None,
        *,
        tol: float = TOLERANCE,
        max_rounds: int = MAX_ROUNDS,
        n_threads: int = 1,
        stop: Stop | None = None,
    ) -> None:
        own = np.ones(X.shape[0]) if weights is None else np.array(weights, dtype=np.float64)
        if not (own > 0).all():
            X, own = take(X, np.flatnonzero(own > 0)), own[own > 0]
        self._samples = canonical(X) if sp.issparse(X) else X
        self._weights, self._n_threads, self._stop = own, n_threads, stop or Stop()
        double = self._samples.dtype != np.float32
        self._core = _core.Lbg(core_samples(self._samples), own, tol, max_rounds, double)
        self._levels: list[Level] = []
        self._lock = Lock()
        self.n_samples = len(own)
        self.whole_level = (len(own) - 1).bit_length()

    def level(self, number: int, *, keep_whole: bool = True, stop: Stop | None = None) -> Level:
        """Return a level, built from the last one that is known.

        Parameters
        ----------
        number : int
        keep_whole : bool, default=True
            From `whole_level` on, return the samples as they are. Otherwise prototypes are built there too: one for
            each different sample.
        stop : Stop, optional
            When to end this time.
        """
        stop = stop or self._stop
        if not 0 <= number <= HIGHEST_LEVEL:
            raise ValueError(f"level must be a whole number of 0 to {HIGHEST_LEVEL}; got {number!r}.")
        if keep_whole and number >= self.whole_level:
            return self._whole()
        with self._lock:
            while len(self._levels) <= number:
                stop.check()
                found = self._core.level(len(self._levels), self._n_threads, **stop.limits())
                self._levels.append(self._built(found))
            return self._levels[number]

    def _built(self, found: _core.Codebook) -> Level:
        means: Any = np.asarray(found.prototypes)
        if sp.issparse(self._samples):
            means = type(self._samples)(means)
        parts = np.asarray(found.counts), np.asarray(found.weights), np.asarray(found.labels)
        return Level(means, *parts, found.distortion, found.rounds, found.evaluations, found.reason)

    def _whole(self) -> Level:
        n = len(self._weights)
        each = np.ones(n, dtype=np.int64), self._weights, np.arange(n, dtype=np.int32)
        return Level(self._samples, *each, 0.0, 0, 0, WHOLE)


def quantized(
    X: Any,
    y: NDArray[Any],
    level: int,
    *,
    n_threads: int = 1,
    stop: Stop | None = None,
) -> tuple[Any, NDArray[Any]]:
    """Simplify each class to 2^level prototypes; a class with no more samples is kept whole [Lebrun2006, Table 1].

    From the level at which every class is whole on, the result is the samples themselves, class by class.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : ndarray of shape (n,)
        Classes.
    level : int
    n_threads : int, default=1
    stop : Stop, optional

    Returns
    -------
    prototypes : array or sparse matrix of shape (m, d)
    labels : ndarray of shape (m,)
        The class of each prototype.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [10.0], [11.0], [12.0]])
    >>> prototypes, labels = quantized(X, np.array(["a", "a", "b", "b", "b"]), 0)
    >>> prototypes.ravel().tolist(), labels.tolist()
    ([1.0, 11.0], ['a', 'b'])
    """
    classes = np.unique(y)
    parts = [
        Codebooks(take(X, np.flatnonzero(y == one)), n_threads=n_threads, stop=stop).level(level).prototypes
        for one in classes
    ]
    labels = np.repeat(classes, [part.shape[0] for part in parts])
    return (canonical(sp.vstack(parts, format="csr")) if sp.issparse(X) else np.vstack(parts)), labels
