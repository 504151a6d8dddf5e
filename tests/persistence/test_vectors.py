"""Samples of every kind come back from model files as they were."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.persistence.archive import Fields, read_archive, write_archive
from widemargin.persistence.vectors import describe_vectors, restore_vectors

DENSE = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("vectors", [DENSE, DENSE.astype(np.float32), sp.csr_array(DENSE), sp.csr_matrix(DENSE)])
def test_vectors_come_back(vectors: Any) -> None:
    description, arrays = describe_vectors(vectors, False, "0/")
    file = BytesIO()
    write_archive(file, {}, arrays)
    with read_archive(file, "It") as archive:
        found = restore_vectors(archive, Fields({**description, "n_vectors": 3, "n_features": 2}, "it"), "0/")
    assert type(found) is type(vectors)
    assert found.dtype == vectors.dtype
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, DENSE.astype(vectors.dtype))


def test_sequences_come_back() -> None:
    description, arrays = describe_vectors(["ab", "", "cde"], True, "0/")
    file = BytesIO()
    write_archive(file, {}, arrays)
    with read_archive(file, "It") as archive:
        assert restore_vectors(archive, Fields({**description, "n_vectors": 3}, "it"), "0/") == ["ab", "", "cde"]
