"""The grid search: all candidates on all folds as one computation that shares kernels and starts.

``folds`` trains the candidates of one fold, ``paths`` decides from where each of them starts, ``workers`` spreads them
over threads, processes and clusters. Imports from ``estimators``, ``study`` and ``plans``, not from the other searches.
"""

from widemargin.model_selection.grid.grid_search import GridSearchCV, PlainSearchWarning
from widemargin.model_selection.grid.results import UnfinishedSearchWarning, measure_cold

__all__ = [
    "GridSearchCV",
    "PlainSearchWarning",
    "UnfinishedSearchWarning",
    "measure_cold",
]
