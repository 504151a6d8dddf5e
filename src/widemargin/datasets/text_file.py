"""What the readers of text formats share: opening files, and the type of numeric labels."""

import bz2
import gzip
import lzma
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

FilePath: TypeAlias = str | PathLike[str]


def open_bytes(path: FilePath) -> IO[bytes]:
    """Open a file for reading bytes, decompressing it if its name ends in .gz, .bz2 or .xz."""
    name = fspath(path)
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.open(name, "rb"))
    if name.endswith(".bz2"):
        return cast("IO[bytes]", bz2.open(name, "rb"))
    if name.endswith(".xz"):
        return cast("IO[bytes]", lzma.open(name, "rb"))
    return Path(name).open("rb")


def numeric_labels(numbers: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return labels as int64 if all of them are whole numbers that float64 counts exactly, else as they are."""
    whole = np.array_equal(numbers, np.rint(numbers)) and np.all(np.abs(numbers) <= 2**53)
    return numbers.astype(np.int64) if whole else numbers
