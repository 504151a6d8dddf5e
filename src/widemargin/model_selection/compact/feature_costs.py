"""Costs of features that are given by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def in_order(costs: Any, names: Sequence[Any] | None) -> Any:
    """Return costs in the order of the columns of X, looking those up that go by name; others are returned as they are.

    Parameters
    ----------
    costs : array-like, dict, Series or None
        A dict, or a Series whose index holds strings, names a cost for every column.
    names : sequence of str or None
        Names of the columns of X, if there are any.

    Examples
    --------
    >>> in_order({"biopsy": 300.0, "age": 1.0}, ["age", "biopsy"]).tolist()
    [1.0, 300.0]
    """
    named = by_name(costs)
    if named is None:
        return costs
    if names is None:
        raise ValueError("feature_costs goes by name, but the columns of X have no names; pass a sequence of numbers.")
    unknown = [name for name in named if name not in set(names)]
    if unknown:
        raise ValueError(f"feature_costs names {unknown[0]!r}, which is no column of X.")
    missing = [name for name in names if name not in named]
    if missing:
        raise ValueError(f"feature_costs has no cost for column {str(missing[0])!r} of X.")
    return np.array([named[name] for name in names])


def by_name(costs: Any) -> Mapping[Any, Any] | None:
    """Return costs that go by name; None if they are a sequence."""
    if isinstance(costs, Mapping):
        return costs
    index = getattr(costs, "index", None)
    if index is None or callable(index) or not all(isinstance(name, str) for name in index):
        return None
    return dict(zip(index, costs, strict=True))
