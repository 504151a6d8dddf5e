"""Estimators with scikit-learn's face, and what chooses and keeps them."""

from widemargin.estimators.grid_search import GridSearchCV, PlainSearchWarning
from widemargin.estimators.model_file import ModelFileError, SavedModel, load_model, open_model, save_model
from widemargin.estimators.model_search import ModelSearch
from widemargin.estimators.model_search_report import EvaluationReport
from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.one_class_scores import LeaveOneOutScore, RejectionScore
from widemargin.estimators.regression import SVR, NuSVR
from widemargin.estimators.search_report import ColdWork, WorkReport, measure_cold
from widemargin.estimators.search_results import UnfinishedSearchWarning
from widemargin.estimators.selection import Selection, select
from widemargin.estimators.svc import SVC
from widemargin.estimators.svdd import SVDD

__all__ = [
    "ColdWork",
    "EvaluationReport",
    "GridSearchCV",
    "LeaveOneOutScore",
    "ModelFileError",
    "ModelSearch",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PlainSearchWarning",
    "RejectionScore",
    "SVC",
    "SVDD",
    "SVR",
    "SavedModel",
    "Selection",
    "UnfinishedSearchWarning",
    "WorkReport",
    "load_model",
    "measure_cold",
    "open_model",
    "save_model",
    "select",
]
