"""How much memory is free, and what is kept for the next fit."""

from __future__ import annotations

from widemargin import release_memory
from widemargin.runtime import free_memory


def test_free_memory_is_that_of_the_system():
    assert 2**20 < free_memory() < 2**50


def test_memory_that_is_kept_can_be_given_back_at_any_time():
    release_memory()
    release_memory()
