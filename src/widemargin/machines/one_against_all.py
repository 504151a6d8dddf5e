"""A machine for each class that separates it from all others.

The problems are those of :mod:`widemargin.machines.classifier`, with label +1 for a class and -1 for every other
sample. k problems of n samples stand against the k (k - 1) / 2 pairs, of 2 n / k samples each; all of them are over
the same samples, and share their kernel values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import RowSource
from widemargin.machines.classifier import OTHERS, PairSamples, PairSolution, share_class_rows
from widemargin.machines.dual import SolverOptions, StopRule, Vector, cache_bytes
from widemargin.runtime import single_threaded_blas


class Solves(Protocol):
    """Solves some problems over kernel rows."""

    def __call__(
        self, rows: RowSource, /, *, problems: Sequence[PairSamples], stop: StopRule, options: SolverOptions
    ) -> Sequence[PairSolution]:
        """Return the solutions of those that time sufficed to begin with."""


#: Decision value of a class without samples.
ABSENT = -1.0


def classes_against_all(labels: NDArray[np.intp], n_classes: int, weights: Vector) -> list[PairSamples]:
    """List the classes that have samples of positive weight, each with its labels of all such samples.

    Examples
    --------
    >>> found = classes_against_all(np.array([0, 2, 2, 1]), 4, np.array([1.0, 1.0, 0.0, 1.0]))
    >>> [(one.pair[0], one.ids.tolist(), one.signs.tolist()) for one in found]
    [(0, [0, 1, 3], [1.0, -1.0, -1.0]), (1, [0, 1, 3], [-1.0, -1.0, 1.0]), (2, [0, 1, 3], [-1.0, 1.0, -1.0])]
    """
    ids = np.flatnonzero(weights > 0).astype(np.int32)
    own = labels[ids]
    return [
        PairSamples((c, OTHERS), ids, np.where(own == c, 1.0, -1.0))
        for c in range(n_classes)
        if 0 < np.count_nonzero(own == c) < len(ids)
    ]


def solve_against_all(
    solve: Solves,
    rows: RowSource,
    problems: Sequence[PairSamples],
    *,
    stop: StopRule,
    options: SolverOptions,
) -> Sequence[PairSolution]:
    """Train the machines of all classes; what one of them needs of the kernel, the others need not compute again.

    The first machine is trained alone. If the others together can be expected to need more kernel values than there
    are, as they do unless support vectors are few, all of these are computed once, if they fit into the cache; solvers
    may then take half as much again for the rows they work with. Values that somebody else computes, when called, are
    kept as they come.

    Parameters
    ----------
    solve : callable (rows, problems=, stop=, options=) -> sequence of PairSolution
    rows : RowSource
        Kernel rows of all samples.
    problems : sequence of PairSamples
        Of :func:`classes_against_all`.
    stop : StopRule
        The deadline is for all of them together.
    options : SolverOptions
    """
    if not rows.of_samples:
        shared, options = share_class_rows(rows, np.zeros(rows.size, dtype=np.intp), options)
        return solve(shared, problems=problems, stop=stop, options=options)
    found = solve(rows, problems=problems[:1], stop=stop, options=options)
    expected = sum(int(np.count_nonzero(one.solution.alpha)) for one in found) * (len(problems) - 1)
    allowed = options.cache_bytes or cache_bytes("auto", rows.size, options.dtype)
    matrix = None
    if 2 * expected > rows.size and 4 * rows.size**2 <= allowed and options.dtype == "float32":
        matrix = _float32_matrix(rows, options.n_threads, stop)
    if matrix is not None:
        rows, options = _core.matrix_backed_source(rows, matrix), replace(options, cache_bytes=allowed // 2)
    others = solve(rows, problems=problems[1:], stop=stop, options=options)
    # The first of them pays for the matrix, every entry of which counts.
    paid = [] if matrix is None else [_charged(one, matrix.size) for one in others[:1]]
    return [*found, *paid, *others[len(paid) :]]


def _float32_matrix(rows: RowSource, n_threads: int, stop: StopRule) -> NDArray[np.float32] | None:
    """Compute the kernel matrix, if time suffices for it."""
    try:
        with single_threaded_blas():
            return np.asarray(_core.kernel_matrix_float32(rows, None, n_threads, **stop.limits()))
    except _core.StoppedError:
        return None  # as the machines will say themselves


def _charged(machine: PairSolution, kernel_evaluations: int) -> PairSolution:
    took = machine.outcome
    outcome = replace(took, kernel_evaluations=took.kernel_evaluations + kernel_evaluations)
    return replace(machine, solution=replace(machine.solution, outcome=outcome))
