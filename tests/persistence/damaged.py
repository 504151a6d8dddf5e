"""Model files taken apart and put together again, and what loading them comes to."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from widemargin.persistence.model_file import ModelFileError, open_model

FRESH = np.random.default_rng(0).uniform(0.0, 8.0, size=(5, 4))
Members = dict[str, bytes]


def archive_of(members: Members, compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def opened(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def outcome(path: Path, content: bytes) -> Any:
    """Load; return the predictions, None if the model refuses the rows, or the sentence that refuses the file."""
    path.write_bytes(content)
    try:
        found = open_model(path)
    except ModelFileError as problem:
        return str(problem)
    rows = np.resize(FRESH, (5, found.n_features))
    sparse = sp.issparse((found.model[-1] if isinstance(found.model, Pipeline) else found.model).support_vectors_)
    try:
        with np.errstate(all="ignore"):
            return found.model.predict(sp.csr_matrix(rows) if sparse else rows)
    except ValueError as problem:
        # A scaler may be so far off that samples become infinite, which models refuse.
        if "only finite numbers are accepted" not in str(problem):
            raise
        return None


def require_sentence(result: Any, path: Path) -> None:
    assert isinstance(result, str), result
    assert result.startswith(f"{path} cannot be used as a model: ")
    assert "\n" not in result
