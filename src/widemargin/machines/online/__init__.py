"""Machines that learn from one sample after the other: the stream of samples, and passes that choose theirs.

Imports from the machines beside it, and from what they import.
"""
