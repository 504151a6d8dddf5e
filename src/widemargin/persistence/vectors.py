"""Samples in model files: dense, sparse, or sequences."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.persistence.archive import Fields, ModelArchive, ModelFileError
from widemargin.persistence.sequences import SEQUENCES, describe_sequences, restore_sequences

FLOATS, INDICES = ("<f4", "<f8"), ("<i4", "<i8")

_CONTAINERS: dict[str, Any] = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}


def describe_vectors(vectors: Any, of_sequences: bool, prefix: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Take samples apart into what JSON holds and arrays, whose names begin with `prefix`.

    Examples
    --------
    >>> import numpy as np
    >>> description, arrays = describe_vectors(np.eye(2), False, "0/")
    >>> description, list(arrays)
    ({'vectors': 'dense'}, ['0/vectors'])
    """
    if of_sequences:
        return describe_sequences(vectors, prefix)
    if sp.issparse(vectors):
        description = {"vectors": type(vectors).__name__, "n_stored": len(vectors.data)}
        return description, {
            f"{prefix}vectors_{part}": getattr(vectors, part) for part in ("data", "indices", "indptr")
        }
    return {"vectors": "dense"}, {f"{prefix}vectors": vectors}


def restore_vectors(archive: ModelArchive, step: Fields, prefix: str, precomputed: bool = False) -> Any:
    """Put samples together again: ``n_vectors`` of ``n_features``, none of them if the kernel is precomputed."""
    kind = step.choice("vectors", ("dense", *_CONTAINERS, SEQUENCES))
    if kind == SEQUENCES:
        return restore_sequences(archive, step, prefix)
    shape = (step.whole("n_vectors"), step.whole("n_features"))
    if kind == "dense":
        return archive.array(f"{prefix}vectors", FLOATS, (0, 0) if precomputed else shape)
    if precomputed:
        step.refuse("vectors", "dense, since the kernel is precomputed")
    stored = step.whole("n_stored")
    data = archive.array(f"{prefix}vectors_data", FLOATS, (stored,))
    indices = archive.array(f"{prefix}vectors_indices", INDICES, (stored,))
    begins = archive.array(f"{prefix}vectors_indptr", INDICES, (shape[0] + 1,))
    if begins[0] != 0 or begins[-1] != stored or (begins[1:] < begins[:-1]).any():
        raise ModelFileError(f"array {prefix}vectors_indptr must rise from 0 to {stored}.")
    if stored and (indices.min() < 0 or indices.max() >= shape[1]):
        raise ModelFileError(f"array {prefix}vectors_indices holds a column outside of the {shape[1]} features.")
    return _CONTAINERS[kind]((data, indices, begins), shape=shape)
