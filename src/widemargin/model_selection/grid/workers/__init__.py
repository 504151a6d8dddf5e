"""Who trains the candidates of a grid: units of work, the pool that they are given to, and how workers report back.

Threads, processes, Dask and Ray, all through joblib.
"""
