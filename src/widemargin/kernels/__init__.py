"""Kernels, kernel matrices and the row sources that solvers draw from."""

from widemargin.kernels.base import Kernel
from widemargin.kernels.contraction import contract
from widemargin.kernels.gaussian import DiagonalGaussian, Gaussian
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.matrix import kernel_matrix
from widemargin.kernels.rows import KernelParameters, RowSource, derived_rows, examples, row_source
from widemargin.kernels.shared import SharedKernel, Until

__all__ = [
    "DiagonalGaussian",
    "Gaussian",
    "Kernel",
    "KernelParameters",
    "RowSource",
    "SharedKernel",
    "Until",
    "contract",
    "derived_rows",
    "examples",
    "jaakkola_gamma",
    "kernel_matrix",
    "row_source",
]
