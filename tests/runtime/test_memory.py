"""How much memory is free, and what is kept for the next fit."""

from __future__ import annotations

from widemargin import release_memory
from widemargin.runtime import free_memory, memory


def test_free_memory_is_that_of_the_system():
    assert 2**20 < free_memory() < 2**50


def test_without_proc_half_of_the_memory_counts_as_free(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(memory, "open", missing, raising=False)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(memory.os, "sysconf", pages.__getitem__)
    assert free_memory() == 4096 * 500


def test_memory_that_is_kept_can_be_given_back_at_any_time():
    release_memory()
    release_memory()
