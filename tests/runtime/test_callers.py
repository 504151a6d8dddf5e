"""Warnings point to the line that called the package, however deep inside it they are raised."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from widemargin.runtime.callers import stacklevel


def inside(source: str) -> Callable[..., Any]:
    """Make a function that belongs to the package as far as anybody can tell."""
    names: dict[str, Any] = {"__name__": "widemargin.somewhere", "warnings": warnings, "stacklevel": stacklevel}
    exec(compile(source, "somewhere.py", "exec"), names)
    return names["called"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_the_line_of_the_caller_is_named(depth: int) -> None:
    called = inside(
        "def called(depth):\n"
        "    if depth:\n"
        "        return called(depth - 1)\n"
        "    warnings.warn('look', stacklevel=stacklevel())\n"
    )
    with pytest.warns(UserWarning, match="look") as caught:
        called(depth)
    assert [one.filename for one in caught] == [__file__]
