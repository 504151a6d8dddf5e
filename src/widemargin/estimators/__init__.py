"""Estimators with scikit-learn's face."""

from widemargin.estimators.grid_search import GridSearchCV
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD

__all__ = ["GridSearchCV", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVDD", "SVR"]
