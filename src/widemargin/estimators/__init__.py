"""What users fit, with scikit-learn's interface: classifiers, regressors, one-class models, a quantiser.

Imports from ``quantization``, ``solvers``, ``machines``, ``kernels`` and ``runtime``; nothing here knows of searches,
model files or the command line.
"""

from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.online import OnlineSVC
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD
from widemargin.estimators.vector_quantizer import VectorQuantizer

__all__ = ["NuSVC", "NuSVR", "OneClassSVM", "OnlineSVC", "SVC", "SVDD", "SVR", "VectorQuantizer"]
