"""Kernel matrices of many parameters over one set of examples.

What does not depend on the parameters (squared distances, or dot products) is computed once, in float32; a kernel
matrix is then one pass over it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import KernelParameters, LinearMap, callable_matrix, count, examples
from widemargin.runtime import Lock, Stop, single_threaded_blas

Matrix = NDArray[np.float32]

#: Kernel matrices held besides the one they are made from: one in use, one for those who are still at the last.
KEPT = 2


class SharedKernel:
    """Kernel matrices of one family over one set of examples.

    Parameters
    ----------
    X : array, sparse matrix or sequence of n examples
        For ``kernel="precomputed"`` the kernel matrix itself.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable
    map : LinearMap, optional
        What examples go through before.
    n_threads : int, default=1
        For the computation of what is shared, n^2 d / 2 multiplications, and of the matrices.
    stop : Stop, optional
        When to give up: both then end with a TimeoutError.

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
    ) -> None:
        self.kernel, self.map = kernel, map
        self._stop = stop or Stop()
        self._n_threads = n_threads
        self._lock = Lock()
        self._kept: OrderedDict[KernelParameters, Matrix] = OrderedDict()
        # Kernel values among what is shared, until somebody asks for them.
        self._unclaimed = count(X) ** 2 if callable(kernel) or kernel == "linear" else 0
        if callable(kernel):
            self.base: Matrix = callable_matrix(kernel, X, dtype=np.float32, poll=self._stop.check)
        elif kernel == "precomputed":
            self.base = np.ascontiguousarray(X, dtype=np.float32)
        else:
            function = "squared-distance" if kernel == "rbf" else "linear"
            with single_threaded_blas():
                source = _core.kernel_source(examples(X if map is None else map(X)), function, 1.0, 0.0, 1)
                self.base = np.asarray(_core.kernel_matrix_float32(source, None, n_threads, **self._stop.limits()))
            if kernel == "rbf":
                np.fill_diagonal(self.base, 0.0)

    @staticmethod
    def bytes_needed(X: Any, kernel: Any) -> int:
        """Bytes that a shared kernel of these examples takes.

        Examples
        --------
        >>> SharedKernel.bytes_needed(np.zeros((1000, 3)), "rbf")
        12000000
        """
        matrices = 1 if callable(kernel) or kernel in ("linear", "precomputed") else 1 + KEPT
        return matrices * 4 * count(X) ** 2

    def matrix(self, parameters: KernelParameters) -> Matrix:
        """Return the (n, n) kernel matrix of some parameters; not to be written to.

        The last few are kept, so that all who work with the same parameters at the same time share one.
        """
        return self.counted_matrix(parameters)[0]

    def counted_matrix(self, parameters: KernelParameters) -> tuple[Matrix, int]:
        """Return the matrix, and how many kernel values were computed for this call: n^2, or none if it was there.

        Every entry of a matrix counts, though it is symmetric. Squared distances and dot products, which kernel values
        are made from, do not count.

        Examples
        --------
        >>> shared = SharedKernel(np.array([[0.0], [2.0]]))
        >>> [shared.counted_matrix(KernelParameters("rbf", gamma))[1] for gamma in (0.5, 0.5, 2.0)]
        [4, 0, 4]
        """
        if parameters.kernel != self.kernel or parameters.map != self.map:
            raise ValueError(f"this shared kernel holds kernel={self.kernel!r}; got {parameters!r}.")
        with self._lock:
            if callable(self.kernel) or self.kernel in ("linear", "precomputed"):
                computed, self._unclaimed = self._unclaimed, 0
                return self.base, computed
            if parameters in self._kept:
                self._kept.move_to_end(parameters)
                return self._kept[parameters], 0
            made = self._room()
            _core.apply_kernel(
                self.base,
                str(self.kernel),
                float(parameters.gamma),
                float(parameters.coef0),
                int(parameters.degree),
                made,
                self._n_threads,
                **self._stop.limits(),
            )
            self._kept[parameters] = made
            return made, made.size

    def _room(self) -> Matrix:
        """Return memory for another matrix: that of the oldest one, which the core hands on if nobody holds it."""
        while len(self._kept) >= KEPT:
            self._kept.popitem(last=False)
        return np.asarray(_core.empty_matrix_float32(*self.base.shape))
