"""Samples that a model is offered once more before it is finished: those that violate their margins, or nearly so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.multi_class import in_scikit_learns_sign
from widemargin.estimators.prediction import DecisionFunctions
from widemargin.kernels.rows import take
from widemargin.machines.online.stream import Batch, OnlineRules
from widemargin.runtime import Stop

#: Tolerance of the model that samples are offered to once more; violations are in units of the margin.
NEARLY_FINISHED = 0.3

#: Samples are offered once more if their margins are below this: some may still come to violate theirs, which are 1.
NEAR = 1.1

#: Decision values that are computed between two looks at the clock.
AT_ONCE = 4096


def nearly_finished(rules: OnlineRules) -> OnlineRules:
    """Return the rules by which a model is finished as far as it takes to look again: samples are few then.

    Examples
    --------
    >>> nearly_finished(OnlineRules()).stop.tolerance
    0.3
    """
    return replace(rules, stop=replace(rules.stop, tolerance=max(rules.stop.tolerance, NEARLY_FINISHED)))


def violating(
    functions: DecisionFunctions, batch: Batch, others: NDArray[np.int32], n_classes: int, stop: Stop
) -> NDArray[np.int32] | None:
    """Choose those of these rows of a batch that violate their margins now, or nearly so; None if time is up."""
    found = [others[:0]]
    for begin in range(0, len(others), AT_ONCE):
        if stop.late:
            return None
        some = others[begin : begin + AT_ONCE]
        values = in_scikit_learns_sign(functions.values(take(batch.samples, some)), n_classes)
        signs = np.where(batch.labels[some][:, np.newaxis] == np.arange(values.shape[1]), 1.0, -1.0)
        found.append(some[(signs * values < NEAR).any(axis=1)])
    return np.concatenate(found)
