"""Kernel matrices of many parameters over one set of samples.

What does not depend on the parameters (squared distances, or dot products) is computed once, in float32; a kernel
matrix is then one pass over it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import (
    KernelParameters,
    LinearMap,
    RowSource,
    callable_matrix,
    core_samples,
    count,
    row_source,
)
from widemargin.runtime import Lock, Stop, single_threaded_blas

Matrix = NDArray[np.float32]

#: Kernel matrices held besides the one they are made from: one in use, one for those who are still at the last.
KEPT = 2


class SharedKernel:
    """Kernel matrices of one family over one set of samples.

    Parameters
    ----------
    X : array, sparse matrix or sequence of n samples
        For ``kernel="precomputed"`` the kernel matrix itself.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable
    map : LinearMap, optional
        What samples go through before.
    n_threads : int, default=1
        For the computation of what is shared, n^2 d / 2 multiplications, and of the matrices.
    stop : Stop, optional
        When to give up on what is shared, with a TimeoutError.
    kept : int, default=2
        Kernel matrices to hold.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import KernelParameters
    >>> from widemargin.kernels.shared import SharedKernel
    >>> shared = SharedKernel(np.array([[0.0], [2.0]]))
    >>> shared.matrix(KernelParameters("rbf", 0.5)).astype(float).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """

    def __init__(
        self,
        X: Any,
        kernel: Any = "rbf",
        *,
        map: LinearMap | None = None,
        n_threads: int = 1,
        stop: Stop | None = None,
        kept: int = KEPT,
    ) -> None:
        self.kernel, self.map = kernel, map
        stop = stop or Stop()
        self._n_threads, self._most = n_threads, kept
        self._lock = Lock()
        self._kept: OrderedDict[KernelParameters, Matrix] = OrderedDict()
        self._has_parameters = not (callable(kernel) or kernel in ("linear", "precomputed"))
        self._exact: tuple[KernelParameters | None, RowSource | None] = (None, None)
        # Kernel values that were computed and that nobody has counted yet.
        self._unclaimed: dict[KernelParameters | None, int] = {}
        if callable(kernel) or kernel == "linear":
            self._unclaimed[None] = count(X) ** 2
        if callable(kernel):
            self.base: Matrix = callable_matrix(kernel, X, dtype=np.float32, n_threads=n_threads, stop=stop)
        elif kernel == "precomputed":
            self.base = np.ascontiguousarray(X, dtype=np.float32)
        else:
            function = "squared-distance" if kernel == "rbf" else "linear"
            with single_threaded_blas():
                source = _core.kernel_source(core_samples(X if map is None else map(X)), function, 1.0, 0.0, 1)
                self.base = np.asarray(_core.kernel_matrix_float32(source, None, n_threads, **stop.limits()))
            if kernel == "rbf":
                np.fill_diagonal(self.base, 0.0)

    @staticmethod
    def bytes_needed(X: Any, kernel: Any) -> int:
        """Bytes that a shared kernel of these samples takes.

        Examples
        --------
        >>> SharedKernel.bytes_needed(np.zeros((1000, 3)), "rbf")
        12000000
        """
        matrices = 1 if callable(kernel) or kernel in ("linear", "precomputed") else 1 + KEPT
        return matrices * 4 * count(X) ** 2

    def matrix(self, parameters: KernelParameters, stop: Stop | None = None) -> Matrix:
        """Return the (n, n) kernel matrix of some parameters; not to be written to.

        The last few are kept, so that all who work with the same parameters at the same time share one; for a thread
        that is further behind, a matrix is computed again. `stop` says when to give up, with a TimeoutError.
        """
        if parameters.kernel != self.kernel or parameters.map != self.map:
            raise ValueError(f"this shared kernel holds kernel={self.kernel!r}; got {parameters!r}.")
        if not self._has_parameters:
            return self.base
        with self._lock:
            if parameters in self._kept:
                self._kept.move_to_end(parameters)
                return self._kept[parameters]
            while len(self._kept) >= self._most:  # the core hands the memory of a matrix on if nobody holds it
                self._kept.popitem(last=False)
            made: Matrix = np.asarray(_core.empty_matrix_float32(*self.base.shape))
            _core.apply_kernel(
                self.base,
                str(self.kernel),
                float(parameters.gamma),
                float(parameters.coef0),
                int(parameters.degree),
                made,
                self._n_threads,
                **(stop or Stop()).limits(),
            )
            self._kept[parameters] = made
            self._unclaimed[parameters] = self._unclaimed.get(parameters, 0) + made.size
            return made

    def exact_rows(self, parameters: KernelParameters, rows: RowSource, stop: Stop) -> RowSource:
        """Return the `rows` of a kernel as those of a matrix in float64, which is computed once for all who ask.

        Rows of kernels that are not computed here, and those that time does not suffice for, stay what they are.
        """
        if callable(self.kernel) or self.kernel == "precomputed":
            return rows
        with self._lock:
            known, exact = self._exact
            if exact is not None and known == parameters:
                return exact
            self._exact = None, None
            try:
                matrix = np.asarray(_core.kernel_matrix_float64(rows, None, self._n_threads, **stop.limits()))
            except TimeoutError:
                return rows
            key = parameters if self._has_parameters else None
            self._unclaimed[key] = self._unclaimed.get(key, 0) + matrix.size
            exact = row_source(matrix, kernel="precomputed")
            self._exact = parameters, exact
            return exact

    def claimed(self, parameters: KernelParameters) -> int:
        """Return how many values were computed for a matrix that nobody has counted yet; from now on they are.

        Every entry of a matrix counts, though it is symmetric. Squared distances and dot products, which kernel values
        are made from, do not count.

        Examples
        --------
        >>> shared, p = SharedKernel(np.array([[0.0], [2.0]])), KernelParameters("rbf", 0.5)
        >>> _ = shared.matrix(p)
        >>> shared.claimed(p), shared.claimed(p)
        (4, 0)
        """
        with self._lock:
            return self._unclaimed.pop(parameters if self._has_parameters else None, 0)
