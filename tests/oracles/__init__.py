"""Naive twins that only the tests use: a few lines of NumPy, in the symbols of the papers, that say what is meant."""
