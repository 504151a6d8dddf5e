"""Tables that are written for tests, and what is said about bad ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from widemargin.datasets.tables import TableError, read_table

Write = Callable[..., Path]

LIBSVM = "# made up\n+1 1:0.5 3:2 # first\n\n-1 2:1\n"


def refusal(path: Path, **options: object) -> str:
    """Return what is said about a table, without the path of its folder."""
    with pytest.raises(TableError) as raised:
        read_table(path, **options)
    message = str(raised.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")
