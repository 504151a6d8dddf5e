"""What counts as a number."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.runtime.checks import is_number, is_whole


@pytest.mark.parametrize(
    ("value", "number", "whole"),
    [
        (3, True, True),
        (np.int64(3), True, True),
        (2.0, True, False),
        (np.float32(2), True, False),
        (float("nan"), True, False),
        (True, False, False),
        (np.True_, False, False),
        ("3", False, False),
        (1j, False, False),
        (None, False, False),
    ],
)
def test_numbers_and_whole_numbers(value: object, number: bool, whole: bool) -> None:
    assert is_number(value) is number
    assert is_whole(value) is whole
    assert is_whole(value, 3) is whole
    assert is_whole(value, 4) is False
