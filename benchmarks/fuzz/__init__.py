"""Hostile inputs, drawn at random and judged by recomputation: ``python -m benchmarks.fuzz problems --cases 2000``.

Every case is a function of its seed alone, so that what is found once can be looked at again: ``--only SEED``.
"""
