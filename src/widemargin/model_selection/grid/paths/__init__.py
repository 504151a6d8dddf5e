"""From where each candidate of a grid starts: walks through its chains, whose turn it is, and what starts cost.

Imports from ``folds`` and from ``plans``, which knows candidates as numbers only.
"""
