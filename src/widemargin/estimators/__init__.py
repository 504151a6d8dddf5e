"""Estimators with scikit-learn's face."""

from widemargin.estimators.svc import SVC

__all__ = ["SVC"]
