"""Kernel objects with their derivatives and algebra, and the kernel matrices and row sources that solvers draw from.

Imports the compiled core and ``runtime`` only; knows nothing of models or labels.
"""

from widemargin.kernels.algebra import Constant, Power, Product, Scaled, Sum
from widemargin.kernels.base import CoreKernel, Kernel
from widemargin.kernels.gaussian import DiagonalGaussian, Gaussian, MaskedGaussian
from widemargin.kernels.general_gaussian import GeneralGaussian
from widemargin.kernels.mahalanobis import Mahalanobis
from widemargin.kernels.normalized import Normalized, normalized
from widemargin.kernels.polynomial import Linear, Polynomial
from widemargin.kernels.scikit_learn import ScikitLearnKernel
from widemargin.kernels.sequences import (
    BothStrands,
    CombinedOligo,
    Gapped,
    Oligo,
    Spectrum,
    TripletOligo,
    WeightedOligo,
)

__all__ = [
    "BothStrands",
    "CombinedOligo",
    "Constant",
    "CoreKernel",
    "DiagonalGaussian",
    "Gapped",
    "Gaussian",
    "GeneralGaussian",
    "Kernel",
    "Linear",
    "Mahalanobis",
    "MaskedGaussian",
    "Normalized",
    "Oligo",
    "Polynomial",
    "Power",
    "Product",
    "Scaled",
    "ScikitLearnKernel",
    "Spectrum",
    "Sum",
    "TripletOligo",
    "WeightedOligo",
    "normalized",
]
