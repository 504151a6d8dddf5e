"""Tables for training: layouts, targets, encoded text, and errors naming column and line."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from table_files import Write, refusal

from widemargin.datasets.tables import read_table


@given(
    dense=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1e300, 1e300)),
    delimiter=st.sampled_from(",;\t"),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.booleans(),
    header=st.booleans(),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    data=st.data(),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(
    dense: np.ndarray,
    delimiter: str,
    line_end: str,
    mark: bool,
    header: bool,
    quoting: int,
    data: st.DataObject,
    tmp_path: Path,
) -> None:
    target = data.draw(st.integers(0, dense.shape[1]))
    texts = st.sampled_from(["a", "b, c", 'd"e', "f;g", "h\ti", "é"])
    labels = data.draw(st.lists(texts, min_size=len(dense), max_size=len(dense)))
    names = [f"feature, {column}" for column in range(dense.shape[1])]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8-sig" if mark else "utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
        if header:
            writer.writerow([*names[:target], "kind", *names[target:]])
        for row, label in zip(dense.tolist(), labels, strict=True):
            writer.writerow([*map(repr, row[:target]), label, *map(repr, row[target:])])
    table = read_table(path, target="kind" if header else target)
    np.testing.assert_array_equal(table.X, dense)
    assert table.y is not None
    assert table.y.tolist() == labels
    counted = [f"column {column + 1}" for column in range(dense.shape[1] + 1)]
    assert table.target == ("kind" if header else counted.pop(target))
    assert table.names == (names if header else counted)
    assert table.notes == ()


@pytest.mark.parametrize(
    ("content", "target", "why"),
    [
        ("a,label,b\n1,x,2\n", "label", "by its name"),
        ("Class,a,b\n0,1,2\n", "Class", "by its name"),
        ("a,TARGET,b\n1,2,3\n", "TARGET", "by its name"),
        ("y,a\n1,2\n", "y", "by its name"),
        ("a,b,species\n1,2,x\n", "species", "the last one"),
        ("1,2,x\n3,4,y\n", "column 3", "the last one"),
    ],
)
def test_target_is_guessed_and_said(write: Write, content: str, target: str, why: str) -> None:
    table = read_table(write(content))
    assert table.target == target
    assert table.notes == (f"The target is column {target!r}, {why}.",)
    assert table.names is not None
    assert target not in table.names


def test_target_by_position_and_none_at_all(write: Write) -> None:
    path = write("a,b,c\n1,2,3\n4,5,6\n")
    assert read_table(path, target=0).target == "a"
    assert read_table(path, target=-2).target == "b"
    everything = read_table(path, labelled=False)
    assert everything.y is None
    assert everything.target is None
    assert everything.X.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert read_table(write("a\n1\n2\n", "one.csv"), labelled=False).X.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="target must be None if labelled=False"):
        read_table(path, labelled=False, target="a")
    assert refusal(path, target=3) == "target must be a name, or a position from -3 to 2, got 3."
    assert refusal(path, target="d") == "table.csv has no column named 'd'; its columns are 'a', 'b', 'c'."
    assert refusal(path, target="a", ignore=["a"]) == "target and ignore both name column 'a'."
    assert refusal(write("y,class,a\n1,2,3\n")) == (
        "table.csv has several columns that may be the target: 'y', 'class'; name one as target."
    )


def test_encoded_text(write: Write) -> None:
    path = write("size,colour,shape,y\n1,red,round,0\n2,blue,round,1\n3,red,flat,1\n")
    assert "column 'colour': found 'red'" in refusal(path)
    table = read_table(path, encode=True)
    assert table.names == ["size", "colour=blue", "colour=red", "shape=flat", "shape=round"]
    assert table.X.tolist() == [[1, 0, 1, 0, 1], [2, 1, 0, 0, 1], [3, 0, 1, 1, 0]]
    assert table.encoded == {"colour": ("blue", "red"), "shape": ("flat", "round")}
    assert read_table(path, ignore=["colour", "shape"]).names == ["size"]
    numbers = write("a,b,y\n1,2,0\n", "numbers.csv")
    assert read_table(numbers, encode=True).encoded == {}


def test_text_that_cannot_be_encoded(write: Write) -> None:
    many = write("a,name,y\n" + "".join(f"1,name {row},0\n" for row in range(21)))
    assert refusal(many, encode=True) == (
        "table.csv, column 'name': 21 different values found, at most 20 can be encoded (the option ignore leaves a "
        "column out)."
    )
    gap = write("a,name,y\n1,x,0\n2,,1\n")
    assert refusal(gap, encode=True) == "table.csv, line 3, column 'name': the value is missing, expected a value."
    numeric_gap = write("a,name,y\n1,x,0\n,x,1\n")
    assert "line 3, column 'a': the value is missing, expected a finite number." in refusal(numeric_gap, encode=True)
    clash = write("c,c=x,y\nx,1,0\n")
    assert refusal(clash, encode=True) == (
        "table.csv: two columns would be named 'c=x'; rename the one that has this name."
    )
