"""Tables to predict for: columns by name and by place."""

from pathlib import Path

import pytest
from table_files import Write

from widemargin.datasets.tables import Features, TableError, read_features, read_table


def features(path: Path, names: list[str] | None = None, **options: object) -> Features:
    width = options.pop("n_features", len(names) if names is not None else 2)
    return read_features(path, n_features=width, names=names, **options)


def features_refusal(path: Path, names: list[str] | None = None, **options: object) -> str:
    with pytest.raises(TableError) as raised:
        features(path, names, **options)
    return str(raised.value).replace(f"{path.parent}/", "")


def test_features_by_name(write: Write) -> None:
    path = write("y,b,a,id\nx,2,1,first\nz,4,3,second\n")
    found = features(path, ["a", "b"], target="y")
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.notes == (
        "Column 'y', which the model predicts, is ignored.",
        "Column 'id', which the model does not know, is ignored.",
    )
    assert features(write("b,a\n2,1\n", "other.csv"), ["a", "b"], target="y").notes == ()
    assert features(path, ["b"]).notes == ("Columns 'y', 'a', 'id', which the model does not know, are ignored.",)
    assert features_refusal(path, ["a", "c", "d"]) == (
        "table.csv lacks columns 'c', 'd', which the model reads; its columns are 'y', 'b', 'a', 'id'."
    )
    assert features_refusal(path, ["c"]).startswith("table.csv lacks column 'c', which")
    assert features_refusal(path, ["id"]) == (
        "table.csv, line 2, column 'id': found 'first', expected a finite number."
    )
    assert features_refusal(write("1,2\n3,4\n"), ["a", "b"]) == (
        "table.csv has no header, but the model finds its columns by name: 'a', 'b'."
    )


def test_header_of_numbers_is_known_from_the_model(write: Write) -> None:
    assert features(write("1,0\n5,6\n"), ["0", "1"]).X.tolist() == [[6.0, 5.0]]


@pytest.mark.parametrize(
    ("content", "names", "options", "expected"),
    [
        ("1,2\n", None, {}, [[1.0, 2.0]]),
        ("b,a\n1,2\n", None, {}, [[1.0, 2.0]]),
        ("b,label,a\n1,x,2\n", None, {}, [[1.0, 2.0]]),
        ("b,kind,a\n1,x,2\n", None, {"target": "kind"}, [[1.0, 2.0]]),
        ("1,2\n", ["column 1", "column 2"], {"target": "column 3"}, [[1.0, 2.0]]),
        ("1,2,x\n", ["column 1", "column 2"], {"target": "column 3"}, [[1.0, 2.0]]),
        ("x,1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        ("1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        ("a,b\n1,2\n", ["column 2", "column 3"], {"target": "column 1"}, [[1.0, 2.0]]),
        # Columns 1 and 4 were left out in training; which of three columns are the right two, nobody knows.
        ("1,2,3\n", ["column 2", "column 3"], {"target": "column 5"}, None),
        ("1,2,3,4\n", None, {}, None),
        ("1,2,3\n", None, {}, None),
        ("label,y,a\n1,2,3\n", None, {}, None),
    ],
)
def test_features_in_order(
    write: Write, content: str, names: list[str] | None, options: dict[str, str], expected: list[list[float]] | None
) -> None:
    path = write(content)
    if expected is not None:
        assert features(path, names, **options).X.tolist() == expected
    else:
        count = content.split("\n")[0].count(",") + 1
        assert features_refusal(path, names, **options) == (
            f"table.csv has {count} columns, but the model, which knows no names of columns, takes 2, in the order of "
            "its training."
        )


def test_features_from_encoded_text(write: Write) -> None:
    training = read_table(write("size,grade,y\n1,1,0\n2,B,1\n3,A,1\n"), encode=True)
    # Here every grade is a number; what the model was trained on decides, not what this table looks like.
    path = write("grade,size\n1,7\n1,8\n", "new.csv")
    found = features(path, training.names, encoded=training.encoded)
    assert found.X.tolist() == [[7.0, 1.0, 0.0, 0.0], [8.0, 1.0, 0.0, 0.0]]
    unknown = write("grade,size\n1,7\nC,8\n", "new.csv")
    assert features_refusal(unknown, training.names, encoded=training.encoded) == (
        "new.csv, line 3, column 'grade': found 'C', expected one of '1', 'A', 'B'."
    )
    assert features_refusal(write("size\n7\n"), training.names, encoded=training.encoded).startswith(
        "table.csv lacks column 'grade'"
    )


def test_features_in_libsvm_format(write: Write) -> None:
    path = write("0 1:5\n0 2:6\n", "new.svm")
    assert features(path, n_features=3).X.toarray().tolist() == [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0]]
    assert features_refusal(path, n_features=1) == (
        "new.svm, line 2: feature index 2 found, but n_features=1 accepts 1 to 1."
    )
    assert features_refusal(path, ["a", "b"]) == (
        "new.svm is in LIBSVM format, which names no columns, but the model was trained on columns named 'a', 'b'."
    )


def test_some_features_by_name(write: Write) -> None:
    names = ["a", "b", "c"]
    for content in ("c,a\n3,1\n", "b,a,c\nx,1,3\n", "b,a,c\n,1,3\n"):
        found = features(write(content), names, selected=[0, 2])
        assert (found.X.tolist(), found.notes) == ([[1.0, 3.0]], ())
    assert features_refusal(write("a,b\n1,2\n"), names, selected=[0, 2]).startswith("table.csv lacks column 'c', which")
    assert features_refusal(write("1,2,3\n"), names, selected=[1]) == (
        "table.csv has no header, but the model finds its columns by name: 'b'."
    )


def test_some_features_in_order(write: Write) -> None:
    for content in ("x,2,3\n", "x,2,3,x\n"):
        found = features(write(content), ["column 1", "column 2", "column 3"], selected=[1, 2], target="column 4")
        assert found.X.tolist() == [[2.0, 3.0]]
    assert features(write("a,b,label\n7,x,8\n"), None, selected=[0]).X.tolist() == [[7.0]]
    assert features_refusal(write("1,2,3,4\n"), None, selected=[1], n_features=2).startswith("table.csv has 4 columns")


def test_some_features_from_encoded_text(write: Write) -> None:
    training = read_table(write("size,grade,shade,y\n1,P,dark,0\n2,Q,pale,1\n3,R,pale,1\n"), encode=True)
    assert training.names == ["size", "grade=P", "grade=Q", "grade=R", "shade=dark", "shade=pale"]
    how = {"encoded": training.encoded, "selected": [0, 2]}
    assert features(write("grade,size\nQ,7\nR,8\n"), training.names, **how).X.tolist() == [[7.0, 1.0], [8.0, 0.0]]
    assert features_refusal(write("grade,size\nS,7\n"), training.names, **how).endswith(
        "found 'S', expected one of 'P', 'Q', 'R'."
    )
    assert features(write("size\n7\n"), training.names, encoded=training.encoded, selected=[0]).X.tolist() == [[7.0]]


def test_some_features_in_libsvm_format(write: Write) -> None:
    path = write("0 1:5 2:1\n0 2:6 3:2\n", "new.svm")
    assert features(path, n_features=3, selected=[0, 2]).X.toarray().tolist() == [[5.0, 0.0], [0.0, 2.0]]
