"""Support vector machines that choose themselves.

What users fit is here; ``widemargin.datasets``, ``.inspection``, ``.kernels``, ``.objectives``, ``.solvers`` and
``.strategies`` hold the parts. All of it is imported when it is first asked for.

>>> from widemargin import SVC, select
>>> from widemargin.datasets import chess_board
>>> X, y = chess_board(500, random_state=0)
>>> SVC(C=10.0, gamma=2.0).fit(X, y).score(X, y) > 0.95
True
>>> select(X, y).model.score(X, y) > 0.95
True
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from widemargin.compression import compress
    from widemargin.estimators import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, OnlineSVC, VectorQuantizer
    from widemargin.model_selection import (
        CompactSVC,
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
    from widemargin.study import JournalError

    __version__: str

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "CompactSVC",
    "GridSearchCV",
    "JournalError",
    "LeaveOneOutScore",
    "ModelFileError",
    "ModelSearch",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OnlineSVC",
    "PlainSearchWarning",
    "RejectionScore",
    "UnfinishedSearchWarning",
    "VectorQuantizer",
    "__version__",
    "compress",
    "load_model",
    "release_memory",
    "save_model",
    "select",
]

#: Where names come from when they are first asked for: importing all of them takes a third of a second.
_HOMES = {
    "compression": ("compress",),
    "estimators": ("SVC", "SVDD", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "OnlineSVC", "VectorQuantizer"),
    "model_selection": (
        "CompactSVC",
        "GridSearchCV",
        "LeaveOneOutScore",
        "ModelSearch",
        "PlainSearchWarning",
        "RejectionScore",
        "UnfinishedSearchWarning",
        "select",
    ),
    "persistence": ("ModelFileError", "load_model", "save_model"),
    "runtime": ("release_memory",),
    "study": ("JournalError",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

#: Packages that need no import of their own.
_PACKAGES = ("datasets", "inspection", "kernels", "objectives", "solvers", "strategies")


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f"widemargin.{name}")
    if name == "__version__":
        found: _Any = _import_module("importlib.metadata").version("widemargin")
    elif name in _HOME_OF:
        found = getattr(_import_module(f"widemargin.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'widemargin' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *__all__})
