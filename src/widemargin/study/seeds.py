"""The seed of a search: what a user means by a random state, and what a journal keeps of it."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from widemargin.study.journal_part import Records
from widemargin.study.records import COUNT, what_is_wrong


def seed_of(random_state: Any) -> int | None:
    """Return the seed that is meant; None if it is to be drawn.

    Examples
    --------
    >>> seed_of(7), seed_of(None)
    (7, None)
    """
    if random_state is None:
        return None
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def settled_seed(seed: int | None, kept: Records | None) -> int:
    """Return the seed: the one that was given, the one that a part of a journal holds, or a new one, which it gets."""
    if seed is not None:
        return seed
    drawn = int(np.random.default_rng().integers(2**32))
    if kept is None:
        return drawn
    if not kept.records:
        kept.extend([{"seed": drawn}])
    wrong = what_is_wrong(kept.records[0], {"seed": COUNT}, "beginnings")
    if wrong is not None:
        kept.refuse(0, wrong)
    return int(kept.records[0]["seed"])
