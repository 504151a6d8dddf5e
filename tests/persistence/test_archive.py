"""Archives that are damaged, or that claim too much, are refused before anything is believed."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .damaged import archive_of, opened, outcome, require_sentence


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=allow_pickle)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.json", b"", "model.json is not JSON."),
        ("model.json", b"{", "model.json is not JSON."),
        ("model.json", b"\xff", "model.json is not JSON."),
        ("model.json", b"[" * 100_000, "model.json is not JSON."),
        ("model.json", b"[]", "model.json is [], expected named entries."),
        ("model.json", b'{"version": NaN}', "model.json holds NaN, which is not JSON."),
        ("model.json", b'{"version": ' + b"9" * 10_000 + b"}", "model.json is not JSON."),
        ("model.json", b"{}", "format of model.json is missing, expected 'widemargin model'."),
        ("model.json", None, "member model.json is missing."),
        ("1/support.npy", None, "member 1/support.npy is missing."),
        ("1/support.npy", b"", "array 1/support has no header in version 1.0 of the .npy format."),
        ("1/support.npy", b"\x93NUMPY\x01\x00\xff\xff{", "array 1/support has no header"),
        ("1/support.npy", npy(np.zeros(3)).replace(b"(3,)", b"((3,"), "array 1/support has no header"),
        ("1/support.npy", npy(np.zeros(3)).replace(b"(3,)", b"[3,)"), "array 1/support has no header"),
        ("1/support.npy", npy(np.zeros(3)).replace(b"'<f8'", b"'<f8\\'"), "array 1/support has no header"),
        ("1/intercept.npy", npy(np.zeros(4)), "array 1/intercept is of shape (4,), expected (3,)."),
        ("1/intercept.npy", npy(np.zeros((3, 1))), "array 1/intercept is of shape (3, 1), expected (3,)."),
        ("1/intercept.npy", npy(np.zeros(3, dtype="<f4")), "array 1/intercept is of type '<f4', expected <f8."),
        ("1/intercept.npy", npy(np.zeros(3, dtype=">f8")), "array 1/intercept is of type '>f8', expected <f8."),
        ("1/intercept.npy", npy(np.full(3, np.inf)), "array 1/intercept holds numbers that are not finite."),
        ("1/intercept.npy", npy(np.zeros(3))[:-1], "array 1/intercept takes 23 bytes, expected 24."),
        ("1/intercept.npy", npy(np.zeros(3)) + b"\0", "array 1/intercept takes 25 bytes, expected 24."),
        ("1/n_support.npy", npy(np.array([-1, 0, 0], dtype="<i4")), "array n_support of step 1 does not sum to"),
        ("1/n_support.npy", npy(np.array([2**31 - 1] * 3, dtype="<i4")), "array n_support of step 1 does not sum to"),
        ("0/scale.npy", npy(np.zeros(4)), "array 0/scale holds 0, which no column can be scaled by."),
    ],
)
def test_members_that_are_damaged(
    intact: bytes, name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    if content is None:
        del members[name]
    else:
        members[name] = content
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert message in result


def test_arrays_that_claim_too_much(intact: bytes, tmp_path: Path) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    document["steps"][1]["n_vectors"] = 2**40
    members["model.json"] = json.dumps(document).encode()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i4", "fortran_order": False, "shape": (2**40,)})
    members["1/support.npy"] = header.getvalue()
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert "array 1/support takes 0 bytes, expected 4398046511104." in result


def test_zip_bombs(intact: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    members = {**opened(intact), "model.json": b" " * 10**8}
    result = outcome(path, archive_of(members, zipfile.ZIP_DEFLATED))
    require_sentence(result, path)
    assert "member model.json is compressed or encrypted, expected it to be stored as it is." in result


def test_members_that_claim_too_much(intact: bytes, tmp_path: Path) -> None:
    path, content = tmp_path / "model.wm", bytearray(intact)
    entry = content.rindex(b"PK\x01\x02", 0, content.index(b"model.json", content.index(b"PK\x01\x02")))
    content[entry + 20 : entry + 28] = (2**31 - 1).to_bytes(4, "little") * 2  # compressed and plain size
    result = outcome(path, bytes(content))
    require_sentence(result, path)
    assert "member model.json claims 2147483647 bytes" in result


class Payload:
    """Leaves a mark if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.mark),))


def test_pickles_are_never_opened(intact: bytes, tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "model.wm"
    members = opened(intact)
    members["1/intercept.npy"] = npy(np.array([Payload(mark)] * 3, dtype=object), allow_pickle=True)
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert "array 1/intercept is of type '|O', expected <f8." in result
    require_sentence(outcome(path, pickle.dumps(Payload(mark))), path)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Payload(mark)))  # the payload is a working one
    assert mark.exists()


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + b"\0" * 18])
def test_files_of_other_kinds(content: bytes, tmp_path: Path) -> None:
    require_sentence(outcome(tmp_path / "model.wm", content), tmp_path / "model.wm")


def test_every_truncation_is_refused(intact: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    for size in range(0, len(intact), 97):
        require_sentence(outcome(path, intact[:size]), path)


FUZZ = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(data=st.data())
@FUZZ
def test_flipped_bytes_change_nothing_or_are_refused(intact: bytes, data: st.DataObject, tmp_path: Path) -> None:
    path, content = tmp_path / "model.wm", bytearray(intact)
    # Most of a file is covered by checksums; what is not lies at its end.
    directory = content.index(b"PK\x01\x02")
    positions = st.one_of(st.integers(0, len(content) - 1), st.integers(directory, len(content) - 1))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(positions)] = data.draw(st.integers(0, 255))
    result = outcome(path, bytes(content))
    if isinstance(result, str):
        require_sentence(result, path)
    else:
        np.testing.assert_array_equal(result, outcome(path, intact))


def test_any_header_of_an_array_is_read_or_refused(intact: bytes, tmp_path: Path) -> None:
    path, random = tmp_path / "model.wm", np.random.default_rng(0)
    members = opened(intact)
    arrays = [name for name in members if name.endswith(".npy")]
    signs = list(b"()[]{}'\"\\,:#0123456789<>|fiOUVcM \n\t\0\xff")
    refused = 0
    for _ in range(400):
        name = str(random.choice(arrays))
        content = bytearray(members[name])
        for place in random.integers(0, content.index(b"\n") + 1, size=random.integers(1, 4)):
            content[place] = random.choice(signs)
        result = outcome(path, archive_of({**members, name: bytes(content)}))
        if isinstance(result, str):
            require_sentence(result, path)
            refused += 1
        elif result is not None:
            np.testing.assert_array_equal(result, outcome(path, intact))
    assert refused > 200


@pytest.mark.parametrize("depth", [50, 700])
def test_lists_within_lists(intact: bytes, depth: int, tmp_path: Path) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    document["selection"] = None
    members["model.json"] = (
        json.dumps(document).replace('"selection": null', f'"selection": {"[" * depth}{"]" * depth}').encode()
    )
    result = outcome(path, archive_of(members))
    if depth == 50:
        np.testing.assert_array_equal(result, outcome(path, intact))
    else:
        require_sentence(result, path)
        assert "within each other" in result


@given(data=st.data())
@FUZZ
def test_any_array_is_read_or_refused(intact: bytes, data: st.DataObject, tmp_path: Path) -> None:
    members, path = opened(intact), tmp_path / "model.wm"
    name = data.draw(st.sampled_from([name for name in members if name.endswith(".npy")]))
    array = np.load(io.BytesIO(members[name])).copy()
    change = data.draw(st.sampled_from(["value", "type", "length", "order"]))
    if change == "value":
        extremes = [0, -1, 1, 2**30] if array.dtype.kind == "i" else [0.0, -1e308, 1e308, 5e-324, np.nan, np.inf]
        array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(extremes))
    elif change == "type":
        array = array.astype(
            data.draw(st.sampled_from(["<f4", "<f8", "<i4", "<i8", ">i4", "?", "<U3", "<c16", "<M8[s]"]))
        )
    elif change == "length":
        array = np.resize(array, (data.draw(st.integers(0, 60)), *array.shape[1:]))
    else:
        array = np.asfortranarray(array)
    members[name] = npy(array)
    result = outcome(path, archive_of(members))
    if isinstance(result, str):
        require_sentence(result, path)
    elif change == "order":
        np.testing.assert_array_equal(result, outcome(path, intact))
