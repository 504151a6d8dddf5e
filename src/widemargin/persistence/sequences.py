"""Sequences in model files: all their letters in a row, as UTF-8, and how many each has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.sequences import Sequences
from widemargin.persistence.archive import Fields, ModelArchive, ModelFileError

#: What a step says of its support vectors if they are sequences.
SEQUENCES = "sequences"


def describe_sequences(vectors: Any, prefix: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Take strings apart into what JSON holds and arrays, whose names begin with `prefix`."""
    try:
        texts = list(Sequences.of(vectors))
        letters = np.frombuffer("".join(texts).encode("utf-8"), dtype=np.uint8)
    except (TypeError, UnicodeEncodeError) as problem:
        raise ModelFileError(
            f"the support vectors are neither vectors nor text, which is what a model file stores ({problem})."
        ) from None
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    description = {"vectors": SEQUENCES, "n_stored": len(letters)}
    return description, {f"{prefix}vectors_text": letters, f"{prefix}vectors_lengths": lengths}


def restore_sequences(archive: ModelArchive, step: Fields, prefix: str) -> list[str]:
    """Put strings together again."""
    lengths = archive.array(f"{prefix}vectors_lengths", ("<i8",), (step.whole("n_vectors"),))
    letters = archive.array(f"{prefix}vectors_text", ("|u1",), (step.whole("n_stored"),))
    try:
        text = letters.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ModelFileError(f"array {prefix}vectors_text is no text in UTF-8.") from None
    # The sum of what may be as large as 2^63 is not taken before all of it is known to be small.
    if (lengths.size and (lengths.min() < 0 or lengths.max() > len(text))) or int(lengths.sum()) != len(text):
        raise ModelFileError(f"array {prefix}vectors_lengths must add up to the {len(text)} letters that there are.")
    ends = np.cumsum(lengths).tolist()
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
