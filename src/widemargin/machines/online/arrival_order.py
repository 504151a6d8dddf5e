"""In which order the classes of a stream arrive: mixed, or sorted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Changes of the class, for each class, that random order would have brought before a stream is called sorted.
EXPECTED_OF_EACH = 20


@dataclass
class ArrivalOrder:
    """How often a stream goes from one class to another, compared with the same samples in random order.

    Parameters
    ----------
    n_classes : int

    Examples
    --------
    >>> order = ArrivalOrder(2)
    >>> order.came(np.repeat([0, 1], [100, 30]))
    >>> order.changes, round(order.changes_expected), order.is_sorted
    (1, 46, True)
    >>> order.came(np.tile([0, 1], 5))
    >>> order.changes, order.is_sorted
    (11, False)
    """

    n_classes: int
    changes: int = 0
    last: int = -1
    counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.n_classes, dtype=np.int64)

    def came(self, labels: NDArray[np.int32]) -> None:
        """Take note of the next samples, by their class numbers."""
        if not len(labels):
            return
        self.changes += int(self.last not in (-1, labels[0])) + int(np.count_nonzero(labels[1:] != labels[:-1]))
        self.last = int(labels[-1])
        self.counts += np.bincount(labels, minlength=self.n_classes)

    @property
    def seen(self) -> int:
        """How many samples came."""
        return int(self.counts.sum())

    @property
    def changes_expected(self) -> float:
        """How many changes random order would have brought on average."""
        n = self.seen
        return n - float(np.square(self.counts / max(n, 1)).sum()) * n

    @property
    def is_sorted(self) -> bool:
        """Whether each class came in one block, or nearly so, where random order would have mixed them."""
        present = int(np.count_nonzero(self.counts))
        return self.changes <= 2 * (present - 1) and self.changes_expected >= EXPECTED_OF_EACH * max(present, 2)
