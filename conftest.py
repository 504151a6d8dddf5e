"""Examples in docstrings and guides run in an empty folder of their own, in which they may write files."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest) -> None:
    """Change to a temporary folder, for doctests only."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
