"""Compact models: the level of simplification, the features, C and the width, chosen together by tabu search.

Imports ``study``, ``estimators`` and what lies below them, and a warning of ``grid``.
"""

from widemargin.model_selection.compact.compact_svc import CompactSVC

__all__ = ["CompactSVC"]
