"""Machines, the dual problems behind models: each builds problems, has the core solve them and reads solutions back.

Imports ``kernels`` and ``runtime``; one sign convention (signed variables, kernels without labels) holds throughout.
"""
