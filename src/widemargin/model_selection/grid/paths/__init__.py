"""From where each candidate of a grid starts: walks through its chains, and whose turn it is.

Imports ``candidates``, ``setup`` and ``folds`` of the grid search, and ``plans``, which knows candidates as numbers
only.
"""
