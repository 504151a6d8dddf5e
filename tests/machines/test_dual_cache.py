"""How much memory a kernel cache may take."""

from __future__ import annotations

import pytest

from widemargin.machines import dual
from widemargin.machines.dual import cache_bytes


@pytest.mark.parametrize(("size", "expected"), [(1, 2**20), (0.5, 2**19), (200, 200 * 2**20)])
def test_a_number_is_a_number_of_megabytes(size, expected):
    assert cache_bytes(size, 10**6, "float32") == expected


@pytest.mark.parametrize(("dtype", "itemsize"), [("float32", 4), ("float64", 8)])
def test_auto_is_what_the_problem_needs_and_at_most_a_quarter_of_what_is_free(dtype, itemsize, monkeypatch):
    monkeypatch.setattr(dual, "free_memory", lambda: 2**20)
    assert cache_bytes("auto", 100, dtype) == 100 * 116 * itemsize
    assert cache_bytes("auto", 10_000, dtype) == 2**18
