"""An active pass of LASVM over a fixed set: the machine chooses what it learns from next [Bordes2005, section 4].

A few samples of each class come first. At every turn some of the others are drawn at random, and the machine learns
from the one nearest to its decision boundary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource
from widemargin.machines.dual import Vector
from widemargin.runtime import Stop

#: Samples of each class to start from.
FIRST_OF_EACH = 5

#: Samples that are drawn at each turn; of 50, the nearest is probably among the nearest 5 % of all [Bordes2005].
DRAWN = 50


def first_of_each(order: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the first samples of each class in this order.

    Examples
    --------
    >>> first_of_each(np.arange(8, dtype=np.int32), np.array([0, 0, 0, 0, 0, 0, 1, 0], dtype=np.int32)).tolist()
    [0, 1, 2, 3, 4, 6]
    """
    own = labels[order]
    first = [order[np.flatnonzero(own == c)[:FIRST_OF_EACH]] for c in np.unique(own)]
    found = np.zeros(len(order), dtype=bool)
    found[np.isin(order, np.concatenate(first))] = True
    return order[found]


class ActivePass:
    """A pass over the samples of an order that ends after `turns` samples.

    Parameters
    ----------
    order : ndarray of int32
        Numbers of the samples in a batch.
    turns : int
        At most as many as there are samples.
    random : numpy.random.RandomState
    stop : Stop
        Looked at before each turn.
    taken : list of int
        Where the samples go that were learnt from, in order; an empty list.
    """

    def __init__(
        self, order: NDArray[np.int32], turns: int, random: np.random.RandomState, stop: Stop, taken: list[int]
    ) -> None:
        self.order, self.turns, self.random, self.stop, self.taken = order, turns, random, stop, taken

    def __len__(self) -> int:
        return self.turns

    def run(
        self,
        core: _core.OnlineMachine,
        rows: RowSource,
        place: NDArray[np.int32],
        begin: int,
        labels: NDArray[np.int32],
        bounds: Vector,
        rules: _core.OnlineRules,
    ) -> None:
        """Learn from samples of the source that begin at this number."""
        first = first_of_each(self.order, labels)[: self.turns]
        seen = core.seen
        core.learn(rows, place, first + np.int32(begin), labels[first], bounds[first], rules)
        self.taken.extend(first[: core.seen - seen].tolist())
        left = np.setdiff1d(self.order, first, assume_unique=True)
        n = len(left)
        if len(self.taken) < len(first):
            return
        while len(self.taken) < self.turns and self.stop.reason is None:
            drawn = np.unique(self.random.randint(n, size=min(DRAWN, n)))
            some = left[drawn]
            which = core.learn_nearest(rows, core.samples(), some + np.int32(begin), labels[some], bounds[some], rules)
            self.taken.append(int(some[which]))
            n -= 1
            left[drawn[which]] = left[n]
