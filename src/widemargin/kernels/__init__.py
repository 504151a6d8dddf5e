"""Kernels, kernel matrices and the row sources that solvers draw from."""

from widemargin.kernels.matrix import kernel_matrix
from widemargin.kernels.rows import KernelParameters, RowSource, derived_rows, examples, row_source
from widemargin.kernels.shared import SharedKernel, Until

__all__ = [
    "KernelParameters",
    "RowSource",
    "SharedKernel",
    "Until",
    "derived_rows",
    "examples",
    "kernel_matrix",
    "row_source",
]
