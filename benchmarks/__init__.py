"""Benchmarks: widemargin beside its peers, and tables of the papers it implements."""
