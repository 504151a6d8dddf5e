"""Models that learn from a stream of samples.

Imports from the estimators beside it, and from what they import.
"""

from widemargin.estimators.online.online_svc import OnlineSVC

__all__ = ["OnlineSVC"]
