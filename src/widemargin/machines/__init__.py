"""Machines, the dual problems behind models: each builds problems, has the core solve them and reads solutions back.

Imports ``kernels``, ``runtime`` and the compiled core; one sign convention (signed variables, kernels without labels)
holds throughout.
"""
