"""The container of a model file: a zip archive of plain arrays and one JSON document, read with suspicion.

Members are stored without compression, so that nothing in a file can take more memory than the file itself. Shapes and
types are compared with what is expected before an array is made.
"""

from __future__ import annotations

import json
import math
import struct
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from os import SEEK_END
from typing import IO, Any, NoReturn, TypeVar
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

DOCUMENT = "model.json"

#: Bytes of the document; a name of a feature takes few of them.
LARGEST_DOCUMENT = 2**28

#: Keys of objects that stand for what JSON has no words for: infinite numbers, and mappings whose keys are no strings.
NOT_FINITE, PAIRS = "$float", "$pairs"


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that holds none; the message is one sentence."""


def to_json(value: Any, what: str) -> Any:
    """Turn numbers, strings, lists and mappings into what JSON can hold, or refuse `what`.

    Examples
    --------
    >>> to_json({"C": np.inf, "weights": {1: 0.5}}, "it")
    {'C': {'$float': 'inf'}, 'weights': {'$pairs': [[1, 0.5]]}}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {NOT_FINITE: repr(value)}
    if isinstance(value, list | tuple | range):
        return [to_json(entry, what) for entry in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): to_json(entry, what) for key, entry in value.items()}
        return {PAIRS: [[to_json(key, what), to_json(entry, what)] for key, entry in value.items()]}
    raise ModelFileError(
        f"{what} holds {_shown(value)}, which a model file cannot store; it stores numbers, strings, lists, mappings."
    )


def from_json(value: Any) -> Any:
    """Undo :func:`to_json`; lists become tuples.

    Examples
    --------
    >>> from_json({"C": {"$float": "inf"}, "range": [0, 1]})
    {'C': inf, 'range': (0, 1)}
    """
    if isinstance(value, list):
        return tuple(from_json(entry) for entry in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {NOT_FINITE} and value[NOT_FINITE] in ("inf", "-inf", "nan"):
        return float(value[NOT_FINITE])
    if set(value) == {PAIRS}:
        try:
            return {from_json(key): from_json(entry) for key, entry in value[PAIRS]}
        except (TypeError, ValueError):
            raise ModelFileError(f"expected pairs, found {_shown(value)}.") from None
    return {key: from_json(entry) for key, entry in value.items()}


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)


def shortened(text: str, most: int = 200) -> str:
    r"""Return a string on one line and no longer than this.

    Examples
    --------
    >>> shortened("a line\nand another one", 14)
    'a line and ...'
    """
    line = text.replace("\n", " ")
    return line if len(line) <= most else f"{line[: most - 3]}..."


class Fields:
    """An object of the document, whose entries are taken by name and checked.

    Parameters
    ----------
    values : dict
        What was found.
    where : str
        What to call it in errors.

    Examples
    --------
    >>> Fields({"degree": 3}, "the kernel").whole("degree")
    3
    >>> try:
    ...     Fields({"degree": -3}, "the kernel").whole("degree")
    ... except ModelFileError as problem:
    ...     print(problem)
    degree of the kernel is -3, expected a whole number of at least 0.
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise ModelFileError(f"{where} is {_shown(values)}, expected named entries.")
        self.values: dict[str, Any] = values
        self.where = where

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Say what was found for an entry and what was expected."""
        found = f"is {_shown(self.values[key])}" if key in self.values else "is missing"
        raise ModelFileError(f"{key} of {self.where} {found}, expected {expected}.")

    def whole(self, key: str, *, least: int = 0, most: int = 2**53) -> int:
        """Take a whole number."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.refuse(key, f"a whole number of at least {least}")
        return value

    def number(self, key: str, *, least: float = -math.inf, finite: bool = True) -> float:
        """Take a number, which may have to be finite."""
        value = from_json(self.values.get(key))
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.refuse(key, "a number")
        try:
            number = float(value)
        except OverflowError:
            self.refuse(key, "a number")
        if finite and not (math.isfinite(number) and number >= least):
            self.refuse(key, "a finite number" if least == -math.inf else f"a finite number of at least {least:g}")
        return number

    def numbers(self, *, least: float = -math.inf) -> None:
        """Check that all entries are finite numbers."""
        for key in self.values:
            self.number(key, least=least)

    def text(self, key: str) -> str:
        """Take a string."""
        return self._taken(key, str, "a string")

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Take one of some strings."""
        value = self._taken(key, str, f"one of {', '.join(choices)}")
        return value if value in choices else self.refuse(key, f"one of {', '.join(choices)}")

    def flag(self, key: str) -> bool:
        """Take a Boolean."""
        return self._taken(key, bool, "true or false")

    def entries(self, key: str) -> list[Any]:
        """Take a list."""
        return self._taken(key, list, "a list")

    def strings(self, key: str) -> list[str]:
        """Take a list of different strings."""
        values = self.entries(key)
        if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
            self.refuse(key, "a list of different strings")
        return values

    def fields(self, key: str) -> Fields:
        """Take an object."""
        return Fields(self._taken(key, dict, "named entries"), f"{key} of {self.where}")

    def _taken(self, key: str, kind: type[T], expected: str) -> T:
        value = self.values.get(key)
        return value if isinstance(value, kind) else self.refuse(key, expected)

    def has(self, key: str) -> bool:
        """Whether there is such an entry, and it is not null."""
        return self.values.get(key) is not None


def write_archive(file: IO[bytes], document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the document and the arrays, in little-endian byte order; the same content gives the same bytes."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        archive.writestr(_member_info(DOCUMENT), json.dumps(document, indent=1, allow_nan=False))
        for name, array in arrays.items():
            content = BytesIO()
            ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            np.lib.format.write_array(content, ordered, version=(1, 0), allow_pickle=False)
            archive.writestr(_member_info(f"{name}.npy"), content.getbuffer())


def _member_info(name: str) -> ZipInfo:
    info = ZipInfo(name)  # stored, and of no particular date
    info.external_attr = 0o644 << 16
    return info


class ModelArchive:
    """The members of an open file, each read when it is asked for."""

    def __init__(self, archive: ZipFile, size: int) -> None:
        self._archive = archive
        self._size = size

    def document(self) -> Fields:
        """Parse the document."""
        content = self._member(DOCUMENT, LARGEST_DOCUMENT)

        def refuse(constant: str) -> NoReturn:
            raise ModelFileError(f"{DOCUMENT} holds {constant}, which is not JSON.")

        try:
            return Fields(json.loads(content.decode("utf-8"), parse_constant=refuse), DOCUMENT)
        except ModelFileError:
            raise
        except (ValueError, RecursionError):
            raise ModelFileError(f"{DOCUMENT} is not JSON.") from None

    def array(self, name: str, dtypes: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[Any]:
        """Read an array of one of some types (such as "<f8") and of this shape; numbers must be finite."""
        content = self._member(f"{name}.npy", self._size)
        stream = BytesIO(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if np.lib.format.read_magic(stream) != (1, 0):
                    raise ValueError
                found, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        except Exception:  # NumPy parses the header as Python text, which fails in as many ways as a tokenizer can
            raise ModelFileError(f"array {name} has no header in version 1.0 of the .npy format.") from None
        if dtype.str not in dtypes:
            raise ModelFileError(f"array {name} is of type {_shown(dtype.str)}, expected {' or '.join(dtypes)}.")
        if found != shape:
            raise ModelFileError(f"array {name} is of shape {_shown(found)}, expected {shape}.")
        count, left = math.prod(shape), len(content) - stream.tell()
        if left != count * dtype.itemsize:
            raise ModelFileError(f"array {name} takes {left} bytes, expected {count * dtype.itemsize}.")
        flat = np.frombuffer(content, dtype=dtype, count=count, offset=stream.tell())
        array = flat.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), order="C")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"array {name} holds numbers that are not finite.")
        return array

    def _member(self, name: str, limit: int) -> bytes:
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise ModelFileError(f"member {name} is missing.") from None
        if info.compress_type != ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
            raise ModelFileError(f"member {name} is compressed or encrypted, expected it to be stored as it is.")
        if info.file_size > min(limit, self._size):
            raise ModelFileError(f"member {name} claims {info.file_size} bytes, more than a file of its size can hold.")
        return self._archive.read(info)


@contextmanager
def read_archive(file: IO[bytes], complaint: str) -> Iterator[ModelArchive]:
    """Read from an open file; whatever is wrong with it ends in a :class:`ModelFileError` that begins as given."""
    try:
        size = file.seek(0, SEEK_END)
        if size == 0:
            raise ModelFileError("it is empty.")
        with ZipFile(file) as archive:
            yield ModelArchive(archive, size)
    except ModelFileError as problem:
        raise ModelFileError(f"{complaint}: {problem}") from None
    except RecursionError:
        raise ModelFileError(f"{complaint}: {DOCUMENT} holds too many lists or mappings within each other.") from None
    except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, UnicodeError, struct.error) as problem:
        detail = shortened(str(problem)).rstrip(".") or "it ends too early"
        raise ModelFileError(f"{complaint}: it is damaged, or no model file ({detail}).") from None
