"""Kernel objects with their derivatives and algebra, and the kernel matrices and row sources that solvers draw from.

Imports the compiled core and ``runtime`` only; knows nothing of machines or labels.
"""

from widemargin.kernels.algebra import Constant, Power, Product, Scaled, Sum
from widemargin.kernels.base import CoreKernel, Kernel, is_kernel_object
from widemargin.kernels.contraction import contract
from widemargin.kernels.gaussian import DiagonalGaussian, Gaussian
from widemargin.kernels.general_gaussian import GeneralGaussian
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.mahalanobis import Mahalanobis
from widemargin.kernels.normalized import Normalized, normalized
from widemargin.kernels.polynomial import Linear, Polynomial
from widemargin.kernels.rows import KernelParameters, RowSource, derived_rows, examples, kernel_matrix, row_source
from widemargin.kernels.scikit_learn import ScikitLearnKernel, as_kernel
from widemargin.kernels.shared import SharedKernel

__all__ = [
    "Constant",
    "CoreKernel",
    "DiagonalGaussian",
    "Gaussian",
    "GeneralGaussian",
    "Kernel",
    "KernelParameters",
    "Linear",
    "Mahalanobis",
    "Normalized",
    "Polynomial",
    "Power",
    "Product",
    "RowSource",
    "Scaled",
    "ScikitLearnKernel",
    "SharedKernel",
    "Sum",
    "as_kernel",
    "contract",
    "derived_rows",
    "examples",
    "is_kernel_object",
    "jaakkola_gamma",
    "kernel_matrix",
    "normalized",
    "row_source",
]
