"""Damaged and forged model files: each ends in one sentence, and nothing in them is ever run."""

from __future__ import annotations

from pathlib import Path

import pytest

from widemargin.persistence.model_file import load_model


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent.wm")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
