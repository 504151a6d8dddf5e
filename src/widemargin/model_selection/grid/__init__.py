"""The grid search: ``folds`` trains candidates, ``paths`` says from where each starts, ``workers`` share out the work.

Imports ``estimators``, ``study``, ``plans`` and what lies below them, and scores of one-class models from the package
around it; nothing from the other searches.
"""

from widemargin.model_selection.grid.grid_search import GridSearchCV, PlainSearchWarning
from widemargin.model_selection.grid.results import UnfinishedSearchWarning, measure_cold

__all__ = [
    "GridSearchCV",
    "PlainSearchWarning",
    "UnfinishedSearchWarning",
    "measure_cold",
]
