"""Who trains the candidates of a grid: units of work, those that they are given to, and how workers report back.

A team of threads in this process; processes, Dask and Ray through joblib. Imports the search that is shared out,
``paths``, ``study`` and ``runtime``; only ``run`` imports it.
"""
