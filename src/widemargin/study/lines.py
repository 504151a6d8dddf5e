"""Records as lines of JSON that read back exactly.

JSON has no word for three floats, which are written as the strings ``"=nan"``, ``"=inf"`` and ``"=-inf"``; a string
that itself begins with ``=`` is written with another ``=`` before it. All other floats are written with as many digits
as it takes to read the same bits back. A line is ASCII. One that is sealed has a last entry, ``"crc"``: the CRC-32 of
all bytes before it.
"""

from __future__ import annotations

import json
import math
import numbers
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

Record = dict[str, Any]

_SEAL = b'"crc": "%08x"}'

_NUMBERS = {"=nan": math.nan, "=inf": math.inf, "=-inf": -math.inf}


def as_line(record: Mapping[str, Any]) -> bytes:
    r"""Return a record as a line, its end included.

    Examples
    --------
    >>> as_line({"score": 0.1, "time": float("inf"), "note": "=="})
    b'{"score": 0.1, "time": "=inf", "note": "==="}\n'
    """
    if not isinstance(record, Mapping):
        raise TypeError(f"A record of a journal must be a mapping of names to values; got {record!r}.")
    return json.dumps(encode(record), allow_nan=False).encode("ascii") + b"\n"


def from_line(line: bytes) -> Record:
    r"""Return the record of a line, which is refused with a ValueError if it holds none.

    Examples
    --------
    >>> from_line(b'{"score": 0.1, "time": "=inf", "note": "==="}\n')
    {'score': 0.1, 'time': inf, 'note': '=='}
    """
    value = decode(json.loads(line.decode("utf-8"), parse_constant=_no_constant))
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no record.")
    return value


def sealed(line: bytes) -> bytes:
    r"""Return a line with the checksum of its content as a last entry.

    Examples
    --------
    >>> sealed(b'{"score": 0.1}\n')
    b'{"score": 0.1, "crc": "3007b73b"}\n'
    """
    content = line.removesuffix(b"}\n")
    return content + (b", " if len(content) > 1 else b"") + _SEAL % zlib.crc32(content) + b"\n"


def unsealed(line: bytes) -> bytes:
    r"""Return a line as it was before it was sealed; one that was changed since is refused with a ValueError.

    Examples
    --------
    >>> unsealed(b'{"score": 0.1, "crc": "3007b73b"}')
    b'{"score": 0.1}'
    """
    length = len(_SEAL % 0)
    content, seal = line[:-length].removesuffix(b", "), line[-length:]
    if seal != _SEAL % zlib.crc32(content):
        raise ValueError("The checksum of a line is not that of its content.")
    return content + b"}"


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not valid JSON.")


def encode(value: Any) -> Any:
    """Return a value that JSON can express in place of one that a record may hold."""
    if type(value) is float and math.isfinite(value):  # what records of many evaluations mostly hold
        return value
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return "=" + value if value.startswith("=") else str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (float, np.float32, np.float16)):
        number = float(value)
        return number if math.isfinite(number) else f"={number}"
    if isinstance(value, (list, tuple)):
        return [encode(one) for one in value]
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"Names in a record of a journal must be strings; got {name!r}.")
        return {str.__str__(name): encode(one) for name, one in value.items()}
    raise TypeError(
        "A record of a journal holds None, bools, numbers, strings, and lists and mappings of these; got"
        f" {type(value).__name__} ({value!r})."
    )


def decode(value: Any) -> Any:
    """Return the value that was encoded."""
    if isinstance(value, str) and value.startswith("="):
        if value.startswith("=="):
            return value[1:]
        if value not in _NUMBERS:
            raise ValueError(f"{value!r} does not stand for a number.")
        return _NUMBERS[value]
    if isinstance(value, list):
        return [decode(one) for one in value]
    if isinstance(value, dict):
        return {name: decode(one) for name, one in value.items()}
    return value
