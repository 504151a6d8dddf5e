"""The model search: a strategy that follows an objective through kernel parameters and C.

Imports ``estimators`` and everything below them, and ``growth`` and ``grid`` of the package around it.
"""

from widemargin.model_selection.search.model_search import ModelSearch

__all__ = ["ModelSearch"]
