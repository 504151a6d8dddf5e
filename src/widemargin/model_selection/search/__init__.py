"""The model search: a strategy that follows an objective through kernel parameters and C.

Imports from ``strategies``, ``objectives`` and ``study``, and scorers and growth from the grid search beside it.
"""

from widemargin.model_selection.search.model_search import ModelSearch

__all__ = ["ModelSearch"]
