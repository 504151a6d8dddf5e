"""Tables of text."""

import pytest

from widemargin.inspection import aligned


def test_aligned_columns() -> None:
    table = aligned([["", "a", "bb"], ["first", "1", "2"], ["x", "333", "4"]], gap=2)
    assert table.splitlines() == ["         a  bb", "-" * 14, "first    1   2", "x      333   4"]
    with pytest.raises(ValueError, match="zip"):
        aligned([["a", "b"], ["c"]])
