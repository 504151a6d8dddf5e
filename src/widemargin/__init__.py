"""Support vector machines that choose themselves.

>>> from widemargin import SVC, select
>>> from widemargin.datasets import chess_board
>>> X, y = chess_board(500, random_state=0)
>>> SVC(C=10.0, gamma=2.0).fit(X, y).score(X, y) > 0.95
True
>>> select(X, y).model.score(X, y) > 0.95
True
"""

from importlib.metadata import version as _version

from widemargin.estimators import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.model_selection import (
    GridSearchCV,
    LeaveOneOutScore,
    ModelSearch,
    PlainSearchWarning,
    RejectionScore,
    UnfinishedSearchWarning,
    select,
)
from widemargin.persistence import ModelFileError, load_model, save_model
from widemargin.runtime import release_memory

__version__ = _version("widemargin")

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "GridSearchCV",
    "LeaveOneOutScore",
    "ModelFileError",
    "ModelSearch",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PlainSearchWarning",
    "RejectionScore",
    "UnfinishedSearchWarning",
    "__version__",
    "load_model",
    "release_memory",
    "save_model",
    "select",
]
