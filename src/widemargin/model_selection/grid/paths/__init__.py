"""From where each candidate of a grid starts: the plan, the order of turns, the starts themselves, and what they cost.

Imports from ``plans``, which knows candidates as numbers only.
"""
