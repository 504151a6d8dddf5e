"""What several files of tests share is imported from this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from table_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer
