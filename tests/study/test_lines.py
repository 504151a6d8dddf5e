"""Lines of JSON that read back exactly."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from widemargin.study.lines import as_line, from_line

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(), max_size=8)
    | st.text(alphabet="=naif-", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit; all NaNs are one."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
@example({"a": -0.0, "b": 5e-324, "c": math.nan, "d": [math.inf, -math.inf], "e": "=nan", "f": "==", "": "=\n\r\0"})
@example({"surrogate": "\ud800", "separator": "\u2028\u0085", "large": 2**200, "small": -(2**63)})
def test_records_round_trip(record: dict[str, Any]) -> None:
    line = as_line(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert b"\0" not in line
    assert same(from_line(line), record)
    json.loads(line, parse_constant=pytest.fail)


@given(st.floats(width=32))
def test_numbers_of_numpy_count_as_those_of_python(number: float) -> None:
    record = {
        "f": np.float32(number),
        "d": np.float64(number),
        "i": np.int8(-3),
        "b": np.bool_(True),
        "s": np.str_("=x"),
    }
    found = from_line(as_line(record))
    assert same(found, {"f": number, "d": number, "i": -3, "b": True, "s": "=x"})


def test_tuples_are_read_as_lists() -> None:
    assert from_line(as_line({"pair": (1, (2.0,))})) == {"pair": [1, [2.0]]}


@pytest.mark.parametrize("value", [{1}, 1j, np.zeros(2), b"bytes", object(), np.longdouble(1)])
def test_what_json_lacks_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=f"holds None, bools.*; got {type(value).__name__} "):
        as_line({"value": [value]})


def test_names_are_strings() -> None:
    with pytest.raises(TypeError, match="must be strings; got 3"):
        as_line({"value": {3: 1}})
    with pytest.raises(TypeError, match="must be a mapping"):
        as_line([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"1", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": "=x"}', b'{"a": 1}{', b"\xff", b"\0"]
)
def test_what_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_line(line)
