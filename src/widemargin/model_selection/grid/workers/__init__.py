"""Who trains the candidates of a grid: units of work, their pool (threads, processes, Dask, Ray), and reports from it.

Imports the search that is shared out, ``paths``, ``study`` and ``runtime``; only ``run`` imports it.
"""
