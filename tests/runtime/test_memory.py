"""How much memory a kernel cache may take."""

from __future__ import annotations

import pytest

from widemargin import release_memory
from widemargin.runtime import cache_bytes, free_memory, memory


def test_free_memory_is_that_of_the_system():
    assert 2**20 < free_memory() < 2**50


def test_without_proc_half_of_the_memory_counts_as_free(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(memory, "open", missing, raising=False)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(memory.os, "sysconf", pages.__getitem__)
    assert free_memory() == 4096 * 500


@pytest.mark.parametrize(("size", "expected"), [(1, 2**20), (0.5, 2**19), (200, 200 * 2**20)])
def test_a_number_is_a_number_of_megabytes(size, expected):
    assert cache_bytes(size, 10**6, "float32") == expected


@pytest.mark.parametrize(("dtype", "itemsize"), [("float32", 4), ("float64", 8)])
def test_auto_is_what_the_problem_needs_and_at_most_a_quarter_of_what_is_free(dtype, itemsize, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    assert cache_bytes("auto", 100, dtype) == 100 * 116 * itemsize
    assert cache_bytes("auto", 10_000, dtype) == 2**18


def test_memory_that_is_kept_can_be_given_back_at_any_time():
    release_memory()
    release_memory()
