"""Objectives that judge models by samples they were not trained on, and the ways to hold samples out, also by group.

Imports what the other objectives may.
"""
