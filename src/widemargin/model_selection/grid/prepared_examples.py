"""Examples of a search as its machines see them, and the kernels that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from widemargin.estimators.scale import fits_float32, require_moderate_diagonal, resolve_kernel
from widemargin.kernels.base import is_kernel_object
from widemargin.kernels.rows import KernelParameters, RowSource, count, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.kernels.shared import KEPT, SharedKernel
from widemargin.machines.chain import ChainKernel
from widemargin.machines.dual import SolverOptions, Vector
from widemargin.model_selection.grid.splits import SplitMachines, family_of
from widemargin.runtime import Stop, cache_bytes, free_memory

#: A kernel may take this share of the free memory unless `memory` says otherwise.
SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True)
class Share:
    """What a search may use: megabytes, split among as many processes, and threads, all of which wait for a kernel."""

    memory: float | str = "auto"
    processes: int = 1
    threads: int = 1

    @property
    def allowed_bytes(self) -> float:
        """What the kernels of one process may take.

        Examples
        --------
        >>> Share(memory=16, processes=2).allowed_bytes == 8 * 2**20
        True
        """
        whole = SHARE_OF_MEMORY * free_memory() if self.memory == "auto" else float(self.memory) * 2**20
        return whole / self.processes


class PreparedExamples:
    """One set of examples and its kernels: as matrices if these fit into memory, else as rows computed when needed.

    Parameters
    ----------
    X : array, sparse matrix or sequence of n examples
    machine : machine
        One of those that are to be trained.
    kernel : KernelParameters
        Its kernel; others will differ in numbers only.
    weights : ndarray of shape (n,)
    allowed : float
        Bytes that the kernels may take.
    n_threads : int
        To compute them with.
    stop : Stop
        When to give up on what they share.
    pipeline : Pipeline, optional
        The fitted steps that the examples have gone through.
    kept : int
        Kernel matrices to hold at the same time.
    """

    def __init__(
        self,
        X: Any,
        machine: Any,
        kernel: KernelParameters,
        weights: Vector,
        allowed: float,
        n_threads: int,
        stop: Stop,
        pipeline: Any = None,
        kept: int = KEPT,
    ) -> None:
        self.X, self.pipeline = X, pipeline
        checked = machine._checked_kernel(X, weights, tell=False)  # refuses what is no kernel
        rows = checked.rows_of(X)
        require_moderate_diagonal(rows, checked)
        self._source = _family(machine).kernel_examples(kernel, X, weights)
        self.shared: SharedKernel | None = None
        if self.bytes_needed(X, machine) <= allowed and fits_float32(rows):
            self.shared = SharedKernel(
                self._source, kernel.kernel, map=kernel.map, n_threads=n_threads, stop=stop, kept=kept
            )
        self._last: tuple[KernelParameters | None, RowSource | None] = (None, None)
        self._cache = min(int(allowed), cache_bytes("auto", count(X), "float32"))

    @staticmethod
    def bytes_needed(X: Any, machine: Any) -> int:
        """Bytes that kernels of these examples take as matrices."""
        own = 4 * count(X) ** 2 * _family(machine).own_matrices(machine)
        kernel = as_kernel(machine.kernel).core_name if is_kernel_object(machine.kernel) else None
        return SharedKernel.bytes_needed(X, machine.kernel if kernel is None else kernel) + own

    def behind_steps(self, machine: Any) -> Any:
        """Put a fitted machine behind the steps before it."""
        if self.pipeline is None:
            return machine
        return Pipeline([*self.pipeline.steps[:-1], (self.pipeline.steps[-1][0], machine)])

    def chain_kernel(self, kernel: KernelParameters, stop: Stop) -> ChainKernel:
        """Return a kernel to solve chains on."""
        matrix = None if self.shared is None else self.shared.matrix(kernel, stop)
        options = SolverOptions(cache_bytes=self._cache)
        known, rows = self._last
        if rows is None or known != kernel:
            rows = kernel.rows_of(self._source)
            self._last = kernel, rows
        return ChainKernel(rows, matrix, options)


def kernel_of(machine: Any, X: Any, split: SplitMachines) -> KernelParameters:
    """Resolve the kernel of a machine; what is left to the data depends on the rows that the split trains on."""
    if is_kernel_object(machine.kernel):
        depends = as_kernel(machine.kernel).leaves_to_data
    else:
        depends = isinstance(machine.gamma, str)
    rows, weights = (take(X, split.rows), split.weights[split.rows]) if depends else (X, split.weights)
    parameters = machine.kernel, machine.gamma, machine.coef0, machine.degree
    return resolve_kernel(*parameters, rows, weights, tell=False, checked=True)


def _family(machine: Any) -> type[SplitMachines]:
    family = family_of(machine)
    assert family is not None
    return family
